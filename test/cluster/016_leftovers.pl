
# Changes that no change feed reports are found all the same: copies written by
# hand, a truncated shard, a copy without a post that arrives with its author's
# shard, items of a deleted user whose id is used again, and posts that are
# deleted while their node has no slot. A node that is down does not delay the
# views of others.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 300;

my $cluster = new_cluster('leftovers');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 30) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 30), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n))) FROM generate_series(1, $POSTS) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + (n + 7) % 30), 'comment', kit.c(n))) FROM generate_series(1, $POSTS) AS n});
views_right($cluster, 'filled');

# The numbers of the posts on a node whose copies are on the other node
sub posts_apart
{
	my ($node) = @_;
	my $port = $node->port;

	return split /\n/, $coordinator->safe_psql(
		'postgres', qq{
SELECT n FROM generate_series(1, $POSTS) AS n
JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('blogstore.posts', kit.p(n))
JOIN pg_dist_placement u ON u.shardid = get_shard_id_for_distribution_column('blogstore.users', kit.u(1 + n % 30))
JOIN pg_dist_node np ON np.groupid = p.groupid
JOIN pg_dist_node nu ON nu.groupid = u.groupid
WHERE np.nodeport = $port AND nu.nodeport <> $port ORDER BY n});
}

sub copies_of
{
	return "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND id = kit.p($_[0])";
}

# Insert a copy of a post that does not exist, next to the copy of an existing
# one.
sub write_lone_copy
{
	my ($post, $lone) = @_;

	$coordinator->safe_psql('postgres', qq{
INSERT INTO blogstore.users SELECT (jsonb_populate_record(u, jsonb_build_object('id', kit.p($lone)))).*
FROM blogstore.users AS u WHERE type = 'post' AND id = kit.p($post)});
	return;
}

# ---- Copies written by hand, of posts on another node

my @apart = posts_apart($one);
# A post that does not exist, and would be on the same node as the first one
my ($lone) = posts_on($cluster, $one, 5000, 1);

cmp_ok(scalar @apart, '>', 3, 'posts have copies on the other node');
$coordinator->safe_psql('postgres', "DELETE FROM blogstore.users WHERE type = 'post' AND id = kit.p($apart[0])");
$coordinator->safe_psql('postgres', "UPDATE blogstore.users SET title = 'by hand' WHERE type = 'post' AND id = kit.p($apart[1])");
write_lone_copy($apart[2], $lone);
wait_until($coordinator, 'postgres', copies_of($apart[0]) . ' HAVING count(*) = 1', 1);
wait_until($coordinator, 'postgres', "SELECT title FROM blogstore.users WHERE type = 'post' AND id = kit.p($apart[1])", "title $apart[1]");
wait_until($coordinator, 'postgres', copies_of($lone), 0);
views_right($cluster, 'copies were written by hand');

# ---- A shard is truncated

my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($apart[0]))");
my $in_shard = "get_shard_id_for_distribution_column('blogstore.posts', id) = $shard";
my $copies = "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND $in_shard";

cmp_ok($coordinator->safe_psql('postgres', $copies), '>', 0, 'there are copies of a shard');
$one->safe_psql('postgres', "SET citus.enable_manual_changes_to_shards = on; TRUNCATE blogstore.posts_$shard");
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'post' AND $in_shard"), 0, 'its posts are gone');
wait_until($coordinator, 'postgres', $copies, 0);
wait_jobs($cluster, members($cluster));
views_right($cluster, 'a shard was truncated');

# ---- A copy without a post arrives with its author's shard, and the workers
# that could find it do not

my ($moved) = posts_apart($two);
my $home = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.u(1 + $moved % 30))");
my $stopped = stop_worker($one, 'postgres');

# The post would be on the node to which the copy moves, so that node's worker
# asks nobody about it. The other worker is stopped.
my ($at_two) = posts_on($cluster, $two, 6000, 1);
write_lone_copy($moved, $at_two);
move_shard($cluster, $home, $one, $two, 'block_writes');
wait_until($coordinator, 'postgres', copies_of($at_two), 0);
kill 'CONT', $stopped;
wait_jobs($cluster, members($cluster));
views_right($cluster, 'a home has moved');

# ---- A user is created with the id of a deleted one, whose items have arrived
# with a shard from a node that was still deleting them

# Create a user with comments on a post of the first node, and delete the user
# while that node's worker is stopped. The other worker does its part. Returns
# the stopped worker's process id.
sub leave_items
{
	my ($user, $post) = @_;
	my $worker;

	$coordinator->safe_psql('postgres', qq{
SELECT FROM blogstore.create_post(kit.u(1), 'title', 'content', kit.p($post));
SELECT FROM blogstore.create_user('goes', kit.u($user));
SELECT count(blogstore.create_comment(kit.p($post), kit.u($user), 'of who goes')) FROM generate_series(1, 5)});
	wait_jobs($cluster, members($cluster));
	$worker = stop_worker($one, 'postgres');
	$coordinator->safe_psql('postgres', "SET default_transaction_isolation = 'repeatable read'; SELECT blogstore.delete_user(kit.u($user))");
	wait_until($two, 'postgres', 'SELECT count(*) = 0 FROM blogstore.progress');
	return $worker;
}

sub shard_of
{
	return $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($_[0]))");
}

my ($on_one) = posts_on($cluster, $one, 8000, 1);
my $items = 'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(50)';

$stopped = leave_items(50, $on_one);
is($coordinator->safe_psql('postgres', $items), 5, 'items of the deleted user still exist');
my $looks_not = stop_worker($two, 'postgres');
move_shard($cluster, shard_of($on_one), $one, $two, 'block_writes');
is($coordinator->safe_psql('postgres', $items), 5, '... and have come with their shard');
$coordinator->safe_psql('postgres', q{SELECT FROM blogstore.create_user('came', kit.u(50))});
is($coordinator->safe_psql('postgres', $items), 0, 'the new user has none of them');
kill 'CONT', $stopped, $looks_not;
wait_jobs($cluster, members($cluster));
is($coordinator->safe_psql('postgres', $items), 0, '... and gets none');
views_right($cluster, 'a user was made anew');

# ---- The same with a worker that starts after the shard has arrived

($on_one) = posts_on($cluster, $one, 8000, 1);
$items = 'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(51)';
$stopped = leave_items(51, $on_one);
$looks_not = stop_worker($two, 'postgres');
move_shard($cluster, shard_of($on_one), $one, $two, 'block_writes');
is($coordinator->safe_psql('postgres', $items), 5, 'items of the deleted user have arrived with their shard');
kill 'TERM', $looks_not;
kill 'CONT', $looks_not;
wait_until($coordinator, 'postgres', $items, 0);
kill 'CONT', $stopped;
wait_jobs($cluster, members($cluster));
views_right($cluster, 'a worker began anew');

# ---- A worker that needs a node that is down goes on with everything else

my ($apart) = posts_apart($two);
my $here = $coordinator->safe_psql('postgres', qq{
SELECT min(n) FROM generate_series(1, 30) AS n
JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('blogstore.users', kit.u(n))
JOIN pg_dist_node d USING (groupid) WHERE d.nodeport = } . $one->port);
my ($new) = posts_on($cluster, $one, 7000, 1);
my $worker = worker_pid($one, 'postgres');

ok(defined $apart, 'there is a copy whose post is on the other node');
$two->stop('fast');
$one->safe_psql('postgres', q{INSERT INTO blogstore.jobs (id, kind) VALUES (gen_random_uuid(), 'rebuild')});
wait_until($one, 'postgres', 'SELECT count(*) > 0 FROM blogstore.unsent');
wait_until($one, 'postgres', q{SELECT count(*) FROM blogstore.jobs WHERE kind = 'rebuild'}, 0);
# The worker also remembers that the other node has to hear of a truncated
# shard.
my ($gone) = posts_on($cluster, $one, 1, 1);
my $emptied = shard_of($gone);
my $copies_there = "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND id <> kit.p($new) AND get_shard_id_for_distribution_column('blogstore.posts', id) = $emptied";

cmp_ok($one->safe_psql('postgres', "SELECT count(*) FROM blogstore.unsent"), '>', 0, 'the table unsent lists what the other node lacks');
$one->safe_psql('postgres', "SET citus.enable_manual_changes_to_shards = on; TRUNCATE blogstore.posts_$emptied");
$one->safe_psql('postgres', "SELECT FROM blogstore.create_post(kit.u($here), 'beside it', 'content', kit.p($new))");
wait_until($one, 'postgres', "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND user_id = kit.u($here) AND id = kit.p($new)", 1);
wait_until($one, 'postgres', q{SELECT count(*) FROM blogstore.jobs WHERE kind = 'rebuild'}, 0);
is(worker_pid($one, 'postgres'), $worker, 'the worker goes on');
start_member($cluster, $two);
wait_recovered($cluster);
wait_until($coordinator, 'postgres', $copies_there, 0);
is($coordinator->safe_psql('postgres', copies_of($new)), 1, 'the new post has its copy');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'the node is back');

# A node has no slot for a while, because its worker was stopped and the slot
# was dropped. Meanwhile posts and a user are deleted, and a user is renamed.
my @posts = posts_on($cluster, $two, 20000, 10);
my $ids = join ', ', @posts;

$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.create_user('slot ' || n, kit.u(n))) FROM generate_series(801, 807) AS n;
SELECT count(blogstore.create_post(kit.u(801 + n % 5), 'no slot', 'content', kit.p(n))) FROM unnest(ARRAY[$ids]) AS n;
SELECT count(blogstore.create_comment(kit.p($posts[0]), kit.u(n), 'comment', kit.c(n))) FROM generate_series(806, 807) AS n});
views_right($cluster, 'posts on a node that has a slot');
my $copied = q{SELECT count(*) FROM blogstore.users WHERE type = 'post' AND title = 'no slot'};
is($coordinator->safe_psql('postgres', $copied), '10', 'they have copies');
$two->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true)');
$coordinator->safe_psql('postgres', "SELECT blogstore.delete_post(kit.p(n)) FROM unnest(ARRAY[$ids]) WITH ORDINALITY AS p (n, i) WHERE i > 1");
$coordinator->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(806))');
$coordinator->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(807), 'renamed')});
$two->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($coordinator, 'postgres', $copied, 1);
wait_jobs($cluster, members($cluster));
views_right($cluster, 'posts that were deleted while their node had no slot');
is($coordinator->safe_psql('postgres', "SELECT string_agg(user_username, ',') FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p($posts[0])"), 'renamed', 'comments of users who were deleted or renamed meanwhile');

done_testing();
