
# Crashes under load: kill -9 of the worker in mid-batch and at random, and of
# the postmaster. Each acknowledged command has taken effect exactly once.
# Clients can repeat the other commands. Counts and views are exact without
# manual steps.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $CLIENTS = 4;
my $ROUNDS = 1500;

my $node = new_server('crash');
# Acknowledged commits must survive the crash.
$node->append_conf('postgresql.conf', "fsync = on\nsynchronous_commit = on\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 120);
check_store($node, 'postgres', 'filled');

# ---- kill -9 of the worker in mid-batch: a lock holds it between two writes

my $holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query_safe('BEGIN; LOCK TABLE blogstore.feed IN EXCLUSIVE MODE');
$node->safe_psql('postgres',
	"SELECT count(blogstore.create_post(kit.u(1), 'mid batch ' || n, 'x', kit.p(500 + n), kit.d(500 + n))) FROM generate_series(1, 20) n"
);
$node->poll_query_until('postgres',
	"SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.backend_type = 'blogstore worker' AND NOT l.granted"
) or die 'the worker does not come to the feed';
# The slot's confirmed position is on disk now.
$node->safe_psql('postgres', 'CHECKPOINT');
my $pid = worker_pid($node, 'postgres');
kill 9, $pid;
# The crash restart also ends the session that holds the lock.
eval { $holder->quit };
wait_accepts($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
check_store($node, 'postgres', 'worker killed in mid batch');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM blogstore.list_feed() WHERE title LIKE 'mid batch%'"
	),
	'20',
	'worker killed in mid batch: the batch is shown');

# ---- Crashes under load

# A client's script. Each statement has ids of its own and reports when it is
# done. At the end of the script the client waits until the crash disconnects
# it.
sub script
{
	my ($base, $user) = @_;
	my $sql = '';

	for my $n (1 .. $ROUNDS)
	{
		my $own = $base + $n;
		my $shared = 1 + $n % 5;

		$sql .= "SELECT 'post $own' FROM blogstore.create_post(kit.u($user), 'title $own', repeat('x', 300), kit.p($own), kit.d($own));\n";
		$sql .= "SELECT 'comment $shared $own' FROM blogstore.create_comment(kit.p($shared), kit.u($user), 'x', kit.c($own));\n";
		$sql .= "SELECT 'like $own' FROM blogstore.create_like(kit.p($own), kit.u($user));\n";
		$sql .= "SELECT 'edit $own' FROM blogstore.edit_post(kit.p($own), content => 'edited');\n"
		  if $n % 4 == 0;
		$sql .= "SELECT 'uncomment $shared $own' FROM blogstore.delete_comment(kit.p($shared), kit.c($own));\n"
		  if $n % 3 == 0;
		$sql .= "SELECT 'unlike $own' FROM blogstore.delete_like(kit.p($own), kit.u($user));\n"
		  if $n % 5 == 0;
	}
	return $sql . "SELECT pg_sleep(86400);\n";
}

# Compare the acknowledged commands with the stored items.
sub check_acknowledged
{
	my ($name, @acks) = @_;
	my %post = map { split /\|/, $_, 2 } split /\n/,
	  $node->safe_psql('postgres',
		"SELECT right(id::text, 12)::int, content FROM blogstore.posts WHERE type = 'post'"
	  );
	my %comment = map { $_ => 1 } split /\n/,
	  $node->safe_psql('postgres',
		"SELECT right(post_id::text, 12)::int || ' ' || right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment'"
	  );
	my %like = map { $_ => 1 } split /\n/,
	  $node->safe_psql('postgres',
		"SELECT right(post_id::text, 12)::int FROM blogstore.posts WHERE type = 'like' AND post_id > kit.p(99999)"
	  );
	# An unacknowledged deletion may have removed its item.
	my $deleted = sub { my ($key, $every) = @_; return substr($key, -5) % $every == 0 };
	my %there = (
		post => sub { exists $post{ $_[0] } },
		edit => sub { ($post{ $_[0] } // '') eq 'edited' },
		comment => sub { $comment{ $_[0] } || $deleted->($_[0], 3) },
		uncomment => sub { !$comment{ $_[0] } },
		like => sub { $like{ $_[0] } || $deleted->($_[0], 5) },
		unlike => sub { !$like{ $_[0] } });
	my @missing;

	for my $ack (@acks)
	{
		my ($what, $key) = split / /, $ack, 2;
		push @missing, $ack unless $there{$what}->($key);
	}
	is("@missing", '', "$name: no acknowledged command is missing");
	return;
}

my %kills = (
	'worker' => sub {
		my $victim = worker_pid($node, 'postgres');
		return 0 unless $victim;
		kill 9, $victim;
		return 1;
	},
	'backend' => sub {
		my $victim = $node->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'backend_1'"
		);
		return 0 unless $victim;
		kill 9, $victim;
		return 1;
	},
	'postmaster' => sub {
		$node->kill9;
		return 1;
	});

my $round = 0;
for my $what ('worker', 'backend', 'postmaster')
{
	my $base = 1000000 * ++$round;
	my @clients = map {
		start_client($node, 'postgres', script($base + 100000 * $_, $_), "${what}_$_")
	} (1 .. $CLIENTS);

	# Crash only after each client has done part of its script.
	$node->poll_query_until(
		'postgres', qq{
SELECT count(*) = $CLIENTS FROM (
	SELECT FROM blogstore.posts WHERE type = 'post' AND post_id > kit.p($base)
	GROUP BY left(right(id::text, 7), 2) HAVING count(*) > 60) x
}) or die 'the clients do not get going';
	while (!$kills{$what}->()) { }

	my @acks;
	my $lost = 0;
	for my $client (@clients)
	{
		my ($rows, $err) = finish_client($client);
		push @acks, @$rows;
		$lost++ if $err =~ /connection/;
	}
	is($lost, $CLIENTS, "$what killed: all clients were cut off");
	cmp_ok(scalar @acks, '>', 180 * $CLIENTS,
		"$what killed: in the middle of the load");

	start_again($node) if $what eq 'postmaster';
	wait_accepts($node);
	check_store($node, 'postgres', "$what killed");
	check_acknowledged("$what killed", @acks);

	# The clients repeat their commands twice. Commands that took effect before
	# the crash must not take effect again.
	$node->safe_psql('postgres',
		join '',
		map {
			my $user = $_;
			map {
				my $own = $base + 100000 * $user + $_;
				my $shared = 1 + $_ % 5;
				"SELECT blogstore.create_post(kit.u($user), 'title $own', repeat('x', 300), kit.p($own), kit.d($own));\n"
				  . "SELECT blogstore.create_comment(kit.p($shared), kit.u($user), 'x', kit.c($own));\n"
				  . "SELECT blogstore.create_like(kit.p($own), kit.u($user));\n"
			} (grep { $_ % 4 } 1 .. 50) x 2
		} (1 .. $CLIENTS));
	is( $node->safe_psql(
			'postgres', qq{
SELECT count(*), min(like_count), max(like_count)
FROM generate_series(1, $CLIENTS) c, generate_series(1, 50) n, LATERAL blogstore.get_post(kit.p($base + 100000 * c + n))
WHERE n % 4 <> 0
}),
		38 * $CLIENTS . '|1|1',
		"$what killed: commands repeated are done once");
	check_store($node, 'postgres', "$what killed, commands repeated");
}

done_testing();
