
# A cluster is restored from base backups and archives of all its members, to a
# point of citus_create_restore_point(), on servers with other addresses.
# Everything from before the point exists, pairs are all or nothing, and the
# workers build the views.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreWorker qw(:DEFAULT hold release);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('restore');
my ($one, $two) = nodes($cluster);

foreach my $member (members($cluster))
{
	$member->enable_archiving;
	$member->restart;
}
$one->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 12) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 12), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m))) FROM generate_series(1, 60) AS n, generate_series(1, 12) AS m;
});
views_right($cluster, 'filled');
$_->backup('base') foreach members($cluster);

my ($here) = posts_on($cluster, $one, 1, 1);
my ($there) = posts_on($cluster, $two, 1, 1);

# SQL that writes pairs: a comment on each of two posts, which are on two
# nodes, in one transaction
sub pairs_sql
{
	my ($from, $to) = @_;

	return join '', map { "BEGIN;\nSELECT FROM blogstore.create_comment(kit.p($here), kit.u(1), 'pair', kit.c($_));\nSELECT FROM blogstore.create_comment(kit.p($there), kit.u(1), 'pair', kit.c($_));\nCOMMIT;\nSELECT $_;\n" } $from .. $to;
}

# ---- Between the backups and the point. The nodes' workers are held, so they
# do neither a rename nor a deletion

my @others = grep { $_ != 1 && $_ != 1 + $here % 12 && $_ != 1 + $there % 12 } 1 .. 12;
my ($renamed, $deleted) = @others;
my @held = map { hold_worker($_, 'postgres') } nodes($cluster);
$two->safe_psql('postgres', pairs_sql(1, 20));
$one->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u($renamed), 'renamed'), blogstore.delete_user(kit.u($deleted))");
$one->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1), 'the last one', 'x', kit.p(1000 + n), kit.d(1000 + n)) FROM generate_series(1, 10) AS n");

# The restore point is created while clients write.
my @loads = map { start_client($_->[0], 'postgres', pairs_sql($_->[1], $_->[1] + 3000) . "SELECT pg_sleep(86400);\n", 'load_' . $_->[1]) } [ $cluster->{coordinator}, 10000 ], [ $one, 20000 ];
my $under_way = qq{
SELECT count(*) = 2 FROM (
	SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($here) AND id > kit.c(%d)
	GROUP BY right(id::text, 12)::int / 10000 HAVING count(*) > %d) x};
wait_until($one, 'postgres', sprintf $under_way, 9999, 20);
# citus_create_restore_point() blocks commits of distributed transactions of
# the coordinator. Lock the table on the nodes, too, to block those that a node
# has begun.
my @locks = map { hold($_, 'postgres', 'LOCK TABLE pg_dist_transaction IN EXCLUSIVE MODE') } nodes($cluster);
$cluster->{coordinator}->safe_psql('postgres', q{SELECT citus_create_restore_point('point')});
release($_) foreach @locks;
wait_until($one, 'postgres', sprintf $under_way, 9999, 60);
on_each($cluster, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'load\_%'});
finish_client($_) foreach @loads;

# ---- After the point

$_->query_safe('ROLLBACK') foreach @held;
$_->quit foreach @held;
$two->safe_psql('postgres', pairs_sql(101, 110) . "SELECT blogstore.edit_user(kit.u(1), 'renamed too late'), blogstore.create_post(kit.u(1), 'too late', 'x', kit.p(2000))");
ok(cluster_views_follow($cluster), 'the views follow');
foreach my $member (members($cluster))
{
	my $segment = $member->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');

	wait_until($member, 'postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver");
	$member->stop('immediate');
}

# ---- The restored servers

my %restored;
foreach my $member (members($cluster))
{
	my $server = PostgreSQL::Test::Cluster->new($member->name . '_restored', install_path => $cluster->{path});

	$server->init_from_backup($member, 'base', has_restoring => 1, standby => 0);
	$server->append_conf('postgresql.conf', "recovery_target_name = 'point'\nrecovery_target_action = 'promote'\narchive_mode = off\n");
	$server->start;
	$restored{ $member->port } = $server;
}
wait_until($_, 'postgres', 'SELECT NOT pg_is_in_recovery()') foreach values %restored;

# Tell each member the new addresses of all.
my $addresses = join "\n", map { sprintf "UPDATE pg_dist_node SET nodename = '%s', nodeport = %d WHERE nodeport = %d;", $restored{$_}->host, $restored{$_}->port, $_ } keys %restored;
$_->safe_psql('postgres', $addresses) foreach values %restored;
$cluster->{coordinator} = $restored{ $cluster->{coordinator}->port };
$cluster->{nodes} = [ map { $restored{ $_->port } } nodes($cluster) ];

wait_recovered($cluster);
# When all have slots, rebuild the views to find copies without a post. Either
# the slot that would have told of the post's deletion is gone, or the post was
# created after the point of its node.
ok(cluster_views_follow($cluster), 'restored: the workers have begun');
$cluster->{coordinator}->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'restored');
# A worker that cannot reach the others yet starts again, so it may have
# created its slot several times.
like(join(', ', slots_made($_, 0)), qr/^The slot (was missing|dated from before a promotion of this server)\.$/, $_->name . ': the worker has made its slot') foreach nodes($cluster);

sub halves
{
	my ($p) = @_;

	return split /\n/, $cluster->{coordinator}->safe_psql('postgres',
		"SELECT right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($p) ORDER BY 1");
}
my @halves = halves($here);
is(join(' ', halves($there)), join(' ', @halves), 'restored: pairs are all or nothing');
is(join(' ', grep { $_ <= 20 } @halves), join(' ', 1 .. 20), 'restored: pairs from before the point exist');
is(join(' ', grep { $_ > 100 && $_ <= 110 } @halves), '', 'restored: later pairs do not exist');
same_everywhere($cluster, 'SELECT DISTINCT title FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(1001, 2000) AS n))', 'the last one', 'restored: posts are those of the point');
same_everywhere($cluster, "SELECT username FROM blogstore.get_users(ARRAY[kit.u(1), kit.u($renamed), kit.u($deleted)])", "user 1\nrenamed", 'restored: users are those of the point');
is($cluster->{coordinator}->safe_psql('postgres', "SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id IN (kit.u($renamed), kit.u($deleted)) AND type <> 'delta'"),
	'renamed', 'restored: the rename and the deletion are done');

# Every member can write again.
$_->safe_psql('postgres', pairs_sql(200, 200) =~ s/kit\.c\(200\)/gen_random_uuid()/gr) foreach members($cluster);
is($cluster->{coordinator}->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($here)"), @halves + 3, 'restored: pairs after it');
views_right($cluster, 'worked on');

done_testing();
