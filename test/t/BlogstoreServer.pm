
=pod

=head1 NAME

BlogstoreServer - servers for blogstore's TAP tests, and waiting for them

=cut

package BlogstoreServer;

use strict;
use warnings;

# How long anything may take that has to come of itself, in seconds, for all that
# waits: far more than it takes on a machine that is overloaded. Waiting for what
# comes true costs nothing. It is read when the modules below are loaded.
BEGIN
{
	$ENV{PG_TEST_TIMEOUT_DEFAULT} ||= 600;
	$ENV{PGCTLTIMEOUT} ||= $ENV{PG_TEST_TIMEOUT_DEFAULT};
}

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  new_server prepare_server start_again start_preloaded set_and_reload wait_until wait_accepts wait_logged
  log_end logged
);

=pod

=head1 SERVERS

=over

=item new_server(name, %params)

A server that was initialised but not started, prepared for the views unless
prepared => 0, of the installation at install_path if that is given.

=cut

sub new_server
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name,
		defined $params{install_path} ? (install_path => $params{install_path}) : ());
	my $prepared = $params{prepared} // 1;

	$node->init(
		allows_streaming => $prepared ? 'logical' : 1,
		extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
	$node->append_conf(
		'postgresql.conf', q{
log_statement = none
max_connections = 60
max_prepared_transactions = 10
max_worker_processes = 16
shared_buffers = 64MB
max_wal_size = 1GB
restart_after_crash = on
});
	prepare_server($node) if $prepared;
	return $node;
}

=pod

=item prepare_server(node)

Set what the worker needs; takes effect at the next start.

=cut

sub prepare_server
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf',
		"wal_level = logical\nshared_preload_libraries = 'blogstore'\n");
	return;
}

=pod

=item start_again(node)

Start a server whose postmaster was killed: it refuses while the children of
the old one are still there.

=cut

sub start_again
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $node->start(fail_ok => 1);
		# no condition to wait for but the end of processes that are no
		# longer anybody's children; forget the attempt
		select(undef, undef, undef, 0.1);
		$node->stop('fast', fail_ok => 1);
	}
	return $node->start;
}

=pod

=item start_preloaded(node, name, environment)

Start a server whose calls of the system go by the functions in name.c, which are compiled
first; the environment is for these.

=cut

sub start_preloaded
{
	my ($node, $name, %environment) = @_;
	my $library = $node->basedir . "/$name.so";

	system_or_bail(split(' ', $node->config_data('--cc')), '-shared', '-fPIC', '-o', $library, "$FindBin::RealBin/$name.c")
	  unless -e $library;
	local @ENV{ 'LD_PRELOAD', keys %environment } = ($library, values %environment);
	# a server built with sanitizers wants to be loaded before all others
	local $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} || (), 'verify_asan_link_order=0';
	$node->start;
	return;
}

=pod

=item set_and_reload(node, setting, value)

Set something in postgresql.conf, have it read, and wait until new sessions have it; value
as SHOW shows it.

=cut

sub set_and_reload
{
	my ($node, $setting, $value) = @_;

	$node->append_conf('postgresql.conf', "$setting = '$value'\n");
	$node->reload;
	wait_until($node, 'postgres', "SELECT current_setting('$setting') = '$value'");
	return;
}

=pod

=item wait_until(node, dbname, query, expected)

Wait until a query gives what is expected, t if nothing is said; dies, with
what it gave last, if that does not come. Only for what stays as it is once it
has come, or comes again and again: what is over before anybody looks has to be
held where it is, see close_gate().

=cut

sub wait_until
{
	my ($node, $dbname, $query, $expected) = @_;

	$node->poll_query_until($dbname, $query, $expected // 't')
	  or die "this did not come true: $query";
	return;
}

=pod

=item wait_accepts(node, query)

Wait until a server takes connections again, and a query, where given, is true.
(poll_query_until() writes its query to a psql that may have ended before, which
is an error of its own.)

=cut

sub wait_accepts
{
	my ($node, $query) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my ($out, $err) = ('', '');

		IPC::Run::run([
			$node->installed_command('psql'), '-XAt', '-d', $node->connstr('postgres'), '-c', $query // 'SELECT true'
		], '<', \undef, '>', \$out, '2>', \$err);
		return if $out =~ /^t$/m;
		usleep(100_000);
	}
	die 'the server does not come back';
}

=pod

=item wait_logged(node, offset, pattern, n)

Wait until so many lines of the server's log from an offset on match, one if
nothing is said; returns those that do.

=cut

sub wait_logged
{
	my ($node, $offset, $pattern, $n) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my @lines = logged($node, $offset, $pattern);

		return @lines if @lines >= ($n // 1);
		usleep(100_000);
	}
	die "this is not logged: $pattern";
}

=pod

=item log_end(node)

Where the server's log ends now.

=cut

sub log_end
{
	my ($node) = @_;

	return -s $node->logfile;
}

=pod

=item logged(node, offset, pattern)

The lines of the server's log from an offset on that match.

=cut

sub logged
{
	my ($node, $offset, $pattern) = @_;

	return grep { $_ =~ $pattern } split /\n/,
	  slurp_file($node->logfile, $offset);
}

=pod

=back

=cut

1;
