
=pod

=head1 NAME

BlogstoreNpm - packages of npm for tests that run JavaScript

=cut

package BlogstoreNpm;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use Test::More;

our @EXPORT = qw(program_path need_npm install_packages);

=pod

=over

=item program_path(name)

The path of a program in PATH, or undef.

=cut

sub program_path
{
	my ($name) = @_;

	return (grep { -x $_ } map { "$_/$name" } split /:/, $ENV{PATH})[0];
}

=pod

=item need_npm()

Skip all tests of the file where node or npm is not installed.

=cut

sub need_npm
{
	foreach my $program (qw(node npm))
	{
		program_path($program) or plan skip_all => "there is no $program";
	}
	return;
}

=pod

=item install_packages(folder)

Install the packages of a folder's package-lock.json, in the versions that are
pinned there. Skips all tests of the file if npm's registry cannot be reached,
unless BLOGSTORE_NPM is set.

=cut

sub install_packages
{
	my ($folder) = @_;
	my ($out, $err) = ('', '');

	return if IPC::Run::run [ 'npm', 'ci', '--prefix', $folder, '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier' ],
	  '<', \undef, '>', \$out, '2>', \$err;
	plan skip_all => 'the npm registry cannot be reached'
	  if $err =~ /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/ && !$ENV{BLOGSTORE_NPM};
	die "npm ci: $err";
}

=pod

=back

=cut

1;
