
# A rebuild of the views goes in chunks beside live traffic. It reports its
# progress, holds no snapshot for longer than a chunk, and after kill -9
# continues where it stopped. It makes the views right whatever they contain,
# also if they are empty.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 8000;

my $node = new_server('rebuild');
# The test runs ANALYZE where it wants statistics.
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', "SELECT kit.fill(5, $POSTS, 'x')");
check_store($node, 'postgres', 'filled');

my $job = "FROM blogstore.progress WHERE kind = 'rebuild'";
my $worker = "FROM pg_stat_activity WHERE backend_type = 'blogstore worker'";

# The number of keys in a chunk: 250 for each of the 4 partitions
my $CHUNK = 4 * 250;

# The rebuild goes through posts and copies in this order.
my $KEY = 'user_id, creation_date, id';

# The first post after a number of posts in that order. The clients below edit
# and delete no post with such an id.
sub post_behind
{
	my ($rank) = @_;

	return $node->safe_psql('postgres',
		"SELECT id FROM (SELECT $KEY, row_number() OVER (ORDER BY $KEY) AS n FROM blogstore.posts WHERE type = 'post') x WHERE n > $rank AND right(id::text, 2) BETWEEN '50' AND '54' ORDER BY n LIMIT 1");
}

# Let the rebuild reach the copy of a post, and hold it in that chunk.
sub close_gate_at
{
	my ($gate, $post) = @_;

	is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND post_id = '$post'"),
		'1', "$gate: there is a copy to hold the rebuild at");
	close_gate($node, 'postgres', $gate,
		"SELECT FROM blogstore.users WHERE type = 'post' AND post_id = '$post' FOR KEY SHARE");
	return;
}

# The progress (column done) of a rebuild that is held at a post after it has
# come there from its present place. It counts each copy, and each post that it
# finds.
sub done_at
{
	my ($post) = @_;

	return $node->safe_psql(
		'postgres', qq{
WITH job AS (SELECT done, coalesce(position_first, '00000000-0000-0000-0000-000000000000') AS first,
		coalesce(position_date, '-infinity') AS date, coalesce(position_last, '00000000-0000-0000-0000-000000000000') AS last
		FROM blogstore.jobs WHERE kind = 'rebuild'),
	key AS (SELECT $KEY, max(n) AS n FROM (SELECT $KEY, 2 AS n FROM blogstore.posts WHERE type = 'post'
		UNION ALL SELECT $KEY, 1 FROM blogstore.users WHERE type = 'post') x GROUP BY $KEY),
	ahead AS (SELECT n, row_number() OVER (ORDER BY $KEY) AS place FROM key, job
		WHERE ($KEY) > (first, date, last)
		AND ($KEY) < (SELECT $KEY FROM blogstore.posts WHERE type = 'post' AND post_id = '$post'))
SELECT job.done + coalesce((SELECT sum(n) FROM ahead WHERE place <= (SELECT count(*) / $CHUNK * $CHUNK FROM ahead)), 0) FROM job});
}

# The place of the rebuild: the last key it has done, and its progress
sub place
{
	return $node->safe_psql('postgres',
		"SELECT phase, position_first, position_date, position_last, done FROM blogstore.jobs WHERE kind = 'rebuild'");
}

# The held worker keeps no snapshot of a chunk. It may have one for a moment,
# because it looks at the queue from time to time.
sub check_no_snapshot
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_until($node, 'postgres', "SELECT count(*) = 1 $worker AND backend_xmin IS NULL AND backend_xid IS NULL");
	pass("$name: the worker holds no snapshot between chunks");
	return;
}

# ---- Progress, without statistics

my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', "SELECT phase, done, total IS NOT NULL, user_id IS NULL $job"),
	'waiting|0|t|t', 'waiting: progress shows it');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('0')"),
	'f', 'waiting: wait_for_views() waits for it');
my $post = post_behind(3500);
close_gate_at('under way', $post);
my $expected = done_at($post);
is($expected, 2 * 3 * $CHUNK, 'under way: the place to hold it is after three chunks');
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "SELECT done $job"), $expected, 'under way: three chunks are done');
is($node->safe_psql('postgres', "SELECT phase, total >= done, rows_per_second > 0, started_at < now(), estimated_end > started_at $job"),
	'copies|t|t|t|t', 'under way: progress shows how far it is');
check_no_snapshot('under way');
check_answers($node, 'postgres', 'under way');
open_gate($node, 'postgres', 'under way');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'built anew');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.progress"),
	'0', 'built anew: nothing is left to do');

# ---- With statistics, from views that are wrong, and over a crash

$node->safe_psql('postgres', 'ANALYZE blogstore.posts; ANALYZE blogstore.users');
$node->safe_psql(
	'postgres', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker(drop_slot => true);
DELETE FROM blogstore.users WHERE type = 'post' AND post_id < kit.p(3000);
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post' AND post_id > kit.p(6000);
INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date)
SELECT kit.p(n), 'post', kit.p(n), kit.u(1), 'nobody', 'never written', 'x', 0, 0, kit.d(n) FROM generate_series(20001, 20100) n;
TRUNCATE blogstore.feed;
});
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
# The worker has queued the rebuild before it creates its slot.
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
is($node->safe_psql('postgres', "SELECT abs(total - 2 * $POSTS) < 0.2 * $POSTS $job"),
	't', 'wrong views: total is near to the number of posts and copies');
check_answers($node, 'postgres', 'wrong views');

# Interrupt the rebuild at three places: twice by kill -9, once by a restart.
my @way = (
	[ 'kill 1', 1500, sub { kill_worker($node, 'postgres') } ],
	[ 'kill 2', 3900, sub { kill_worker($node, 'postgres') } ],
	[ 'restarted', 5500, sub { $node->restart } ]);
my $gate;

for my $n (1 .. @way)
{
	my ($name, $rank, $interrupt) = @{ $way[ $n - 1 ] };
	my $before = $gate;

	$post = post_behind($rank);
	$gate = $name;
	close_gate_at($gate, $post);
	$expected = done_at($post);
	open_gate($node, 'postgres', $before) if $before;
	$holder->query_safe('COMMIT');
	$holder->quit;
	await_gate($node, 'postgres');
	$holder = hold_worker($node, 'postgres');
	is($node->safe_psql('postgres', "SELECT done $job"), $expected,
		$before ? "$before: the rebuild goes on from where it stood" : "$name: the rebuild has begun");
	check_no_snapshot($name);
	# Change posts that the rebuild has done, and posts that it has not done.
	$node->safe_psql(
		'postgres', qq{
SELECT blogstore.edit_post(kit.p(n), 'edited $n') IS NULL FROM generate_series(100 + $n, 7900, 100) n;
SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(110 + $n, 7900, 100) n;
SELECT blogstore.create_post(kit.u(1 + n % 5), 'new', 'x', kit.p(10000 + 100 * $n + n), kit.d(100 * n)) IS NULL FROM generate_series(1, 49) n;
});
	check_answers($node, 'postgres', $name);
	my $stood = place();
	$interrupt->();
	eval { $holder->quit };
	await_gate($node, 'postgres');
	$holder = hold_worker($node, 'postgres');
	is(place(), $stood, "$name: nothing of the rebuild is lost or done again");
	check_answers($node, 'postgres', "$name, gone on");
}
# Ask for another rebuild in the middle of this one.
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', "SELECT phase $job ORDER BY done"),
	"waiting\ncopies", 'asked for again: another rebuild waits behind this one');
open_gate($node, 'postgres', $gate);
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'asked for again');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE title IN ('wrong', 'never written')"),
	'0', 'asked for again: wrong copies are gone');

# ---- The containers' owner deletes the rebuild from the queue half-way

$node->safe_psql(
	'postgres', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker(drop_slot => true);
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post';
});
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
$post = post_behind(3500);
close_gate_at('taken out', $post);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "DELETE FROM blogstore.jobs WHERE kind = 'rebuild' RETURNING done > 0"),
	't', 'taken out: the rebuild was under way');
open_gate($node, 'postgres', 'taken out');
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'taken out');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE title = 'wrong'"),
	'0', 'taken out: the views are rebuilt all the same');

# ---- Long texts: a chunk ends when it has gathered 4 MB of them

my $leaves = join ', ', map { "blogstore.users_p0${_}_post" } 0 .. 3;
my $copies = "FROM blogstore.users WHERE type = 'post'";

# Hold the rebuild at a post without a copy: a prepared transaction has
# inserted a copy of the same key.
sub close_gate_at_missing
{
	my ($gate, $post) = @_;

	close_gate($node, 'postgres', $gate,
		"INSERT INTO blogstore.users (id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date) SELECT id, type, post_id, user_id, 'nobody', 'never written', 'x', 0, 0, creation_date FROM blogstore.posts WHERE type = 'post' AND post_id = '$post'");
	return;
}

$node->append_conf('postgresql.conf', "blogstore.short_form_length = 100000\n");
$node->reload;
$node->safe_psql(
	'postgres', q{
SELECT blogstore.create_user('long', kit.u(6)) IS NULL;
SELECT blogstore.create_post(kit.u(6), 'long', repeat('0123456789', 10000), kit.p(30000 + n), kit.d(n)) IS NULL FROM generate_series(1, 100) n;
});
wait_until($node, 'postgres', 'SELECT short_form_length = 100000 AND ready FROM blogstore.view_state');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'long texts: the views follow');
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', "TRUNCATE $leaves");
close_gate_at_missing('long texts', $node->safe_psql('postgres', 'SELECT kit.p(30100)'));
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
# Each text has 100,000 bytes, so 42 of them exceed 4 MB.
is($node->safe_psql('postgres', "SELECT count(*) $copies AND user_id = kit.u(6)"),
	2 * 42, 'long texts: two chunks of 42 posts are done');
open_gate($node, 'postgres', 'long texts');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'long texts: the views follow');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'long texts: all are there again');

# ---- A new short_form_length: every copy has to be written

$node->append_conf('postgresql.conf', "blogstore.short_form_length = 200\n");
$node->reload;
wait_until($node, 'postgres', 'SELECT short_form_length = 200 AND ready FROM blogstore.view_state');
check_store($node, 'postgres', 'another length');

# ---- From empty views, beside a session that has inserted a copy, and over a
# crash

$node->safe_psql('postgres', "SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true); TRUNCATE $leaves");
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
$post = post_behind(3500);
close_gate_at_missing('from nothing', $post);
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "SELECT phase, done $job"), 'copies|' . 2 * 3 * $CHUNK,
	'from nothing: three chunks are done');
is($node->safe_psql('postgres', "SELECT count(*) $copies"), 3 * $CHUNK, 'from nothing: the posts of three chunks have copies');
is($node->safe_psql(
		'postgres', "SELECT count(*), count(*) FILTER (WHERE before >= key) FROM (SELECT ROW($KEY) AS key, lag(ROW($KEY)) OVER (PARTITION BY tableoid ORDER BY ctid) AS before $copies) x"),
	3 * $CHUNK . '|0', 'from nothing: they lie in the order of their key');
check_no_snapshot('from nothing');
$node->safe_psql(
	'postgres', q{
SELECT blogstore.edit_post(kit.p(n), 'edited') IS NULL FROM generate_series(105, 7900, 100) n;
SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(115, 7900, 100) n;
SELECT blogstore.create_like(kit.p(n), kit.u(1 + n % 5)) IS NULL FROM generate_series(120, 7900, 10) n WHERE n % 100 > 20;
SELECT blogstore.create_post(kit.u(1 + n % 5), 'new', 'x', kit.p(20000 + n), kit.d(100 * n)) IS NULL FROM generate_series(1, 49) n;
});
check_answers($node, 'postgres', 'from nothing');
my $place = place();
kill_worker($node, 'postgres');
eval { $holder->quit };
await_gate($node, 'postgres');
is(place(), $place, 'from nothing, killed: nothing of the rebuild is lost or done again');
check_answers($node, 'postgres', 'from nothing, killed');
$node->safe_psql('postgres', "COMMIT PREPARED 'from nothing'");
check_store($node, 'postgres', 'from nothing, with a copy of somebody else');
is($node->safe_psql('postgres', "SELECT count(*) $copies AND title = 'never written'"),
	'0', 'from nothing: what somebody else had written is gone');

# ---- No snapshot is held for longer than a chunk while others write

$node->safe_psql(
	'postgres', q{
CREATE TABLE kit.horizons (at_xid xid8, worker_xmin xid, done bigint);
CREATE PROCEDURE kit.watch_rebuild() LANGUAGE plpgsql AS $$
DECLARE
	n	int := 0;
BEGIN
	WHILE EXISTS (SELECT FROM blogstore.progress WHERE kind = 'rebuild') LOOP
		n := n + 1;
		PERFORM blogstore.edit_post(kit.p(50 + 100 * (n % 70)), 'edit ' || n);
		COMMIT;
		INSERT INTO kit.horizons
		SELECT pg_current_xact_id(), backend_xmin, (SELECT done FROM blogstore.progress WHERE kind = 'rebuild')
		FROM pg_stat_activity WHERE backend_type = 'blogstore worker';
		COMMIT;
	END LOOP;
END $$;
});
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
$node->safe_psql('postgres', 'CALL kit.watch_rebuild()');
note $node->safe_psql('postgres', 'SELECT count(*), count(worker_xmin), count(DISTINCT worker_xmin::text), count(DISTINCT done) FROM kit.horizons');
# A snapshot may be the same in two readings of one chunk, but not in two
# readings with a chunk between them.
is($node->safe_psql(
		'postgres', q{
SELECT count(*) FROM kit.horizons a JOIN kit.horizons b ON a.worker_xmin = b.worker_xmin AND b.done > a.done
WHERE (SELECT count(DISTINCT c.done) FROM kit.horizons c WHERE c.done > a.done AND c.done < b.done) > 1}),
	'0', 'beside writers: no snapshot outlives its chunk');
check_store($node, 'postgres', 'beside writers');

done_testing();
