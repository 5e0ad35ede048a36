
# distribute_containers() on a server with data, beside readers and writers. If
# the call is interrupted, everything is as before. If it succeeds, no client
# gets an error, nothing is lost, and every item is the same.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $USERS = 20;
my $POSTS = 120;
my $LIVE = 1000;    # clients write to posts from this number on
my $CALL = 'SELECT blogstore.distribute_containers(8)';

my $cluster = new_cluster('distribute', containers => 0);
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

create_kit_everywhere($cluster);
$coordinator->safe_psql('postgres', 'SET client_min_messages = error; CREATE ROLE blog LOGIN; CREATE ROLE report; GRANT CREATE ON SCHEMA blogstore TO blog');

sub error_of
{
	my ($sql, $member) = @_;
	my ($status, $out, $err) = ($member // $coordinator)->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $status ? $err =~ s/.*?ERROR:  (.*?)\n.*/$1/sr : 'no error';
}

# ---- Missing prerequisites

is(error_of($CALL), '55000: the blogstore containers have not been created', 'without containers');
$coordinator->safe_psql('postgres', q{SET client_min_messages = error; SELECT blogstore.create_containers(4, 'blog', distributed => false)});
is(error_of($CALL, $one), '55000: this is not the coordinator of the cluster', 'on a node');
is(error_of("BEGIN ISOLATION LEVEL REPEATABLE READ; $CALL"), '25001: distribute_containers() requires the isolation level READ COMMITTED', 'with a snapshot that stays');
is(error_of("BEGIN; SELECT blogstore.create_user('gone'); $CALL"), '25001: distribute_containers() cannot run in a transaction that has written', 'behind what has written');
is(error_of("SET default_transaction_read_only = on; $CALL"), '25006: cannot execute distribute_containers() in a read-only transaction', 'read only');
is(error_of('SELECT blogstore.distribute_containers(0)'), '22023: partitions must be between 1 and 1024', 'no shards');
is(error_of("GRANT EXECUTE ON FUNCTION blogstore.distribute_containers TO blog; SET ROLE blog; $CALL"),
	'42501: must be superuser to spread containers over a cluster', 'as another role');
for my $case (
	[ 'CREATE VIEW public.titles AS SELECT title FROM blogstore.posts', qr/view public.titles/, 'DROP VIEW public.titles' ],
	[ 'CREATE TRIGGER t BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()', qr/trigger t of blogstore.posts\w*/, 'DROP TRIGGER t ON blogstore.posts' ],
	[ 'CREATE FUNCTION public.same(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $1 $$; CREATE INDEX same_title ON blogstore.posts_p00_post (public.same(title))', qr/index blogstore.same_title/, 'DROP INDEX blogstore.same_title; DROP FUNCTION public.same' ],
	[ 'CREATE UNIQUE INDEX one_title ON blogstore.posts_p00_post (title)', qr/unique index blogstore.one_title without the partition key/, 'DROP INDEX blogstore.one_title' ],
	[ q{ALTER TABLE blogstore.users ADD CONSTRAINT no_root CHECK (username <> 'root')}, qr/constraint no_root of blogstore.users/, 'ALTER TABLE blogstore.users DROP CONSTRAINT no_root' ],
	[ 'CREATE FUNCTION public.one() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$; ALTER TABLE blogstore.posts ADD COLUMN n integer DEFAULT public.one()', qr/default of column n of blogstore.posts\w*/, 'ALTER TABLE blogstore.posts DROP COLUMN n; DROP FUNCTION public.one' ],
	[ 'CREATE DOMAIN public.short AS text CHECK (length(VALUE) < 9); ALTER TABLE blogstore.users ADD COLUMN n public.short', qr/type public.short of column n of blogstore.users\w*/, 'ALTER TABLE blogstore.users DROP COLUMN n; DROP DOMAIN public.short' ],
	[ 'CREATE TABLE blogstore.posts_one_machine ()', qr/posts_one_machine/, 'DROP TABLE blogstore.posts_one_machine' ])
{
	my ($make, $what, $drop) = @$case;

	$coordinator->safe_psql('postgres', "SET citus.enable_ddl_propagation = off; $make");
	like(error_of($CALL), qr/^(0A000: $what cannot be carried over to a cluster|42P07: relation "blogstore.$what" already exists)$/, "in the way: $what");
	$coordinator->safe_psql('postgres', "SET citus.enable_ddl_propagation = off; $drop");
}

# ---- A store with items of every kind, and additions of the owner

$coordinator->safe_psql(
	'postgres', qq{
SET client_min_messages = error;
ALTER TABLE blogstore.posts ADD COLUMN mood text COLLATE "C" DEFAULT 'calm';
ALTER TABLE blogstore.users ADD COLUMN email text;
CREATE INDEX posts_title ON blogstore.posts (title);
CREATE INDEX likes_by_date ON blogstore.posts_p00_like (creation_date);
GRANT SELECT ON blogstore.posts TO report;
ALTER TABLE blogstore.posts ADD CONSTRAINT polite CHECK (content <> 'rude');
SELECT count(blogstore.create_user('User ' || n, kit.u(n), kit.d(n), CASE WHEN n % 3 = 0 THEN '{"age": 7}'::jsonb END)) FROM generate_series(1, $USERS + 50) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % $USERS), 'title ' || n, repeat('content ' || n || ' ', 200), kit.p(n), kit.d(n),
	CASE WHEN n % 2 = 0 THEN '{"tags": ["a"]}'::jsonb END)) FROM generate_series(1, $POSTS) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 8), 'live', 'live', kit.p($LIVE + n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_comment(kit.p(1 + n % $POSTS), kit.u(1 + n % 7), 'comment ' || n, kit.c(n), kit.d(n))) FROM generate_series(1, 400) AS n;
SELECT count(blogstore.create_comment(kit.p(1 + n % $POSTS), kit.u(1 + n % 7), 'reply ' || n, kit.c(1000 + n), kit.d(n), parent_id => kit.c(n))) FROM generate_series(1, 50) AS n;
SELECT count(blogstore.create_like(kit.p(1 + n % $POSTS), kit.u(1 + n % 17), kit.d(n))) FROM generate_series(1, 1500) AS n;
SELECT count(blogstore.hide_post(kit.p(10 * n))) FROM generate_series(1, 12) AS n;
SELECT blogstore.edit_post(kit.p(5), 'edited'), blogstore.hide_comment(kit.p(8), kit.c(7)), blogstore.edit_user(kit.u(4), 'Renamed');
SELECT blogstore.delete_post(kit.p(7)), blogstore.delete_user(kit.u(9)), blogstore.delete_like(kit.p(2), kit.u(2));
SELECT count(blogstore.follow_user(kit.u(i), kit.u(n), kit.d(i + n))) FROM generate_series(1, $USERS) AS i, generate_series(1, $USERS) AS n WHERE i <> n AND 9 NOT IN (i, n) AND (i = 1 OR n < 4 OR (i + n) % 3 = 0);
SELECT blogstore.follow_user(kit.u($USERS + 1), kit.u($USERS + 2));
CREATE INDEX follows_by_date ON blogstore.users_p00_follow (creation_date);
UPDATE blogstore.posts SET mood = 'glad' WHERE title LIKE 'title 3%';
UPDATE blogstore.users SET email = 'a\@b' WHERE user_id = kit.u(3) AND type = 'user';
});
set_and_reload($_, 'blogstore.topic_property', 'tags') foreach members($cluster);
wait_until($coordinator, 'postgres', q{SELECT count(*) > 0 FROM blogstore.topics});
wait_jobs($cluster, $coordinator);
ok(wait_views($coordinator), 'the views follow');

# Every item by plain SQL, without posts that clients write to, and without
# deltas, which can be folded at any time
my $ITEMS = qq{
SELECT id, type, post_id, user_id, user_username, title, content, creation_date, hidden, publish_date, parent_id, modification_date, properties, mood
FROM blogstore.posts%1\$s WHERE type <> 'delta' AND post_id < kit.p($LIVE) ORDER BY type, id};
my $COUNTED = qq{
SELECT post_id, sum(comment_count), sum(like_count) FROM blogstore.posts%1\$s
WHERE (type = 'post' OR item_id = post_id) AND post_id < kit.p($LIVE) GROUP BY post_id ORDER BY post_id};
my $NAMES = 'SELECT * FROM blogstore.usernames%1$s ORDER BY 1';
my $FOLLOWS = qq{
SELECT id, user_id, user_username, followed_id, followed_username, creation_date
FROM blogstore.users%1\$s WHERE type = 'follow' AND user_id <= kit.u($USERS) ORDER BY id};
my $USER_COLUMNS = 'id, type, user_id, username, creation_date, modification_date, properties, email';
my @requests = (
	'SELECT * FROM blogstore.get_users(ARRAY(SELECT kit.u(n) FROM generate_series(1, 30) n))',
	qq{SELECT * FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(1, $POSTS) n))},
	qq{SELECT c.* FROM generate_series(1, $POSTS) n, LATERAL blogstore.list_post_comments(kit.p(n), NULL, include_hidden => true) c},
	qq{SELECT c.* FROM generate_series(1, $POSTS) n, LATERAL blogstore.list_post_likes(kit.p(n), NULL) c},
	qq{SELECT c.* FROM generate_series(1, $USERS) n, LATERAL blogstore.list_user_comments(kit.u(n), NULL) c WHERE post_id < kit.p($LIVE)},
	qq{SELECT c.* FROM generate_series(1, $USERS) n, LATERAL (SELECT * FROM blogstore.list_user_posts(kit.u(n), NULL) WHERE post_id < kit.p($LIVE)) c},
	q{SELECT * FROM blogstore.list_topics()},
	q{SELECT * FROM blogstore.list_topic_posts('a', NULL)},
	qq{SELECT c.* FROM generate_series(1, $USERS) n, LATERAL blogstore.list_following(kit.u(n), NULL) c},
	qq{SELECT c.* FROM generate_series(1, $USERS) n, LATERAL blogstore.list_followers(kit.u(n), NULL) c},
	qq{SELECT n, c.* FROM generate_series(1, $USERS) n, LATERAL (SELECT * FROM blogstore.list_home_feed(kit.u(n), NULL) WHERE post_id < kit.p($LIVE)) c});

sub content
{
	return map { $coordinator->safe_psql('postgres', sprintf $_, '') } $ITEMS, $COUNTED, $NAMES, $FOLLOWS, @_;
}

my $one_machine = "SELECT $USER_COLUMNS FROM blogstore.users WHERE type = 'user' ORDER BY id";
my $spread = "SELECT $USER_COLUMNS FROM blogstore.user_items ORDER BY id";
my @before = content($one_machine);
my @answers = map { $coordinator->safe_psql('postgres', $_) } @requests;

# ---- The call waits for a transaction that has locked the containers, beside
# others; then it is killed

# A session with a like, a follow and the end of one that are not committed,
# which keeps the call from its last step
sub hold
{
	my ($n) = @_;
	my $session = $coordinator->background_psql('postgres');

	$session->query_safe(qq{BEGIN; SELECT FROM blogstore.create_like(kit.p($LIVE + 1), kit.u($n));
SELECT FROM blogstore.follow_user(kit.u($USERS + 3), kit.u($USERS + $n));
SELECT blogstore.unfollow_user(kit.u($USERS + 1), kit.u($USERS + 2))});
	return $session;
}

sub start_call
{
	my $client = start_client($coordinator, 'postgres', "SET client_min_messages = notice; $CALL", 'distribute');

	# The call reports that it waits when it has copied everything.
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return $client if -s $client->{err} && slurp_file($client->{err}) =~ /waiting for transactions that have locked the containers/;
		give_up($cluster, 'the call has ended') if !goes_on($client);
		select(undef, undef, undef, 0.1);
	}
	give_up($cluster, 'the call does not come to its last step');
	return;
}

for my $victim ('its backend', 'the coordinator', 'a node')
{
	my $holder = hold(11);
	my $call = start_call();
	my ($killed) = $victim eq 'a node' ? $two : $coordinator;

	if ($victim eq 'its backend')
	{
		my $pid = $coordinator->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE application_name = 'distribute'});

		kill 'KILL', $pid;
	}
	else
	{
		$killed->kill9;
	}
	if ($victim eq 'a node')
	{
		# The call goes on as far as it can without the node.
		$holder->query_safe('ROLLBACK');
	}
	my (undef, $err) = finish_client($call);

	like($err, qr/server closed|terminat|ERROR|FATAL|connection/, "$victim is killed: the call fails");
	$victim eq 'its backend' ? wait_accepts($coordinator) : start_member($cluster, $killed);
	eval { $holder->quit };
	wait_recovered($cluster);
	is(join("\n", on_each($cluster, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace
AND (relname ~ '_spread|_one_machine|^user_items|^posts_(post|comment|like|delta)|^users_(post|follow)' OR relname ~ '^(posts|users|usernames)_[0-9]')})),
		"0\n0\n0", "$victim is killed: none of its tables is left");
	is_deeply([ content($one_machine) ], \@before, "$victim is killed: every item is as before");
	is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.verify()"), 0, "$victim is killed: verify() shows nothing")
	  if $coordinator->safe_psql('postgres', q{SELECT blogstore.wait_for_views('600 s')}) eq 't';
}

# ---- Beside clients

my $base = $PostgreSQL::Test::Utils::tmp_check;

sub start_bench
{
	my ($name, $protocol, $script) = @_;
	my $client = { name => $name, out => '', err => '' };

	append_to_file("$base/$name.pgbench", "\\set post random($LIVE + 1, $LIVE + 20)\n\\set someone random(1, 8)\n\\set reader random(21, 70)\n$script");
	$client->{run} = IPC::Run::start(
		[
			$coordinator->installed_command('pgbench'), '--no-vacuum', '--client=2', "--protocol=$protocol",
			'--time=86400', '--rate=50', '--log', "--log-prefix=$base/$name", "--file=$base/$name.pgbench", $coordinator->connstr('postgres')
		],
		'<', \undef,
		'>', \$client->{out},
		'2>', \$client->{err});
	return $client;
}

my $write = q{SELECT FROM blogstore.create_comment(kit.p(:post), kit.u(:someone), '%s');
SELECT FROM blogstore.create_like(kit.p(:post), kit.u(:reader));
SELECT blogstore.delete_like(kit.p(:post), kit.u(:reader));
SELECT FROM blogstore.edit_post(kit.p(:post), 'anew');
};
# A missing row is an error: division by zero.
my $read = q{SELECT 1 / count(*) FROM blogstore.get_post(kit.p(:post));
SELECT 1 / count(*) FROM blogstore.get_user(kit.u(:someone));
SELECT 1 / count(*) FROM blogstore.get_user_by_name('user ' || :reader);
SELECT 1 / count(*) FROM blogstore.list_user_posts(kit.u(:someone));
SELECT 1 / count(*) FROM blogstore.list_post_likes(kit.p(3));
SELECT 1 / count(u) FROM (SELECT blogstore.get_user(kit.u(:someone)) AS u) x;
BEGIN;
SELECT FROM blogstore.get_post(kit.p(:post));
SELECT FROM blogstore.create_like(kit.p(:post), kit.u(:someone));
COMMIT;
};
my @clients = map { (start_bench("writer_$_", $_, sprintf $write, $_), start_bench("reader_$_", $_, $read)) } 'simple', 'prepared';

# Wait until each client has done more.
sub clients_go_on
{
	my ($name) = @_;
	my $size = sub { my ($client) = @_; my $sum = 0; $sum += -s $_ foreach glob "$base/$client->{name}.[0-9]*"; return $sum };
	my %before = map { $_->{name} => $size->($_) } @clients;

	for my $client (@clients)
	{
		my $waited = 0;

		while ($size->($client) <= $before{ $client->{name} } && goes_on($client) && $client->{err} !~ /ERROR|aborted/)
		{
			give_up($cluster, "$client->{name} got no answer") if $waited++ > 10 * $PostgreSQL::Test::Utils::timeout_default;
			select(undef, undef, undef, 0.1);
		}
		ok(goes_on($client) && $client->{err} !~ /ERROR|aborted/, "$name: $client->{name} goes on") or diag $client->{err};
	}
	return;
}

# Sessions that know the old tables: one with prepared statements, one with an
# older snapshot, and statements with older snapshots
my $holder = hold(12);
my $knows = $coordinator->background_psql('postgres');
my $snapshot = $coordinator->background_psql('postgres', on_error_stop => 0);
my $gate = $coordinator->background_psql('postgres');

$knows->query_safe('PREPARE post AS SELECT title FROM blogstore.get_post($1); PREPARE likes AS SELECT count(*) FROM blogstore.posts WHERE post_id = $1');
is($knows->query_safe('EXECUTE post(kit.p(5))'), 'edited', 'a session reads the old tables');
my $likes = $knows->query_safe('EXECUTE likes(kit.p(5))');
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
$gate->query_safe('SELECT pg_advisory_lock(7)');
my @statements = (
	start_client($coordinator, 'postgres', q{SELECT (blogstore.get_user(kit.u(4 + length(pg_advisory_lock_shared(7)::text)))).username}, 'statement_of_a_function'),
	start_client($coordinator, 'postgres', q{SELECT u.username FROM (SELECT 4 + length(pg_advisory_lock_shared(7)::text) AS n OFFSET 0) x, LATERAL blogstore.get_user(kit.u(x.n)) u}, 'statement_from'));
wait_until($coordinator, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'statement%' AND wait_event = 'advisory'}, 2);

clients_go_on('before');
my $call = start_call();
clients_go_on('as long as the call waits');
$holder->query_safe('COMMIT');
my (undef, $said) = finish_client($call);
unlike($said, qr/ERROR|WARNING/, 'the containers are distributed');
like($said, qr/copied [0-9]+ rows, and copied [1-9][0-9]* changed rows again/, 'with the changes made meanwhile');
clients_go_on('after');

$gate->query_safe('SELECT pg_advisory_unlock(7)');
for my $client (@statements)
{
	my ($rows, $err) = finish_client($client);

	is("@$rows $err", 'Renamed ', 'a statement that has begun before finds a user');
}
is($knows->query_safe('EXECUTE post(kit.p(5))'), 'edited', 'a session that knows the old tables reads the new');
is($knows->query_safe('EXECUTE likes(kit.p(5))'), $likes, 'a prepared statement on the container, too');
$snapshot->query('SELECT * FROM blogstore.get_user(kit.u(4))');
like($snapshot->{stderr}, qr/ERROR:  the containers were spread over the cluster after the transaction's snapshot was taken/, 'an older snapshot is told');
$_->quit foreach $holder, $knows, $snapshot, $gate;

for my $client (@clients)
{
	$client->{run}->signal('ALRM') if goes_on($client);
	$client->{run}->finish;
	is($client->{run}->result(0), 0, "$client->{name}: no error") or diag $client->{err};
	my ($done) = $client->{out} =~ /number of transactions actually processed: (\d+)/;
	my ($protocol) = $client->{name} =~ /writer_(.*)/ or next;

	is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = '$protocol'"),
		$done, "$client->{name}: each comment is there once");
}
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.get_like(kit.p($LIVE + 1), kit.u(12))"), 1, 'the like that was waited for is there');
is($coordinator->safe_psql('postgres', "SELECT string_agg(followed_username, ',') FROM blogstore.list_following(kit.u($USERS + 3))"), 'User ' . ($USERS + 12), 'so is the follow');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_following(kit.u($USERS + 1))"), 0, 'and another one has ended');

# ---- The result

is_deeply([ content($spread) ], \@before, 'every item is as before');
is_deeply([ map { $coordinator->safe_psql('postgres', sprintf $_, '_one_machine') } $ITEMS, $COUNTED, $NAMES, $FOLLOWS, $one_machine =~ s/blogstore\.users/blogstore.users_one_machine/r ],
	\@before, 'the old tables still have every item');
wait_jobs($cluster, members($cluster));
ok(cluster_views_follow($cluster), 'the views follow');
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.topics}), 0, 'the coordinator has no posts, and no topics');
same_everywhere($cluster, $requests[$_], $answers[$_], "request $_ returns what it did before") foreach 0 .. $#requests;
views_right($cluster, 'spread');
is($coordinator->safe_psql('postgres', q{SELECT count(DISTINCT nodename || nodeport), count(*) FROM citus_shards WHERE table_name = 'blogstore.posts_post'::regclass}),
	'2|8', 'the shards are on both nodes');
is(join("\n", on_each($cluster, q{SELECT relowner::regrole || has_table_privilege('report', oid, 'SELECT')::text FROM pg_class WHERE oid = 'blogstore.posts'::regclass})),
	"blogtrue\nblogtrue\nblogtrue", 'owner and rights are as before');
is($coordinator->safe_psql('postgres', q{SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY indexrelid::regclass::text) FROM pg_index
WHERE indrelid IN ('blogstore.posts_post'::regclass, 'blogstore.posts_like'::regclass)}),
	'blogstore.likes_by_date_spread blogstore.posts_like_list blogstore.posts_like_pkey blogstore.posts_like_title_idx blogstore.posts_post_by_user blogstore.posts_post_date blogstore.posts_post_pkey blogstore.posts_post_title_idx',
	'indexes are as before');
is($coordinator->safe_psql('postgres', q{SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'blogstore.users_follow'::regclass}),
	'blogstore.follows_by_date_spread blogstore.users_follow_by_followed blogstore.users_follow_list blogstore.users_follow_pkey', 'those of follows, too');
$coordinator->safe_psql('postgres', q{SELECT blogstore.create_post(kit.u(1), 'new', 'new', kit.p(900))});
is($coordinator->safe_psql('postgres', q{SELECT mood FROM blogstore.posts WHERE post_id = kit.p(900) AND type = 'post'}), 'calm', 'with the column that the owner has added');
is($one->safe_psql('postgres', q{SELECT kit.try('blogstore.create_user(''uSER 5'')')}) =~ s/,.*//sr, '23505', 'a name is taken on every node');
like(error_of(q{SELECT blogstore.create_comment(kit.p(900), kit.u(1), 'rude')}), qr/polite/, 'the CHECK constraint exists');
is(error_of($CALL), '55000: the containers are already spread over the cluster', 'a second call is refused');
$coordinator->safe_psql('postgres', 'DROP TABLE blogstore.posts_one_machine, blogstore.users_one_machine, blogstore.usernames_one_machine');
views_right($cluster, 'without the old tables');

# ---- A shard moves to the machine that had all data

$coordinator->safe_psql('postgres', sprintf "SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true)", $coordinator->host, $coordinator->port);
move_shard($cluster, $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p(900))"),
	$coordinator->safe_psql('postgres', 'SELECT port FROM blogstore.node_of(kit.p(900))') == $one->port ? $one : $two, $coordinator, 'block_writes');
is($coordinator->safe_psql('postgres', 'SELECT port FROM blogstore.node_of(kit.p(900))'), $coordinator->port, 'a shard has come to the machine that had all');
views_right($cluster, 'with a shard there');

done_testing();
