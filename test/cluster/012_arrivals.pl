
# A shard moves while the worker of its old node is held. The new node's worker
# does what the other one had still to do for the shard, and looks at this
# shard alone. Deleted posts leave the lists of their authors on other nodes,
# items get the present names, and items of a deleted user go.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 400;

my $cluster = new_cluster('arrivals');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 40) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 30), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n)))
FROM generate_series(1, $POSTS) AS n;
});
ok(cluster_views_follow($cluster), 'filled');

sub shard_of_post
{
	my ($post) = @_;

	return $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($post))");
}

# The numbers of the posts in a shard
sub posts_in
{
	my ($shard) = @_;

	return split /\n/, $coordinator->safe_psql('postgres',
		"SELECT n FROM generate_series(1, $POSTS) AS n WHERE get_shard_id_for_distribution_column('blogstore.posts', kit.p(n)) = $shard ORDER BY n");
}

sub lines_since
{
	my ($node, $offset, $pattern) = @_;

	return grep { /$pattern/ } split /\n/, substr(slurp_file($node->logfile), $offset);
}

# ---- The worker looks at the moved shard alone

my ($post) = posts_on($cluster, $one, 1, 1);
my $shard = shard_of_post($post);
my @in_shard = posts_in($shard);
my %offset = map { $_->name => -s $_->logfile } $one, $two;

cmp_ok(scalar @in_shard, '>', 5, 'the shard has some posts');
cmp_ok(scalar @in_shard, '<', $POSTS / 4, 'and is a small part of all');
move_shard($cluster, $shard, $one, $two, 'block_writes');
views_right($cluster, 'a shard has moved');
my @told = lines_since($two, $offset{ $two->name }, 'DETAIL: +Shard');
is(scalar @told, 1, 'the worker has looked at one shard');
# The shard has posts, and copies of posts whose authors are in it.
my $copies = $coordinator->safe_psql('postgres', qq{
SELECT count(*) FROM blogstore.users
WHERE type = 'post' AND get_shard_id_for_distribution_column('blogstore.posts', user_id) = $shard});
like($told[0], qr/: @{[ @in_shard + $copies ]} posts and copies/, 'and nothing but its posts and copies was looked at');
is(scalar lines_since($_, $offset{ $_->name }, 'rebuilds the views'), 0, 'no other views were built on ' . $_->name) foreach $one, $two;
move_shard($cluster, $shard, $two, $one, 'block_writes');
views_right($cluster, 'it has moved back');

# ---- There and back while the worker does not look: it notices the move all
# the same

my $blind = stop_worker($one, 'postgres');

$offset{ $one->name } = -s $one->logfile;
move_shard($cluster, $shard, $one, $two, 'block_writes');
move_shard($cluster, $shard, $two, $one, 'block_writes');
kill 'CONT', $blind;
views_right($cluster, 'it has moved there and back unseen');
is(scalar lines_since($one, $offset{ $one->name }, 'DETAIL: +Shard "posts_'), 1, 'the worker has looked at the shard');

# ---- The worker that has work to do for the shard is held

# The home of the author, the node that has the copy, for each post
my %author = map { $_ => 1 + $_ % 30 } @in_shard;
my %home = map { $_ => $coordinator->safe_psql('postgres', qq{
SELECT n.nodeport FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
WHERE p.shardid = get_shard_id_for_distribution_column('blogstore.users', kit.u($_))}) } 1 .. 30;
my ($at_one) = grep { $home{ $author{$_} } == $one->port } @in_shard;
my ($at_two) = grep { $home{ $author{$_} } == $two->port } @in_shard;
my ($kept, $other) = grep { $_ != $at_one && $_ != $at_two } @in_shard;
my $copy_of = "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND id = kit.p(%d)";

ok(defined $at_one && defined $at_two && defined $other, 'posts of the shard have copies on both nodes');
# More comments than delete_user() deletes itself
$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_comment(kit.p($kept), kit.u(31), 'comment ' || n)) FROM generate_series(1, 500) AS n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(32))) FROM generate_series(1, $POSTS) AS n");
wait_jobs($cluster, members($cluster));

my $worker = stop_worker($one, 'postgres');

$coordinator->safe_psql('postgres', "SELECT blogstore.delete_post(kit.p($at_one)), blogstore.delete_post(kit.p($at_two))");
$coordinator->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p($other), 'edited')");
$coordinator->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(32), 'renamed')});
$coordinator->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(31))');
# The other node has done its part.
wait_until($two, 'postgres', 'SELECT count(*) = 0 FROM blogstore.progress');
is($coordinator->safe_psql('postgres', sprintf $copy_of, $_), 1, "the copy of post $_ is still there") foreach $at_one, $at_two;
cmp_ok($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND user_id = kit.u(31)}),
	'>', 0, 'items of the deleted user are still there');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE post_id = kit.p($kept) AND type = 'like' AND user_username = 'renamed'"),
	0, 'items of the renamed user are still to be changed');

move_shard($cluster, $shard, $one, $two, 'block_writes');
kill 'CONT', $worker;
wait_jobs($cluster, members($cluster));
# The new node applies the changes that the old one had to pass on.
wait_until($coordinator, 'postgres', sprintf("SELECT ($copy_of) + ($copy_of) = 0", $at_one, $at_two));
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(31)}), 0, 'items of the deleted user are gone');
is($coordinator->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE user_username = 'renamed') FROM blogstore.posts WHERE type = 'like' AND user_id = kit.u(32)}),
	($POSTS - 2) . '|' . ($POSTS - 2), 'items of the renamed user have the new name');
is($coordinator->safe_psql('postgres', "SELECT title FROM blogstore.list_user_posts(kit.u($author{$other}), NULL) WHERE id = kit.p($other)"),
	'edited', 'the copy of the edited post is as the post is');
views_right($cluster, 'a shard has moved past a worker that was held');

# ---- A post is deleted, and its shard moves to a node and on to another one
# before the first node's worker reads the deletion

my ($deleted) = grep { $_ != $at_one && $_ != $at_two && $_ != $kept && $_ != $other } @in_shard;
my %worker = map { $_->name => stop_worker($_, 'postgres') } $one, $two;

$coordinator->safe_psql('postgres', "SELECT blogstore.delete_post(kit.p($deleted))");
move_shard($cluster, $shard, $two, $one, 'block_writes');
kill 'CONT', $worker{ $two->name };
wait_until($two, 'postgres', 'SELECT lag_bytes = 0 FROM blogstore.stat_worker');
is($coordinator->safe_psql('postgres', sprintf $copy_of, $deleted), 1, "the copy of post $deleted is still there");
move_shard($cluster, $shard, $one, $two, 'block_writes');
kill 'CONT', $worker{ $one->name };
views_right($cluster, 'a shard has gone on before its new node heard of a deletion');
wait_until($coordinator, 'postgres', sprintf("SELECT ($copy_of) = 0", $deleted));

done_testing();
