
# import(), import_documents(), export_documents() and repair() on a cluster,
# from each of its members. They return what one server with the same data
# does, with its errors, and do all or nothing. A member can see and repair
# damage on another one.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('import');
my $single = new_single($cluster, 'single');
my $coordinator = $cluster->{coordinator};
my @members = members($cluster);
my ($one, $two) = nodes($cluster);

# Tables of a site, which each server has for itself, and rows that cannot be
# imported
my $SITE = q{
CREATE SCHEMA site;
CREATE TABLE site.users AS SELECT kit.u(n) AS user_id, 'User ' || n AS username, kit.d(n) AS creation_date,
	CASE WHEN n % 7 = 0 THEN jsonb_build_object('city', 'Bern') END AS properties FROM generate_series(1, 60) n;
CREATE TABLE site.posts AS SELECT kit.p(n) AS post_id, kit.u(1 + n % 60) AS user_id, 'title ' || n AS title, repeat('content ' || n || ' ', 1 + n % 400) AS content,
	kit.d(1000 + n) AS creation_date, n % 31 = 0 AS hidden, CASE WHEN n % 5 = 0 THEN '{"slug": "a"}'::jsonb END AS properties FROM generate_series(1, 300) n;
CREATE TABLE site.comments AS SELECT kit.c(n) AS comment_id, kit.p(1 + n % 300) AS post_id, kit.u(1 + n % 59) AS user_id, 'comment ' || n AS content,
	kit.d(2000 + n) AS creation_date, n % 41 = 0 AS hidden FROM generate_series(1, 3000) n;
CREATE TABLE site.likes AS SELECT kit.p(p) AS post_id, kit.u(u) AS user_id, kit.d(9000 + p) AS creation_date
	FROM generate_series(1, 300) p, generate_series(1, 60) u WHERE (p * u) % 7 = 1;
ALTER TABLE site.likes ADD comment_id uuid;
INSERT INTO site.likes SELECT c.post_id, kit.u(u), kit.d(9500 + u), c.comment_id FROM site.comments c, generate_series(1, 4) u WHERE hashtext(c.content || u) % 3 = 0;
CREATE TABLE site.bad_users AS TABLE site.users WITH NO DATA;
INSERT INTO site.bad_users VALUES (kit.u(1001), 'user 1', kit.d(2)), (kit.u(1002), 'Twice', kit.d(3)), (kit.u(1003), 'TWICE', kit.d(1)), (NULL, 'x', NULL),
	(kit.u(1), 'Another', NULL), (kit.u(1004), '', kit.d(4)), (kit.u(1005), 'good', kit.d(5));
CREATE TABLE site.bad_posts AS TABLE site.posts WITH NO DATA;
INSERT INTO site.bad_posts VALUES (kit.p(1001), kit.u(999), 'x', 'x', NULL), (kit.p(1002), kit.u(1005), 'good', 'x', kit.d(6)), (kit.p(1002), kit.u(1005), 'twice', 'x', kit.d(7)),
	(kit.p(1), kit.u(2), 'another', 'x', NULL), (kit.p(2), kit.u(9), 'another', 'x', NULL), (NULL, kit.u(1), 'x', 'x', NULL), (kit.p(1003), kit.u(1001), 'x', 'x', kit.d(8)), (kit.p(1004), kit.u(1), '', 'x', NULL);
CREATE TABLE site.bad_comments AS TABLE site.comments WITH NO DATA;
INSERT INTO site.bad_comments VALUES (kit.c(1001), kit.p(999), kit.u(1), 'x', NULL), (kit.c(10002), kit.p(1), kit.u(999), 'x', NULL), (kit.c(1), kit.p(2), kit.u(2), 'another', NULL),
	(kit.c(10003), kit.p(1002), kit.u(1005), 'good', kit.d(8)), (kit.c(10003), kit.p(1002), kit.u(1005), 'twice', kit.d(9)), (kit.c(10004), kit.p(3), kit.u(1), 'good', kit.d(8)), (kit.c(10005), NULL, kit.u(1), 'x', NULL);
CREATE TABLE site.bad_likes AS TABLE site.likes WITH NO DATA;
INSERT INTO site.bad_likes VALUES (kit.p(999), kit.u(1), NULL, NULL), (kit.p(1), kit.u(999), NULL, NULL), (kit.p(1), kit.u(1), kit.d(1), NULL), (kit.p(1002), kit.u(1), kit.d(7), NULL), (kit.p(1002), kit.u(1), kit.d(8), NULL),
	(kit.p(2), kit.u(60), kit.d(9), NULL), (kit.p(1), kit.u(50), NULL, kit.c(999999)), (kit.p(1), kit.u(50), NULL, kit.c(1)), (kit.p(1002), kit.u(50), kit.d(9), kit.c(10003)),
	(kit.p(1002), kit.u(50), kit.d(8), kit.c(10003)), (kit.p(1), kit.u(1), kit.d(9), kit.c(10002)), (kit.p(2), kit.u(50), kit.d(9), kit.c(1)), (kit.p(2), kit.u(51), kit.d(9), kit.c(1));
CREATE TABLE site.rejects (type text, reason text, item jsonb);
};
create_kit_everywhere($cluster, $SITE);
$single->safe_psql('postgres', $SITE);

my $ITEMS = q{
SELECT type, post_id, user_id, comment_id, user_username, title, content, parent_id, hidden, properties, creation_date, CASE WHEN type IN ('like', 'comment_like') THEN NULL ELSE id END
FROM blogstore.posts WHERE type <> 'delta' ORDER BY type, post_id, user_id, comment_id, creation_date, id};
my $LISTS = q{
SELECT p.id, p.user_username, p.title, p.content, p.comment_count, p.like_count, p.creation_date FROM generate_series(1, 320) n, LATERAL blogstore.get_post(kit.p(n)) p ORDER BY p.id;
SELECT p.id, p.user_username, p.title, p.comment_count, p.like_count FROM generate_series(1, 60) n, LATERAL blogstore.list_user_posts(kit.u(n), NULL) p ORDER BY p.user_id, p.creation_date, p.id;
SELECT id, title, comment_count, like_count FROM blogstore.list_feed(100);
SELECT c.id, c.content, c.user_username, c.like_count, c.reply_count FROM blogstore.list_post_comments(kit.p(3), NULL) c;
SELECT l.user_id, l.user_username, l.creation_date FROM blogstore.list_post_likes(kit.p(1), NULL) l;
SELECT c.id, l.user_id, l.user_username, l.creation_date FROM blogstore.list_post_comments(kit.p(2), NULL, include_hidden => true) c, blogstore.list_comment_likes(c.post_id, c.id, NULL) l ORDER BY 1, 2;
SELECT count(*) FROM blogstore.list_user_comments(kit.u(3), NULL);
SELECT * FROM blogstore.get_user_by_name('USER 7');
};

# Returns the output of a script: rows, notices and errors. The scripts do not
# select ids that a server generates.
sub run_script
{
	my ($server, $script) = @_;
	my ($out, $err) = ('', '');

	$server->psql('postgres', "SET timezone = 'UTC';\n\\set VERBOSITY terse\n$script", stdout => \$out, stderr => \$err, on_error_stop => 0);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	# Leave out messages of Citus.
	$err = join "\n", grep { /^(NOTICE:  (users|posts|comments|likes|there|made)|ERROR)/ } split /\n/, $err;
	return "$out\n$err";
}

sub same_as_single
{
	my ($member, $name, $script) = @_;
	my @got = split /\n/, run_script($member, $script);
	my @expected = split /\n/, run_script($single, $script);
	my ($n) = grep { ($got[$_] // 'no row') ne ($expected[$_] // 'no row') } 0 .. @got + @expected;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(scalar(grep { $_ ne '' } @expected), '>', 0, "$name: one server has some output");
	ok(!defined $n, "$name: " . $member->name . ' has the same output as one server') or diag sprintf "line %d of %d and %d\ngot:      %.400s\nexpected: %.400s",
	  $n, scalar @got, scalar @expected, $got[$n] // 'nothing', $expected[$n] // 'nothing';
	return;
}

# Check that everything is as on one server, and right.
sub same_store
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_jobs($cluster, $single, @members);
	ok(wait_views($single), "$name: one server: the views follow");
	views_right($cluster, $name);
	same_everywhere($cluster, $ITEMS, $single->safe_psql('postgres', $ITEMS), "$name: every item is as on one server");
	same_everywhere($cluster, $LISTS, $single->safe_psql('postgres', $LISTS), "$name: every list is as on one server");
	same_everywhere($cluster, 'SELECT document FROM blogstore.export_documents() AS document ORDER BY document::text COLLATE "C"',
		$single->safe_psql('postgres', 'SELECT document FROM blogstore.export_documents() AS document ORDER BY document::text COLLATE "C"'),
		"$name: export_documents() gives what one server does");
	return;
}

my $ALL = q{'site.users', 'site.posts', 'site.comments', 'site.likes'};
my $BAD = q{'site.bad_users', 'site.bad_posts', 'site.bad_comments', 'site.bad_likes'};
my $REJECTS = q{SELECT type, reason, item FROM site.rejects ORDER BY type, reason, item::text COLLATE "C"; TRUNCATE site.rejects;};

# ---- A site is imported from the coordinator, and once more from a node

same_as_single($coordinator, 'a site', "SELECT * FROM blogstore.import($ALL)");
# The node that writes a like generates its id. Give the single server the ids
# of the cluster.
my $likes = $coordinator->safe_psql('postgres', q{SELECT string_agg(format('(%L::uuid, %L::uuid, %L::uuid, %L::uuid)', post_id, user_id, comment_id, id), ',') FROM blogstore.posts WHERE type IN ('like', 'comment_like')});
$single->safe_psql('postgres', "UPDATE blogstore.posts p SET id = l.id FROM (VALUES $likes) AS l (post_id, user_id, comment_id, id) WHERE type IN ('like', 'comment_like') AND p.post_id = l.post_id AND p.user_id = l.user_id AND p.comment_id IS NOT DISTINCT FROM l.comment_id");
same_store('a site');
same_as_single($one, 'the site again', "SELECT * FROM blogstore.import($ALL)");

# ---- Rows that cannot be imported: the call imports nothing or all others,
# with the same reasons

my $before = $coordinator->safe_psql('postgres', $ITEMS);
same_as_single($two, 'bad rows', "SELECT * FROM blogstore.import($BAD)");
same_everywhere($cluster, $ITEMS, $before, 'bad rows: nothing is written');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.get_user(kit.u(1005))}, '0', 'bad rows: nobody is written');
$two->psql('postgres', "BEGIN; SELECT * FROM blogstore.import($BAD, 'site.rejects'); ROLLBACK;");
same_everywhere($cluster, $ITEMS, $before, 'rolled back: nothing is written');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.get_user(kit.u(1005))}, '0', 'rolled back: nobody is written');
same_as_single($two, 'all but bad rows', "SELECT * FROM blogstore.import($BAD, 'site.rejects'); $REJECTS");
same_as_single($one, 'bad rows again', "SELECT * FROM blogstore.import($BAD, 'site.rejects'); $REJECTS");
$single->safe_psql('postgres', sprintf q{UPDATE blogstore.posts SET id = l.id FROM (VALUES %s) AS l (p, u, c, id) WHERE type IN ('like', 'comment_like') AND post_id = l.p AND user_id = l.u AND comment_id IS NOT DISTINCT FROM l.c},
	$coordinator->safe_psql('postgres', q{SELECT string_agg(format('(%L::uuid, %L::uuid, %L::uuid, %L::uuid)', post_id, user_id, comment_id, id), ',') FROM blogstore.posts WHERE type IN ('like', 'comment_like')}));
same_store('all but bad rows');

# ---- Changed items: users exchange names, posts and comments are edited,
# hidden and shown

my $CHANGES = q{
UPDATE site.users SET username = CASE user_id WHEN kit.u(1) THEN 'User 2' WHEN kit.u(2) THEN 'User 1' WHEN kit.u(3) THEN 'USER 3' ELSE 'Renamed' END,
	properties = '{"city": "Basel"}' WHERE user_id IN (kit.u(1), kit.u(2), kit.u(3), kit.u(4));
UPDATE site.posts SET content = 'edited' WHERE post_id IN (SELECT kit.p(n) FROM generate_series(10, 40) n);
UPDATE site.posts SET hidden = NOT hidden WHERE post_id IN (SELECT kit.p(n) FROM generate_series(25, 45) n);
UPDATE site.comments SET content = 'edited' WHERE comment_id IN (SELECT kit.c(n) FROM generate_series(100, 200) n);
UPDATE site.comments SET hidden = NOT hidden WHERE comment_id IN (SELECT kit.c(n) FROM generate_series(150, 260) n);
INSERT INTO site.comments SELECT kit.c(20000 + n), kit.p(n), kit.u(1), 'more', kit.d(1), false FROM generate_series(1, 50) n;
ALTER TABLE site.posts ADD modification_date timestamptz; UPDATE site.posts SET modification_date = kit.d(5000);
ALTER TABLE site.comments ADD modification_date timestamptz; UPDATE site.comments SET modification_date = kit.d(5000);
};
create_kit_everywhere($cluster, $CHANGES);
$single->safe_psql('postgres', $CHANGES);
# Also after a query over all nodes in the same transaction
same_as_single($two, 'changed', "BEGIN; SELECT count(*) FROM blogstore.export_documents(); SELECT * FROM blogstore.import($ALL, changed => 'update'); COMMIT");
same_store('changed');
same_as_single($coordinator, 'changed, again', "SELECT * FROM blogstore.import($ALL, changed => 'update')");

# ---- Authors who are renamed or deleted meanwhile

my ($there) = posts_on($cluster, $two, 100001, 1);
create_kit_everywhere($cluster, "CREATE TABLE site.late AS SELECT kit.p($there) AS post_id, kit.u(20) AS user_id, 'late' AS title, 'x' AS content, kit.d(1) AS creation_date");
$single->safe_psql('postgres', "CREATE TABLE site.late AS SELECT kit.p($there) AS post_id, kit.u(20) AS user_id, 'late' AS title, 'x' AS content, kit.d(1) AS creation_date");
# A rename that another node has already, but not the node where the import
# reads names
my ($shard) = $two->safe_psql('postgres', q{SELECT 'blogstore.user_items_' || shardid FROM pg_dist_shard WHERE logicalrelid = 'blogstore.user_items'::regclass});
my $there_only = 'SET citus.enable_manual_changes_to_shards = on; UPDATE %s SET username = %s WHERE user_id = kit.u(20)';
$two->safe_psql('postgres', sprintf $there_only, $shard, q{'Renamed there'});
like(run_script($one, '\set VERBOSITY sqlstate' . "\nSELECT * FROM blogstore.import(posts => 'site.late')"), qr/ERROR:  40001/, 'a name that another node has otherwise: the import is to be tried again');
$two->safe_psql('postgres', sprintf $there_only, $shard, q{'User 20'});
# A rename that begins before the import and commits after it
my $renaming = $coordinator->background_psql('postgres');
$renaming->query_safe(q{BEGIN; SELECT blogstore.edit_user(kit.u(20), 'Renamed meanwhile')});
$one->safe_psql('postgres', q{SET client_min_messages = error; SELECT * FROM blogstore.import(posts => 'site.late')});
$renaming->query_safe('COMMIT');
$renaming->quit;
$single->safe_psql('postgres', q{SET client_min_messages = error; SELECT * FROM blogstore.import(posts => 'site.late'); SELECT blogstore.edit_user(kit.u(20), 'Renamed meanwhile')});
same_store('a rename meanwhile');

# ---- Documents of another site, imported and exported

$single->safe_psql('postgres', 'CREATE TABLE site.documents (document jsonb)');
create_kit_everywhere($cluster, 'CREATE TABLE site.documents (document jsonb)');
my $documents = join ",\n", map { "('$_')" } (
	(map { sprintf '{"type": "user", "id": "00000000-0000-7000-8000-%012d", "username": "document %d", "creationDate": "2024-01-01T00:00:00Z", "motto": "it is %d"}', 5000 + $_, $_, $_ } 1 .. 20),
	(map { sprintf '{"type": "post", "id": "00000000-0000-7000-8001-%012d", "userId": "00000000-0000-7000-8000-%012d", "title": "of a document %d", "content": "x", "creationDate": "2024-02-01T00:00:00Z", "slug": "s%d"}', 5000 + $_, 5001 + $_ % 20, $_, $_ } 1 .. 60),
	(map { sprintf '{"type": "comment", "id": "00000000-0000-7000-8002-%012d", "postId": "00000000-0000-7000-8001-%012d", "userId": "00000000-0000-7000-8000-%012d", "content": "c", "creationDate": "2024-03-01T00:00:00Z"}', 50000 + $_, 5001 + $_ % 60, 5001 + $_ % 20 } 1 .. 200),
	(map { sprintf '{"type": "like", "id": "00000000-0000-7000-8003-%012d", "postId": "00000000-0000-7000-8001-%012d", "userId": "00000000-0000-7000-8000-%012d", "creationDate": "2024-03-01T00:00:00Z"}', $_, 5001 + $_ % 60, 5001 + $_ % 20 } 1 .. 60),
	(map { sprintf '{"type": "comment_like", "id": "00000000-0000-7000-8004-%012d", "postId": "00000000-0000-7000-8001-%012d", "commentId": "00000000-0000-7000-8002-%012d", "userId": "00000000-0000-7000-8000-%012d", "creationDate": "2024-03-01T00:00:00Z"}', $_, 5001 + $_ % 60, 50000 + $_, 5001 + $_ % 20 } 1 .. 90),
	'{"type": "post"}', '{"type": "blog"}', 'null', '7');
$_->safe_psql('postgres', "INSERT INTO site.documents VALUES $documents") foreach @members, $single;
same_as_single($one, 'documents', "SELECT * FROM blogstore.import_documents('site.documents', 'site.rejects'); $REJECTS");
same_as_single($coordinator, 'documents, again', "SELECT * FROM blogstore.import_documents('site.documents', 'site.rejects'); $REJECTS");
same_store('documents');
# Another server can import what a member exports.
my $export = $two->safe_psql('postgres', 'SELECT document FROM blogstore.export_documents() AS document');
$single->safe_psql('postgres', 'CREATE DATABASE back');
create_store($single, 'back');
$single->safe_psql('back', 'CREATE TABLE documents (document jsonb)');
$single->safe_psql('back', "INSERT INTO documents SELECT line::jsonb FROM regexp_split_to_table(\$lines\$$export\$lines\$, E'\\n') AS line");
$single->safe_psql('back', q{SET client_min_messages = error; SELECT * FROM blogstore.import_documents('documents')});
is($single->safe_psql('back', 'SELECT document FROM blogstore.export_documents() AS document ORDER BY document::text COLLATE "C"'),
	$single->safe_psql('postgres', 'SELECT document FROM blogstore.export_documents() AS document ORDER BY document::text COLLATE "C"'),
	'one server exports the same after it has imported the documents of a node');

# ---- repair(): other members see and repair what is broken on a node

my $FINDINGS = 'SELECT container, problem, type, id, expected, actual FROM blogstore.verify() ORDER BY container, problem, type, id';

# Break something with SQL. Check that verify() shows it on the coordinator and
# on the member $mender, and that repair() on $mender corrects that number of
# findings. The callers check what all members answer after several repairs.
sub mends
{
	my ($name, $break, $mender, @expected) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$coordinator->safe_psql('postgres', $break);
	# The worker updates copies, but does not correct names and counts.
	ok(cluster_views_follow($cluster), "$name: the views follow");
	my $found = $coordinator->safe_psql('postgres', $FINDINGS);
	is(join("\n", map { join '|', (split /\|/)[ 0 .. 2 ] } split /\n/, $found), join("\n", sort @expected), "$name: verify() says so");
	is($mender->safe_psql('postgres', $FINDINGS), $found, "$name: verify() on " . $mender->name . ' says the same') if $mender != $coordinator;
	is($mender->safe_psql('postgres', 'SELECT blogstore.repair()'), scalar @expected, "$name: repair() on " . $mender->name . ' mends all');
	is($coordinator->safe_psql('postgres', $FINDINGS), '', "$name: nothing is left");
	return;
}

for my $where ([ $one, $two ], [ $two, $coordinator ])
{
	my ($broken, $mender) = @$where;
	my ($p, $q) = posts_on($cluster, $broken, 100, 2);
	my ($gone) = posts_on($cluster, $broken, 700000, 1);
	# a comment without likes, and one that has some
	my ($comment, $liked) = map { $coordinator->safe_psql('postgres', "SELECT c.id FROM blogstore.list_post_comments(kit.p($p), NULL) c WHERE $_ ORDER BY c.id LIMIT 1") } 'c.like_count = 0', 'c.like_count > 1';
	my $likes = $coordinator->safe_psql('postgres', "SELECT like_count FROM blogstore.get_comment(kit.p($p), '$liked')");
	my $what = $broken->name . ' is broken';

	mends("$what: counts", "UPDATE blogstore.posts SET like_count = like_count + 5, comment_count = comment_count - 1 WHERE type = 'post' AND post_id = kit.p($p)",
		$mender, 'posts|comment_count|post', 'posts|like_count|post');
	mends("$what: a comment gone", "DELETE FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p($p) AND id = '$comment'", $mender, 'posts|comment_count|post');
	mends("$what: a comment with likes gone", "DELETE FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p($p) AND id = '$liked'", $mender,
		'posts|comment_count|post', 'posts|orphan|delta', ('posts|orphan|comment_like') x $likes);
	mends("$what: counts of a comment", "UPDATE blogstore.posts SET like_count = like_count + 3 WHERE type = 'delta' AND post_id = kit.p($q) AND item_id = (SELECT min(item_id::text)::uuid FROM blogstore.posts WHERE type = 'delta' AND post_id = kit.p($q) AND item_id <> post_id)",
		$mender, 'posts|like_count|comment');
	mends("$what: names", "UPDATE blogstore.posts SET user_username = 'Mallory' WHERE post_id = kit.p($q) AND (type = 'post' OR type = 'comment' AND id = (SELECT min(id::text)::uuid FROM blogstore.posts WHERE type = 'comment' AND post_id = kit.p($q)))",
		$mender, 'posts|username|comment', 'posts|username|post');
	mends("$what: orphans", "INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, content, creation_date) VALUES (kit.c(900001), 'comment', kit.p($gone), kit.u(1), 'User 2', 'x', kit.d(1));
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date) VALUES (kit.c(900002), 'like', kit.p($gone), kit.u(1), 'User 2', kit.d(1)), (kit.c(900003), 'like', kit.p($gone), kit.u(777777), 'nobody', kit.d(1))",
		$mender, 'posts|orphan|comment', 'posts|orphan|like', 'posts|orphan|like');
	mends("$what: the registry", "DELETE FROM blogstore.usernames WHERE user_id = kit.u(30); INSERT INTO blogstore.usernames VALUES ('nobody at all', kit.u(777777))",
		$mender, 'users|registry|user', 'users|registry|user');
	mends("$what: a key that is not the name's", "UPDATE blogstore.usernames SET username_key = upper(username_key) WHERE user_id = kit.u(31)",
		$mender, 'users|registry|user', 'users|registry|user');
	is($mender->safe_psql('postgres', 'SELECT blogstore.repair()'), 0, "$what: nothing is left to be mended");
	views_right($cluster, "$what, and mended");
	is($mender->safe_psql('postgres', "BEGIN; SELECT username FROM blogstore.create_user(U&'\\00c9va', kit.u(888001)); SELECT * FROM blogstore.verify(); ROLLBACK"),
		"\x{c3}\x{89}va", "$what: verify() finds a user of its own transaction registered");
	# Two users whose names have the same key: repair() reports both and
	# changes neither.
	$broken->safe_psql('postgres', "SELECT blogstore.create_user('Twin one', kit.u(888002)), blogstore.create_user('Twin two', kit.u(888003))");
	$broken->safe_psql('postgres', "UPDATE blogstore.user_items SET username = U&'TWIN\\00a0ONE' WHERE user_id = kit.u(888003)");
	my ($out, $err);
	$mender->psql('postgres', 'SELECT blogstore.repair()', stdout => \$out, stderr => \$err);
	is($out, 0, "$what: repair() does not change names with the same key");
	like($err, qr/users \S+888003, "TWIN.*ONE", and \S+888002, "Twin one", have the same name/, "$what: both users are named");
	is($mender->safe_psql('postgres', 'SELECT username_key FROM blogstore.usernames WHERE user_id IN (kit.u(888002), kit.u(888003)) ORDER BY user_id'),
		"twin one\ntwin two", "$what: neither user is changed");
	$mender->safe_psql('postgres', "SELECT username FROM blogstore.edit_user(kit.u(888003), 'twin TWO'); SELECT blogstore.repair()");
	is($broken->safe_psql('postgres', "SELECT user_id = kit.u(888003) FROM blogstore.get_user_by_name('Twin Two')"), 't', "$what: one of them gets another name");
	$broken->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(888002)), blogstore.delete_user(kit.u(888003))');

	# Damaged copies. The worker would repair them after a commit, so the test
	# calls verify() and repair() in the same transaction.
	my ($title, $author) = split /\|/, $coordinator->safe_psql('postgres', "SELECT title, user_id FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p($q)");
	my %copies = (
		stale => "UPDATE blogstore.users SET title = 'stale' WHERE type = 'post' AND user_id = '$author' AND post_id = kit.p($q)",
		missing => "DELETE FROM blogstore.users WHERE type = 'post' AND user_id = '$author' AND post_id = kit.p($q)",
		extra => "INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
VALUES (kit.p($gone), 'post', kit.p($gone), '$author', 'x', 'extra', 'x', 0, 0, kit.d(1))");
	for my $kind (sort keys %copies)
	{
		# verify() leaves out posts whose copies a worker has yet to look at,
		# as it has to after the last repair.
		ok(cluster_views_follow($cluster), "$what: the views follow");
		is($mender->safe_psql('postgres', "BEGIN; $copies{$kind}; SELECT container, problem, type FROM blogstore.verify(); ROLLBACK"), "users|$kind copy|post", "$what: a copy that is $kind is seen");
		is($mender->safe_psql('postgres', "BEGIN; $copies{$kind}; SELECT blogstore.repair(); COMMIT"), 1, "$what: a copy that is $kind is mended");
		is($mender->safe_psql('postgres', "SELECT title FROM blogstore.users WHERE type = 'post' AND user_id = '$author' AND post_id IN (kit.p($q), kit.p($gone))"), $title, "$what: a copy that was $kind is as it should be");
	}
	views_right($cluster, "$what: copies");

	# Damage in a table that each node has for itself
	$broken->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; ALTER TABLE blogstore.jobs ALTER done DROP NOT NULL;
ALTER TABLE blogstore.jobs ADD CHECK (done IS NOT NULL) NOT VALID; ALTER TABLE blogstore.jobs DROP CONSTRAINT jobs_done_check');
	is($broken->safe_psql('postgres', "BEGIN; INSERT INTO blogstore.jobs (id, kind, user_id, done) VALUES (kit.c(1), 'rename', kit.u(1), NULL); SELECT container, problem, actual FROM blogstore.verify(); ROLLBACK"),
		'jobs|invalid|done', "$what: a job without a value is seen there");
	$broken->safe_psql('postgres', "SELECT blogstore.stop_worker()");
	$broken->safe_psql('postgres', "INSERT INTO blogstore.jobs (id, kind, user_id, done) VALUES (kit.c(1), 'rename', kit.u(1), NULL)");
	is($mender->safe_psql('postgres', 'SELECT blogstore.repair()'), 1, "$what: a job without a value is mended from " . $mender->name);
	is($broken->safe_psql('postgres', 'SELECT done FROM blogstore.jobs WHERE id = kit.c(1)'), 0, "$what: it has one");
	$broken->safe_psql('postgres', "SELECT blogstore.start_worker()");
	wait_jobs($cluster, $broken);
	views_right($cluster, "$what: a job");
}

done_testing();
