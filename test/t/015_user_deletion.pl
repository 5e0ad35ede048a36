
# delete_user() returns at once, however much the user has written. From then
# on nothing of the user is served. The worker purges the items beside live
# traffic, and completes that over crashes, long locks and transactions that
# read the user before the deletion.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $USERS = 24;
my $POSTS = 600;

my $node = new_server('deletion');
$node->start;
create_store($node, 'postgres');

# 24 users are the authors of the posts in turn. Users 1 to 8 like each post,
# and users 1 to 6 comment on each post twice. Each of those has more items
# than the worker purges in one batch.
$node->safe_psql(
	'postgres', qq{
SELECT kit.fill($USERS, $POSTS, 'x');
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + m % 6), 'comment', kit.c(100 * n + m), kit.d(n + m)))
FROM generate_series(1, $POSTS) n, generate_series(1, 12) m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m))) FROM generate_series(1, $POSTS) n, generate_series(1, 8) m;
});

# What is served wrongly in one snapshot after users were deleted. No item of
# the users and no item on their posts may be served. Everything else has to be
# served, and each count has to be that of the lists.
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION kit.wrong_served(VARIADIC gone uuid[]) RETURNS TABLE (what text, id uuid)
LANGUAGE sql STABLE AS $$
WITH post AS (SELECT p.post_id, p.user_id FROM blogstore.posts p WHERE p.type = 'post'),
comment AS (SELECT p.post_id, p.user_id AS author, c.id, c.user_id FROM post p, LATERAL blogstore.list_post_comments(p.post_id, NULL) c),
liked AS (SELECT p.post_id, p.user_id AS author, l.user_id FROM post p, LATERAL blogstore.list_post_likes(p.post_id, NULL) l),
feed AS (SELECT f.post_id, f.user_id FROM blogstore.list_feed(NULL) f)
SELECT 'get_user', u.id FROM unnest(gone) g, LATERAL blogstore.get_user(g) u
UNION ALL SELECT 'get_post', p.id FROM post, LATERAL blogstore.get_post(post.post_id) p WHERE post.user_id = ANY (gone)
UNION ALL SELECT 'list_user_posts', p.id FROM unnest(gone) g, LATERAL blogstore.list_user_posts(g, NULL) p
UNION ALL SELECT 'list_feed', f.post_id FROM feed f WHERE f.user_id = ANY (gone)
UNION ALL SELECT 'list_feed, first page', f.post_id FROM blogstore.list_feed(5) f WHERE f.user_id = ANY (gone)
UNION ALL SELECT 'list_feed, first page', NULL WHERE (SELECT count(*) FROM blogstore.list_feed(5)) <> 5
UNION ALL SELECT 'list_feed lacks', p.post_id FROM post p WHERE p.user_id <> ALL (gone) AND NOT EXISTS (SELECT FROM feed f WHERE f.post_id = p.post_id)
UNION ALL SELECT 'list_post_comments', c.id FROM comment c WHERE ARRAY[c.author, c.user_id] && gone
UNION ALL SELECT 'list_post_comments lacks', c.id FROM blogstore.posts c JOIN post p USING (post_id)
WHERE c.type = 'comment' AND c.user_id <> ALL (gone) AND p.user_id <> ALL (gone)
AND NOT EXISTS (SELECT FROM comment s WHERE s.id = c.id AND s.post_id = c.post_id)
UNION ALL SELECT 'list_post_likes', l.post_id FROM liked l WHERE ARRAY[l.author, l.user_id] && gone
UNION ALL SELECT 'list_post_likes lacks', l.post_id FROM blogstore.posts l JOIN post p USING (post_id)
WHERE l.type = 'like' AND l.user_id <> ALL (gone) AND p.user_id <> ALL (gone)
AND NOT EXISTS (SELECT FROM liked s WHERE s.post_id = l.post_id AND s.user_id = l.user_id)
UNION ALL SELECT 'get_like', p.post_id FROM post p, unnest(gone) g WHERE EXISTS (SELECT FROM blogstore.get_like(p.post_id, g))
UNION ALL SELECT 'get_like', p.post_id FROM post p WHERE p.user_id = ANY (gone) AND EXISTS (SELECT FROM blogstore.get_like(p.post_id, kit.u(8)))
UNION ALL SELECT 'comment_count', p.post_id FROM post, LATERAL blogstore.get_post(post.post_id) p
WHERE p.comment_count <> (SELECT count(*) FROM comment c WHERE c.post_id = p.post_id)
UNION ALL SELECT 'like_count', p.post_id FROM post, LATERAL blogstore.get_post(post.post_id) p
WHERE p.like_count <> (SELECT count(*) FROM liked l WHERE l.post_id = p.post_id)
$$;
-- A hash of all that a snapshot serves
CREATE FUNCTION kit.seen(OUT n bigint, OUT hash text) LANGUAGE sql STABLE AS $$
SELECT count(*), md5(string_agg(x, E'\n' ORDER BY x)) FROM (
	SELECT p::text FROM generate_series(1, 600) n, LATERAL blogstore.get_post(kit.p(n)) p
	UNION ALL SELECT c::text FROM generate_series(1, 600) n, LATERAL blogstore.list_post_comments(kit.p(n), NULL) c
	UNION ALL SELECT l::text FROM generate_series(1, 600) n, LATERAL blogstore.list_post_likes(kit.p(n), NULL) l
	UNION ALL SELECT u::text FROM generate_series(1, 50) n, LATERAL blogstore.get_user(kit.u(n)) u
	UNION ALL SELECT p.post_id::text FROM generate_series(1, 50) n, LATERAL blogstore.list_user_posts(kit.u(n), NULL) p
	UNION ALL SELECT f.post_id::text FROM blogstore.list_feed(NULL) f) x(x)
$$;
CREATE FUNCTION kit.items_of(who uuid) RETURNS bigint LANGUAGE sql STABLE
AS $$ SELECT count(*) FROM blogstore.posts WHERE user_id = who $$;
});
check_store($node, 'postgres', 'filled');

sub check_served
{
	my ($name, @users) = @_;
	my $users = join ', ', map { "kit.u($_)" } @users;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', "SELECT * FROM kit.wrong_served($users) LIMIT 5"),
		'', "$name: nothing of the user is served, all else is, and counts are exact");
	# The worker may still have to write copies, so they are left out.
	is($node->safe_psql('postgres', "SELECT * FROM blogstore.verify() WHERE problem NOT LIKE '% copy' LIMIT 5"),
		'', "$name: verify() shows nothing");
	return;
}

# The number of buffers that delete_user() touches
sub delete_user_buffers
{
	my ($user) = @_;
	my $plan = $node->safe_psql('postgres',
		"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT blogstore.delete_user(kit.u($user))");
	my ($buffers) = $plan =~ /Buffers: shared(.*)/ or die $plan;
	my $sum = 0;

	$sum += $1 while $buffers =~ /(?:hit|read)=(\d+)/g;
	return $sum;
}

my $job = "FROM blogstore.progress WHERE kind = 'deletion'";

# ---- In the transaction itself, and rolled back

my $seen = $node->safe_psql('postgres', 'SELECT * FROM kit.seen()');
is( $node->safe_psql(
		'postgres', q{
BEGIN;
SELECT blogstore.delete_user(kit.u(1));
SELECT * FROM kit.wrong_served(kit.u(1)) LIMIT 5;
ROLLBACK;
SELECT * FROM kit.seen();
BEGIN;
SAVEPOINT a;
SELECT blogstore.delete_user(kit.u(1));
ROLLBACK TO a;
SELECT * FROM kit.seen();
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT blogstore.delete_user(kit.u(1));
SELECT * FROM kit.wrong_served(kit.u(1)) LIMIT 5;
ROLLBACK;
}),
	"t\n$seen\nt\n$seen\nt",
	'a deletion is visible in its own transaction, and not after a rollback');
check_store($node, 'postgres', 'rolled back');

# ---- At once, before the worker does anything

# Two old snapshots; the second transaction calls no request before the
# deletion.
my @old = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot() IS NULL')
  for @old;
is($old[0]->query_safe('SELECT * FROM kit.seen()'), $seen, 'an old snapshot sees all');
# A session that has read the user before the deletion
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SELECT * FROM blogstore.get_user(kit.u(2))');

my $holder = hold_worker($node, 'postgres');
my $few = delete_user_buffers(20);
my $many = delete_user_buffers(2);
note "$few and $many buffers";
cmp_ok($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(2))'),
	'>', 1000, 'deleted: the items still exist');
cmp_ok($many, '<', 6 * $few, 'deleted: buffers of a deletion do not grow with what the user has');
is($session->query_safe('SELECT count(*) FROM blogstore.get_user(kit.u(2)); SELECT * FROM kit.wrong_served(kit.u(2), kit.u(20))'),
	'0', 'deleted: a session that has read before learns of it');
check_served('deleted', 2, 20);
is($_->query_safe('SELECT * FROM kit.seen()'), $seen, 'deleted: an old snapshot sees all')
  for @old;
is( $node->safe_psql('postgres', "SELECT kind, user_id = kit.u(2), done < 400 $job AND user_id = kit.u(2)"),
	'deletion|t|t', 'deleted: progress shows it');
is( $node->safe_psql('postgres', "SELECT count(*) FROM blogstore.get_user_by_name('user 2')"),
	'0', 'deleted: get_user_by_name() does not find the user');
is( $node->safe_psql('postgres', "SELECT username FROM blogstore.create_user('User 2', kit.u(30))"),
	'User 2', 'deleted: the name is free');

# Posts 1 and 49 are of user 2, who has commented on post 5 and liked it.
is(sqlstate($node, 'postgres', $_), '23503, hint', "deleted: $_ is refused")
  for 'create_comment(kit.p(49), kit.u(3), $$x$$)', 'create_like(kit.p(49), kit.u(9))',
  'create_comment(kit.p(49), kit.u(3), $$comment$$, kit.c(4901))',
  'create_like(kit.p(49), kit.u(3))',
  'edit_post(kit.p(49), $$x$$)',
  'create_post(kit.u(2), $$x$$, $$x$$)', 'create_comment(kit.p(5), kit.u(2), $$x$$)',
  'create_like(kit.p(5), kit.u(2))', 'edit_comment(kit.p(5), kit.c(501), $$x$$)',
  'edit_comment(kit.p(49), kit.c(4902), $$x$$)', 'edit_user(kit.u(2), $$x$$)';
is($node->safe_psql('postgres', "SELECT blogstore.$_"), 'f', "deleted: $_ finds nothing")
  for 'delete_post(kit.p(49))', 'delete_comment(kit.p(5), kit.c(501))',
  'delete_comment(kit.p(49), kit.c(4902))', 'delete_like(kit.p(5), kit.u(2))',
  'delete_like(kit.p(49), kit.u(3))', 'delete_user(kit.u(2))';
# The id of an item that is no longer served can be used again.
is( $node->safe_psql('postgres',
		'SELECT user_id = kit.u(3), content FROM blogstore.create_comment(kit.p(5), kit.u(3), $$again$$, kit.c(501))'),
	't|again', 'deleted: the id of a comment that is not served is free');
is( $node->safe_psql('postgres',
		'SELECT user_id = kit.u(3), title FROM blogstore.create_post(kit.u(3), $$again$$, $$x$$, kit.p(25), kit.d(25))'),
	't|again', 'deleted: the id of a post that is not served is free');
check_served('deleted, worked on', 2, 20);
is($_->query_safe('SELECT * FROM kit.seen()'), $seen, 'deleted, worked on: an old snapshot sees all')
  for @old;

# ---- In the middle of the purge

# The purge begins with the user's posts and all on them, then come comments,
# then likes.
my $gate_of_posts = 'LOCK TABLE ONLY blogstore.posts_p03_like IN SHARE MODE';
close_gate($node, 'postgres', 'purge', $gate_of_posts);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');

my $place = job_place($node, 'postgres', 'deletion', 2);
my $done = $node->safe_psql('postgres', "SELECT done $job AND user_id = kit.u(2)");
cmp_ok($done, '>', 0, 'half purged: the worker has begun');
cmp_ok($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(2))'), '>', 0,
	'half purged: some items still exist');
check_served('half purged', 2, 20);
is($_->query_safe('SELECT * FROM kit.seen()'), $seen, 'half purged: an old snapshot sees all')
  for @old;
is( $node->safe_psql('postgres', "SELECT phase, rows_per_second > 0, started_at < now() $job AND user_id = kit.u(2)"),
	'sweep|t|t', 'half purged: progress shows how far it is');

# After kill -9 the next worker continues. The gate holds it before it does
# anything.
close_gate($node, 'postgres', 'all', 'LOCK TABLE blogstore.feed IN SHARE MODE');
$_->query_safe('COMMIT') for @old;
$_->quit for @old;
$session->quit;
kill_worker($node, 'postgres');
eval { $holder->quit };
check_served('worker killed', 2, 20);
await_gate($node, 'postgres');
is(job_place($node, 'postgres', 'deletion', 2), $place, 'worker killed: nothing of the purge is lost or done again');
# Insert an item into a partition that is done. A purge that began anew would
# delete it.
$node->safe_psql(
	'postgres', q{
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT p, 'post', p, kit.u(2), 'user 2', 'behind', 'x', 0, 0, kit.d(3000)
FROM (SELECT kit.p(n) AS p FROM generate_series(3000, 4000) n) x
WHERE satisfies_hash_partition('blogstore.posts'::regclass, 4, 1, p) LIMIT 1});
close_gate($node, 'postgres', 'purge of likes', 'LOCK TABLE ONLY blogstore.posts_p00_like IN SHARE MODE');
open_gate($node, 'postgres', 'purge');
open_gate($node, 'postgres', 'all');
wait_until($node, 'postgres', "SELECT done > $done $job AND user_id = kit.u(2)");
is($node->safe_psql('postgres', "SELECT phase $job AND user_id = kit.u(2)"),
	'sweep', 'worker killed: the purge goes on');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts_p01_post WHERE title = 'behind'"),
	'1', 'worker killed: the purge has not begun anew');
check_served('worker killed, gone on', 2, 20);
open_gate($node, 'postgres', 'purge of likes');
check_store($node, 'postgres', 'purged');
is($node->safe_psql('postgres', "SELECT kit.items_of(kit.u(2)), kit.items_of(kit.u(20)), count(*) FROM blogstore.progress"),
	'0|0|0', 'purged: nothing is left');
is($node->safe_psql('postgres', 'SELECT content FROM blogstore.list_post_comments(kit.p(5), NULL) WHERE id = kit.c(501)'),
	'again', 'purged: what took the place of a purged comment stays');
is($node->safe_psql('postgres', 'SELECT title FROM blogstore.get_post(kit.p(25))'),
	'again', 'purged: what took the place of a purged post stays');

# ---- A row that another session has locked: the worker purges the rest, and
# the views follow

$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('BEGIN; SELECT blogstore.create_like(kit.p(5), kit.u(15));
	SELECT id FROM blogstore.posts WHERE post_id = kit.p(5) AND user_id = kit.u(3) FOR UPDATE');
is($node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(3))'),
	't', 'items are locked: the deletion does not wait');
wait_until($node, 'postgres', 'SELECT count(DISTINCT post_id) = 1 FROM blogstore.posts WHERE user_id = kit.u(3)');
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.verify()');
is($node->safe_psql('postgres', 'SELECT DISTINCT post_id = kit.p(5) FROM blogstore.posts WHERE user_id = kit.u(3)'),
	't', 'items are locked: everything else is purged');
check_served('items are locked', 3);
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(5), 'beside', 'x', kit.p(1000), kit.d(1000))");
wait_until($node, 'postgres', "SELECT count(*) = 1 FROM blogstore.feed WHERE post_id = kit.p(1000)");
pass('items are locked: the views of others follow');
$session->query_safe('COMMIT');
check_store($node, 'postgres', 'no longer locked');
is($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(3)), (SELECT count(*) FROM blogstore.get_like(kit.p(5), kit.u(15)))'),
	'0|1', 'no longer locked: the rest is purged, and the like is there');

# ---- Writers that have read the user: a trigger holds them while the user is
# deleted and the purge goes on

my $gate = hold_writers($node, 'postgres');
my $victim = 100;
for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	each_late(\$victim, $isolation, sub {
		my ($what, $user, $call) = @_;

		$node->safe_psql('postgres', "SELECT blogstore.create_user('victim $victim', $user)");
		begin_late($node, 'postgres', $gate, $session, $isolation, "SELECT 1 FROM blogstore.$call");
		is($node->safe_psql('postgres', "SELECT blogstore.delete_user($user)"),
			't', "$what: the deletion does not wait");
		wait_until($node, 'postgres', "SELECT phase = 'waiting' AND started_at IS NOT NULL $job AND user_id = $user");
		$gate->query_safe('SELECT pg_advisory_unlock(1)');
		is($session->query_safe("SELECT 'there'"), "1\nthere", "$what: a command that read the user before succeeds");
		# The purge deletes the new item with all others.
		$session->query_safe('COMMIT');
		is($node->safe_psql('postgres', 'SELECT kit.views_follow()'),
			't', "$what: the purge ends");
		is($node->safe_psql('postgres', "SELECT kit.items_of($user), count(*) FROM blogstore.verify()"),
			'0|0', "$what: nothing is left");
	});
	# A command after the deletion is refused, also under a snapshot from
	# before it.
	my $user = 'kit.u(' . ++$victim . ')';
	$node->safe_psql('postgres', "SELECT blogstore.create_user('victim $victim', $user)");
	$session->query_safe("BEGIN ISOLATION LEVEL $isolation; SELECT blogstore.get_user($user)");
	$node->safe_psql('postgres', "SELECT blogstore.delete_user($user); SELECT kit.views_follow()");
	is($session->query_safe("SELECT kit.try('blogstore.create_comment(kit.p(7), $user, \$\$x\$\$)')"),
		'23503, hint', "a command after the deletion is refused under $isolation");
	$session->query_safe('ROLLBACK');
}
$gate->quit;
check_store($node, 'postgres', 'writers that read the user before');

# A comment and a like of another user, on a post of the deleted user
for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
{
	my $user = 'kit.u(' . ++$victim . ')';
	my $post = "kit.p($victim)";
	$post = 'kit.p(' . (2000 + $victim) . ')';
	$node->safe_psql('postgres',
		"SELECT blogstore.create_user('victim $victim', $user); SELECT 1 FROM blogstore.create_post($user, 'x', 'x', $post, kit.d(2000))");
	$session->query_safe("BEGIN ISOLATION LEVEL $isolation; SELECT blogstore.create_comment($post, kit.u(5), 'late'); SELECT blogstore.create_like($post, kit.u(5))");
	is($node->safe_psql('postgres', "SELECT blogstore.delete_user($user)"),
		't', "a comment on the user's post under $isolation: the deletion does not wait");
	wait_until($node, 'postgres', "SELECT phase <> 'sweep' AND started_at IS NOT NULL $job AND user_id = $user");
	$session->query_safe('COMMIT');
	is($node->safe_psql('postgres', 'SELECT kit.views_follow()'),
		't', "a comment on the user's post under $isolation: the purge ends");
	is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE post_id = $post"),
		'0', "a comment on the user's post under $isolation: nothing is left");
}
check_store($node, 'postgres', "comments on a deleted user's post");

# ---- The same id is created again in the middle of the purge

$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(4))'), 't', 'made again: deleted');
close_gate($node, 'postgres', 'purge', $gate_of_posts);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
cmp_ok($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(4))'), '>', 0, 'made again: there is something left to purge');
# create_user() purges the old user's items itself, and waits at the same gate.
my $anew = start_client($node, 'postgres', "SELECT username FROM blogstore.create_user('user 4', kit.u(4), kit.d(4))", 'anew');
wait_until($node, 'postgres', "SELECT 0 = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity WHERE application_name = 'anew'");
open_gate($node, 'postgres', 'purge');
my ($rows, $err) = finish_client($anew);
is("@$rows$err", 'user 4', 'made again: create_user() succeeds');
$node->safe_psql('postgres', "SELECT blogstore.create_comment(kit.p(10), kit.u(4), 'new life', kit.c(9000)); SELECT blogstore.create_like(kit.p(10), kit.u(4))");
is($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(4)), username FROM blogstore.get_user(kit.u(4))'),
	'2|user 4', 'made again: nothing is left of the old user');
is($node->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'), '', 'made again: counts are exact');
check_store($node, 'postgres', 'made again');
is($node->safe_psql('postgres', "SELECT kit.items_of(kit.u(4)), (SELECT count(*) FROM blogstore.get_like(kit.p(10), kit.u(4)))"),
	'2|1', 'made again: what the new user has written stays');

# ---- Readers beside a purge, and a prepared deletion

$node->safe_psql(
	'postgres', q{
BEGIN;
SELECT blogstore.delete_user(kit.u(5));
PREPARE TRANSACTION 'deletion';
});
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.get_user(kit.u(5))'), '1', 'prepared: the user is there');
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', "COMMIT PREPARED 'deletion'");
close_gate($node, 'postgres', 'purge', $gate_of_posts);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
my ($looks, @wrong) = (0);
do
{
	my $found = $node->safe_psql('postgres', 'SELECT * FROM kit.wrong_served(kit.u(5)) LIMIT 3');
	push @wrong, $found if $found ne '';
	# The first look is in the middle of the purge.
	open_gate($node, 'postgres', 'purge') if $looks++ == 0;
} while ($node->safe_psql('postgres', "SELECT count(*) $job") ne '0');
note "$looks looks";
is("@wrong", '', 'committed: at no time is anything of the user served, or a count wrong');
check_store($node, 'postgres', 'committed');

# ---- While the worker is stopped

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(); SELECT blogstore.delete_user(kit.u(6))');
cmp_ok($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(6))'), '>', 0, 'worker stopped: the items still exist');
check_served('worker stopped', 6);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'worker started');
is($node->safe_psql('postgres', 'SELECT kit.items_of(kit.u(6))'), '0', 'worker started: nothing is left');

$session->quit;
done_testing();
