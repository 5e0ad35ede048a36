# While a site has fewer posts than the feed can hold, list_feed() reads the
# feed alone, in either order. With more posts, a page continues in the posts
# container after the end of the feed.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use BlogstoreWorker;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('small_site');
$node->start;
create_store($node, 'postgres');

my $shown = 'FROM kit.implied ORDER BY creation_date';

# The number of scans of partitions of posts by a call of list_feed()
sub partitions_scanned
{
	my ($arguments) = @_;

	return $node->safe_psql(
		'postgres', "BEGIN; SELECT FROM blogstore.list_feed($arguments);
		SELECT coalesce(sum(coalesce(idx_scan, 0) + coalesce(seq_scan, 0)), 0) FROM pg_stat_xact_user_tables
		WHERE relname ~ '^posts_p.*_post\$'; COMMIT");
}

# Check that list_feed() returns all posts, also page by page, and whether it
# reads the feed alone.
sub check_feed
{
	my ($name, $alone) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	check_store($node, 'postgres', $name);
	is($node->safe_psql('postgres', 'SELECT id FROM blogstore.list_feed(NULL, oldest_first => true)'),
		$node->safe_psql('postgres', "SELECT id $shown, id"), "$name: the other way round");
	is( $node->safe_psql(
			'postgres', "WITH RECURSIVE page AS (
				(SELECT array_agg(f.id) AS ids, min(creation_date) AS date, (array_agg(f.id))[count(*)] AS id FROM blogstore.list_feed(7) f)
				UNION ALL
				SELECT next.* FROM page, LATERAL (SELECT array_agg(f.id), min(creation_date), (array_agg(f.id))[count(*)]
					FROM blogstore.list_feed(7, page.date, page.id) f) next WHERE page.id IS NOT NULL)
			SELECT unnest(ids) FROM page"),
		$node->safe_psql('postgres', "SELECT id $shown DESC, id DESC"), "$name: page by page");
	foreach my $arguments ('NULL', 'NULL, oldest_first => true')
	{
		my $scanned = partitions_scanned($arguments);

		is($scanned > 0 ? 'partitions' : 'the feed', $alone ? 'the feed' : 'partitions', "$name: list_feed($arguments) reads");
	}
	return;
}

sub run
{
	my (@sql) = @_;

	$node->safe_psql('postgres', $_) foreach @sql;
	return;
}

my $create = 'SELECT count(blogstore.create_post(kit.u(1 + n % 10), $$post $$ || n, $$content$$, kit.p(n), kit.d(n))) FROM generate_series';

check_feed('no posts', 1);
run('SELECT count(blogstore.create_user($$user $$ || n, kit.u(n))) FROM generate_series(1, 10) n', "$create(1, 30) n");
check_feed('thirty posts', 1);
run("$create(31, 99) n");
check_feed('one less than the feed holds', 1);

# An older snapshot sees the posts of its time.
my $reader = $node->background_psql('postgres', on_error_stop => 1);
my $all = q{SELECT count(*) FROM blogstore.list_feed(NULL)};
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query_safe($all), '99', 'a snapshot of 99 posts');
run("$create(100, 103) n");
check_feed('more than it holds', 0);
is($reader->query_safe($all), '99', 'the older snapshot still has 99 posts');
$reader->query_safe('COMMIT');
is($reader->query_safe($all), '103', 'the next snapshot has all');
$reader->quit;

run('SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(3, 12, 3) n');
check_feed('99 again', 1);
run('SELECT blogstore.hide_post(kit.p(20))');
is($node->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE id = kit.p(20)) FROM blogstore.list_feed(NULL)"), '98|0', 'one is hidden: all others are listed');
is(partitions_scanned('NULL'), '0', 'only the feed is read');
run('SELECT kit.views_follow()');
is(partitions_scanned('NULL'), '0', 'only the feed is read after the worker has updated it');
run('SELECT blogstore.publish_post(kit.p(20))');
check_feed('and published', 1);

# Posts older than all others
run('CREATE TABLE older AS SELECT kit.p(n) AS post_id, kit.u(1) AS user_id, $$older$$ AS title, $$content$$ AS content, kit.d(0) - n * interval $$1 day$$ AS creation_date FROM generate_series(200, 220) n');
run('SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(31, 50) n',
	'SELECT kit.views_follow()',
	"SELECT FROM blogstore.import(posts => 'older')");
check_feed('older ones are imported', 0);
run('SELECT blogstore.delete_post(kit.p(60))');
check_feed('room for the last', 1);

# The worker inserts a row again that was deleted from the feed by hand.
run('DELETE FROM blogstore.feed WHERE title = $$post 70$$');
check_feed('a row is gone', 1);

# Another size of the feed
$node->append_conf('postgresql.conf', 'blogstore.feed_size = 7');
$node->reload;
wait_until($node, 'postgres', 'SELECT count(*) = 7 FROM blogstore.feed');
is($node->safe_psql('postgres', $all), $node->safe_psql('postgres', 'SELECT count(*) FROM kit.implied'), 'a smaller feed: all are listed');
isnt(partitions_scanned('NULL'), '0', 'partitions of posts are read');
$node->append_conf('postgresql.conf', 'blogstore.feed_size = 1000');
$node->reload;
wait_until($node, 'postgres', 'SELECT count(*) > 7 FROM blogstore.feed');
is($node->safe_psql('postgres', $all), $node->safe_psql('postgres', 'SELECT count(*) FROM kit.implied'), 'a larger one: all are listed');
is(partitions_scanned('NULL'), '0', 'only the feed is read');

# Without a worker, new posts are listed too.
run('SELECT blogstore.stop_worker()', "$create(300, 301) n");
is($node->safe_psql('postgres', $all), $node->safe_psql('postgres', 'SELECT count(*) FROM kit.implied'), 'without a worker: all are listed');
run('SELECT blogstore.start_worker()', 'SELECT kit.views_follow()');
is(partitions_scanned('NULL'), '0', 'only the feed is read again');

$node->stop;
done_testing();
