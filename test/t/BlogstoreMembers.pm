
=pod

=head1 NAME

BlogstoreMembers - servers with Citus that form one cluster, for TAP tests

A cluster is a coordinator and nodes on this machine. They connect by the
directory of their sockets, so nobody else can connect. All tests use the
database postgres.

=cut

package BlogstoreMembers;

use strict;
use warnings;

use BlogstoreTest;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Users 1 to 12, posts 1 to 60 by them in turn, with 4 comments on each post,
# and likes of all users
our $FILL = q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 12) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 12), 'title ' || n, repeat('content ' || n || ' ', 50), kit.p(n), kit.d(n)))
FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + (n + m) % 12), 'comment', kit.c(10 * n + m), kit.d(n + m)))
FROM generate_series(1, 60) AS n, generate_series(1, 4) AS m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m))) FROM generate_series(1, 60) AS n, generate_series(1, 12) AS m;
};

our @EXPORT = qw(
  $FILL
  citus_install_path long_tests new_cluster new_single add_node members nodes
  on_each who_waits give_up create_kit_everywhere start_member wait_views wait_jobs wait_recovered
);

=pod

=head1 CITUS

=over

=item citus_install_path()

The path of a PostgreSQL with Citus. BLOGSTORE_CITUS_CONFIG can name its
pg_config; otherwise it is the PostgreSQL in use, if that has Citus. The test
is skipped if there is none.

=cut

sub citus_install_path
{
	my @candidates =
	  defined $ENV{BLOGSTORE_CITUS_CONFIG}
	  ? ($ENV{BLOGSTORE_CITUS_CONFIG})
	  : ($ENV{PG_CONFIG} || 'pg_config');

	for my $config (@candidates)
	{
		my ($bindir, $library) = map { chomp; $_ } qx{$config --bindir --pkglibdir};

		die "$config cannot be run" if !defined $library && defined $ENV{BLOGSTORE_CITUS_CONFIG};
		next if !defined $library || !-e "$library/citus.so";
		-e "$library/blogstore.so"
		  or die "blogstore is not installed there: make install PG_CONFIG=$config";
		return $bindir =~ s{/bin/?$}{}r;
	}
	die "there is no Citus in the library directory of $ENV{BLOGSTORE_CITUS_CONFIG}"
	  if defined $ENV{BLOGSTORE_CITUS_CONFIG};
	plan skip_all => 'no Citus: set BLOGSTORE_CITUS_CONFIG to the pg_config of a PostgreSQL that has it';
	return;
}

=pod

=item long_tests()

Whether the tests should run long, as by scripts/check --cluster.

=cut

sub long_tests
{
	return ($ENV{BLOGSTORE_CLUSTER_TESTS} // '') eq 'long';
}

# Return whether the server knows a setting that only some minor releases have.
sub knows_setting
{
	my ($node, $setting) = @_;
	my ($out, $err) = run_command([ $node->installed_command('postgres'), '--describe-config' ]);

	return $out =~ /^\Q$setting\E\t/m;
}

# Start a member with Citus in its database, and without blogstore.
sub start_new_member
{
	my ($name, $install_path, $settings) = @_;
	my $node = new_server($name, install_path => $install_path);
	my $host = $node->host;

	$node->append_conf(
		'postgresql.conf', qq{
shared_preload_libraries = 'citus,blogstore'
max_connections = 150
max_prepared_transactions = 200
max_worker_processes = 48
max_replication_slots = 48
max_wal_senders = 48
max_logical_replication_workers = 24
max_sync_workers_per_subscription = 4
max_locks_per_transaction = 256
log_line_prefix = '%m [%p] %b %a '
citus.local_hostname = '$host'
citus.node_conninfo = 'sslmode=prefer'
# how often Citus looks for transactions whose outcome a member does not know
citus.recover_2pc_interval = '1s'
});
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'pgoutput, test_decoding, citus'")
	  if knows_setting($node, 'output_plugin_libraries');
	$node->append_conf('postgresql.conf', $settings) if defined $settings;
	$node->start;
	$node->safe_psql('postgres', 'SET client_min_messages = error; CREATE EXTENSION citus');
	return $node;
}

=pod

=back

=head1 CLUSTERS

=over

=item new_cluster(name, %params)

Start a coordinator and nodes => 2 of them, with blogstore, its containers with
partitions => 16, and the kit on each. The parameter owner names a role that is
created and owns the containers. With containers => 0 there are none. The text
settings is added to every member's postgresql.conf. The test is skipped if
there is no Citus.

=cut

sub new_cluster
{
	my ($name, %params) = @_;
	my $path = citus_install_path();
	my $cluster = {
		name => $name,
		path => $path,
		settings => $params{settings},
		owner => $params{owner},
		nodes => [] };
	set_alarm($cluster);
	my $coordinator = start_new_member("${name}_coordinator", $path, $params{settings});

	$cluster->{coordinator} = $coordinator;
	$coordinator->safe_psql('postgres', sprintf q{SELECT citus_set_coordinator_host('%s', %d)},
		$coordinator->host, $coordinator->port);
	add_node($cluster) foreach 1 .. $params{nodes} // 2;
	$coordinator->safe_psql('postgres', 'CREATE EXTENSION blogstore');
	return $cluster if !($params{containers} // 1);
	$coordinator->safe_psql('postgres', "CREATE ROLE $params{owner} LOGIN") if defined $params{owner};

	$cluster->{partitions} = $params{partitions} // 16;
	make_containers($cluster);
	create_kit_everywhere($cluster);
	return $cluster;
}

# If the test does not end, report what the members wait for before the test's
# runner gives up.
sub set_alarm
{
	my ($cluster) = @_;

	$SIG{ALRM} = sub { give_up($cluster, 'the test does not come to its end') };
	alarm(6 * $PostgreSQL::Test::Utils::timeout_default) if !long_tests();
	return;
}

# Create the containers, or what a new node lacks of them: the users, which
# Citus would copy later and only for some ways to move shards, and the tables
# that each node has for itself.
sub make_containers
{
	my ($cluster, $before_users) = @_;
	my $owner = defined $cluster->{owner} ? ", owner => '$cluster->{owner}'" : '';

	$cluster->{coordinator}->safe_psql(
		'postgres', qq{
SET client_min_messages = error;
SELECT blogstore.create_containers($cluster->{partitions}$owner)});
	$before_users->() if $before_users;
	$cluster->{coordinator}->safe_psql('postgres', q{
SET client_min_messages = error;
SELECT replicate_reference_tables()});
	return;
}

=pod

=item new_single(cluster, name)

Start one server of the same installation, without Citus, with a store of its
own. Its answers are what the cluster's should be.

=cut

sub new_single
{
	my ($cluster, $name) = @_;
	my $node = new_server($name, install_path => $cluster->{path});

	$node->start;
	create_store($node, 'postgres');
	return $node;
}

=pod

=item add_node(cluster, before_users)

Start one more node, and make it a member with users but without shards. It
gets the kit if the others have it. before_users is called with the node when
only the users are missing. Returns the node.

=cut

sub add_node
{
	my ($cluster, $before_users) = @_;
	my $name = "$cluster->{name}_node" . (1 + @{ $cluster->{nodes} });
	my $node = start_new_member($name, $cluster->{path}, $cluster->{settings});

	$cluster->{coordinator}->safe_psql('postgres',
		sprintf q{SET client_min_messages = error; SELECT citus_add_node('%s', %d)}, $node->host, $node->port);
	push @{ $cluster->{nodes} }, $node;
	make_containers($cluster, $before_users && sub { $before_users->($node) })
	  if $cluster->{partitions};
	here_only($cluster, $_, $node) foreach @{ $cluster->{kit} // [] };
	return $node;
}

=pod

=item members(cluster), nodes(cluster)

All servers, with the coordinator first; and only those that have shards.

=cut

sub members
{
	my ($cluster) = @_;

	return ($cluster->{coordinator}, @{ $cluster->{nodes} });
}

sub nodes
{
	my ($cluster) = @_;

	return @{ $cluster->{nodes} };
}

=pod

=item on_each(cluster, sql)

Run SQL on every member. Returns what each one gives.

=cut

sub on_each
{
	my ($cluster, $sql) = @_;

	return map { $_->safe_psql('postgres', $sql) } members($cluster);
}

=pod

=item who_waits(cluster)

What a test reports if it does not end: every member's sessions and the
processes they wait for, the state of the worker, and the end of the log.
Members that do not answer are left out.

=cut

sub who_waits
{
	my ($cluster) = @_;
	my $text = '';

	foreach my $member (grep { defined } members($cluster))
	{
		my @lines = split /\n/, -e $member->logfile ? slurp_file($member->logfile) : '';

		$text .= $member->name . ":\n";
		foreach my $query (
			q{SELECT pid, application_name, state, wait_event_type, wait_event, pg_blocking_pids(pid), left(regexp_replace(query, '\s+', ' ', 'g'), 200)
FROM pg_stat_activity WHERE (state <> 'idle' OR backend_type LIKE 'blogstore%') AND pid <> pg_backend_pid() ORDER BY xact_start},
			'SELECT slot_name, active_pid, confirmed_flush_lsn, pg_current_wal_lsn() FROM pg_replication_slots',
			'SELECT gid, prepared FROM pg_prepared_xacts',
			'SELECT * FROM blogstore.stat_worker', 'SELECT * FROM blogstore.progress')
		{
			my $out = '';

			eval { $member->psql('postgres', $query, stdout => \$out, timeout => 20, timed_out => \my $late) };
			$text .= "$out\n";
		}
		$text .= join "\n", (grep { !/LOG: +(statement|duration)/ } @lines[ ($#lines > 60 ? -60 : -@lines) .. -1 ]), '';
	}
	return $text;
}

=pod

=item give_up(cluster, why)

End the test, and add the text of who_waits() to its results. The message of
die alone would be in the test's own log only.

=cut

sub give_up
{
	my ($cluster, $why) = @_;

	diag "$why:\n" . who_waits($cluster);
	die $why;
}

# Run SQL on members, without propagation by Citus to the others.
sub here_only
{
	my ($cluster, $sql, @members) = @_;

	$_->safe_psql('postgres', "SET citus.enable_ddl_propagation = off;\n$sql") foreach @members;
	return;
}

=pod

=item create_kit_everywhere(cluster, sql)

Run SQL on every member, without propagation by Citus, and later on members
that are added. The default is the file ids of test/kit.

=cut

sub create_kit_everywhere
{
	my ($cluster, $sql) = @_;

	$sql //= kit_file('ids');
	push @{ $cluster->{kit} }, $sql;
	here_only($cluster, $sql, members($cluster));
	return;
}

=pod

=item start_member(cluster, member)

Start a member that was killed, and wait until it accepts connections.

=cut

sub start_member
{
	my ($cluster, $member) = @_;

	start_again($member);
	wait_accepts($member);
	return;
}

=pod

=item wait_views(server)

Wait until the views show everything that can be read on a server, and so in
its whole cluster. Returns whether they do.

=cut

sub wait_views
{
	my ($server) = @_;
	my $seconds = $PostgreSQL::Test::Utils::timeout_default;

	return $server->safe_psql('postgres', "SELECT blogstore.wait_for_views('$seconds s')") eq 't';
}

=pod

=item wait_jobs(cluster, server...)

Wait until no server has a rebuild, rename or deletion in progress. Dies with a
list of the jobs if one does not end. A node learns of other nodes' renames and
deletions from its change feed, so wait for the views first.

=cut

sub wait_jobs
{
	my ($cluster, @servers) = @_;

	foreach my $server (@servers)
	{
		wait_views($server) or give_up($cluster, $server->name . ': the views do not follow');
	}
	for my $server (@servers)
	{
		$server->poll_query_until('postgres', 'SELECT count(*) = 0 FROM blogstore.progress')
		  or die $server->name . ' has under way: ' . $server->safe_psql('postgres', 'SELECT * FROM blogstore.progress');
	}
	return;
}

=pod

=item wait_recovered(cluster)

Wait until no member has a prepared transaction that the others have already
decided on.

=cut

sub wait_recovered
{
	my ($cluster) = @_;

	wait_until($_, 'postgres', q{SELECT count(*) = 0 FROM pg_prepared_xacts WHERE gid LIKE 'citus\_%'})
	  foreach members($cluster);
	return;
}

=pod

=back

=cut

1;
