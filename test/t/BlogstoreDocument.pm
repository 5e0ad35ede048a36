
=pod

=head1 NAME

BlogstoreDocument - the code blocks of a document, for tests that run them

=cut

package BlogstoreDocument;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(read_document block run_block run_shell run_document blocks_not_run);

# Every block of code, in the order of the document. The keys are heading,
# language, text, and run if the block counts as run.
my @blocks;

=pod

=over

=item read_document(path)

Read the blocks of a document, a path in the checkout. The other functions use
the document read last.

=cut

sub read_document
{
	my ($path) = @_;
	my $heading = '';
	my $page = slurp_file("$FindBin::RealBin/../../$path");

	@blocks = ();
	while ($page =~ /^(?:#+ ([^\n]*)|```(\w+)\n(.*?)^```)$/msg)
	{
		$heading = $1 if defined $1;
		push @blocks, { heading => $heading, language => $2, text => $3 } if defined $2;
	}
	return;
}

=pod

=item block(language, heading, number)

The text of a block below a heading: the first block in a language, or the one
with the given number. The block counts as run.

=cut

sub block
{
	my ($language, $heading, $number) = @_;
	my @found = grep { $_->{heading} eq $heading && $_->{language} eq $language } @blocks;
	my $block = $found[ ($number // 1) - 1 ] or die qq{the page has no such block of $language below "$heading"};

	$block->{run} = 1;
	return $block->{text};
}

=pod

=item run_block(node, dbname, directory, heading, number, %variables)

Run a block of SQL in psql, in the directory with the files that it names, and
with the psql variables that it uses. Returns psql's output, unaligned.

=cut

sub run_block
{
	my ($node, $dbname, $directory, $heading, $number, %variables) = @_;
	my $set = join '', map { "\\set $_ '$variables{$_}'\n" } sort keys %variables;

	return $node->safe_psql($dbname, "SET TimeZone = 'UTC';\n\\cd $directory\n$set" . block('sql', $heading, $number));
}

=pod

=item run_shell(directory, commands, %environment)

Run shell commands in a directory. Dies if one fails.

=cut

sub run_shell
{
	my ($directory, $commands, %environment) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run [ 'bash', '-euo', 'pipefail', '-c', $commands ], '<', \undef, '>', \$out, '2>', \$err,
	  init => sub { chdir $directory or die "$directory: $!"; @ENV{ keys %environment } = values %environment }
	  or die "$commands\n$err";
	return $out;
}

=pod

=item blocks_not_run()

Language and heading of each block that no function has run or returned.

=cut

sub blocks_not_run
{
	return map { "$_->{language}: $_->{heading}" } grep { !$_->{run} } @blocks;
}

=pod

=item run_document(node, dbname)

Run all blocks of SQL in one session of psql, in their order. Returns a hash
for each: heading; number, its place among the blocks below the heading; shown,
psql's output with errors; and, if a block of text follows, expected: a pattern
of that text, in which three dots match anything within a line.

=back

=cut

sub run_document
{
	my ($node, $dbname) = @_;
	my $mark = '=== next ===';
	my (@runs, %number, $shown);

	foreach my $block (@blocks)
	{
		if ($block->{language} eq 'text')
		{
			$runs[-1]->{expected} = '\A' . quotemeta($block->{text}) =~ s/(?:\\\.){3}/.*/gr . '\z';
			$block->{run} = 1;
		}
		next if $block->{language} ne 'sql';
		push @runs, { heading => $block->{heading}, number => ++$number{ $block->{heading} }, text => $block->{text} };
		$block->{run} = 1;
	}
	IPC::Run::run [ $node->installed_command('psql'), '-Xq', '-d', $node->connstr($dbname) ],
	  '<', \join('', "SET TimeZone = 'UTC';\n", map { "$_->{text}\\echo $mark\n" } @runs),
	  '>&', \$shown or die "psql: $shown";
	$shown =~ s/^psql:<stdin>:\d+: //mg;
	$shown =~ s/ +$//mg;
	my @shown = split /^$mark\n/m, $shown, -1;
	$_->{shown} = shift @shown foreach @runs;
	return @runs;
}

1;
