
# The site of examples/site, in a real browser. Each file of test/site has a
# database of its own, prepared as by examples/site/run.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreNpm;
use BlogstoreTest;
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $site = "$FindBin::RealBin/../../examples/site";
my $out = '';
need_npm();
my $chromium = (grep { $_ } map { program_path($_) } qw(chromium-headless-shell chromium chromium-browser google-chrome))[0]
  or plan skip_all => 'there is no Chromium';
IPC::Run::run([ 'node', '-p', 'process.versions.node' ], '<', \undef, '>', \$out);
plan skip_all => "node is $out, and the site needs 18" if $out < 18;

# A copy of the site with its packages, in the pinned versions, and a home
# directory for the browser
my $folder = PostgreSQL::Test::Utils::tempdir('site');
$ENV{HOME} = PostgreSQL::Test::Utils::tempdir('home');
delete @ENV{qw(XDG_CONFIG_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS DISPLAY)};
system_or_bail('cp', '-R', "$site/.", $folder);
install_packages($folder);

my $node = new_server('site');
$node->start;
foreach my $file (sort glob "$FindBin::RealBin/../site/*.js")
{
	browse(basename($file, '.js')) if basename($file) ne 'kit.js';
}
$node->stop;
done_testing();

# Run one file of test/site. Each of its tests becomes a test here.
sub browse
{
	my ($name) = @_;
	my ($output, $told) = ('', 0);

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	create_store($node, $name);
	local $ENV{SITE_PASSWORD} = 'a password';
	$node->command_ok([ 'psql', '-X', '-q', '-f', "$site/setup.sql", $node->connstr($name) ], "$name: the database is prepared");
	local @ENV{qw(SITE_FOLDER SITE_CHROMIUM SITE_ADMIN_URL DATABASE_URL)} =
	  ($folder, $chromium, map { "postgresql:///$name?user=$_&host=" . $node->host . '&port=' . $node->port } scalar(getpwuid($<)), 'site_app');
	IPC::Run::run([ 'node', "$FindBin::RealBin/../site/$name.js" ], '<', \undef, '>', \$output);
	foreach my $line (split /\n/, $output)
	{
		if ($line =~ /^(not )?ok \d+ - (.*)/)
		{
			ok(!$1, "$name: $2");
			$told++;
		}
		elsif ($line =~ /^1\.\.(\d+)$/)
		{
			is($told, $1, "$name: as many tests as planned");
			$told = 'all';
		}
		else
		{
			diag $line;
		}
	}
	is($told, 'all', "$name: has printed its plan");
	check_store($node, $name, $name);
	return;
}
