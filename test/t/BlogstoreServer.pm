
=pod

=head1 NAME

BlogstoreServer - servers for blogstore's TAP tests, and functions that wait
for them

=cut

package BlogstoreServer;

use strict;
use warnings;

# The timeout of every wait, in seconds. It is far more than anything takes on
# an overloaded machine, and a test that succeeds never uses it up. The modules
# below read it when they are loaded. "make installcheck" names no pg_config.
BEGIN
{
	$ENV{PG_CONFIG} ||= 'pg_config';
	$ENV{PG_TEST_TIMEOUT_DEFAULT} ||= 600;
	$ENV{PGCTLTIMEOUT} ||= $ENV{PG_TEST_TIMEOUT_DEFAULT};
}

use Exporter 'import';
use BlogstoreQuery;
use IPC::Run;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  new_server copy_installation prepare_server decoding_level wait_event wal_level_too_low start_again start_preloaded set_clock set_and_reload wait_until wait_accepts wait_logged
  log_end logged
);

=pod

=head1 SERVERS

=over

=item new_server(name, %params)

Initialize a server, without starting it. It is configured for the worker
unless prepared => 0 is given. install_path names another installation.

=cut

sub new_server
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name,
		defined $params{install_path} ? (install_path => $params{install_path}) : ());
	my $prepared = $params{prepared} // 1;

	# The template has this encoding and locale, too (scripts/check).
	# PostgreSQL's modules use it themselves since version 17.
	my $template = $ENV{INITDB_TEMPLATE};
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail = sub {
		return $run->($template && $_[0] eq 'initdb' ? ('cp', '-RPp', $template, $node->data_dir) : @_);
	};
	$node->init(
		allows_streaming => $prepared ? 'logical' : 1,
		$template ? () : (extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]));
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

=item copy_installation()

Copy the installation of PostgreSQL, so that a test can change its files. The
copy has the same folders relative to each other: a server finds its files by
way of them. Returns a hash with the copy's pkglibdir, sharedir and
install_path, which new_server() takes.

=cut

sub copy_installation
{
	my %from = map { chomp(my $path = qx{$ENV{PG_CONFIG} --$_}); $_ => $path } qw(bindir pkglibdir sharedir);
	my $copy = PostgreSQL::Test::Utils::tempdir('installation');

	$from{install_path} = $from{bindir} =~ s{/bin$}{}r;
	foreach my $path (@from{qw(install_path pkglibdir sharedir)})
	{
		next if -e "$copy$path/.";
		system_or_bail('mkdir', '-p', "$copy$path");
		system_or_bail('cp', '-R', "$path/.", "$copy$path");
	}
	return map { $_ => "$copy$from{$_}" } keys %from;
}

=pod

=item prepare_server(node)

Configure what the worker needs, from the next start on.

=cut

sub prepare_server
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf',
		"wal_level = logical\nshared_preload_libraries = 'blogstore'\n");
	return;
}

=pod

=item decoding_level(node)

The lowest wal_level at which the server can decode WAL: PostgreSQL 19 does so
at replica, an older server at logical.

=cut

sub decoding_level
{
	my ($node) = @_;

	return $node->pg_version->major >= 19 ? 'replica' : 'logical';
}

=pod

=item wait_event(node, name)

The column wait_event of pg_stat_activity for a wait of blogstore: its name on
PostgreSQL 17 and later, otherwise Extension.

=cut

sub wait_event
{
	my ($node, $name) = @_;

	return $node->pg_version->major >= 17 ? $name : 'Extension';
}

=pod

=item wal_level_too_low(node)

Configure a wal_level at which no worker can run, from the next start on. The
server has no WAL senders then. It does not start while the worker's slot
exists.

=cut

sub wal_level_too_low
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf',
		'wal_level = ' . (decoding_level($node) eq 'replica' ? 'minimal' : 'replica') . "\nmax_wal_senders = 0\n");
	return;
}

=pod

=item start_again(node)

Start a server whose postmaster was killed. It refuses to start while child
processes of the old postmaster exist.

=cut

sub start_again
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $node->start(fail_ok => 1);
		# Wait for the end of orphaned processes, for which there is no query,
		# and clear the state of the failed attempt.
		select(undef, undef, undef, 0.1);
		$node->stop('fast', fail_ok => 1);
	}
	return $node->start;
}

=pod

=item start_preloaded(node, name, environment)

Compile name.c, and start a server whose calls of the C library use its
functions, by LD_PRELOAD. The environment is for these functions. With fail_ok
=> 1 in it, the server may fail to start. Returns whether it has started.

=cut

sub start_preloaded
{
	my ($node, $name, %environment) = @_;
	my $fail_ok = delete $environment{fail_ok};
	my $library = $node->basedir . "/$name.so";

	system_or_bail(split(' ', $node->config_data('--cc')), '-shared', '-fPIC', '-o', $library, "$FindBin::RealBin/$name.c")
	  unless -e $library;
	local @ENV{ 'LD_PRELOAD', keys %environment } = ($library, values %environment);
	# A server built with sanitizers would refuse a library that is loaded
	# before it.
	local $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} || (), 'verify_asan_link_order=0';
	return $node->start(fail_ok => $fail_ok);
}

=pod

=item set_clock(file, seconds)

Set the clock of a server that runs with set_back.c, by the file that its
CLOCK_OFFSET names: the difference to the true time.

=cut

sub set_clock
{
	my ($clock, $seconds) = @_;

	# Overwrite the file in place, because the server's processes have mapped
	# it.
	open my $file, -e $clock ? '+<' : '>', $clock or die $!;
	syswrite($file, pack('q', $seconds)) == 8 or die $!;
	close $file or die $!;
	return;
}

=pod

=item set_and_reload(node, setting, value)

Change a setting in postgresql.conf, reload, and wait until new sessions have
it. The value has the form that SHOW returns.

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

Wait until a query returns the expected value, by default t. Dies with the last
result if it does not. Use it only for a state that lasts or that comes again
and again. To see a state that passes, hold the worker in it; see close_gate().

=cut

sub wait_until
{
	my ($node, $dbname, $query, $expected) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	my $pause = 100_000;

	$expected //= 't';
	while (1)
	{
		my (undef, $out, $err) = $node->psql($dbname, $query);

		return if $out eq $expected && $err eq '';
		die "this did not come true: $query\nexpected: $expected\nread: $out $err" if time > $end;
		# A query costs a process of psql and one of the server, so long
		# waits ask less often than short ones.
		usleep($pause);
		$pause = min($pause * 1.2, 400_000);
	}
}

=pod

=item wait_accepts(node, query)

Wait until a server accepts connections, and a query, if one is given, returns
true. (poll_query_until() is of no use here: it fails if psql ends before it
has read the query.)

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

Wait until n lines of the server's log match a pattern, by default one, from an
offset on. Returns the matching lines.

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

The present length of the server's log.

=cut

sub log_end
{
	my ($node) = @_;

	return -s $node->logfile;
}

=pod

=item logged(node, offset, pattern)

The lines of the server's log that match a pattern, from an offset on.

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
