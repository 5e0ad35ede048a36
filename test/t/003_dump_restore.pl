
# A database with containers is dumped and restored elsewhere. It works without
# a further call, in every format of pg_dump, even if the views lagged behind
# at the time of the dump.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump');
$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');
create_store($node, 'source');
fill_store($node, 'source', 10, 150);
fill_lists($node, 'source', 10);
check_store($node, 'source', 'source');

# What must be equal in every database
my $items = q{
SELECT i FROM (
	SELECT u::text AS i FROM blogstore.users u WHERE type IN ('user', 'follow')
	UNION ALL SELECT p::text FROM blogstore.posts p WHERE type IN ('comment', 'like')
	UNION ALL SELECT g::text FROM blogstore.posts p, LATERAL blogstore.get_post(p.post_id) g WHERE p.type = 'post'
	UNION ALL SELECT n::text FROM blogstore.usernames n) x
ORDER BY i COLLATE "C"};

my $base = $PostgreSQL::Test::Utils::tmp_check;
my %format = (
	plain => ['-Fp'],
	custom => ['-Fc'],
	directory => [ '-Fd', '-j2' ]);

sub dump_source
{
	my ($format) = @_;

	command_ok(
		[
			'pg_dump', @{ $format{$format} }, '-f', "$base/source.$format",
			'-d', $node->connstr('source')
		],
		"dump in format $format");
	return;
}

sub restore
{
	my ($to, $dbname, $format) = @_;

	$to->safe_psql('postgres', "CREATE DATABASE $dbname");
	my $file = "$base/source.$format";
	my @command = $format eq 'plain'
	  ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file)
	  : ('pg_restore', '--exit-on-error', $file);
	push @command, '-j2' if $format eq 'directory';
	command_ok([ @command, '-d', $to->connstr($dbname) ],
		"restore in format $format");
	return;
}

# The test holds the worker, so that the views lag behind in the dump.
my $holder = $node->background_psql('source');
$holder->query_safe(
	'BEGIN; LOCK TABLE blogstore.feed, blogstore.users IN SHARE ROW EXCLUSIVE MODE'
);
$node->safe_psql(
	'source', q{
SELECT count(blogstore.create_post(kit.u(1), 'late ' || n, 'x', kit.p(500 + n), kit.d(500 + n))) FROM generate_series(1, 10) n;
SELECT blogstore.delete_post(kit.p(150));
SELECT count(blogstore.create_like(kit.p(149), kit.u(n))) FROM generate_series(1, 10) n;
});
my $expected = $node->safe_psql('source', $items);
dump_source($_) for sort keys %format;
$holder->query_safe('COMMIT');
$holder->quit;
check_store($node, 'source', 'source, released');
my $lists = show_lists($node, 'source');
like($lists, qr/^all\|20\|.*\|scheduled\|/ms, 'source: there are topics, and a scheduled post');

for my $format (sort keys %format)
{
	my $dbname = "restored_$format";

	restore($node, $dbname, $format);
	ok($node->safe_psql($dbname, $items) eq $expected,
		"$format: every item is there");
	# Requests are right before the worker has built the views, too.
	is( $node->safe_psql(
			$dbname, 'SELECT title FROM blogstore.list_feed(11)'),
		join("\n", (map { "late $_" } reverse 1 .. 10), 'title 149'),
		"$format: list_feed() is right at once");
	check_store($node, $dbname, $format);
	ok(show_lists($node, $dbname) eq $lists, "$format: follows, home feeds, topics and scheduled posts are those of the source");
	is( $node->safe_psql(
			$dbname,
			'SELECT w.state, s.plugin, s.database, s.active FROM blogstore.stat_worker w JOIN pg_replication_slots s ON s.slot_name = w.slot'
		),
		"running|blogstore|$dbname|t",
		"$format: a worker has started");

	# The restored database accepts new items.
	is( $node->safe_psql(
			$dbname, q{
SELECT username FROM blogstore.edit_user(kit.u(1), 'renamed');
SELECT title FROM blogstore.create_post(kit.u(1), 'restored', 'x', kit.p(600), kit.d(600));
SELECT user_id = kit.u(2) FROM blogstore.create_like(kit.p(600), kit.u(2));
}),
		"renamed\nrestored\nt",
		"$format: commands work");
	is(sqlstate($node, $dbname, "create_user('USER 2')"),
		'23505, hint', "$format: usernames are still taken");
	is(sqlstate($node, $dbname, 'create_containers()'),
		'42P07, hint', "$format: the containers are there");
	check_store($node, $dbname, "$format, worked on");
}
check_store($node, 'source', 'source, beside its restored copies');

# Restore into a new server, prepared for blogstore, before anything else runs.
my $other = new_server('other');
$other->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
$other->start;
restore($other, 'restored', 'custom');
ok($other->safe_psql('restored', $items) eq $expected,
	'another server: every item is there');
$other->restart;
check_store($other, 'restored', 'another server, restarted before any request');
ok(show_lists($other, 'restored') eq $lists, 'another server: follows, home feeds, topics and scheduled posts are those of the source');

# Restore the data alone, into existing containers.
$node->safe_psql('postgres', 'CREATE DATABASE data_only');
create_store($node, 'data_only');
is($node->safe_psql('data_only', 'SELECT kit.views_follow()'),
	't', 'data only: the worker runs');
command_ok(
	[
		'pg_dump', '-Fc', '--data-only', '-t', 'blogstore.users*', '-t',
		'blogstore.posts*', '-t', 'blogstore.usernames', '-f',
		"$base/data_only", '-d', $node->connstr('source')
	],
	'data only: dump');
# The dump contains the copies. The worker must not have inserted them before.
close_gate($node, 'data_only', 'restore', 'LOCK TABLE blogstore.feed IN SHARE MODE');
command_ok(
	[ 'pg_restore', '--exit-on-error', '-d', $node->connstr('data_only'), "$base/data_only" ],
	'data only: restore beside a running worker');
open_gate($node, 'data_only', 'restore');
check_store($node, 'data_only', 'data only');
ok(show_lists($node, 'data_only') eq $lists, 'data only: follows, home feeds, topics and scheduled posts are those of the source');
ok( $node->safe_psql('data_only', $items) eq
	  $node->safe_psql('source', $items),
	'data only: every item is there');

done_testing();
