
# An import beside a rename and a deletion of users whom it has read. Also
# tested are what pg_stat_activity shows of it, the case that the deltas'
# partition is detached, and the rights that the containers' owner needs.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('import');
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE ROLE blog_owner LOGIN;
CREATE ROLE blog_app LOGIN;
CREATE DATABASE blog OWNER blog_owner;
});
$node->safe_psql(
	'blog', q{
CREATE EXTENSION blogstore;
GRANT CREATE ON SCHEMA blogstore TO blog_owner;
GRANT EXECUTE ON FUNCTION blogstore.create_containers TO blog_owner;
GRANT EXECUTE ON FUNCTION blogstore.import, blogstore.import_documents, blogstore.export_documents TO blog_app;
});
my @as_owner = (extra_params => [ '-U', 'blog_owner' ]);
my @as_app = (extra_params => [ '-U', 'blog_app' ]);

$node->psql('blog', 'SELECT blogstore.create_containers(4)', @as_owner);
create_kit($node, 'blog');
fill_store($node, 'blog', 10, 50);
$node->safe_psql(
	'blog', q{
CREATE TABLE new_comments (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz);
INSERT INTO new_comments SELECT kit.c(1000 + n), kit.p(n), kit.u(2), 'imported', kit.d(n) FROM generate_series(1, 20) n;
CREATE TABLE new_posts (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz);
INSERT INTO new_posts SELECT kit.p(1000 + n), kit.u(3), 'imported', '', kit.d(1000 + n) FROM generate_series(1, 20) n;
CREATE TABLE more_comments AS SELECT kit.c(3000 + n) AS comment_id, kit.p(n) AS post_id, kit.u(4) AS user_id, content, creation_date FROM new_comments, generate_series(21, 25) n WHERE comment_id = kit.c(1001);
GRANT SELECT ON new_comments, new_posts, more_comments TO blog_app;
CREATE FUNCTION kit.pause() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	PERFORM pg_advisory_lock(1), pg_advisory_unlock(1) WHERE current_query() LIKE '%import(%';
	RETURN NEW;
END $$;
GRANT USAGE ON SCHEMA kit TO PUBLIC;
CREATE TRIGGER pause BEFORE INSERT ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.pause();
});

# A trigger holds the import while it writes items with the names that it has
# read. A rename and a deletion do not wait for it.
my $holder = $node->background_psql('blog');
$holder->query_safe('SELECT pg_advisory_lock(1)');
my $importer = start_client($node, 'blog', q{
SET ROLE blog_app;
SELECT extract(epoch FROM clock_timestamp()) AS start \gset
SELECT type, imported FROM blogstore.import(posts => 'new_posts', comments => 'new_comments');
SELECT extract(epoch FROM clock_timestamp()) - :start;
}, 'importer');
my $quiet = start_client($node, 'blog', q{
SET ROLE blog_app;
SET client_min_messages = warning;
SELECT type, imported FROM blogstore.import(comments => 'more_comments');
}, 'quiet');
wait_until($node, 'blog',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'blogstore.import(): writing 20 posts'");
pass('pg_stat_activity shows what the import does');
# The trigger runs once for each row, so the import notices after the wait that
# its client has heard nothing for long.
wait_until($node, 'blog', "SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name IN ('importer', 'quiet') AND query LIKE 'blogstore.import()%' AND clock_timestamp() - query_start > '11 s'");
is($node->safe_psql('blog', "SELECT username FROM blogstore.edit_user(kit.u(2), 'renamed')"), 'renamed', 'a rename beside it');
is($node->safe_psql('blog', 'SELECT blogstore.delete_user(kit.u(3))'), 't', 'and a deletion');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
$holder->quit;
my ($rows, $err) = finish_client($importer);
my $took = pop @$rows;
is("@$rows", 'user|0 post|20 comment|20 like|0', 'the import succeeds');
unlike($err, qr/ERROR/, 'without an error');
like($err, qr/NOTICE:  blogstore.import\(\): writing 20 posts: \d+ rows so far\n/, 'its client is told how far it is');
cmp_ok(scalar(() = $err =~ /rows so far/g), '<=', $took / 10, '... at most every ten seconds');
($rows, $err) = finish_client($quiet);
is("@$rows", 'user|0 post|0 comment|5 like|0', 'another import beside it succeeds');
is($err, '', '... and tells nothing to a client that wants warnings only');
is($node->safe_psql('blog', 'SELECT count(*) FROM blogstore.list_user_posts(kit.u(3), NULL)'), '0', 'what it has written for the deleted user is not served');
$node->safe_psql('blog', 'SELECT kit.views_follow()');
is( $node->safe_psql('blog', "SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(2)"),
	'renamed', 'no stale name');
is( $node->safe_psql('blog', 'SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(3)'),
	'0', 'nothing is left of the deleted user');
is($node->safe_psql('blog', 'SELECT * FROM blogstore.verify()'),
	'', 'verify() shows nothing');
is($node->safe_psql('blog', 'SELECT * FROM kit.wrong_counts()'),
	'', 'counts are exact');
$node->safe_psql('blog', 'DROP TRIGGER pause ON blogstore.posts');

# Without a partition for deltas, which hold the counts, commands that count
# are refused.
my ($without) = split /\n/, $node->safe_psql('blog', "SELECT post_id FROM blogstore.posts_p01 WHERE type = 'post' ORDER BY 1");
my $like = "create_like('$without', kit.u(1))";
$node->safe_psql(
	'blog', qq{
ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_delta;
DELETE FROM new_comments WHERE post_id NOT IN (SELECT post_id FROM blogstore.posts WHERE type = 'post');
UPDATE new_comments SET comment_id = kit.c(2000), user_id = kit.u(1);
});
is(sqlstate($node, 'blog', $_), '55000, hint', "without a leaf for deltas: $_")
  for ($like, "delete_post('$without')", "import(comments => 'new_comments')");
$node->safe_psql('blog', "ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_delta FOR VALUES IN ('delta')");
is(sqlstate($node, 'blog', $like), 'ok', 'a like is counted when the partition is attached again');
is( $node->safe_psql('blog', "SELECT imported FROM blogstore.import(comments => 'new_comments') WHERE type = 'comment'", @as_app),
	$node->safe_psql('blog', "SELECT count(*) FROM blogstore.posts p JOIN new_comments c USING (post_id) WHERE p.type = 'comment' AND p.id = c.comment_id"),
	'comments are imported');
is($node->safe_psql('blog', "SELECT count(*) > 0 FROM blogstore.posts WHERE id = kit.c(2000)"),
	't', 'comments with the id in question exist');
is($node->safe_psql('blog', 'SELECT * FROM kit.wrong_counts()'),
	'', 'counts are exact');

# Import needs a right of the owner to create temporary tables, not of the
# caller.
$node->safe_psql('blog', 'REVOKE TEMPORARY ON DATABASE blog FROM PUBLIC');
is($node->safe_psql('blog', 'SELECT sum(read) FROM blogstore.import()', @as_app),
	'0', 'the caller needs no TEMPORARY');
$node->safe_psql('blog', 'ALTER DATABASE blog OWNER TO CURRENT_USER');
my ($rc, $stdout, $stderr) = $node->psql('blog',
	'\set VERBOSITY verbose
	SELECT sum(read) FROM blogstore.import()', @as_app);
like($stderr, qr/42501: permission denied to create temporary tables in database "blog"/,
	'the owner needs it');

done_testing();
