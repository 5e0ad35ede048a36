
# A store of 0.3 is moved by the commands of docs/MOVING_IN.md. A file that 0.3
# has exported (made by test/data/store-0.3.sql) is imported, and the export is
# equal to it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreMoving;
use BlogstoreTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir;
my $file = "$directory/site.jsonl";
copy("$FindBin::RealBin/../data/store-0.3.jsonl", $file);
my $lines = join "\n", sort split /\n/, slurp_file($file);

my $node = new_server('main');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE blog');
is(run_block($node, 'postgres', $directory, 'From blogstore 0.3'), "\nuser|37|37|0|0\npost|37|37|0|0\ncomment|79|79|0|0\nlike|100|100|0|0\nt", 'all is imported');

# The export is equal byte for byte, apart from the order and the new
# replyCount, in the time zone of the file.
unlink $file;
run_shell($directory, block('sh', 'From blogstore 0.3'),
	PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PGTZ => 'Asia/Kathmandu', PGCLIENTENCODING => 'UTF8');
is(join("\n", sort map { s/"replyCount": \d+, //r } split /\n/, slurp_file($file)), $lines, 'the export is equal to the imported file');

# ---- Import the export: everything is present; requests return what is in the
# file

$node->safe_psql('postgres', 'CREATE TABLE line (document jsonb)');
$node->safe_psql('postgres', qq{\\encoding UTF8\n\\copy line FROM $file WITH (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')});
is($node->safe_psql('postgres', q{SELECT * FROM blogstore.import_documents('line')}), "user|37|0|37|0\npost|37|0|37|0\ncomment|79|0|79|0\nlike|100|0|100|0", 'all is there');
is( $node->safe_psql(
		'postgres', q{
SELECT l.document FROM line AS l LEFT JOIN LATERAL blogstore.get_post((l.document ->> 'id')::uuid) AS p ON true
WHERE l.document ->> 'type' = 'post'
	AND row(p.comment_count, p.like_count, p.hidden, p.title, p.content, p.user_username, p.creation_date, p.modification_date)
		IS DISTINCT FROM row((l.document ->> 'commentCount')::bigint, (l.document ->> 'likeCount')::bigint, coalesce((l.document ->> 'hidden')::boolean, false),
			l.document ->> 'title', l.document ->> 'content', l.document ->> 'userUsername', (l.document ->> 'creationDate')::timestamptz, (l.document ->> 'modificationDate')::timestamptz)}),
	'', 'get_post() has the counts and texts of each post');
is( $node->safe_psql(
		'postgres', q{
SELECT l.document FROM line AS l LEFT JOIN LATERAL blogstore.get_user_by_name(l.document ->> 'username') AS u ON true
WHERE l.document ->> 'type' = 'user' AND u.id IS DISTINCT FROM (l.document ->> 'id')::uuid}),
	'', 'get_user_by_name() finds each user');
is( $node->safe_psql(
		'postgres', q{
SELECT count(*), count(*) FILTER (WHERE c.parent_deleted)
FROM line AS l, LATERAL blogstore.list_post_comments((l.document ->> 'postId')::uuid, NULL, include_hidden => true) AS c
WHERE l.document ->> 'type' = 'post' AND c.parent_id IS NOT NULL}),
	'26|3', 'replies outlive what they reply to');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');
$node->stop;
done_testing();
