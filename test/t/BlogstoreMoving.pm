
=pod

=head1 NAME

BlogstoreMoving - the commands of docs/MOVING_IN.md, for the tests that run them

=cut

package BlogstoreMoving;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(block run_block blocks_not_run run_shell moved_items);

# Every block of SQL, shell or settings, in the order of the page: heading, language, text
my @blocks;

{
	my $heading = '';
	my $page = slurp_file("$FindBin::RealBin/../../docs/MOVING_IN.md");

	while ($page =~ /^(?:#+ ([^\n]*)|```(sql|sh|conf)\n(.*?)^```)$/msg)
	{
		$heading = $1 if defined $1;
		push @blocks, { heading => $heading, language => $2, text => $3 } if defined $2;
	}
}

=pod

=over

=item block(language, heading, number)

The text of a block below a heading, the first in that language unless a number says
which. It counts as run.

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

=item run_block(node, dbname, directory, heading, number)

Run a block of SQL as whoever copies it does: in psql, in a directory where the files are
that it names. Returns what psql shows, unaligned.

=cut

sub run_block
{
	my ($node, $dbname, $directory, $heading, $number) = @_;

	return $node->safe_psql($dbname, "SET TimeZone = 'UTC';\n\\cd $directory\n" . block('sql', $heading, $number));
}

=pod

=item run_shell(directory, commands, %environment)

Run commands of the shell in a directory; dies if one fails.

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

Heading and language of each block that was not asked for.

=cut

sub blocks_not_run
{
	return map { "$_->{language}: $_->{heading}" } grep { !$_->{run} } @blocks;
}

=pod

=item moved_items(node, dbname, schema, prefix)

What the store has of a source's users, posts and comments, a line each by the source's
keys: schema is where the source's views are, prefix what import() was given.

=back

=cut

sub moved_items
{
	my ($node, $dbname, $schema, $prefix) = @_;
	my $key = sub { "blogstore.key_id('$_[0]', '$prefix' || s.$_[0]_id)" };
	my $date = sub { "CASE WHEN $_[0] > now() - interval '1 day' THEN 'now' ELSE to_char($_[0], 'YYYY-MM-DD HH24:MI') END" };

	return $node->safe_psql(
		$dbname, qq{SET TimeZone = 'UTC';
SELECT s.user_id, u.username, } . $date->('u.creation_date') . qq{, u.properties
FROM (SELECT * FROM $schema.users WHERE user_id IS NOT NULL) s, blogstore.get_user(} . $key->('user') . qq{) u ORDER BY s.user_id;
SELECT s.post_id, u.user_id, p.title, to_json(left(p.content, 40)), p.comment_count, } . $date->('p.creation_date') . q{,
	CASE WHEN p.hidden THEN 'hidden' END, } . $date->('p.modification_date') . qq{, p.properties
FROM (SELECT * FROM $schema.posts WHERE post_id IS NOT NULL) s CROSS JOIN LATERAL blogstore.get_post(} . $key->('post') . qq{) p
LEFT JOIN $schema.users u ON p.user_id = blogstore.key_id('user', '$prefix' || u.user_id) ORDER BY s.post_id;
SELECT s.comment_id, s.post_id, u.user_id, to_json(c.content), } . $date->('c.creation_date') . q{,
	CASE WHEN c.parent_id IS NOT NULL THEN coalesce(parent.comment_id::text, 'gone') END, CASE WHEN c.hidden THEN 'hidden' END, } . $date->('c.modification_date') . qq{, c.properties
FROM (SELECT * FROM $schema.comments WHERE comment_id IS NOT NULL) s
CROSS JOIN LATERAL blogstore.list_post_comments(} . $key->('post') . qq{, NULL, include_hidden => true) c
LEFT JOIN $schema.users u ON c.user_id = blogstore.key_id('user', '$prefix' || u.user_id)
LEFT JOIN $schema.comments parent ON c.parent_id = blogstore.key_id('comment', '$prefix' || parent.comment_id)
WHERE c.id = } . $key->('comment') . q{ ORDER BY s.comment_id});
}

1;
