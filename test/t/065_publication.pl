# The containers are part of a publication. pgoutput can decode what the worker
# writes, for a subscriber and for other readers of a slot. The changes carry a
# replication origin that exists.

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
$node->append_conf('postgresql.conf', "logical_decoding_work_mem = 64kB\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 6, 30);
my $log = log_end($node);
$node->safe_psql('postgres', 'CREATE PUBLICATION blog FOR TABLE blogstore.users, blogstore.posts, blogstore.feed');
$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('$_', 'pgoutput')") for qw(whole streamed);

# ---- A subscriber whose own worker is stopped

my $subscriber = new_server('subscriber');
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

$subscriber->stop;
$node->stop;
done_testing();
