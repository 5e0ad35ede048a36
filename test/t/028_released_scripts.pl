
# make check-frozen compares the released SQL scripts with their checksums,
# because a released script must not be edited. The test starts no server.

use strict;
use warnings;
use FindBin;

use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";

# Run make check-frozen in a copy of the Makefile and the scripts. Returns
# whether it passed, and its output.
my $copy = PostgreSQL::Test::Utils::tempdir;
mkdir "$copy/$_" foreach qw(sql src);
copy("$root/$_", $copy) foreach qw(Makefile blogstore.control);
copy("$root/src/blogstore.c", "$copy/src");
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
is($result, 'passed', 'the released scripts are unchanged') or diag $out;

# Release one more script, and then edit it.
append('blogstore--9.8--9.9.sql', "SELECT 1;\n");
append('frozen.sha256', qx{cd $copy/sql && sha256sum blogstore--9.8--9.9.sql});
is((check_frozen())[0], 'passed', 'another script is released');
append('blogstore--9.8--9.9.sql', "SELECT 2;\n");
($result, $out) = check_frozen();
is($result, 'failed', 'a released script was edited');
like($out, qr/^blogstore--9\.8--9\.9\.sql: FAILED$/m, '... and the output names it');

done_testing();
