
# Workers send copies to each other's nodes. They do not wait long for a lock
# there. The session that holds it may wait for a lock that the worker holds at
# home, and Citus, which detects such deadlocks between sessions, does not know
# of the workers' calls.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreWorker qw(:DEFAULT hold release);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('circles');
my $coordinator = $cluster->{coordinator};

$coordinator->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 200) AS n;
});
views_right($cluster, 'filled');

# The node with the first shard. A call for all nodes comes there first.
my $port = $coordinator->safe_psql('postgres', q{
SELECT n.nodeport FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
WHERE s.logicalrelid = 'blogstore.posts'::regclass ORDER BY s.shardminvalue::int LIMIT 1});
my ($first) = grep { $_->port == $port } nodes($cluster);
my ($second) = grep { $_->port != $port } nodes($cluster);

# Two posts on the second node, in the order in which the worker sends their
# copies. Their authors are different, and both have their views on the first
# node.
my @posts = grep { home_of($cluster, 'kit.u(' . (1 + $_ % 20) . ')') == $first } posts_on($cluster, $second, 1, 40);
my $p = shift @posts;
my ($q) = grep { $_ > $p && $_ % 20 != $p % 20 } @posts;
my $deleted = 1 + $q % 20;
my ($leaf) = split /\n/, $first->safe_psql('postgres', "SELECT tableoid::regclass FROM blogstore.users WHERE id = kit.p($p) AND type = 'post'");
ok(defined $leaf, 'the copy of a post of the second node is on the first');


# ---- A post is edited and liked, and the worker handles both in one batch

my $held = hold_worker($second, 'postgres');
$second->safe_psql('postgres', "SELECT FROM blogstore.edit_post(kit.p($p), 'edited'); SELECT FROM blogstore.create_like(kit.p($p), kit.u(1)); SELECT FROM blogstore.edit_post(kit.p($q), 'edited')");
release($held);
views_right($cluster, 'edited and liked at once');
is($second->safe_psql('postgres', "SELECT last_error FROM blogstore.stat_worker WHERE last_error <> 'could not write the views: canceling statement due to lock timeout'"), '', 'edited and liked at once: the worker has met no error but that it was held');

# ---- A session that has locks on both nodes, and a worker that has locked the
# views on its node

# The first node's worker is stopped, so it does not do its part of the
# deletion. The worker of the second node is to write two copies there, of
# which another session has locked the first.
$first->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
my $holder = hold($first, 'postgres', "SELECT FROM $leaf WHERE post_id = kit.p($p) AND type = 'post' FOR UPDATE");
$second->safe_psql('postgres', "BEGIN; SELECT FROM blogstore.edit_post(kit.p($p), 'edited anew'); SELECT FROM blogstore.edit_post(kit.p($q), 'edited anew'); COMMIT");
my $pid = worker_pid($second, 'postgres');
wait_until($first, 'postgres', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = $$Lock$$ AND query ~ $$put_copies$$');

# A user is created with the id of one who is being deleted. The session locks
# the second copy on the first node and then waits for the lock of the views on
# the second.
is($coordinator->safe_psql('postgres', "SELECT blogstore.delete_user(kit.u($deleted))"), 't', 'a user is deleted');
my $client = start_client($coordinator, 'postgres', "SELECT username FROM blogstore.create_user('made anew', kit.u($deleted));\n", 'made_anew');
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if !goes_on($client) || $second->safe_psql('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $pid = ANY (pg_blocking_pids(pid)) AND query ~ 'revive_user'") eq 't';
	select(undef, undef, undef, 0.1);
}
release($holder);
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if !goes_on($client);
	select(undef, undef, undef, 0.1);
}
give_up($cluster, 'who makes a user anew and a worker wait for each other') if goes_on($client);
my ($rows, $err) = finish_client($client);
is("@$rows$err", 'made anew', 'the user is made, and the worker gives way');
$first->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'made anew');

# ---- A copy that is locked on another node makes no session at home wait

$holder = hold($first, 'postgres', "SELECT FROM $leaf WHERE post_id = kit.p($p) AND type = 'post' FOR UPDATE");
$second->safe_psql('postgres', "SELECT FROM blogstore.edit_post(kit.p($p), 'edited again')");
wait_until($first, 'postgres', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = $$Lock$$ AND query ~ $$put_copies$$');
my ($other) = grep { $_ != $p && $_ != $q } posts_on($cluster, $second, 1, 10);
is($second->safe_psql('postgres', "SELECT hidden FROM blogstore.hide_post(kit.p($other))"), 't', 'a post is hidden while a worker waits on another node');
is($coordinator->safe_psql('postgres', 'ALTER TABLE blogstore.posts ADD COLUMN mood text'), '', 'a column is added while a worker waits on another node');
release($holder);
views_right($cluster, 'let go');

# ---- Sessions that create and rename users lock the tables of users in the
# same order

my ($one, $two) = nodes($cluster);
my $names = hold($one, 'postgres', "SELECT FROM blogstore.usernames WHERE username_key = '' FOR UPDATE");
$client = start_client($two, 'postgres', "SELECT username FROM blogstore.edit_user(kit.u(1), 'renamed beside it');\n", 'renames');
ok(waits_for_lock($cluster, $client), 'the renaming session waits for the session that creates a user');
like($names->query_safe("SELECT username FROM blogstore.create_user('made beside it', kit.u(1000))"), qr/^made beside it$/m, 'who makes a user does not wait for who renames');
release($names);
($rows, $err) = finish_client($client);
is("@$rows$err", 'renamed beside it', 'the rename is done after that');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'made and renamed');

done_testing();
