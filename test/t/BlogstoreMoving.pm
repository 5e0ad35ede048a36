
=pod

=head1 NAME

BlogstoreMoving - for the tests that run the commands of docs/MOVING_IN.md.
Brings along BlogstoreDocument.

=cut

package BlogstoreMoving;

use strict;
use warnings;

use BlogstoreDocument;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = (@BlogstoreDocument::EXPORT, qw(moved_items));

read_document('docs/MOVING_IN.md');

=pod

=over

=item moved_items(node, dbname, schema, prefix)

The users, posts and comments that a store has of a source, one line for each,
by the source's keys. The schema has the source's views, and the prefix is the
one given to import().

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
