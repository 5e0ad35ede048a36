# A session's first request is cheap. It reads only the tables that it needs,
# however many partitions there are. Other sessions have left hints in shared
# memory about where these are. The session checks a hint before it follows it,
# so outdated hints do no harm.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use BlogstoreWorker;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('first_request');
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_locks_per_transaction = 512\n");
$node->start;
foreach my $partitions (16, 256)
{
	my $db = "parts_$partitions";

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql(
		$db, qq{
CREATE EXTENSION blogstore;
SELECT blogstore.create_containers($partitions);
CREATE TABLE plain (id uuid PRIMARY KEY, title text);
INSERT INTO plain SELECT gen_random_uuid(), 'title' FROM generate_series(1, 1000);
ANALYZE plain;
});
	create_kit($node, $db);
	fill_store($node, $db, 10, 120);
}

# ------------------------------------------------------------------------
# The buffers that a first request reads
# ------------------------------------------------------------------------

# The number of buffers that all ended sessions of a database have read
sub buffers_read
{
	my ($db) = @_;

	# A session reports its numbers before it disappears from pg_stat_activity.
	wait_until($node, 'postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$db' AND backend_type = 'client backend')");
	return $node->safe_psql('postgres',
		"SELECT pg_stat_get_db_blocks_fetched(oid) FROM pg_database WHERE datname = '$db'");
}

# The number of buffers that a new session reads for a statement, more than for
# SELECT 1. The statements are of one kind. The function returns the lowest
# number, because the server's other processes may read, too.
sub first_request
{
	my ($db, @statements) = @_;
	my (@request, @nothing);

	foreach my $statement (@statements)
	{
		my $begin = buffers_read($db);
		$node->safe_psql($db, $statement);
		my $between = buffers_read($db);
		$node->safe_psql($db, 'SELECT 1');
		push @request, $between - $begin;
		push @nothing, buffers_read($db) - $between;
	}
	return min(@request) - min(@nothing);
}

foreach my $partitions (16, 256)
{
	my $db = "parts_$partitions";
	my $post = '00000000-0000-7000-8001-000000000007';	# kit.p(7)

	# The worker has read the layout by now, and has left hints.
	is($node->safe_psql($db, "SELECT blogstore.wait_for_views('10 min')"),
		't', "$db: the views follow");
	# What the worker reads would be counted, too.
	my $worker = stop_worker($node, $db);
	my $plain = first_request($db,
		("SELECT title FROM plain WHERE id = '$post'") x 6);
	my %at_most = (get_post => 2.5, get_posts => 2.5, list_feed => 2.5, create_like => 3.5);
	my %read = (
		get_post => first_request($db,
			("SELECT title FROM blogstore.get_post('$post')") x 6),
		get_posts => first_request($db,
			("SELECT title FROM blogstore.get_posts(ARRAY['$post']::uuid[])") x 6),
		list_feed => first_request($db,
			('SELECT title FROM blogstore.list_feed()') x 6),
		create_like => first_request($db,
			map { sprintf "SELECT id FROM blogstore.create_like('%s', '00000000-0000-7000-8000-%012d')", $post, $_ } 6 .. 10),
	);
	kill 'CONT', $worker;

	foreach my $request (sort keys %read)
	{
		cmp_ok($read{$request}, '<=', $at_most{$request} * $plain,
			"$db: a session's first $request() against its first read of a plain table");
		note("$db: $request() $read{$request}, plain table $plain buffers");
	}
}

# ------------------------------------------------------------------------
# Outdated hints
# ------------------------------------------------------------------------

# Without a worker, only sessions that have to read the whole layout leave new
# hints.
my $db = 'parts_16';
my $me = getpwuid $<;
$node->safe_psql($db, 'SELECT blogstore.stop_worker()');
my $post = $node->safe_psql($db, "SELECT post_id FROM blogstore.posts_p00 WHERE type = 'post' ORDER BY post_id LIMIT 1");
my $title = "SELECT title FROM blogstore.get_post('$post')";

# Returns what a new session gets: the post's title, or an error.
sub told
{
	return run_as($node, $db, $me, $title);
}

my $was = told();
isnt($was, '', 'a post is found');

# Make a change in one session and look from a new one. Then undo it, and look
# again.
sub check_changed
{
	my ($name, $change, $expected, $undo) = @_;

	$node->safe_psql($db, $change);
	like(told(), $expected, $name);
	$node->safe_psql($db, $undo);
	is(told(), $was, "$name: undone");
	return;
}

my $bound = 'FOR VALUES WITH (MODULUS 16, REMAINDER 0)';
check_changed(
	'a partition that was detached',
	'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00',
	qr/^ERROR:  55000: container "posts" has no partition for this key/,
	"ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 $bound");
check_changed(
	'a leaf that was detached',
	'ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post',
	qr/^ERROR:  55000: partition 0 of container "posts" has no leaf for items of type "post"/,
	"ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post')");
check_changed(
	'a partition that is another table\'s, with its bound',
	qq{
CREATE TABLE public.elsewhere (LIKE blogstore.posts) PARTITION BY HASH (post_id);
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00;
ALTER TABLE public.elsewhere ATTACH PARTITION blogstore.posts_p00 $bound;
},
	qr/^ERROR:  55000: container "posts" has no partition for this key/,
	qq{
ALTER TABLE public.elsewhere DETACH PARTITION blogstore.posts_p00;
DROP TABLE public.elsewhere;
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 $bound;
});
check_changed(
	'a leaf that is another table\'s, with its bound',
	q{
CREATE TABLE public.elsewhere (LIKE blogstore.posts) PARTITION BY LIST (type);
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE public.elsewhere ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
},
	qr/^ERROR:  55000: partition 0 of container "posts" has no leaf for items of type "post"/,
	q{
ALTER TABLE public.elsewhere DETACH PARTITION blogstore.posts_p00_post;
DROP TABLE public.elsewhere;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
});
check_changed(
	'another leaf in the place of one',
	q{
CREATE TABLE public.other (LIKE blogstore.posts_p00_post INCLUDING ALL);
INSERT INTO public.other SELECT * FROM blogstore.posts_p00_post;
UPDATE public.other SET title = 'of another leaf';
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION public.other FOR VALUES IN ('post');
},
	qr/^of another leaf$/,
	q{
ALTER TABLE blogstore.posts_p00 DETACH PARTITION public.other;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
DROP TABLE public.other;
});
check_changed(
	'a leaf that was attached for items of another type',
	q{
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post', 'note');
},
	qr/^ERROR:  55000: partition "posts_p00_post" takes items of several types/,
	q{
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
});
check_changed(
	'a leaf that is somebody else\'s',
	'CREATE ROLE mallory; ALTER TABLE blogstore.posts_p00_post OWNER TO mallory',
	qr/^ERROR:  55000: "posts_p00_post" does not belong to the containers' owner/,
	'ALTER TABLE blogstore.posts_p00_post OWNER TO CURRENT_USER');
check_changed(
	'a partition that is somebody else\'s',
	'ALTER TABLE blogstore.posts_p00 OWNER TO mallory',
	qr/^ERROR:  55000: "posts_p00" does not belong to the containers' owner/,
	'ALTER TABLE blogstore.posts_p00 OWNER TO CURRENT_USER');
check_changed(
	'a partition of two remainders in the place of one',
	q{
CREATE TABLE blogstore.wide (LIKE blogstore.posts INCLUDING ALL) PARTITION BY LIST (type);
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00;
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p08;
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.wide FOR VALUES WITH (MODULUS 8, REMAINDER 0);
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_delta;
ALTER TABLE blogstore.wide ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
ALTER TABLE blogstore.wide ATTACH PARTITION blogstore.posts_p00_delta FOR VALUES IN ('delta');
},
	qr/^\Q$was\E$/,
	qq{
ALTER TABLE blogstore.wide DETACH PARTITION blogstore.posts_p00_post;
ALTER TABLE blogstore.wide DETACH PARTITION blogstore.posts_p00_delta;
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.wide;
DROP TABLE blogstore.wide;
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_post FOR VALUES IN ('post');
ALTER TABLE blogstore.posts_p00 ATTACH PARTITION blogstore.posts_p00_delta FOR VALUES IN ('delta');
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 $bound;
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p08 FOR VALUES WITH (MODULUS 16, REMAINDER 8);
});
check_changed(
	'another container in the place of one',
	q{
ALTER TABLE blogstore.posts RENAME TO others;
CREATE TABLE blogstore.posts (LIKE blogstore.others INCLUDING ALL) PARTITION BY HASH (post_id);
CREATE TABLE blogstore.whole PARTITION OF blogstore.posts FOR VALUES WITH (MODULUS 1, REMAINDER 0) PARTITION BY LIST (type);
CREATE TABLE blogstore.whole_post PARTITION OF blogstore.whole FOR VALUES IN ('post');
CREATE TABLE blogstore.whole_delta PARTITION OF blogstore.whole FOR VALUES IN ('delta');
},
	qr/^ERROR:  55000: "whole_post" lacks an index that blogstore needs/,
	q{
DROP TABLE blogstore.posts;
ALTER TABLE blogstore.others RENAME TO posts;
});

# A DETACH PARTITION CONCURRENTLY that has stopped half-way
$node->safe_psql($db,
	q{BEGIN; LOCK TABLE blogstore.posts IN ACCESS SHARE MODE; PREPARE TRANSACTION 'reader'});
$node->psql($db,
	q{SET statement_timeout = '100ms'; ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00 CONCURRENTLY});
is($node->safe_psql($db, 'SELECT count(*) FROM pg_inherits WHERE inhdetachpending'),
	'1', 'a partition is being detached');
like(told(), qr/^ERROR:  55000: container "posts" has no partition for this key/,
	'a partition that is being detached');
$node->safe_psql($db, "ROLLBACK PREPARED 'reader'");
$node->safe_psql($db, 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p00 FINALIZE');
$node->safe_psql($db, "ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p00 $bound");
is(told(), $was, 'a partition that is being detached: undone');

# A session that has followed hints notices changes, its own and rolled back
# ones too.
is(run_as($node, $db, $me, qq{
$title;
BEGIN;
ALTER TABLE blogstore.posts_p00 DETACH PARTITION blogstore.posts_p00_post;
SAVEPOINT one;
$title;
ROLLBACK;
$title;
}), join("\n", $was, $was,
	'ERROR:  55000: partition 0 of container "posts" has no leaf for items of type "post"',
	'HINT:  Attach the missing partition.'),
	'a session that changes its containers');

$node->safe_psql($db, 'SELECT blogstore.start_worker()');
check_store($node, $db, 'at the end');
done_testing();
