
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

# The export is equal byte for byte, apart from the order and the new counts of
# comments, in the time zone of the file. The command of the page shows nothing
# then, and otherwise the lines that differ.
my @environment = (PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PGTZ => 'Asia/Kathmandu', PGCLIENTENCODING => 'UTF8');
my $compare = block('sh', 'From blogstore 0.3', 2);
is(run_shell($directory, $compare, @environment), '', 'the command of the page shows no difference');
append_to_file($file, qq{{"type": "comment", "id": "another"}\n});
is(run_shell($directory, $compare =~ s/\n*\z/ || true/r, @environment) =~ s/^[0-9]+a[0-9]+\n//r, qq{> {"type": "comment", "id": "another"}\n}, '... and another line');
unlink $file;
run_shell($directory, block('sh', 'From blogstore 0.3'), @environment);
is(join("\n", sort map { /"type": "comment"/ ? s/"(?:replyCount|likeCount)": \d+, //gr : $_ } split /\n/, slurp_file($file)), $lines, 'the export is equal to the imported file');

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
# ---- A property of 0.3 with the name of a key of 1.0 is not lost

$node->safe_psql('postgres', 'CREATE DATABASE renamed');
unlink $file;
append_to_file($file, <<'END');
{"id": "00000000-0000-4000-8000-0000000000a1", "type": "user", "userId": "00000000-0000-4000-8000-0000000000a1", "username": "Ann", "creationDate": "2020-01-01T00:00:00+00:00", "replyCount": [1]}
{"id": "00000000-0000-4000-8000-0000000000b1", "type": "post", "postId": "00000000-0000-4000-8000-0000000000b1", "userId": "00000000-0000-4000-8000-0000000000a1", "title": "x", "content": "", "creationDate": "2020-01-01T00:00:00+00:00"}
{"id": "00000000-0000-4000-8000-0000000000c1", "type": "comment", "postId": "00000000-0000-4000-8000-0000000000b1", "userId": "00000000-0000-4000-8000-0000000000a1", "content": "x", "creationDate": "2020-01-01T00:00:00+00:00", "replyCount": 3, "commentId": "c9"}
END
is(run_block($node, 'renamed', $directory, 'From blogstore 0.3'), "\nuser|1|0|0|1\npost|1|0|0|1\ncomment|1|0|0|1\nlike|0|0|0|0\nt", 'it is rejected');
is($node->safe_psql('renamed', 'SELECT type, reason FROM rejects ORDER BY 1, 2'), qq{comment|properties must not have the key "commentId"\npost|unknown user\nuser|properties must not have the key "replyCount"}, 'with this reason');
$node->safe_psql('renamed', "CREATE TABLE line (document text);\n\\encoding UTF8\n\\copy line FROM $file WITH (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')");
is(run_block($node, 'renamed', $directory, 'From blogstore 0.3', 2), "user|1|1|0|0\npost|1|1|0|0\ncomment|1|1|0|0\nlike|0|0|0|0", 'and comes in under another name');
is($node->safe_psql('renamed', q{SELECT u.properties, c.properties, c.reply_count FROM blogstore.get_user('00000000-0000-4000-8000-0000000000a1') u, blogstore.list_post_comments('00000000-0000-4000-8000-0000000000b1') c}),
	'{"replies": [1]}|{"comment": "c9", "replies": 3}|0', 'as a property');
$node->stop;
done_testing();
