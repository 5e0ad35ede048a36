
=pod

=head1 NAME

BlogstoreGraphql - asks PostGraphile about a schema of wrappers

=head1 SYNOPSIS

  install_postgraphile();
  my $web = BlogstoreGraphql->new($node, 'web');
  my ($answer) = $web->ask({ query => '{ listFeed { nodes { id } } }', role => 'web' });
  $web->end;

=cut

package BlogstoreGraphql;

use strict;
use warnings;

use BlogstoreNpm;
use Exporter 'import';
use File::Copy;
use FindBin;
use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(install_postgraphile);

my $source = "$FindBin::RealBin/../postgraphile";
my $folder;

=pod

=over

=item install_postgraphile()

Install the packages, in the versions that are pinned. Skips all tests of the
file where this cannot be done.

=cut

sub install_postgraphile
{
	need_npm();
	$folder = PostgreSQL::Test::Utils::tempdir('postgraphile');
	copy("$source/$_", "$folder/$_") or die "$_: $!" foreach qw(package.json package-lock.json);
	install_packages($folder);
	return;
}

=pod

=item new(node, schema)

Start PostGraphile for a schema of the database postgres, to which it connects
as the role door.

=cut

sub new
{
	my ($class, $node, $schema) = @_;
	my $self = bless {}, $class;

	local $ENV{NODE_PATH} = "$folder/node_modules";
	$self->{pid} = open2($self->{from}, $self->{to}, 'node', "$source/queries.js",
		'postgresql:///postgres?user=door&host=' . $node->host . '&port=' . $node->port, $schema);
	return $self;
}

=pod

=item ask(query...)

PostGraphile's answers to queries. See queries.js for what a query may have.

=cut

sub ask
{
	my ($self, @queries) = @_;

	print { $self->{to} } encode_json(\@queries), "\n";
	my $line = readline $self->{from};
	defined $line or die "queries.js has ended: its message is above";
	return @{ decode_json($line)->{results} };
}

=pod

=item types()

The types of the schema, and their fields, by name.

=cut

sub types
{
	my ($self) = @_;

	my ($types) = $self->ask({ types => JSON::PP::true });
	return $types;
}

=pod

=item end()

End PostGraphile, and its connections.

=cut

sub end
{
	my ($self) = @_;

	close $self->{to};
	waitpid $self->{pid}, 0;
	return;
}

=pod

=back

=cut

1;
