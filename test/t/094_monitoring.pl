
# prometheus-postgres-exporter shows the metrics of
# examples/monitoring/queries.yaml, and promtool accepts the alerts. The file
# is skipped without the exporter.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

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

my $node = new_server('monitoring');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE blog; CREATE ROLE monitoring LOGIN IN ROLE pg_monitor');
create_store($node, 'blog');
fill_store($node, 'blog', 5, 20);
check_store($node, 'blog', 'filled');

# ---- The exporter

my $port = PostgreSQL::Test::Cluster::get_free_port();
my $log = PostgreSQL::Test::Utils::tempdir('monitoring') . '/log';
local $ENV{DATA_SOURCE_NAME} = $node->connstr('blog') . ' user=monitoring sslmode=disable';
my $run = IPC::Run::start(
	[ $exporter, "--extend.query-path=$examples/queries.yaml", "--web.listen-address=127.0.0.1:$port", '--disable-default-metrics', '--disable-settings-metrics' ],
	'<', \undef, '>', $log, '2>&1');

END
{
	$run->kill_kill if defined $run && $run->pumpable;
}

# Read the page of metrics. Returns a hash of values; a key is a metric with
# its labels, without the server's.
sub metrics
{
	my $page = '';

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port);

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

my %metric = metrics();
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
%metric = metrics();
is($metric{'blogstore_jobs_parked{datname="blog",kind="rename"}'}, 1, 'a job that fails');
cmp_ok($metric{'blogstore_worker_last_error_time_seconds{datname="blog",state="running"}'}, '>', 1e9, '... and when it failed');
$node->safe_psql('blog', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
%metric = metrics();
is($metric{'blogstore_worker_info{datname="blog",state="stopped"}'}, 1, 'a worker that is stopped');
ok(!exists $metric{'blogstore_worker_info{datname="blog",state="running"}'}, '... and runs no more');
is($metric{'blogstore_slot_active{datname="blog",wal_status="reserved"}'}, 0, '... with a slot that nobody uses');

$run->signal('TERM');
$run->finish;
unlike(slurp_file($log), qr/level=error/, 'the exporter has met no error');

# ---- The alerts

# Each metric in an alert is one that the exporter shows.
my %name = map { s/\{.*//r => 1 } keys %metric;
my @unknown = grep { !$name{$_} } slurp_file("$examples/alerts.yml") =~ /(blogstore_\w+)/g;
is(join(', ', @unknown), '', 'the alerts are about metrics that exist');

SKIP:
{
	skip('there is no promtool', 1) if !defined $promtool;
	command_ok([ $promtool, 'check', 'rules', "$examples/alerts.yml" ], 'promtool accepts the alerts');
}

$node->stop;
done_testing();
