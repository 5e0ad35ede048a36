
# The library takes one each of the callbacks of which the server has room for a few,
# and shows the symbols that the server looks up and no others. No server is started.

use strict;
use warnings;
use FindBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my @sources = sort glob("$root/src/*.[ch] $root/src/*/*.[ch] $root/src/*/*/*.[ch]");
my %code = map { $_ => slurp_file($_) =~ s{/\*.*?\*/}{}gsr } @sources;

# ---- Callbacks of which the server has room for a few

# Where a function of the server is called: each call once, by file
sub calls
{
	my ($function) = @_;
	my @found;

	for my $file (@sources)
	{
		my $n = () = $code{$file} =~ /\b$function\s*\(/g;
		push @found, ($file =~ s{^\Q$root\E/}{}r) x $n;
	}
	return join ' ', @found;
}

cmp_ok(scalar @sources, '>', 50, 'the sources are there');
is(calls('CacheRegisterRelcacheCallback'), 'src/base/invalidation.c',
	'one relcache callback is registered');
is(calls('CacheRegisterSyscacheCallback'), 'src/base/invalidation.c',
	'catalog caches are listened to in one place');

# ---- Symbols

my $directory = PostgreSQL::Test::Cluster->new('unused')->config_data('--pkglibdir');
my ($out, $err) = ('', '');
IPC::Run::run([ "$root/test/exports", "$directory/blogstore.so" ], '<', \undef, '>', \$out, '2>', \$err);
is("$out$err", '', 'the library shows what the server looks up, and nothing else');

done_testing();
