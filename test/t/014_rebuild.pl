
# A rebuild goes in chunks beside live traffic: it shows how far it is, holds no
# snapshot for longer than a chunk, and after kill -9 goes on from where it
# stood.

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
# statistics come when they are asked for
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', "SELECT kit.fill(5, $POSTS, 'x')");
check_store($node, 'postgres', 'filled');

my $job = "FROM blogstore.progress WHERE kind = 'rebuild'";
my $worker = "FROM pg_stat_activity WHERE backend_type = 'blogstore worker'";

# The items that a chunk looks at
my $CHUNK = 1000;

# A post in the middle of a partition, behind so many: one that no client below
# edits or deletes
sub post_behind
{
	my ($partition, $rank) = @_;

	return $node->safe_psql('postgres',
		"SELECT post_id FROM (SELECT post_id, row_number() OVER (ORDER BY post_id) AS n FROM blogstore.posts_p0${partition}_post) x WHERE n > $rank AND right(post_id::text, 2) = '50' ORDER BY n LIMIT 1");
}

# Let the rebuild come to a post's copy, and not past the chunk that it is in
sub close_gate_at
{
	my ($gate, $post) = @_;

	is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND post_id = '$post'"),
		'1', "$gate: there is a copy to hold the rebuild at");
	close_gate($node, 'postgres', $gate,
		"SELECT FROM blogstore.users WHERE type = 'post' AND post_id = '$post' FOR KEY SHARE");
	return;
}

# How far a rebuild is that stands at a post of a partition, having come there from
# where it is now: chunks end with a partition, too
sub done_at
{
	my ($partition, $post) = @_;
	my ($done, $from, $first) = split /\|/, $node->safe_psql('postgres',
		"SELECT done, partition_number, coalesce(position_first, '00000000-0000-0000-0000-000000000000') FROM blogstore.jobs WHERE kind = 'rebuild'");

	for my $p ($from .. $partition)
	{
		my $n = $node->safe_psql('postgres',
			"SELECT count(*) FROM blogstore.posts_p0${p}_post WHERE post_id > '$first'"
			  . ($p == $partition ? " AND post_id < '$post'" : ''));

		$done += $p == $partition ? $n - $n % $CHUNK : $n;
		$first = '00000000-0000-0000-0000-000000000000';
	}
	return $done;
}

# Where it stands: in which partition, behind which post, and how far
sub place
{
	return $node->safe_psql('postgres',
		"SELECT phase, partition_number, position_first, done FROM blogstore.jobs WHERE kind = 'rebuild'");
}

# Nothing that the worker has read in a chunk keeps a snapshot. (It looks at the
# queue now and then, for a moment, while it is held.)
sub check_no_snapshot
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_until($node, 'postgres', "SELECT count(*) = 1 $worker AND backend_xmin IS NULL AND backend_xid IS NULL");
	pass("$name: the worker holds no snapshot between chunks");
	return;
}

# ---- How far it is, without statistics

my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', "SELECT phase, done, total IS NOT NULL, user_id IS NULL $job"),
	'waiting|0|t|t', 'waiting: progress shows it');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('0')"),
	'f', 'waiting: wait_for_views() does, too');
my $post = post_behind(1, 1500);
close_gate_at('under way', $post);
my $expected = $node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts_p00_post') + $CHUNK;
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
$holder = hold_worker($node, 'postgres');
is($node->safe_psql('postgres', "SELECT done $job"), $expected, 'under way: it has come to where it is held');
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
# it has queued the rebuild before it makes a slot
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
is($node->safe_psql('postgres', "SELECT abs(total - 2 * $POSTS) < 0.2 * $POSTS $job"),
	't', 'wrong views: total is near to what there is to look at');
check_answers($node, 'postgres', 'wrong views');

# Interrupted three times, in the middle of three partitions: by kill -9, the
# same again, and by a restart
my @way = (
	[ 'kill 1', 0, sub { kill_worker($node, 'postgres') } ],
	[ 'kill 2', 2, sub { kill_worker($node, 'postgres') } ],
	[ 'restarted', 3, sub { $node->restart } ]);
my $gate;

for my $n (1 .. @way)
{
	my ($name, $partition, $interrupt) = @{ $way[ $n - 1 ] };
	my $before = $gate;

	$post = post_behind($partition, 1500);
	$gate = $name;
	close_gate_at($gate, $post);
	$expected = done_at($partition, $post);
	open_gate($node, 'postgres', $before) if $before;
	$holder->query_safe('COMMIT');
	$holder->quit;
	await_gate($node, 'postgres');
	$holder = hold_worker($node, 'postgres');
	is($node->safe_psql('postgres', "SELECT done $job"), $expected,
		$before ? "$before: the rebuild goes on from where it stood" : "$name: the rebuild has begun");
	check_no_snapshot($name);
	# on both sides of where it stands
	$node->safe_psql(
		'postgres', qq{
SELECT blogstore.edit_post(kit.p(n), 'edited $n') IS NULL FROM generate_series(100 + $n, 7900, 100) n;
SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(110 + $n, 7900, 100) n;
SELECT blogstore.create_post(kit.u(1 + n % 5), 'new', 'x', kit.p(10000 + 100 * $n + n), kit.d(100 * n)) IS NULL FROM generate_series(1, 49) n;
});
	check_answers($node, 'postgres', $name);
	my $place = place();
	$interrupt->();
	eval { $holder->quit };
	await_gate($node, 'postgres');
	$holder = hold_worker($node, 'postgres');
	is(place(), $place, "$name: nothing of the rebuild is lost or done again");
	check_answers($node, 'postgres', "$name, gone on");
}
# asked for again in the middle of it: what is there now is built
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
is($node->safe_psql('postgres', "SELECT phase $job ORDER BY done"),
	"waiting\ncopies", 'asked for again: another rebuild waits behind this one');
open_gate($node, 'postgres', $gate);
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'postgres', 'asked for again');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE title IN ('wrong', 'never written')"),
	'0', 'asked for again: what was wrong is gone');

# ---- Taken out of the queue by the containers' owner half-way

$node->safe_psql(
	'postgres', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker(drop_slot => true);
UPDATE blogstore.users SET title = 'wrong' WHERE type = 'post';
});
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
$post = post_behind(1, 1500);
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
	'0', 'taken out: the views that cannot be trusted are built anew all the same');

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
# between two looks at the same chunk at most it stays where it is
is($node->safe_psql(
		'postgres', q{
SELECT count(*) FROM kit.horizons a JOIN kit.horizons b ON a.worker_xmin = b.worker_xmin AND b.done > a.done
WHERE (SELECT count(DISTINCT c.done) FROM kit.horizons c WHERE c.done > a.done AND c.done < b.done) > 1}),
	'0', 'beside writers: no snapshot outlives its chunk');
check_store($node, 'postgres', 'beside writers');

done_testing();
