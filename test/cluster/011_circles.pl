
# Workers send copies to each other's nodes, whatever a batch names them for. They wait for nobody there
# for long: who has what they want there may wait for what they have at home, and Citus, which finds
# such circles among sessions, does not know of workers' calls.

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

# A call for all nodes comes first to the one that has the first shard
my $port = $coordinator->safe_psql('postgres', q{
SELECT n.nodeport FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
WHERE s.logicalrelid = 'blogstore.posts'::regclass ORDER BY s.shardminvalue::int LIMIT 1});
my ($first) = grep { $_->port == $port } nodes($cluster);
my ($second) = grep { $_->port != $port } nodes($cluster);

# Two posts on the second node whose authors, not the same one, are at home on the first, in the
# order in which they are sent
my @posts = grep { home_of($cluster, 'kit.u(' . (1 + $_ % 20) . ')') == $first } posts_on($cluster, $second, 1, 40);
my $p = shift @posts;
my ($q) = grep { $_ > $p && $_ % 20 != $p % 20 } @posts;
my $deleted = 1 + $q % 20;
my ($leaf) = split /\n/, $first->safe_psql('postgres', "SELECT tableoid::regclass FROM blogstore.users WHERE id = kit.p($p) AND type = 'post'");
ok(defined $leaf, 'the copy of a post of the second node is on the first');


# ---- a post is edited and liked, and the worker comes to both at once

my $held = hold_worker($second, 'postgres');
$second->safe_psql('postgres', "SELECT FROM blogstore.edit_post(kit.p($p), 'edited'); SELECT FROM blogstore.create_like(kit.p($p), kit.u(1)); SELECT FROM blogstore.edit_post(kit.p($q), 'edited')");
release($held);
views_right($cluster, 'edited and liked at once');
is($second->safe_psql('postgres', "SELECT last_error FROM blogstore.stat_worker WHERE last_error <> 'could not write the views: canceling statement due to lock timeout'"), '', 'edited and liked at once: the worker has met no error but that it was held');

# ---- a session on both nodes, and a worker that has the views' lock at home

# the first node has no worker that would come to its part of the deletion; the second one's is to
# write two copies there, of which somebody has the first
$first->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
my $holder = hold($first, 'postgres', "SELECT FROM $leaf WHERE post_id = kit.p($p) AND type = 'post' FOR UPDATE");
$second->safe_psql('postgres', "BEGIN; SELECT FROM blogstore.edit_post(kit.p($p), 'edited anew'); SELECT FROM blogstore.edit_post(kit.p($q), 'edited anew'); COMMIT");
my $pid = worker_pid($second, 'postgres');
wait_until($first, 'postgres', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = $$Lock$$ AND query ~ $$put_copies$$');

# a user is made with the id of one who is being deleted: that takes the second copy on the
# first node, and then the views' lock on the second
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

# ---- nobody at home waits for who has a copy elsewhere

$holder = hold($first, 'postgres', "SELECT FROM $leaf WHERE post_id = kit.p($p) AND type = 'post' FOR UPDATE");
$second->safe_psql('postgres', "SELECT FROM blogstore.edit_post(kit.p($p), 'edited again')");
wait_until($first, 'postgres', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = $$Lock$$ AND query ~ $$put_copies$$');
my ($other) = grep { $_ != $p && $_ != $q } posts_on($cluster, $second, 1, 10);
is($second->safe_psql('postgres', "SELECT hidden FROM blogstore.hide_post(kit.p($other))"), 't', 'a post is hidden while a worker waits on another node');
is($coordinator->safe_psql('postgres', 'ALTER TABLE blogstore.posts ADD COLUMN mood text'), '', 'a column is added while a worker waits on another node');
release($holder);
views_right($cluster, 'let go');

# ---- who makes a user and who renames one come to the tables of users in one order

my ($one, $two) = nodes($cluster);
my $names = hold($one, 'postgres', "SELECT FROM blogstore.usernames WHERE username_key = '' FOR UPDATE");
$client = start_client($two, 'postgres', "SELECT username FROM blogstore.edit_user(kit.u(1), 'renamed beside it');\n", 'renames');
ok(waits_for_lock($cluster, $client), 'who renames waits for who is about to make a user');
like($names->query_safe("SELECT username FROM blogstore.create_user('made beside it', kit.u(1000))"), qr/^made beside it$/m, 'who makes a user does not wait for who renames');
release($names);
($rows, $err) = finish_client($client);
is("@$rows$err", 'renamed beside it', 'who renames comes next');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'made and renamed');

done_testing();
