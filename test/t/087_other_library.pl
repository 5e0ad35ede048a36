
# On a server that has loaded an older library, CREATE EXTENSION and ALTER
# EXTENSION UPDATE say that the server has to be restarted. An update of the
# files replaces the library on disk, and the server goes on with the one that
# it has loaded.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %installation = copy_installation();
chomp(my $include = qx{$ENV{PG_CONFIG} --includedir-server});
my $installed = "$installation{pkglibdir}/blogstore.so";
my $library = "$installation{pkglibdir}/this_version.so";
move($installed, $library) or die $!;

# Another version is loaded, and then the files are replaced.
sub install_other
{
	my (@version) = @_;

	unlink $installed;
	system_or_bail('gcc', '-shared', '-fPIC', "-I$include", @version, '-o', $installed, "$FindBin::RealBin/other_library.c");
	return;
}

install_other();
my $node = new_server('other', install_path => $installation{install_path});
chomp(my $version = qx{sed -n 's/^  "version": "\\(.*\\)",/\\1/p' $FindBin::RealBin/../../META.json});
my ($extension) = $version =~ /^([0-9]+[.][0-9]+)[.][0-9]+$/ or die "META.json: version $version";

# The error of a server that has not loaded the library of a version
sub refused
{
	my ($wanted) = @_;

	return "ERROR:  55000: the server has loaded another version of the library blogstore\nDETAIL:  This version of the extension needs version $wanted of the library.\nHINT:  Restart the server first.";
}

foreach my $other ([ 'without a version' ], [ 'of another version', qq{-DOTHER_VERSION="${extension}1.0"} ])
{
	my ($name, @version) = @$other;

	install_other(@version);
	$node->start;
	unlink $installed;
	copy($library, $installed) or die $!;
	my ($status, $out, $told) = $node->psql('postgres', 'CREATE EXTENSION blogstore', extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($told, qr/\Q@{[ refused($extension) ]}\E/, "a library $name: restart");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'blogstore'}), '0', '... and nothing was created');
	$node->stop;
}

$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION blogstore');
is($node->safe_psql('postgres', 'SELECT blogstore.library_version()'), $version, 'once it is restarted, the extension is created');

# ---- A database that still has the extension of a version before 1.0, whose
# script declares these C functions with fewer arguments or columns

foreach my $name (qw(create_containers create_like delete_like get_like list_user_likes import own_create_like get_request_stats get_worker_status reset_request_stats))
{
	like(($node->psql('postgres', "CREATE FUNCTION public.before_1_0() RETURNS void LANGUAGE c AS '\$libdir/blogstore', 'blogstore_$name'"))[2],
		qr/could not find function "blogstore_$name"/, "the library has no $name() of an older script");
}

# ---- An update of the extension, by a script that checks the library as the
# install script does

my ($check) = slurp_file("$FindBin::RealBin/../../sql/blogstore--$extension.sql") =~ /^(DO \$body\$\nBEGIN\n\tCREATE FUNCTION blogstore\.library_version.*?^\$body\$;\n)/ms or die 'no check';
append_to_file("$installation{sharedir}/extension/blogstore--$extension--99.1.sql", $check =~ s/CREATE FUNCTION/CREATE OR REPLACE FUNCTION/r =~ s/\Q$extension\E/99.1/gr);
install_other('-DOTHER_VERSION="99.1.0"');
my $update = q{ALTER EXTENSION blogstore UPDATE TO '99.1'};
my $versions = q{SELECT extversion, blogstore.library_version() FROM pg_extension WHERE extname = 'blogstore'};
like(($node->psql('postgres', $update, extra_params => [ '-v', 'VERBOSITY=verbose' ]))[2], qr/\Q@{[ refused('99.1') ]}\E/, 'an update of the extension: restart');
is($node->safe_psql('postgres', $versions), "$extension|$version", '... and nothing was updated');
$node->restart;
$node->safe_psql('postgres', $update);
is($node->safe_psql('postgres', $versions), '99.1|99.1.0', '... once it is restarted, the extension is updated');
$node->stop;

done_testing();
