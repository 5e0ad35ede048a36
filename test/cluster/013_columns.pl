
# The owner of the containers, who is no superuser, adds a column beside
# clients. Then a node gives up all its shards, works as a node without shards,
# and gets shards again.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('columns', owner => 'blog');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n))) FROM generate_series(1, 100) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + n % 20), 'comment', kit.c(n), kit.d(n))) FROM generate_series(1, 100) AS n;
});
views_right($cluster, 'filled');

# ---- A column is added, beside sessions on all members that like and unlike

my @clients = map {
	start_client($_, 'postgres', join('', map { "SELECT FROM blogstore.create_like(kit.p($_), kit.u(1 + $_ % 20)); SELECT blogstore.delete_like(kit.p($_), kit.u(1 + $_ % 20));\n" } 1 .. 100) x 3, 'likes_' . $_->name)
} members($cluster);

# The DDL can end in a distributed deadlock with clients on other nodes. Citus
# then cancels it, and the test repeats it, as the manual says.
for my $table ('posts', 'users')
{
	my ($status, $err, $tries) = (1, '', 0);

	while ($status != 0 && $tries++ < 100)
	{
		$status = $coordinator->psql('postgres', "SET ROLE blog; ALTER TABLE blogstore.$table ADD COLUMN mood text", stderr => \$err);
		die $err if $status != 0 && $err !~ /deadlock/;
	}
	is($status, 0, "a column was added to $table");
}
for my $client (@clients)
{
	my (undef, $err) = finish_client($client);

	# Citus may also cancel a client to resolve the deadlock.
	is(join("\n", grep { /ERROR|FATAL|PANIC/ && !/distributed deadlock/ } split /\n/, $err), '', 'a column is added: no error beside it but a deadlock');
}
same_everywhere($cluster, q{SELECT count(*) FROM information_schema.columns WHERE table_schema = 'blogstore' AND table_name IN ('posts', 'users') AND column_name = 'mood'},
	2, 'the column is there');
$coordinator->safe_psql('postgres', q{UPDATE blogstore.posts SET mood = 'fine' WHERE type = 'post'});
for my $member (members($cluster))
{
	is($member->safe_psql('postgres', q{SELECT title FROM blogstore.edit_post(kit.p(1), 'from ' || current_setting('cluster_name'))}),
		'from ' . $member->name, 'posts are edited from ' . $member->name);
}
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE mood = 'fine'}), 100, 'what the owner has written stays');
views_right($cluster, 'a column was added');

# ---- A node without shards

my $offset = -s $two->logfile;

$coordinator->safe_psql('postgres', sprintf
	q{SET client_min_messages = error; SELECT citus_drain_node('%s', %d, shard_transfer_mode => 'block_writes')}, $two->host, $two->port);
is(scalar shards($cluster, $two), 0, 'the node has no shards');
for my $member (members($cluster))
{
	is($member->safe_psql('postgres', q{SELECT (blogstore.create_like(kit.p(2), kit.u(3))).user_username, blogstore.delete_like(kit.p(2), kit.u(3))}),
		'user 3|t', 'liked from ' . $member->name);
}
$two->safe_psql('postgres', q{SELECT blogstore.edit_user(kit.u(4), 'renamed'); SELECT blogstore.delete_user(kit.u(5))});
wait_jobs($cluster, members($cluster));
views_right($cluster, 'a node has no shards');
unlike(substr(slurp_file($two->logfile), $offset), qr/blogstore worker +(ERROR|FATAL)/, 'its worker goes on');

$coordinator->safe_psql('postgres', sprintf
	q{SET client_min_messages = error; SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true); SELECT rebalance_table_shards('blogstore.posts', shard_transfer_mode => 'block_writes')},
	$two->host, $two->port);
cmp_ok(scalar shards($cluster, $two), '>', 2, 'it has shards again');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'it has shards again');

done_testing();
