
# The server has room for a few callbacks of each kind, and the library
# registers one of each. The library exports the symbols that the server looks
# up and no others. The test starts no server.

use strict;
use warnings;
use FindBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my @sources = sort glob("$root/src/*.[ch] $root/src/*/*.[ch] $root/src/*/*/*.[ch]");
my %code = map { $_ => slurp_file($_) =~ s{/\*.*?\*/}{}gsr } @sources;

# ---- Callbacks of kinds of which the server takes only a few

# Returns the source files that call a function of the server, a file once for
# each call.
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

cmp_ok(scalar @sources, '>', 50, 'there are more than 50 source files');
is(calls('CacheRegisterRelcacheCallback'), 'src/base/invalidation.c',
	'one relcache callback is registered');
is(calls('CacheRegisterSyscacheCallback'), 'src/base/invalidation.c',
	'one file registers syscache callbacks');

# ---- Symbols

my $directory = PostgreSQL::Test::Cluster->new('unused')->config_data('--pkglibdir');
my ($out, $err) = ('', '');
IPC::Run::run([ "$root/test/exports", "$directory/blogstore.so" ], '<', \undef, '>', \$out, '2>', \$err);
is("$out$err", '', 'the library exports the symbols that the server looks up, and no others');

done_testing();
