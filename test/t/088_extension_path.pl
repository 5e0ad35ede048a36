
# From PostgreSQL 18 on, an extension may be installed in a folder of its own:
# extension_control_path and dynamic_library_path name it. Images of extensions
# are mounted in this way.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %from = map { chomp(my $path = qx{$ENV{PG_CONFIG} --$_}); $_ => $path } qw(pkglibdir sharedir version);
plan skip_all => "$from{version} has no extension_control_path" if $from{version} =~ /^PostgreSQL 1[567]\b/;

my $folder = PostgreSQL::Test::Utils::tempdir('extensions');
system_or_bail('mkdir', '-p', "$folder/share/extension", "$folder/lib");
copy($_, "$folder/share/extension") or die $! foreach glob "$from{sharedir}/extension/blogstore*";
copy("$from{pkglibdir}/blogstore.so", "$folder/lib/blogstore.so") or die $!;
# The comment tells this control file from the server's own.
my $control = slurp_file("$folder/share/extension/blogstore.control");
$control =~ s/^comment = '/comment = 'in a folder: /m or die 'no comment';
open my $file, '>', "$folder/share/extension/blogstore.control" or die $!;
print $file $control;
close $file or die $!;

my $node = new_server('path');
$node->append_conf('postgresql.conf', "extension_control_path = '$folder/share:\$system'\ndynamic_library_path = '$folder/lib:\$libdir'");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(3, 5)');
is($node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')}), 't', 'the views follow');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed()'), '5', 'the feed is served');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');

like($node->safe_psql('postgres', q{SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'blogstore'}), qr/^in a folder: /, 'the extension was created from that folder');

# All processes have loaded the library of that folder, and no other one.
my %loaded;
$loaded{$_}++ foreach $node->safe_psql('postgres', q{SELECT blogstore.library_version(); SELECT pg_read_file('/proc/self/maps')}) =~ m{(/\S*/blogstore\.so)}g;
is(join(' ', keys %loaded), "$folder/lib/blogstore.so", 'a session has loaded the library of that folder');
foreach my $pid ($node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'blogstore%'}) =~ /\d+/g)
{
	$loaded{$_}++ foreach slurp_file("/proc/$pid/maps") =~ m{(/\S*/blogstore\.so)}g;
}
is(join(' ', keys %loaded), "$folder/lib/blogstore.so", 'the launcher and the worker have, too');
$node->stop;

done_testing();
