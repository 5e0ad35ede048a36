# The worker updates the feed from the posts that changed. It reads the newest
# posts anew only if these do not determine the feed. After any batch of
# changes the feed has the newest posts.

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

my $node = new_server('feed_kept');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 300);
check_store($node, 'postgres', 'filled');

# ------------------------------------------------------------------------
# Reads of the index on dates
# ------------------------------------------------------------------------

# The number of scans of the index that finds the newest posts
my $newest =
  "SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes JOIN pg_index USING (indexrelid) JOIN pg_attribute a ON attrelid = indexrelid AND attnum = 1 WHERE relname ~ '^posts_p.*_post\$' AND a.attname = 'creation_date'";

# The number of rows written to the feed. The worker reports it together with
# its scans.
my $written = "SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname = 'feed_post'";

sub scans_of_newest
{
	my ($sql) = @_;
	my $before = $node->safe_psql('postgres', $newest);
	my $rows = $node->safe_psql('postgres', $written);

	$node->safe_psql('postgres', $sql);
	wait_until($node, 'postgres', "SELECT ($written) > $rows");
	return $node->safe_psql('postgres', $newest) - $before;
}

# A restart: readers and verify() have reported their scans before.
$node->restart;
$node->safe_psql('postgres', 'SELECT kit.views_follow()');
is(scans_of_newest("SELECT blogstore.edit_post(kit.p(290), 'edited')"), '0', 'an edit reads that post alone');
is(scans_of_newest("SELECT blogstore.create_like(kit.p(291), kit.u(9))"), '0', 'so does a like');
is(scans_of_newest("SELECT blogstore.create_post(kit.u(1), 'new', 'content', kit.p(301), kit.d(301))"), '0', 'so does a new post');
cmp_ok(scans_of_newest("SELECT blogstore.delete_post(kit.p(290))"), '>', 0, 'after a deletion the worker looks for the post that moves up');
check_store($node, 'postgres', 'one by one');

# ------------------------------------------------------------------------
# Several changes in one batch
# ------------------------------------------------------------------------

sub batch
{
	my ($name, @sql) = @_;
	my $holder = hold_worker($node, 'postgres');

	$node->safe_psql('postgres', $_) foreach @sql;
	$holder->query_safe('COMMIT');
	$holder->quit;
	check_store($node, 'postgres', $name);
	return;
}

my $create = 'SELECT blogstore.create_post(kit.u(1 + n % 10), $$new $$ || n, $$content$$, kit.p(n), kit.d(n)) FROM generate_series';

batch('new, edited and liked',
	"$create(400, 403) n",
	"SELECT blogstore.edit_post(kit.p(n), 'edited again') FROM generate_series(240, 280, 7) n",
	"SELECT blogstore.create_like(kit.p(n), kit.u(8)) FROM generate_series(230, 300, 11) n",
	"SELECT blogstore.edit_post(kit.p(402), 'edited at once')");
batch('the last of the feed, and those about it',
	"SELECT blogstore.edit_post(id, 'at the edge') FROM (SELECT id FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT 4 OFFSET 98) p",
	"$create(404, 404) n");
batch('more new ones than the feed holds', "$create(500, 650) n");
batch('new, and gone again',
	"$create(700, 720) n",
	'SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(705, 710) n');
batch('gone from the feed, and new',
	'SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(640, 645) n',
	"$create(721, 730) n");
batch('gone, and there again at another place',
	'SELECT blogstore.delete_post(kit.p(650))',
	"SELECT blogstore.create_post(kit.u(2), 'again', 'content', kit.p(650), kit.d(2))",
	'SELECT blogstore.delete_post(kit.p(3))',
	"SELECT blogstore.create_post(kit.u(2), 'again', 'content', kit.p(3), kit.d(800))");
batch('gone, and there again at its place',
	'SELECT blogstore.delete_post(kit.p(649))',
	"SELECT blogstore.create_post(kit.u(2), 'again', 'content', kit.p(649), kit.d(649))");
batch('moved by their owner, out of the feed and into it',
	'UPDATE blogstore.posts SET creation_date = kit.d(1) WHERE type = $$post$$ AND post_id = kit.p(648)',
	'UPDATE blogstore.posts SET creation_date = kit.d(810) WHERE type = $$post$$ AND post_id = kit.p(4)',
	'UPDATE blogstore.posts SET creation_date = kit.d(700) WHERE type = $$post$$ AND post_id = kit.p(701)',
	"$create(731, 732) n");
batch('several of one date',
	"SELECT blogstore.create_post(kit.u(3), 'same date', 'content', kit.p(n), (SELECT min(creation_date) FROM blogstore.feed)) FROM generate_series(820, 830) n");
# In one transaction, because the lock that holds the worker would also hold up
# this DELETE.
$node->safe_psql('postgres', 'BEGIN; DELETE FROM blogstore.feed WHERE post_id IN (SELECT post_id FROM blogstore.feed ORDER BY creation_date DESC LIMIT 3 OFFSET 50); '
	. "$create(840, 840) n; COMMIT");
check_store($node, 'postgres', 'rows taken from the feed, and a new one');

# ------------------------------------------------------------------------
# Another size of the feed
# ------------------------------------------------------------------------

sub feed_of
{
	my ($size, @sql) = @_;

	set_and_reload($node, 'blogstore.feed_size', $size);
	$node->safe_psql('postgres', $_) foreach @sql;
	$node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')");
	is($node->safe_psql('postgres', "SELECT array_agg(id ORDER BY id) = (SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM kit.implied ORDER BY creation_date DESC, id DESC LIMIT $size) p) FROM blogstore.feed"),
		't', "the newest $size posts");
	is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "verify() shows nothing with $size");
	return;
}

feed_of(1, "$create(900, 902) n", 'SELECT blogstore.delete_post(kit.p(902))');
feed_of(120, "$create(903, 905) n");
feed_of(110, "SELECT blogstore.edit_post(kit.p(905), 'edited')");

$node->stop;
done_testing();
