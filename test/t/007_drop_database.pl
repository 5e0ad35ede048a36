
# A database with a running worker can be dropped, renamed and copied like any
# other; the extension and its schema can be dropped. No slot is left behind.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('life');
$node->start;

sub create_blog
{
	my ($dbname) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	create_store($node, $dbname);
	fill_store($node, $dbname, 5, 120);
	is($node->safe_psql($dbname, 'SELECT kit.views_follow()'),
		't', "$dbname: the worker runs");
	return;
}

sub slots_are
{
	my ($databases, $name) = @_;

	is( $node->safe_psql(
			'postgres', "SELECT coalesce(string_agg(database, ' ' ORDER BY database), '') FROM pg_replication_slots WHERE plugin = 'blogstore'"),
		$databases, $name);
	return;
}

# The worker drops its slot and then exits.
sub worker_goes
{
	my ($dbname, $name) = @_;

	wait_until($node, 'postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
	pass("$name: the worker is gone after a moment");
	return;
}

# DROP DATABASE, plain, while the worker works, and WITH (FORCE)
create_blog('kept');
for my $how ('', ' WITH (FORCE)')
{
	create_blog('gone');
	is(($node->psql('postgres', "DROP DATABASE gone$how"))[0],
		0, "DROP DATABASE$how succeeds beside a running worker");
	slots_are('kept', "DROP DATABASE$how leaves no slot");
}
create_blog('gone');
my $holder = $node->background_psql('gone');
$holder->query_safe('BEGIN; LOCK TABLE blogstore.feed IN SHARE MODE');
$node->safe_psql('gone', "SELECT blogstore.create_post(kit.u(1), 'held back', 'x')");
is(($node->psql('postgres', 'DROP DATABASE gone WITH (FORCE)'))[0],
	0, 'DROP DATABASE WITH (FORCE) succeeds though the worker waits for a lock');
eval { $holder->quit };
slots_are('kept', 'and leaves no slot');
# If DROP DATABASE fails for another reason, the worker continues.
create_blog('busy');
$holder = $node->background_psql('busy');
$holder->query_safe('SELECT 1');
isnt(($node->psql('postgres', 'DROP DATABASE busy'))[0],
	0, 'DROP DATABASE is refused while others are connected');
check_store($node, 'busy', 'not dropped');
$holder->quit;
check_store($node, 'kept', 'kept');

# The copy that CREATE DATABASE ... TEMPLATE makes has a worker of its own.
is(($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE kept'))[0],
	0, 'CREATE DATABASE ... TEMPLATE succeeds beside a running worker');
check_store($node, 'kept', 'the template');
check_store($node, 'copy', 'the copy');
$node->safe_psql('copy', "SELECT blogstore.create_post(kit.u(1), 'in the copy', 'x')");
check_store($node, 'copy', 'the copy, worked on');
is($node->safe_psql('kept', "SELECT count(*) FROM blogstore.list_feed() WHERE title = 'in the copy'"),
	'0', 'the template does not change');
slots_are('busy copy kept', 'each has a slot');
isnt(
	$node->safe_psql('copy', 'SELECT slot FROM blogstore.stat_worker'),
	$node->safe_psql('kept', 'SELECT slot FROM blogstore.stat_worker'),
	'of its own');

# While the copy is made, the worker of the template waits. A lock holds the
# command.
$holder = $node->background_psql('busy');
$holder->query_safe('BEGIN; LOCK TABLE pg_database IN SHARE MODE');
my $copier = $node->background_psql('postgres');
$copier->query_until(qr/copies/, "\\echo copies\nCREATE DATABASE slow TEMPLATE kept;\n");
wait_until($node, 'busy',
	"SELECT state || '|' || (pid IS NULL) || '|' || hint FROM blogstore.stat_workers WHERE database = 'kept'",
	'starting|true|The worker starts when the command that copies, moves, renames or drops the database has ended.');
pass('stat_workers says what the worker of the template waits for');
$holder->query_safe('COMMIT');
$holder->quit;
$copier->quit;
check_store($node, 'kept', 'the template again');
check_store($node, 'slow', 'the slow copy');
$node->safe_psql('postgres', 'DROP DATABASE slow');

# ALTER DATABASE ... RENAME
is(($node->psql('postgres', 'ALTER DATABASE copy RENAME TO renamed'))[0],
	0, 'ALTER DATABASE ... RENAME succeeds beside a running worker');
check_store($node, 'renamed', 'renamed');

# The items outlive DROP EXTENSION. The worker ends and returns with CREATE
# EXTENSION.
my $items = "SELECT md5(string_agg(i, ' ' ORDER BY i)) FROM (SELECT u::text AS i FROM blogstore.users u WHERE type = 'user' UNION ALL SELECT p::text FROM blogstore.posts p) x";
my $digest = $node->safe_psql('renamed', $items);
$node->safe_psql('renamed', 'DROP EXTENSION blogstore');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'renamed'")
  or die 'the slot stays';
pass('DROP EXTENSION: the slot is gone after a moment');
worker_goes('renamed', 'DROP EXTENSION');
is($node->safe_psql('renamed', $items), $digest, 'DROP EXTENSION keeps the items');
$node->safe_psql('renamed', 'CREATE EXTENSION blogstore');
is($node->safe_psql('renamed', $items), $digest, 'CREATE EXTENSION keeps the items');
check_store($node, 'renamed', 'created again');
slots_are('busy kept renamed', 'created again: there is a slot');

# The extension is dropped, and the owner then changes an item by SQL.
# After CREATE EXTENSION the worker builds the views from the items.
$node->safe_psql('renamed', 'DROP EXTENSION blogstore');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'renamed'")
  or die 'the slot stays';
$node->safe_psql('renamed',
	"UPDATE blogstore.posts SET title = 'by hand' WHERE type = 'post' AND post_id = kit.p(120)");
$node->safe_psql('renamed', 'CREATE EXTENSION blogstore');
is($node->safe_psql('renamed', 'SELECT title FROM blogstore.list_feed() WHERE id = kit.p(120)'),
	'by hand', 'created again: list_feed() is right at once');
check_store($node, 'renamed', 'created again after changes');

# Drop the containers with the extension, then create both again.
$node->safe_psql('renamed', 'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.usernames, blogstore.jobs, blogstore.view_state CASCADE');
is(sqlstate($node, 'renamed', 'get_post(kit.p(1))'), '55000, hint', 'containers dropped: requests say so');
is(sqlstate($node, 'renamed', "create_user('x')"), '55000, hint', 'containers dropped: commands too');
$node->safe_psql('renamed', 'SELECT blogstore.create_containers(2)');
is($node->safe_psql('renamed', 'SELECT kit.views_follow()'),
	't', 'containers created anew: the worker runs');
$node->safe_psql('renamed', "SELECT blogstore.create_user('x', kit.u(1)); SELECT blogstore.create_post(kit.u(1), 'anew', 'x')");
is($node->safe_psql('renamed', 'SELECT kit.views_follow(); SELECT title FROM blogstore.feed'),
	"t\nanew", 'containers created anew: the views follow');

# The same in a single session, which must not use what it cached before
is( $node->safe_psql(
		'renamed', q{
SET client_min_messages = error;
SELECT title FROM blogstore.list_feed();
DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.usernames, blogstore.jobs, blogstore.view_state CASCADE;
SELECT kit.try('blogstore.list_feed()');
SELECT blogstore.create_containers(8);
SELECT count(*) FROM blogstore.list_feed();
SELECT username FROM blogstore.create_user('y', kit.u(1));
SELECT title FROM blogstore.create_post(kit.u(1), 'once more', 'x', kit.p(1));
SELECT kit.views_follow();
SELECT title FROM blogstore.list_feed();
DROP EXTENSION blogstore;
CREATE EXTENSION blogstore;
SELECT title FROM blogstore.get_post(kit.p(1));
SELECT kit.views_follow();
SELECT title FROM blogstore.list_user_posts(kit.u(1));
}) =~ s/\n\n/\n/r,
	"anew\n55000, hint\n0\ny\nonce more\nt\nonce more\nonce more\nt\nonce more",
	'in one session: containers dropped and created anew, the extension too');

# DROP SCHEMA ... CASCADE drops the extension and the containers; worker and
# slot go too.
$node->safe_psql('busy', 'SET client_min_messages = error; DROP SCHEMA blogstore CASCADE');
is($node->safe_psql('busy', "SELECT count(*) FROM pg_extension WHERE extname = 'blogstore'"),
	'0', 'DROP SCHEMA CASCADE: the extension is gone');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'busy'")
  or die 'the slot stays';
pass('DROP SCHEMA CASCADE: the slot is gone after a moment');
worker_goes('busy', 'DROP SCHEMA CASCADE');
$node->safe_psql('busy', 'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(2)');
is($node->safe_psql('busy', 'SELECT kit.views_follow()'),
	't', 'DROP SCHEMA CASCADE: all of it can be created again');

# The other databases are unaffected.
check_store($node, 'kept', 'kept to the end');
$node->restart;
check_store($node, 'kept', 'kept, after a restart');

done_testing();
