
# A session that counts never waits, and counts are never wrong. In every
# snapshot, on a primary and a hot standby, get_post() returns the number of
# comments and likes. Meanwhile many clients write to a few posts, roll back
# and are killed, and so are the worker and the server. A session that finds a
# count locked writes a delta, a row with its change. Deltas are folded into
# the count soon, survive a crash and a dump, and do not pile up, with a worker
# or without.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $base = $PostgreSQL::Test::Utils::tmp_check;

# Posts 1 to 4 stay. Clients delete and create posts 5 to 8.
my $helpers = q{
CREATE FUNCTION kit.one_of(n int) RETURNS int LANGUAGE sql VOLATILE
AS $$ SELECT 1 + floor(random() * n)::int $$;

-- Fails if in the present snapshot a post's counts differ from its items, or a
-- deleted post has left an item. Returns the number of posts that exist.
CREATE FUNCTION kit.check_counts(first int DEFAULT 1, last int DEFAULT 8) RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
	r	record;
	n	int := 0;
BEGIN
	FOR r IN
		SELECT p.n, g.id IS NOT NULL AS there, coalesce(g.comment_count, 0) AS comment_count,
			coalesce(g.like_count, 0) AS like_count, i.comments, i.likes, i.deltas
		FROM generate_series(first, last) p (n)
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE type = 'comment') AS comments,
				count(*) FILTER (WHERE type = 'like') AS likes,
				count(*) FILTER (WHERE type = 'delta') AS deltas
			FROM blogstore.posts WHERE post_id = kit.p(p.n)) i
		LEFT JOIN LATERAL blogstore.get_post(kit.p(p.n)) g ON true
	LOOP
		IF (r.comment_count, r.like_count) <> (r.comments, r.likes) OR (NOT r.there AND r.deltas > 0) THEN
			RAISE 'miscounted: %', r;
		END IF;
		n := n + r.there::int;
	END LOOP;
	-- The views may be behind the posts, but show a past state, so no negative
	-- count.
	FOR r IN SELECT * FROM blogstore.list_feed() WHERE least(comment_count, like_count) < 0 LOOP
		RAISE 'miscounted, below zero: %', r;
	END LOOP;
	RETURN n;
END $$;

-- Run a random command on a post that other clients may delete meanwhile.
CREATE FUNCTION kit.somehow(client int, may_delete boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	dice	int := kit.one_of(100);
	n		int := 4 + kit.one_of(4);
	post	uuid := kit.p(n);
	someone	uuid := kit.u(10 * client + kit.one_of(10));
	comment	uuid := kit.c(100 * client + kit.one_of(20));
BEGIN
	CASE
	WHEN dice <= 40 THEN
		PERFORM blogstore.create_like(post, someone);
	WHEN dice <= 55 THEN
		PERFORM blogstore.delete_like(post, someone);
	WHEN dice <= 70 THEN
		PERFORM blogstore.create_comment(post, kit.u(10 * client + 1), 'comment', comment);
	WHEN dice <= 80 THEN
		PERFORM blogstore.delete_comment(post, comment);
	WHEN dice <= 88 OR NOT may_delete THEN
		PERFORM blogstore.create_post(kit.u(10 * client + 1), 'post ' || n, 'content', post, kit.d(n));
	WHEN dice <= 94 THEN
		PERFORM blogstore.edit_post(post, 'post ' || n, repeat('x', kit.one_of(1000)));
	WHEN dice <= 97 THEN
		PERFORM blogstore.edit_post(post, 'last edition');
		PERFORM blogstore.delete_post(post);
	ELSE
		PERFORM blogstore.delete_post(post);
	END CASE;
EXCEPTION WHEN foreign_key_violation OR unique_violation OR serialization_failure THEN
	NULL;
END $$;

CREATE SEQUENCE kit.together;
CREATE SEQUENCE kit.liker START 501;

CREATE FUNCTION kit.deltas(post uuid DEFAULT NULL) RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT count(*) FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000' AND (post IS NULL OR post_id = post) $$;
};

# ---- Scripts of pgbench. Each client has users and comments of its own, so
# that it could wait or fail only because of a count.

my %script = (
	# Single commands
	alone => q{
\set post random(1, 4)
\set who :client_id * 10 + random(1, 10)
\set comment :client_id * 100 + random(1, 20)
\set dice random(1, 10)
\if :dice <= 4
SELECT blogstore.create_like(kit.p(:post), kit.u(:who));
\elif :dice <= 6
SELECT blogstore.delete_like(kit.p(:post), kit.u(:who));
\elif :dice <= 8
SELECT blogstore.create_comment(kit.p(:post), kit.u(:client_id * 10 + 1), 'comment', kit.c(:comment));
\else
SELECT blogstore.delete_comment(kit.p(:post), kit.c(:comment));
\endif
},
	# Several commands in a transaction, on posts in random order; some are
	# rolled back
	together => q{
\set post random(1, 4)
\set other random(1, 4)
\set third random(1, 4)
\set who :client_id * 10 + random(1, 10)
\set someone :client_id * 10 + random(1, 10)
\set comment :client_id * 100 + random(1, 20)
\set dice random(1, 10)
\set undone random(1, 2)
\set ending random(1, 4)
\if :dice <= 4
BEGIN ISOLATION LEVEL REPEATABLE READ;
\else
BEGIN;
\endif
SELECT nextval('kit.together');
\if :dice = 10
SELECT blogstore.edit_post(kit.p(:post), 'together');
\endif
SELECT blogstore.create_like(kit.p(:post), kit.u(:who));
SELECT blogstore.create_comment(kit.p(:other), kit.u(:client_id * 10 + 1), 'comment', kit.c(:comment));
SAVEPOINT s;
SELECT blogstore.delete_like(kit.p(:third), kit.u(:someone));
SELECT blogstore.delete_comment(kit.p(:other), kit.c(:comment));
\if :undone = 1
ROLLBACK TO SAVEPOINT s;
\endif
SELECT blogstore.create_like(kit.p(:other), kit.u(:someone));
SELECT kit.check_counts(:post, :post);
\if :ending = 1
ROLLBACK;
\else
COMMIT;
\endif
},
	edit => q{
\set post random(1, 4)
\set length random(1, 1500)
SELECT blogstore.edit_post(kit.p(:post), 'edited', repeat('x', :length));
},
	# Posts that are created and deleted
	coming => q{
\set client 40 + :client_id
SELECT kit.somehow(:client, true);
},
	going => q{
\set client 40 + :client_id
\set dice random(1, 10)
\if :dice <= 4
BEGIN ISOLATION LEVEL REPEATABLE READ;
\else
BEGIN;
\endif
SELECT kit.somehow(:client, false), kit.somehow(:client, false);
SELECT kit.check_counts(5, 8);
\if :dice <= 2
ROLLBACK;
\else
COMMIT;
\endif
},
	# Likes of one post, each by a new user
	viral => q{
SELECT blogstore.create_like(kit.p(1), kit.u(nextval('kit.liker')::int));
},
	block => q{
BEGIN;
SELECT blogstore.create_like(kit.p(1), kit.u(nextval('kit.liker')::int));
COMMIT;
},
	snapshot => q{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.create_like(kit.p(1), kit.u(nextval('kit.liker')::int));
COMMIT;
},
	# Likes are created and deleted beside edits that move the post's row.
	unlike => q{
\set who :client_id * 10 + random(1, 10)
SELECT blogstore.create_like(kit.p(3), kit.u(:who));
SELECT blogstore.delete_like(kit.p(3), kit.u(:who));
},
	move => q{
\set length random(1, 1900)
\set ending random(1, 2)
BEGIN;
SELECT blogstore.edit_post(kit.p(3), 'moved', repeat('x', :length));
\if :ending = 1
ROLLBACK;
\else
COMMIT;
\endif
},
	spread => q{
\set post random(1, 1000)
\set who :client_id * 100 + random(1, 100)
SELECT blogstore.create_like(kit.p(:post), kit.u(:who));
},
	check => q{
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT kit.check_counts();
SELECT kit.check_counts();
COMMIT;
SELECT kit.check_counts();
});
for my $name (keys %script)
{
	append_to_file("$base/counter_$name.pgbench", $script{$name});
}

# Start pgbench in the background. A script is a name, or name@weight.
sub start_load
{
	my ($server, $dbname, $name, $scripts, @options) = @_;
	my $load = { name => $name, out => '', err => '' };

	local $ENV{PGAPPNAME} = $name;
	$load->{run} = IPC::Run::start(
		[
			$server->installed_command('pgbench'), '--no-vacuum',
			(map { /^(\w+)(@.*)?/; "--file=$base/counter_$1.pgbench" . ($2 // '') } @$scripts),
			@options, $server->connstr($dbname)
		],
		'<', \undef,
		'>', \$load->{out},
		'2>', \$load->{err});
	return $load;
}

# Tell a load that runs without a limit to end: each client completes its
# transaction, as at the end of pgbench's time.
sub end_load
{
	my ($load) = @_;

	$load->{run}->signal('ALRM') if goes_on($load);
	return;
}

# Wait for the end of a load. Returns how many transactions failed, and how
# many were done by each script.
sub finish_load
{
	my ($load) = @_;

	$load->{run}->finish;
	my @done = $load->{out} =~ /^ - (\d+) transactions/mg;
	@done = $load->{out} =~ /number of transactions actually processed: (\d+)/
	  unless @done;
	my ($failed) = $load->{out} =~ /number of failed transactions: (\d+)/;
	return ($failed, @done);
}

# Check that no client got an error, apart from cut connections if there were
# any.
sub no_error
{
	my ($load, $name, $cut) = @_;
	my $pattern = $cut ? qr/ERROR:|miscounted/ : qr/error|miscounted/i;
	my @errors = grep { $_ =~ $pattern } split /\n/, $load->{err};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", @errors), '', "$name: $load->{name}: no error");
	return;
}

sub fill
{
	my ($server, $dbname, $users, $posts) = @_;

	$server->safe_psql($dbname, $helpers);
	$server->safe_psql(
		$dbname, qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $users) n;
SELECT count(blogstore.create_post(kit.u(1), 'post ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, $posts) n;
});
	return;
}

# Run pgbench to its end, and check that every transaction was done.
sub run_load
{
	my ($server, $dbname, $name, $script, $clients, $transactions) = @_;
	my $load = start_load($server, $dbname, $name, [$script],
		"--client=$clients", "--transactions=$transactions");
	my ($failed, $done) = finish_load($load);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("$failed failed, $done done", '0 failed, ' . $clients * $transactions . ' done',
		"$name: no command failed")
	  or diag $load->{err};
	return;
}

# ---- A server and its standby

my $primary = new_server('primary');
$primary->append_conf(
	'postgresql.conf', q{
deadlock_timeout = 200ms
# Only for scripts that create and delete posts. No other client may wait for
# ever.
lock_timeout = 300s
# Counts the calls of kit.check_counts()
track_functions = pl
});
$primary->start;
create_store($primary, 'postgres');
fill($primary, 'postgres', 3000, 8);
check_store($primary, 'postgres', 'filled');

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));

# Ways to disturb the server. Each returns whether it cuts connections.
my @harms = (
	[ 'nothing' => sub { return 0 } ],
	[ 'backends terminated' => sub {
		$primary->safe_psql('postgres',
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN ('stay', 'go') AND state <> 'idle' LIMIT 5; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
		return 1;
	} ],
	[ 'worker killed' => sub { kill_worker($primary, 'postgres'); return 1 } ],
	[ 'backend killed' => sub {
		my $offset = log_end($primary);
		# The load runs until it is told to end, so there is such a client.
		my $pid = $primary->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'stay' LIMIT 1") || die 'no backend';
		kill 9, $pid;
		wait_logged($primary, $offset, qr/database system is ready to accept connections/);
		return 1;
	} ],
	[ 'stopped at once' => sub {
		$primary->stop('immediate');
		$primary->start;
		return 1;
	} ]);

# The number of comparisons of counts on a server so far
sub looks
{
	my ($server) = @_;

	return $server->safe_psql('postgres',
		"SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'check_counts'");
}

# Wait until a query returns true on a server. Dies if a load has ended
# meanwhile, because no load ends by itself.
sub wait_under_load
{
	my ($server, $query, @loads) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		for my $load (@loads)
		{
			die "$load->{name} has ended: $load->{err}" if !goes_on($load);
		}
		return if $server->safe_psql('postgres', $query) eq 't';
		usleep(100_000);
	}
	die "this did not come true: $query";
}

# Wait for 18 more comparisons, those of six transactions of the reader.
sub wait_looks
{
	my ($server, @loads) = @_;
	my $before = looks($server);

	wait_under_load($server,
		"SELECT sum(calls) >= $before + 18 FROM pg_stat_user_functions WHERE funcname = 'check_counts'", @loads);
	return;
}

# Start all loads, on both servers. They run until they are told to end or are
# cut.
sub start_loads
{
	my $forever = '--time=86400';

	return (
		start_load($primary, 'postgres', 'stay', [ 'alone@6', 'together@3', 'edit@1' ],
			'--client=24', '--jobs=2', $forever),
		start_load($primary, 'postgres', 'go', [ 'coming@3', 'going@1' ],
			'--client=8', $forever),
		start_load($primary, 'postgres', 'check', ['check'], $forever),
		start_load($standby, 'postgres', 'there', ['check'], $forever));
}

# The number of deltas that were ever written
my $deltas_written = q{SELECT coalesce(sum(n_tup_ins), 0) - (SELECT count(*) FROM blogstore.posts WHERE type = 'post') FROM pg_stat_user_tables WHERE relname ~ '^posts_p\d+_delta$'};

my $most = 0;
for my $harm (@harms)
{
	my ($name, $strike) = @$harm;
	my $begun = $primary->safe_psql('postgres', "SELECT nextval('kit.together')");
	my @loads = start_loads();
	my ($stay, $go, $check, $there) = @loads;
	wait_under_load($primary, "SELECT last_value > $begun + 200 FROM kit.together", @loads);
	wait_looks($_, @loads) for $primary, $standby;
	my $cut = $strike->();
	if (!$cut)
	{
		for (1 .. 20)
		{
			my $now = $primary->safe_psql('postgres',
				"SELECT coalesce(max(n), 0) FROM (SELECT count(*) n FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000' GROUP BY post_id) x");
			$most = $now if $now > $most;
		}
		cmp_ok($primary->safe_psql('postgres', $deltas_written), '>', 0, 'there were deltas');
	}
	wait_looks($standby, $there);
	end_load($_) for @loads;
	my ($failed, $alone, $together, $edited) = finish_load($stay);
	no_error($stay, $name, $cut);
	if (!$cut)
	{
		is($failed, 0, "$name: no command failed");
		cmp_ok($_->[1], '>', $_->[0], "$name: $_->[2]")
		  for [ 200, $alone, 'commands were run' ],
		  [ 100, $together, 'transactions were run' ],
		  [ 10, $edited, 'posts were edited' ];
	}
	my ($unlucky, $coming, $going) = finish_load($go);
	no_error($go, $name, $cut);
	($unlucky, my $checked) = finish_load($check);
	no_error($check, $name, $cut);
	cmp_ok($checked, '>', 5, "$name: counts were compared") unless $cut;
	($unlucky, my $checked_there) = finish_load($there);
	no_error($there, $name, 0);
	cmp_ok($checked_there, '>', 5, "$name: counts were compared on the standby");
	note "$name: ", join ' ', map { $_ // '-' } ($alone, $together, $edited, $coming, $going, $checked, $checked_there);
	wait_accepts($primary);
	cmp_ok($primary->safe_psql('postgres', 'SELECT kit.check_counts()'),
		'>=', 4, "$name: counts are exact");
	check_store($primary, 'postgres', $name);
}
note "at most $most deltas of a post";
cmp_ok($most, '<', 1000, 'but never 1,000 deltas of a post');
wait_until($primary, 'postgres', 'SELECT kit.deltas() = 0');
check_store($primary, 'postgres', 'all folded');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
is($standby->safe_psql('postgres', 'SELECT kit.check_counts(), kit.deltas()'),
	$primary->safe_psql('postgres', 'SELECT kit.check_counts(), kit.deltas()'),
	'all folded: on the standby, too');
$standby->stop;

# Likes and edits of a post that is not deleted. A row that moved must not be
# taken for a deleted post.
my $offset = log_end($primary);
my $moves = start_load($primary, 'postgres', 'unlike', [ 'unlike@3', 'move@1' ],
	'--client=6', '--jobs=2', '--transactions=500');
my ($failed) = finish_load($moves);
is($failed, 0, 'unliked beside edits: no command failed')
  or diag join "\n", logged($primary, $offset, qr/ERROR/);
no_error($moves, 'unliked beside edits', 0);
check_store($primary, 'postgres', 'unliked beside edits');

# ---- A post that is held for long

sub likes
{
	my ($server) = @_;

	return $server->safe_psql('postgres', 'SELECT like_count FROM blogstore.get_post(kit.p(1))');
}

my $likes = likes($primary);
my $holder = $primary->background_psql('postgres');
# Lock the post and its counter.
$holder->query_safe("BEGIN; SELECT title FROM blogstore.edit_post(kit.p(1), 'held')");
$holder->query_safe("SELECT blogstore.create_comment(kit.p(1), kit.u(1), 'held', kit.c(9998)), blogstore.delete_comment(kit.p(1), kit.c(9998))");
run_load($primary, 'postgres', 'held', 'viral', 8, 250);
is(likes($primary), $likes + 2000, 'held: all likes are counted');
is($holder->query_safe('SELECT like_count FROM blogstore.get_post(kit.p(1))'),
	$likes + 2000, 'held: the session that holds post and counter sees all likes');
cmp_ok($primary->safe_psql('postgres', 'SELECT kit.deltas(kit.p(1))'),
	'>', 0, 'held: there are deltas');
wait_until($primary, 'postgres', 'SELECT kit.deltas(kit.p(1)) < 300');
pass('held: the worker has merged deltas');
check_store($primary, 'postgres', 'held');

# Deltas are part of a dump, and survive a crash.
run_load($primary, 'postgres', 'not folded', 'snapshot', 2, 5);
$likes += 2010;
command_ok(
	[ 'pg_dump', '-f', "$base/dump.sql", '-d', $primary->connstr('postgres') ],
	'not folded: dump');
my $dumped = () = slurp_file("$base/dump.sql") =~ /^(?!0{8}-0{4}-0{4})\S+\tdelta\t/mg;
cmp_ok($dumped, '>', 0, 'not folded: dumped');
$primary->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.create_like(kit.p(2), kit.u(3000));
SELECT blogstore.create_comment(kit.p(2), kit.u(3000), 'prepared');
PREPARE TRANSACTION 'counted';
});
$primary->stop('immediate');
$primary->start;
eval { $holder->quit };
is($primary->safe_psql('postgres', 'SELECT kit.check_counts(1, 4)'),
	4, 'crashed: counts are exact');
is(likes($primary), $likes, 'crashed: no like is lost');
wait_until($primary, 'postgres', 'SELECT kit.deltas(kit.p(1)) = 0');
check_store($primary, 'postgres', 'crashed');

# A prepared transaction has changed counts: a deletion waits for it, other
# commands do not.
$primary->safe_psql(
	'postgres', q{
SET lock_timeout = '100s';
SELECT blogstore.edit_post(kit.p(2), 'edited');
SELECT blogstore.create_like(kit.p(2), kit.u(2999));
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT blogstore.create_like(kit.p(2), kit.u(2998));
COMMIT;
});
is($primary->safe_psql('postgres', 'SELECT kit.check_counts(2, 2), kit.views_follow()'),
	'1|t', 'prepared: counts are exact');
my $deletion = start_client($primary, 'postgres', 'SELECT blogstore.delete_post(kit.p(2))', 'deletion');
wait_until($primary, 'postgres',
	"SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'");
is($primary->safe_psql('postgres', 'SELECT kit.check_counts(2, 2)'),
	1, 'prepared: a deletion waits');
$primary->safe_psql('postgres', "COMMIT PREPARED 'counted'");
my ($rows, $err) = finish_client($deletion);
is("@$rows$err", 't', 'prepared: the deletion goes on');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p(2)'),
	0, 'prepared: nothing is left of the post');
check_store($primary, 'postgres', 'prepared');

# Restore the dump in another database.
$primary->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$base/dump.sql", '-d', $primary->connstr('restored') ],
	'restored: restore');
is($primary->safe_psql('restored', 'SELECT kit.check_counts(1, 4), like_count FROM blogstore.get_post(kit.p(1))'),
	"4|$likes", 'restored: counts are exact');
wait_until($primary, 'restored', 'SELECT kit.deltas() = 0');
check_store($primary, 'restored', 'restored');
$primary->safe_psql('postgres', 'DROP DATABASE restored');

# ---- Updates of counters are HOT

$primary->safe_psql('postgres', 'CREATE DATABASE hot');
create_store($primary, 'hot');
fill($primary, 'hot', 1300, 1000);
$primary->safe_psql('hot', 'SELECT kit.views_follow(); SELECT pg_stat_reset()');
run_load($primary, 'hot', 'spread', 'spread', 4, 500);
run_load($primary, 'hot', 'contended', 'viral', 8, 100);
wait_until($primary, 'hot', 'SELECT kit.deltas() = 0');
# Statistics arrive with a delay.
my $updates = q{FROM pg_stat_user_tables WHERE relname ~ '^posts_p\d+_delta$'};
wait_until($primary, 'hot', "SELECT sum(n_tup_upd) > 1500 $updates");
my $share = $primary->safe_psql('hot', "SELECT round(100 * sum(n_tup_hot_upd) / sum(n_tup_upd), 1) $updates");
note "$share % of updates are HOT";
cmp_ok($share, '>', 95, 'updates of counters are HOT');
check_store($primary, 'hot', 'HOT');

# ---- Without a worker that folds deltas

sub without_worker
{
	my ($server, $name) = @_;
	my $likes = likes($server);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	run_load($server, 'postgres', "$name: snapshots", 'snapshot', 2, 10);
	is($server->safe_psql('postgres', 'SELECT kit.deltas()'),
		20, "$name: deltas stay");
	check_answers($server, 'postgres', "$name: not folded");
	is($server->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'),
		'', "$name: not folded: verify() shows nothing");
	is($server->safe_psql('postgres', "SELECT like_count FROM blogstore.edit_post(kit.p(1), '$name')"),
		$likes + 20, "$name: an edit returns the counts");
	run_load($server, 'postgres', "$name: blocks", 'block', 8, 40);
	cmp_ok($server->safe_psql('postgres', 'SELECT kit.deltas()'),
		'<', 100, "$name: in blocks a process adds to one delta");
	check_answers($server, 'postgres', "$name: blocks");

	# repair() folds deltas of free counters, and merges those of a locked
	# counter into one.
	run_load($server, 'postgres', "$name: snapshots once more", 'snapshot', 2, 10);
	my $lock = $server->background_psql('postgres');
	$lock->query_safe("BEGIN; SELECT id FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p(1) AND id = '00000000-0000-0000-0000-000000000000' FOR NO KEY UPDATE");
	is($server->safe_psql('postgres', 'SELECT blogstore.repair(), kit.deltas()'),
		'0|1', "$name: repair() merges the deltas of a locked counter");
	$lock->query_safe('COMMIT');
	$lock->quit;
	is($server->safe_psql('postgres', 'SELECT blogstore.repair(), kit.deltas()'),
		'0|0', "$name: repair() folds all");
	check_answers($server, 'postgres', "$name: folded");
	is(likes($server), $likes + 20 + 320 + 20, "$name: all likes are counted");
	return;
}

wait_until($primary, 'postgres', 'SELECT kit.deltas() = 0');
$primary->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
without_worker($primary, 'worker stopped');
run_load($primary, 'postgres', 'left for the worker', 'snapshot', 2, 10);
$primary->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($primary, 'postgres', 'SELECT kit.deltas() = 0');
check_store($primary, 'postgres', 'worker started');
$primary->stop;

my $unprepared = new_server('unprepared', prepared => 0);
wal_level_too_low($unprepared);
$unprepared->append_conf('postgresql.conf', "shared_preload_libraries = 'blogstore'");
$unprepared->start;
$unprepared->safe_psql('postgres', 'SET client_min_messages = error; CREATE EXTENSION blogstore; SELECT blogstore.create_containers(4)');
create_kit($unprepared, 'postgres');
fill($unprepared, 'postgres', 900, 8);
without_worker($unprepared, 'wal_level too low');

done_testing();
