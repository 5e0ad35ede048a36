# The containers are part of a publication. pgoutput can decode what the worker
# writes, for a subscriber and for other readers of a slot. The changes carry a
# replication origin that exists. A subscriber with all tables that
# docs/OPERATIONS.md names becomes the store.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('publisher');
# Larger transactions are streamed before they commit.
$node->append_conf('postgresql.conf', "logical_decoding_work_mem = 64kB\nblogstore.topic_property = 'tags'\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 6, 30);
my $log = log_end($node);
$node->safe_psql('postgres', 'CREATE PUBLICATION blog FOR TABLE blogstore.users, blogstore.posts, blogstore.feed');
$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('$_', 'pgoutput')") for qw(whole streamed);

# ---- A subscriber whose own worker is stopped

my $subscriber = new_server('subscriber');
$subscriber->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
$subscriber->start;
create_store($subscriber, 'postgres');
$subscriber->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION blog CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION blog");
$subscriber->wait_for_subscription_sync($node, 'blog');

# Everything that the worker writes: views, folded counts, a rename, a
# deletion, a rebuild
$node->safe_psql('postgres', $_) for (
	"SELECT count(blogstore.create_post(kit.u(1 + n % 3), 'published ' || n, repeat('x', 300), kit.p(1000 + n))) FROM generate_series(1, 300) n",
	'SELECT count(blogstore.create_like(kit.p(1000 + n), kit.u(2))) FROM generate_series(1, 300) n',
	"SELECT blogstore.edit_user(kit.u(1), 'Renamed')", 'SELECT blogstore.delete_user(kit.u(3))', 'SELECT blogstore.rebuild_views()');
check_store($node, 'postgres', 'published');
$node->wait_for_catchup('blog');
for my $view ("SELECT * FROM blogstore.feed ORDER BY id", "SELECT * FROM blogstore.users ORDER BY type, id", "SELECT * FROM kit.implied ORDER BY id")
{
	ok($subscriber->safe_psql('postgres', $view) eq $node->safe_psql('postgres', $view), "the subscriber has the same: $view");
}

# ---- The messages have rows and no origin other than the worker's

my %options = (whole => q{'proto_version', '1', 'publication_names', 'blog'}, streamed => q{'proto_version', '2', 'streaming', 'on', 'publication_names', 'blog'});
for my $slot (sort keys %options)
{
	is( $node->safe_psql(
			'postgres', qq{
SELECT bool_or(kind = 'I'), bool_or(kind = 'S'), string_agg(DISTINCT CASE kind WHEN 'O' THEN convert_from(substr(data, 10, length(data) - 10), 'UTF8') END, ',')
FROM (SELECT chr(get_byte(data, 0)) AS kind, data FROM pg_logical_slot_get_binary_changes('$slot', NULL, NULL, $options{$slot})) AS m}),
		$slot eq 'whole' ? 't|f|' : 't|t|blogstore_worker', "$slot: what is decoded");
	$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
}
is($node->safe_psql('postgres', 'SELECT roname FROM pg_replication_origin'), 'blogstore_worker', 'the origin exists');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_origin_status'), '0', 'no progress of the origin is tracked');
is(join("\n", logged($node, $log, qr/terminated by signal|TRAP:|server process .* was terminated/)), '', 'no process has crashed');

# ---- The worker does not decode its own changes as changes by others, also
# after its origin was dropped

# The number of changes that the worker has decoded and applied
sub changes
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{SELECT blogstore.wait_for_views(); SELECT changes FROM blogstore.stat_worker}) =~ s/t\n//r;
}

for my $name ('with the origin', 'after the origin was dropped')
{
	$node->safe_psql('postgres', q{SELECT pg_replication_origin_drop('blogstore_worker')}) if $name =~ /dropped/;
	$node->safe_psql('postgres', q{SELECT blogstore.edit_post(kit.p(1001), 'edited ' || clock_timestamp())});
	my $before = changes($node);
	$node->safe_psql('postgres', q{TRUNCATE blogstore.feed});
	my $changes = changes($node) - $before;
	cmp_ok($changes, '<', 10, "$name: the rows that the worker writes are not decoded");
	check_store($node, 'postgres', $name);
}
is($node->safe_psql('postgres', 'SELECT roname FROM pg_replication_origin'), 'blogstore_worker', 'the worker makes the origin again');

# ---- A list of columns without those of the replica identity

$node->safe_psql('postgres', 'CREATE PUBLICATION narrow FOR TABLE blogstore.posts (id, title) WITH (publish_via_partition_root)');
like(sqlstate($node, 'postgres', q{edit_post(kit.p(1001), 'x')}), qr/^42P10/, 'narrow: an edit is refused');
like(sqlstate($node, 'postgres', q{create_like(kit.p(1001), kit.u(4))}), qr/^ok/, '... and a new item is not');
like(sqlstate($node, 'postgres', q{delete_like(kit.p(1001), kit.u(4))}), qr/^42P10/, '... but its deletion is');
$node->safe_psql('postgres', 'DROP PUBLICATION narrow');
is(sqlstate($node, 'postgres', q{delete_like(kit.p(1001), kit.u(4))}), 'ok', '... until the publication is dropped');

# ---- Into another blogstore, which then becomes the store

my ($named) = slurp_file("$FindBin::RealBin/../../docs/OPERATIONS.md") =~ /\*\*Into another blogstore\*\*, publish (.*?), without/s or die 'no list of tables';
my @tables = map { "blogstore.$_" } $named =~ /`(\w+)`/g;
$subscriber->safe_psql('postgres', 'CREATE DATABASE store');
create_store($subscriber, 'store');
$subscriber->safe_psql('store', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->safe_psql('postgres', q{
SELECT count(blogstore.create_post(kit.u(4), 'tagged ' || n, 'x', kit.p(2000 + n), kit.d(n), '{"tags": ["early"]}')) FROM generate_series(1, 20) n;
SELECT kit.views_follow()});
$node->safe_psql('postgres', 'CREATE PUBLICATION store FOR TABLE ' . join ', ', @tables);
$subscriber->safe_psql('store', "CREATE SUBSCRIPTION store CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION store");
$subscriber->wait_for_subscription_sync($node, 'store', 'store');
$node->safe_psql('postgres', $_) for (
	q{SELECT count(blogstore.create_post(kit.u(4), 'tagged ' || n, 'x', kit.p(2000 + n), kit.d(n), '{"tags": ["late"]}')) FROM generate_series(21, 40) n},
	q{SELECT blogstore.create_user('newcomer', kit.u(50)); SELECT blogstore.follow_user(kit.u(50), kit.u(4))},
	q{SELECT blogstore.create_comment(kit.p(2001), kit.u(50), 'x', kit.c(9001)); SELECT blogstore.create_comment(kit.p(2001), kit.u(4), 'a reply', kit.c(9002), parent_id => kit.c(9001))},
	q{SELECT blogstore.create_like(kit.p(2001), kit.u(50)); SELECT blogstore.delete_post(kit.p(2002)); SELECT blogstore.edit_post(kit.p(2004), 'edited')},
	q{SELECT blogstore.edit_user(kit.u(4), 'Renamed too'); SELECT blogstore.delete_user(kit.u(5))});
check_store($node, 'postgres', 'published');
$node->safe_psql('postgres', q{
SELECT blogstore.hide_post(kit.p(2003));
SELECT blogstore.create_post(kit.u(4), 'scheduled', 'x', kit.p(2100), publish_date => now() + interval '1 day');
SELECT kit.views_follow()});
# The worker writes nothing while the stores are compared.
my $holder = hold_worker($node, 'postgres');
$node->wait_for_catchup('store');
my @queries = (
	(map { "SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)), count(*) FROM $_ AS t" } @tables),
	'SELECT * FROM blogstore.list_feed(NULL)',
	q{SELECT l.* FROM kit.implied p, LATERAL blogstore.list_post_comments(p.id) l ORDER BY l.id},
	'SELECT * FROM blogstore.list_user_posts(kit.u(4), NULL, include_hidden => true)',
	'SELECT * FROM blogstore.list_following(kit.u(50))',
	q{SELECT * FROM blogstore.get_user_by_name('RENAMED TOO')});
foreach my $query (@queries)
{
	my $published = $node->safe_psql('postgres', $query);

	ok($published ne '' && $subscriber->safe_psql('store', $query) eq $published, "the other store has the same: $query");
}
$holder->quit;
my $topics = 'SELECT * FROM blogstore.list_topics()';
like($node->safe_psql('postgres', $topics), qr/early.*\n.*late|late.*\n.*early/, 'topics of the publisher');
like(sqlstate($subscriber, 'store', 'list_topics()'), qr/^55000/, '... which the other store does not list');

$subscriber->safe_psql('store', 'DROP SUBSCRIPTION store');
$subscriber->safe_psql('store', 'SELECT blogstore.start_worker(); SELECT blogstore.repair()');
is($subscriber->safe_psql('store', 'SELECT kit.views_follow(); SELECT * FROM blogstore.verify()'), 't', 'the subscriber is the store: it has its own views');
is($subscriber->safe_psql('store', $topics), $node->safe_psql('postgres', $topics), '... and lists topics');
is($subscriber->safe_psql('store', 'SELECT post_id = kit.p(2100) FROM blogstore.publish_queue'), 't', '... and will publish the scheduled post');
$subscriber->safe_psql('store', 'SELECT blogstore.hide_post(kit.p(2003), false); SELECT blogstore.publish_post(kit.p(2100))');
check_store($subscriber, 'store', 'all is shown');
like(sqlstate($subscriber, 'store', q{create_user('Newcomer')}), qr/^23505/, '... and knows which names are taken');
is(sqlstate($subscriber, 'store', q{create_post(kit.u(4), 'written here', 'x', kit.p(2200))}), 'ok', '... and takes posts');
check_store($subscriber, 'store', 'written there');

$subscriber->stop;
$node->stop;
done_testing();
