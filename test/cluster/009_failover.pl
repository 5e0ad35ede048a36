
# The standby of a node takes its place, and then the standby of the
# coordinator. Each is killed under transactions over two nodes, a rename and a
# deletion. Nothing acknowledged is lost, pairs are all or nothing, and the
# worker on the promoted server rebuilds the views.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreWorker;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An acknowledged commit must survive the crash.
my $cluster = new_cluster('failover', settings => "fsync = on\nsynchronous_commit = on\nwal_keep_size = 1GB");
my ($one, $two) = nodes($cluster);

$one->safe_psql('postgres', $FILL);
views_right($cluster, 'filled');

my ($here) = posts_on($cluster, $one, 1, 1);
my ($there) = posts_on($cluster, $two, 1, 1);
# Users who neither write the pairs nor are the authors of their posts
my @others = grep { $_ != 1 && $_ != 1 + $here % 12 && $_ != 1 + $there % 12 } 1 .. 12;
my $number;

# Start a standby that has everything its primary acknowledges.
sub start_standby
{
	my ($primary) = @_;
	my $name = $primary->name . '_standby';
	my $standby = PostgreSQL::Test::Cluster->new($name, install_path => $cluster->{path});

	$primary->backup('backup');
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->start;
	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '$name'");
	$primary->reload;
	wait_until($primary, 'postgres', q{SELECT sync_state = 'sync' FROM pg_stat_replication WHERE application_name ~ 'standby'});
	return $standby;
}

# SQL that writes a comment on each of two posts, which are on two nodes, in
# one transaction
sub pair
{
	my ($n) = @_;

	return "BEGIN;\nSELECT FROM blogstore.create_comment(kit.p($here), kit.u(1), 'pair', kit.c($n));\nSELECT FROM blogstore.create_comment(kit.p($there), kit.u(1), 'pair', kit.c($n));\nCOMMIT;\nSELECT $n;\n";
}

# The numbers of the pairs that have their comment on this post
sub halves
{
	my ($p) = @_;

	return split /\n/, $cluster->{coordinator}->safe_psql('postgres',
		"SELECT right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($p) ORDER BY 1");
}

# Kill a member while clients at others write, and promote its standby.
sub fail_over
{
	my ($victim, $standby, $from, @at) = @_;
	my $name = $victim->name;
	my @loads;
	my $id = $cluster->{coordinator}->safe_psql('postgres', 'SELECT nodeid FROM pg_dist_node WHERE nodeport = ' . $victim->port);

	for my $member (@at)
	{
		my $base = $from + 20000 * @loads;

		# A client that has done all its pairs waits until its connection is
		# cut.
		push @loads, start_client($member, 'postgres', join('', map { pair($base + $_) } 1 .. 3000) . "SELECT pg_sleep(86400);\n", "load_${from}_" . $member->name);
	}
	# All clients have done some of their pairs.
	my $loads = @loads;
	wait_until($one, 'postgres', qq{
SELECT count(*) = $loads FROM (
	SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = 'pair' AND post_id = kit.p($here) AND id > kit.c($from)
	GROUP BY right(id::text, 12)::int / 20000 HAVING count(*) > 30) x});
	# The member's worker is held, so it does neither the rename nor the
	# deletion.
	my $worker = hold_worker($victim, 'postgres');
	my ($renamed, $deleted) = splice @others, 0, 2;
	$one->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u($renamed), 'renamed before $name ended'); SELECT blogstore.delete_user(kit.u($deleted))");
	$victim->kill9;
	eval { $worker->quit };

	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$standby->promote;
	$cluster->{nodes} = [ map { $_ == $victim ? $standby : $_ } @{ $cluster->{nodes} } ];
	$cluster->{coordinator} = $standby if $cluster->{coordinator} == $victim;
	$cluster->{coordinator}->safe_psql('postgres', sprintf q{SELECT citus_update_node(%d, '%s', %d)}, $id, $standby->host, $standby->port);
	# Terminate the clients that still run, with their server processes.
	on_each($cluster, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'load\_%'});
	my @told = map { grep { /^\d+$/ } @{ (finish_client($_))[0] } } @loads;

	wait_recovered($cluster);
	my %half = map { $_ => 1 } halves($here);
	cmp_ok(scalar @told, '>', 30 * @at, "$name: clients were told of pairs");
	is(join(' ', grep { !$half{$_} } @told), '', "$name: nothing acknowledged is lost");
	is(join(' ', halves($there)), join(' ', halves($here)), "$name: pairs are all or nothing");

	# Other nodes have copies of deleted posts of which the killed worker has
	# not told them.
	wait_jobs($cluster, members($cluster));
	views_right($cluster, "$name: promoted");
	is(join(', ', slots_made($standby, 0)), 'The slot was missing.', "$name: the promoted server's worker has made its slot");
	same_everywhere($cluster, "SELECT username FROM blogstore.get_user(kit.u($renamed))", "renamed before $name ended", "$name: a rename is there");
	is($cluster->{coordinator}->safe_psql('postgres',
			"SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u($renamed) AND type <> 'delta'"),
		"renamed before $name ended", "$name: no item has the old name");
	is($cluster->{coordinator}->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u($deleted)"),
		0, "$name: no item of a deleted user is left");

	# Every member can write again.
	$number = $from + 90000;
	my @members = members($cluster);
	$_->safe_psql('postgres', pair(++$number)) foreach @members;
	is(join(' ', halves($there)), join(' ', halves($here)), "$name: pairs after it");
	is(scalar(grep { $_ > $from + 90000 } halves($here)), scalar @members, "$name: all pairs after it are there");
	views_right($cluster, "$name: worked on");
	return;
}

fail_over($two, start_standby($two), 100000, $cluster->{coordinator}, $one);
# Users cannot be created without the coordinator. It is killed while clients
# at the nodes write.
fail_over($cluster->{coordinator}, start_standby($cluster->{coordinator}), 600000, nodes($cluster));

done_testing();
