
# Readers use the views once they are up to date. A snapshot from before that
# goes on reading posts, so that no list of it falls behind what it has read
# before.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 2500;

my $node = new_server('since');
# Changes of many counts are postponed for longer than the test takes.
$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = '60s'\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', "SELECT kit.fill(5, $POSTS, 'x')");
check_store($node, 'postgres', 'filled');

my $running = "SELECT state = 'running' FROM blogstore.stat_worker";
my $newest = 'SELECT title FROM blogstore.list_feed(1)';
my $lists = q{SELECT string_agg(p.title || p.like_count, ' ' ORDER BY p.title) FROM blogstore.list_user_posts(kit.u(1), NULL) p WHERE p.title ~ '^new'};

# ---- A snapshot from before the views were up to date

# The worker is terminated before it has applied a post, and the next one is
# held before it, too.
my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1), 'new', 'x', kit.p(10001), kit.d(10001))");
my $ended = worker_pid($node, 'postgres');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($ended)");
wait_until($node, 'postgres',
	"SELECT state = 'catching up' AND pid <> $ended FROM blogstore.stat_worker");

my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query_safe($newest), 'new', 'before: list_feed() is right');
is($reader->query_safe($lists), 'new0', 'before: list_user_posts() is right');
$holder->query_safe('COMMIT');
$holder->quit;
wait_until($node, 'postgres', $running);
is($reader->query_safe($newest), 'new', 'the same snapshot: list_feed() gives what it gave before');
is($reader->query_safe($lists), 'new0', 'the same snapshot: list_user_posts(), too');

# Check that a session reads the view: it shows a change made in the view
# alone.
sub is_from_views
{
	my ($session, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$session->query_safe("BEGIN; UPDATE blogstore.feed SET title = 'of the view'");
	is($session->query_safe($newest), 'of the view', $name);
	$session->query_safe('ROLLBACK');
	return;
}
my $other = $node->background_psql('postgres');
is_from_views($other, 'a snapshot from now on: the view is read');
$reader->query_safe('COMMIT');
is_from_views($reader, 'the same session with a new snapshot: the view is read');
$reader->quit;

# ---- Postponed counts

# The views are rebuilt, and the counts of posts change after these posts have
# got their copies.
my $order = 'SELECT post_id FROM blogstore.posts WHERE type = $$post$$ ORDER BY user_id, creation_date, id';
my $gate = $node->safe_psql('postgres', "$order OFFSET 2100 LIMIT 1");
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true)');
$holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
# The worker has queued the rebuild before it creates its slot.
wait_until($node, 'postgres', 'SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND confirmed_flush_lsn IS NOT NULL');
close_gate($node, 'postgres', 'gate',
	"SELECT FROM blogstore.users WHERE type = 'post' AND post_id = '$gate' FOR KEY SHARE");
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'postgres');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.jobs WHERE kind = 'rebuild' AND done >= 2000"),
	'1', 'a rebuild has come some way');
$node->safe_psql('postgres', "SELECT count(blogstore.create_like(post_id, kit.u(5))) FROM ($order LIMIT 100) p");
open_gate($node, 'postgres', 'gate');
wait_until($node, 'postgres', $running);
is( $node->safe_psql(
		'postgres', "SELECT count(*) FROM ($order LIMIT 100) l JOIN blogstore.posts p ON p.post_id = l.post_id AND p.type = 'post' JOIN LATERAL blogstore.list_user_posts(p.user_id, NULL) c ON c.post_id = p.post_id WHERE c.like_count <> 1"),
	'0', 'the views are served only when they have the new counts');
is_from_views($other, 'the views are served');
$other->quit;
check_store($node, 'postgres', 'at the end');

done_testing();
