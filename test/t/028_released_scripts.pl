
# A script that was released is never edited: make check-frozen compares the scripts with
# their checksums. Starts no server.

use strict;
use warnings;
use FindBin;

use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";

# What make check-frozen says, and its status, in a copy of the Makefile and the scripts
my $copy = PostgreSQL::Test::Utils::tempdir;
mkdir "$copy/sql";
copy("$root/Makefile", $copy);
copy($_, "$copy/sql") for glob "$root/sql/*";

sub check_frozen
{
	my ($out, $err) = ('', '');

	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
	my $passed = IPC::Run::run([ 'make', '-s', '-C', $copy, 'check-frozen' ], '<', \undef, '>', \$out, '2>', \$err);
	return ($passed ? 'passed' : 'failed', $out);
}

sub append
{
	my ($file, $text) = @_;

	append_to_file("$copy/sql/$file", $text);
	return;
}

my ($result, $out) = check_frozen();
is($result, 'passed', 'the released scripts are what they were') or diag $out;

# a script that is listed may not be edited
append('blogstore--9.8--9.9.sql', "SELECT 1;\n");
append('frozen.sha256', qx{cd $copy/sql && sha256sum blogstore--9.8--9.9.sql});
is((check_frozen())[0], 'passed', 'one more is released');
append('blogstore--9.8--9.9.sql', "SELECT 2;\n");
($result, $out) = check_frozen();
is($result, 'failed', 'it was edited');
like($out, qr/^blogstore--9\.8--9\.9\.sql: FAILED$/m, '... which is said');

done_testing();
