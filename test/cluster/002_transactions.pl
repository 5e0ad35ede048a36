
# A transaction over two nodes commits on both or on none, and what was
# acknowledged is not lost, even if a member is killed in the midst of it or
# under load. Counts are exact beside clients on all members. Renames and
# deletions reach the items on every node. The views are like those of one
# server.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = long_tests() ? 5 : 1;
my $PAIRS = 100000;

# An acknowledged commit must survive the crash.
my $cluster = new_cluster('pairs', settings => "fsync = on\nsynchronous_commit = on");
my $single = new_single($cluster, 'single');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

# ---- The same data on a cluster and on one server

$_->safe_psql('postgres', $FILL) foreach $single, $one;
views_right($cluster, 'filled');

# Check that the views of every member are like those of the single server.
sub as_one_machine
{
	my ($name) = @_;
	my $columns = 'id, user_id, user_username, title, content, comment_count, like_count, creation_date, hidden, properties';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_views($single), "$name: the views of one server follow");
	ok(cluster_views_follow($cluster), "$name: the views follow");
	for my $query (
		"SELECT $columns FROM blogstore.list_feed(30)",
		"SELECT $columns FROM blogstore.list_feed(30, kit.d(40), kit.p(40))",
		"SELECT $columns FROM blogstore.list_feed(NULL, oldest_first => true)",
		"SELECT n, p.* FROM generate_series(1, 13) AS n, LATERAL (SELECT $columns FROM blogstore.list_user_posts(kit.u(n), 3)) AS p",
		"SELECT n, p.* FROM generate_series(1, 13) AS n, LATERAL (SELECT $columns FROM blogstore.list_user_posts(kit.u(n), NULL, include_hidden => true)) AS p")
	{
		same_everywhere($cluster, $query, $single->safe_psql('postgres', $query), "$name: as on one server: $query");
	}
	return;
}
as_one_machine('filled');

# ---- Renames and deletions reach all nodes

# Run a command on a member and on the single server.
sub command
{
	my ($member, $sql) = @_;

	$_->safe_psql('postgres', $sql) foreach $member, $single;
	return;
}

command($one, q{SELECT blogstore.edit_user(kit.u(3), 'renamed from a node')});
command($coordinator, q{SELECT blogstore.edit_user(kit.u(4), 'renamed from the coordinator')});
command($two, q{SELECT blogstore.hide_post(kit.p(59)), blogstore.edit_post(kit.p(58), 'edited')});
same_everywhere($cluster, 'SELECT username FROM blogstore.get_users(ARRAY[kit.u(3), kit.u(4)])',
	"renamed from a node\nrenamed from the coordinator", 'a rename is seen at once');
wait_jobs($cluster, $single, members($cluster));
is($coordinator->safe_psql('postgres', q{
SELECT user_username, type, count(*) FROM blogstore.posts WHERE user_id IN (kit.u(3), kit.u(4)) AND type <> 'delta' GROUP BY 1, 2 ORDER BY 1, 2}),
	$single->safe_psql('postgres', q{
SELECT user_username, type, count(*) FROM blogstore.posts WHERE user_id IN (kit.u(3), kit.u(4)) AND type <> 'delta' GROUP BY 1, 2 ORDER BY 1, 2}),
	'no item on any node has an old name');
as_one_machine('renamed');

my $theirs = 'ARRAY(SELECT kit.p(n) FROM generate_series(1, 60) AS n WHERE 1 + n % 12 = 5)';
command($two, 'SELECT blogstore.delete_user(kit.u(5)), blogstore.delete_post(kit.p(57))');
# At once, wherever the items are that the workers still have to purge
same_everywhere($cluster, "SELECT count(*) FROM blogstore.get_posts($theirs)", 0, 'a deleted user: no posts');
same_everywhere($cluster, 'SELECT count(*) FROM blogstore.list_user_posts(kit.u(5))', 0, 'a deleted user: no list of posts');
same_everywhere($cluster, 'SELECT count(*) FROM blogstore.list_user_likes(kit.u(5))', 0, 'a deleted user: no likes');
same_everywhere($cluster, 'SELECT count(*) FROM blogstore.list_feed(NULL) WHERE user_id = kit.u(5)', 0, 'a deleted user: nothing in the feed');
my $counted = 'SELECT id, comment_count, like_count FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(1, 60) AS n))';
same_everywhere($cluster, $counted, $single->safe_psql('postgres', $counted), 'a deleted user: counts are without the user');
command($one, q{SELECT blogstore.create_user('USER 5', kit.u(13), kit.d(13))});
wait_jobs($cluster, $single, members($cluster));
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(5)}), 0, 'a deleted user: no item is left on any node');
views_right($cluster, 'deleted');
as_one_machine('deleted');

# ---- Exact counts beside clients on all members

# Posts whose authors have not been deleted
my @lively = map { (grep { 1 + $_ % 12 != 5 && $_ < 57 } posts_on($cluster, $_, 1, 8))[ 0 .. 2 ] } $one, $two;
is(scalar @lively, 6, 'three posts on each node');
my $posts = join ', ', map { "kit.p($_)" } @lively;
create_kit_everywhere($cluster, qq{
CREATE FUNCTION kit.random_command() RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	post	uuid := (ARRAY[$posts])[1 + floor(random() * 6)::int];
	someone	uuid := kit.u(6 + floor(random() * 6)::int);
BEGIN
	CASE floor(random() * 4)::int
	WHEN 0 THEN PERFORM blogstore.create_like(post, someone);
	WHEN 1 THEN PERFORM blogstore.delete_like(post, someone);
	WHEN 2 THEN PERFORM blogstore.create_comment(post, someone, 'comment');
	ELSE PERFORM blogstore.delete_comment(c.post_id, c.id) FROM blogstore.list_post_comments(post, 1) AS c;
	END CASE;
END \$\$;
});
my @clients = map { start_client($_, 'postgres', "SELECT kit.random_command();\n" x 400, 'random_' . $_->name) } members($cluster);
my $looks = 0;
while (grep { goes_on($_) } @clients)
{
	counts_right($cluster, 'beside clients, look ' . ++$looks) or last;
	is($coordinator->safe_psql('postgres', qq{
SELECT p.id FROM blogstore.get_posts(ARRAY[$posts]) AS p WHERE p.like_count < 0 OR p.comment_count < 0}), '', 'beside clients: no count is below 0');
}
for my $client (@clients)
{
	my ($rows, $err) = finish_client($client);

	is($err, '', 'beside clients: no client met an error');
}
views_right($cluster, 'beside clients');
my $from_functions = qq{
SELECT p.id, p.comment_count = (SELECT count(*) FROM blogstore.list_post_comments(p.id, NULL)), p.like_count = (SELECT count(*) FROM blogstore.list_post_likes(p.id, NULL))
FROM blogstore.get_posts(ARRAY[$posts]) AS p};
same_everywhere($cluster, $from_functions, join("\n", map { sprintf '00000000-0000-7000-8001-%012d|t|t', $_ } @lively), 'lists are as long as counts say');

# ---- Pairs: one transaction writes a comment on each of two posts on
# different nodes

my ($here, $there) = @lively[ 0, 3 ];
my $pair = sub {
	my ($n) = @_;

	return "BEGIN;\nSELECT FROM blogstore.create_comment(kit.p($here), kit.u(1), 'pair', kit.c($n));\nSELECT FROM blogstore.create_comment(kit.p($there), kit.u(1), 'pair', kit.c($n));\nCOMMIT;\n";
};

# Check that each pair has both comments or none, and return the numbers of the
# complete pairs. A torn pair fails one check only.
my %told_of;

sub pairs
{
	my ($name) = @_;
	my %half = map { my $p = $_; $p => { map { $_ => 1 } split /\n/, $coordinator->safe_psql('postgres',
				"SELECT right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($p)") } } ($here, $there);
	my @torn = grep { !$half{$there}{$_} } keys %{ $half{$here} };

	push @torn, grep { !$half{$here}{$_} } keys %{ $half{$there} };
	@torn = grep { !$told_of{$_}++ } @torn;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join(' ', sort { $a <=> $b } @torn), '', "$name: pairs are all or nothing");
	return $half{$here};
}

# ---- A member is killed at a certain place: its commits wait for a standby
# that does not exist

sub hold_commits
{
	my ($member, $standby) = @_;

	$member->append_conf('postgresql.conf', "synchronous_standby_names = '$standby'");
	$member->reload;
	wait_until($member, 'postgres', "SELECT current_setting('synchronous_standby_names') = '$standby'");
	return;
}

sub await_held
{
	my ($member) = @_;

	wait_until($member, 'postgres',
		q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend' AND query ~ 'PREPARE|COMMIT'});
	return;
}

# Begin a pair on a member, hold one member's commits, kill a member, and start
# it again. Returns whether the pair exists afterwards. With $undecided, the
# originating member is held after it has told the others to prepare and before
# it has decided to commit: its transaction has sent a NOTIFY, and waits for
# the lock of another one that has done so and waits for the standby.
sub killed_between
{
	my ($name, $number, $from, $held, $victim, $undecided) = @_;
	my $sql = $pair->($number) . "SELECT 'told';\n";
	my ($client, $holder);

	hold_commits($held, 'nobody');
	if ($undecided)
	{
		$holder = start_client($held, 'postgres', "BEGIN;\nNOTIFY kit;\nSELECT FROM pg_logical_emit_message(true, 'kit', '');\nCOMMIT;\n", "holder_$number");
		await_held($held);
		$client = start_client($from, 'postgres', $sql =~ s/^COMMIT/NOTIFY kit;\nCOMMIT/mr, "pair_$number");
		wait_until($held, 'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'pair_$number' AND wait_event_type = 'Lock' AND wait_event = 'object'");
	}
	else
	{
		$client = start_client($from, 'postgres', $sql, "pair_$number");
		await_held($held);
	}
	$victim->kill9;
	# Also change the settings of a member that is down.
	$held->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$held->reload if $held != $victim;
	my ($rows, $err) = finish_client($client);
	finish_client($holder) if $holder;
	start_member($cluster, $victim);
	wait_recovered($cluster);
	my $pairs = pairs($name);
	ok($pairs->{$number} || !grep({ $_ eq 'told' } @$rows), "$name: nothing acknowledged is lost");
	views_right($cluster, $name);
	return $pairs->{$number};
}

my $number = $PAIRS;
# Citus has prepared the transaction on the node and does not know it. It is
# rolled back.
ok(!killed_between('a node killed while it prepares', ++$number, $coordinator, $two, $two), 'a node killed while it prepares: nothing is there');
# The coordinator has begun the transaction and not decided. The others roll
# back what they have prepared.
ok(!killed_between('a coordinator killed before it decides', ++$number, $coordinator, $coordinator, $coordinator, 1),
	'a coordinator killed before it decides: nothing is there');
ok(!killed_between('a node that has begun it killed before it decides', ++$number, $one, $one, $one, 1),
	'a node that has begun it killed before it decides: nothing is there');
# All nodes have prepared and the coordinator has decided. The node learns of
# it later.
ok(killed_between('a node killed before it is told to commit', ++$number, $coordinator, $coordinator, $two), 'a node killed before it is told to commit: the pair is there');
ok(killed_between('a coordinator killed before it tells', ++$number, $coordinator, $coordinator, $coordinator), 'a coordinator killed before it tells: the pair is there');
ok(killed_between('a node that has begun it killed before it tells', ++$number, $one, $one, $one), 'a node that has begun it killed before it tells: the pair is there');

# ---- A member is killed under load, with clients at all members

for my $round (1 .. $ROUNDS)
{
	for my $victim (members($cluster))
	{
		my $name = 'killed under load: ' . $victim->name . ", round $round";
		my $from = $number += $PAIRS;
		my @loads;

		for my $member (members($cluster))
		{
			my $base = $from + 20000 * scalar @loads;

			# A client that has done all its pairs waits until its connection
			# is cut.
			push @loads, start_client($member, 'postgres',
				join('', map { $pair->($base + $_) . "SELECT $base + $_;\n" } 1 .. 3000) . "SELECT pg_sleep(86400);\n",
				"load_${from}_" . $member->name);
		}
		# All clients have done some of their pairs.
		wait_until($coordinator, 'postgres', qq{
SELECT count(*) = 3 FROM (
	SELECT count(*) FROM blogstore.posts
	WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($here) AND id > kit.c($from)
	GROUP BY right(id::text, 12)::int / 20000 HAVING count(*) > 30) x});
		$victim->kill9;
		start_member($cluster, $victim);
		# Terminate the clients that still run, with their server processes.
		on_each($cluster, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'load\_%'});
		my @told;
		for my $load (@loads)
		{
			my ($rows) = finish_client($load);
			push @told, grep { /^\d+$/ } @$rows;
		}
		wait_recovered($cluster);
		my $pairs = pairs($name);
		cmp_ok(scalar @told, '>', 80, "$name: clients were told of pairs");
		is(join(' ', grep { !$pairs->{$_} } @told), '', "$name: nothing acknowledged is lost");
		views_right($cluster, $name);
	}
}

done_testing();
