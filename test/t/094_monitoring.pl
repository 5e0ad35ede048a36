
# prometheus-postgres-exporter shows the metrics of
# examples/monitoring/queries.yaml, as docs/OPERATIONS.md configures it, on a
# standby and of several databases, too. Each alert fires when it should. The
# file is skipped without the exporter.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreDocument;
use BlogstoreTest;
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $examples = "$FindBin::RealBin/../../examples/monitoring";
my ($exporter, $promtool) = map {
	my $name = $_;
	(grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0]
} qw(prometheus-postgres-exporter promtool);

plan(skip_all => 'there is no prometheus-postgres-exporter') if !defined $exporter;

read_document('docs/OPERATIONS.md');
my ($role) = slurp_file("$FindBin::RealBin/../../docs/OPERATIONS.md") =~ /`(CREATE ROLE prometheus [^`]*)`/ or die 'no role';
my $node = new_server('monitoring');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE blog');
$node->safe_psql('postgres', $role);
create_store($node, 'blog');
fill_store($node, 'blog', 5, 20);
check_store($node, 'blog', 'filled');

# ---- The exporter

my @exporters;

# Start the exporter for a server, with the document's configuration and with
# further options. Returns a hash with its handle, port and log.
sub start_exporter
{
	my ($on, @options) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $log = PostgreSQL::Test::Utils::tempdir('monitoring') . '/log';
	my ($socket, $server) = ($on->host, $on->port);
	my $conf = block('bash', 'Prometheus') =~ s{host=/var/run/postgresql}{host=$socket port=$server}r =~ s{/etc/prometheus/blogstore_queries\.yaml}{$examples/queries.yaml}r;

	# The package's service runs the program with the words of ARGS.
	my $run = IPC::Run::start(
		[ 'bash', '-c', qq{set -a\n$conf\nexec "\$0" \$ARGS "\$@"}, $exporter, "--web.listen-address=127.0.0.1:$port", '--disable-default-metrics', '--disable-settings-metrics', @options ],
		'<', \undef, '>', $log, '2>&1');
	push @exporters, $run;
	return { run => $run, port => $port, log => $log };
}

# End an exporter. Returns the errors that it has logged.
sub end_exporter
{
	my ($exporter) = @_;

	$exporter->{run}->signal('TERM');
	$exporter->{run}->finish;
	return join "\n", grep { /level=error/ } split /\n/, slurp_file($exporter->{log});
}

END
{
	$_->kill_kill foreach grep { $_->pumpable } @exporters;
}

# Read the page of metrics. Returns a hash of values; a key is a metric with
# its labels, without the server's.
sub metrics
{
	my ($from) = @_;
	my $page = '';

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $from->{port});

		if ($socket)
		{
			print {$socket} "GET /metrics HTTP/1.0\r\n\r\n";
			$page = do { local $/ = undef; <$socket> };
			last if $page =~ /^blogstore_/m;
		}
		select undef, undef, undef, 0.1;
	}
	return map { s/,server="[^"]*"//r =~ /^(blogstore_\S+?\}) (\S+)$/ ? ($1 => $2) : () } split /\n/, $page;
}

my $started = start_exporter($node);
my %metric = metrics($started);
is($metric{'blogstore_worker_info{datname="blog",state="running"}'}, 1, 'the state of the worker');
is($metric{'blogstore_worker_last_error_time_seconds{datname="blog",state="running"}'}, 'NaN', 'no error');
cmp_ok($metric{'blogstore_worker_retained_bytes{datname="blog",state="running"}'}, '>', 0, 'the WAL that its slot retains');
is($metric{'blogstore_requests_calls{datname="blog",function="create_post"}'}, 20, 'calls of a request');
is($metric{'blogstore_requests_calls{datname="blog",function="delete_user"}'}, 0, '... and of one that nobody has called');
cmp_ok($metric{'blogstore_requests_seconds{datname="blog",function="create_post"}'}, '>', 0, '... and their time');
is($metric{'blogstore_requests_caller_errors{datname="blog",function="create_user"}'}, 0, '... and its errors');
cmp_ok($metric{'blogstore_requests_p99_seconds{datname="blog",function="create_post"}'}, '>', 0, '... and how long nearly all of its calls took');
is($metric{'blogstore_jobs_pending{datname="blog",kind="rename"}'}, 0, 'no jobs');
is($metric{'blogstore_slot_active{datname="blog",wal_status="reserved"}'}, 1, 'the slot');
cmp_ok($metric{'blogstore_slot_retained_bytes{datname="blog",wal_status="reserved"}'}, '>', 0, '... and what it keeps');

# A parked job and a stopped worker
$node->safe_psql('blog', "ALTER TABLE blogstore.posts ADD CONSTRAINT in_the_way CHECK (user_username <> 'refused') NOT VALID");
$node->safe_psql('blog', "SELECT blogstore.edit_user(kit.u(1), 'refused')");
wait_until($node, 'blog', "SELECT count(*) = 1 FROM blogstore.progress WHERE phase = 'parked'");
%metric = metrics($started);
is($metric{'blogstore_jobs_parked{datname="blog",kind="rename"}'}, 1, 'a job that fails');
cmp_ok($metric{'blogstore_worker_last_error_time_seconds{datname="blog",state="running"}'}, '>', 1e9, '... and when it failed');
$node->safe_psql('blog', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
%metric = metrics($started);
is($metric{'blogstore_worker_info{datname="blog",state="stopped"}'}, 1, 'a worker that is stopped');
ok(!exists $metric{'blogstore_worker_info{datname="blog",state="running"}'}, '... and runs no more');
is($metric{'blogstore_slot_active{datname="blog",wal_status="reserved"}'}, 0, '... with a slot that nobody uses');

my %name = map { s/\{.*//r => 1 } keys %metric;

# The slot loses its WAL.
$node->safe_psql('postgres', "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
$node->reload;
$node->safe_psql('postgres', 'SELECT pg_switch_wal(); SELECT txid_current()') for 1 .. 5;
$node->safe_psql('postgres', 'CHECKPOINT');
%metric = metrics($started);
is($metric{'blogstore_slot_retained_bytes{datname="blog",wal_status="lost"}'}, 0, 'a slot that has lost its WAL');
is(end_exporter($started), '', 'the exporter has met no error');

# ---- A standby, with a copy of the slot

$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_slot_wal_keep_size');
$node->reload;
$node->safe_psql('blog', "ALTER TABLE blogstore.posts DROP CONSTRAINT in_the_way; SELECT blogstore.start_worker()");
check_store($node, 'blog', 'started again');
$node->stop;
$node->backup_fs_cold('cold');
$node->start;
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'cold', has_streaming => 1);
$standby->start;
$node->safe_psql('blog', 'SELECT blogstore.create_like(kit.p(1), kit.u(5)); SELECT kit.views_follow()');
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
$started = start_exporter($standby);
%metric = metrics($started);
is(join(' ', sort grep { /^blogstore_worker_info/ } keys %metric), 'blogstore_worker_info{datname="blog",state="standby"}', 'a standby has no worker');
cmp_ok($metric{'blogstore_slot_retained_bytes{datname="blog",wal_status="reserved"}'}, '>', 0, '... and shows what its slot keeps');
is($metric{'blogstore_jobs_pending{datname="blog",kind="rename"}'}, 0, '... and jobs');
is($metric{'blogstore_requests_calls{datname="blog",function="list_feed"}'}, 0, '... and its own requests');
$standby->safe_psql('blog', 'SELECT count(*) FROM blogstore.list_feed()');
%metric = metrics($started);
is($metric{'blogstore_requests_calls{datname="blog",function="list_feed"}'}, 1, '... which are counted');
is(end_exporter($started), '', '... without an error');
$standby->stop;

# ---- Several databases

$node->safe_psql('postgres', 'CREATE DATABASE forum');
create_store($node, 'forum');
$node->safe_psql('forum', 'SELECT kit.fill(2, 3)');
check_store($node, 'forum', 'a second database');
my ($discover, $include) = slurp_file("$FindBin::RealBin/../../docs/OPERATIONS.md") =~ /`(--auto-discover-databases)` and\s+`(--include-databases=blog,forum)`/ or die 'no options';
$started = start_exporter($node, $discover, $include);
%metric = metrics($started);
is($metric{'blogstore_requests_calls{datname="forum",function="create_post"}'}, 3, 'several databases: the requests of each');
is($metric{qq{blogstore_worker_info{datname="$_",state="running"}}}, 1, "... and the worker of $_") foreach qw(blog forum);
is(end_exporter($started), '', '... without an error');

# ---- The alerts

# Each metric in an alert is one that the exporter shows.
my @unknown = grep { !$name{$_} } slurp_file("$examples/alerts.yml") =~ /(blogstore_\w+)/g;
is(join(', ', @unknown), '', 'the alerts are about metrics that exist');

SKIP:
{
	my $tests = "$FindBin::RealBin/../monitoring/alerts_fire.yml";

	skip('there is no promtool', 4) if !defined $promtool;
	my $config = PostgreSQL::Test::Utils::tempdir . '/prometheus.yml';
	append_to_file($config, block('yaml', 'Prometheus') =~ s{/etc/prometheus/blogstore_alerts\.yml}{$examples/alerts.yml}r);
	command_ok([ $promtool, 'check', 'config', $config ], 'promtool accepts the configuration of the page');
	command_ok([ $promtool, 'check', 'rules', "$examples/alerts.yml" ], 'promtool accepts the alerts');
	command_ok([ $promtool, 'test', 'rules', $tests ], 'each alert fires when it should, and not otherwise');
	my %tested = map { $_ => 1 } slurp_file($tests) =~ /alertname: (\w+)/g;
	is(join(' ', sort keys %tested), join(' ', sort(slurp_file("$examples/alerts.yml") =~ /alert: (\w+)/g)), '... and is tested');
}

$node->stop;
done_testing();
