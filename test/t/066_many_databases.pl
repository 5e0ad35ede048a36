# blogstore runs workers for up to 64 databases. One more gets an error in
# create_containers() and in functions that need the worker, and stat_worker
# reports it, until another database gives up its place.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The workers need not run, because a database has its place whether or not it
# has a worker process.
my $node = new_server('many');
$node->append_conf('postgresql.conf', "max_worker_processes = 4\nmax_replication_slots = 100\nautovacuum = off\n");
$node->start;
my $status = 'SELECT state, last_error, hint FROM blogstore.stat_worker';
my $full = 'disabled|more than 64 databases have blogstore containers|Drop the containers in a database that does not need them, or drop that database.';

$node->safe_psql('postgres', 'CREATE DATABASE pattern');
$node->safe_psql('pattern', 'CREATE EXTENSION blogstore');
$node->safe_psql('postgres', 'ALTER DATABASE pattern IS_TEMPLATE true');
$node->safe_psql('postgres', "CREATE DATABASE blog_$_ TEMPLATE pattern STRATEGY file_copy") for 1 .. 65;
is_deeply([ grep { ($node->psql("blog_$_", 'SELECT blogstore.create_containers(1)'))[0] != 0 } 1 .. 64 ], [], '64 databases have containers');
isnt($node->safe_psql('blog_64', $status), $full, 'the last of them has a place');

# stat_workers has a row for each database, once the launcher has tried to
# start its worker.
wait_until($node, 'blog_65', q{SELECT count(*) = 64 AND count(DISTINCT database) = 64 AND count(state) = 64 FROM blogstore.stat_workers});
pass('stat_workers shows all of them');

# The 65th database has no place.
$node->safe_psql('blog_65', kit_file('ids'));
is(sqlstate($node, 'blog_65', 'create_containers(1)'), '54000, hint', 'the containers of one more are not made');
is($node->safe_psql('blog_65', "SELECT to_regclass('blogstore.posts')"), '', 'no container was created');
like(($node->psql('blog_65', 'SELECT blogstore.create_containers(1)'))[2], qr/ERROR:  more than 64 databases have blogstore containers\nHINT:  Drop the containers/, 'the error says why');
like($node->safe_psql('blog_65', $status), qr/^no containers\|/, 'stat_worker: there are no containers');

# A restored database has containers without a place.
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE pattern');
$node->safe_psql('blog_1', 'SELECT blogstore.create_user($$Ann$$)');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/blog.dump', '-d', $node->connstr('blog_1') ], 'a dump');
$node->safe_psql('restored', 'DROP EXTENSION blogstore CASCADE; DROP SCHEMA blogstore');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $node->basedir . '/blog.dump' ], 'restored');
is($node->safe_psql('restored', 'SELECT username FROM blogstore.get_user_by_name($$ann$$)'), 'Ann', 'requests work');
is($node->safe_psql('restored', $status), $full, 'stat_worker says why there is no worker');
$node->safe_psql('restored', kit_file('ids'));
is(sqlstate($node, 'restored', $_), '54000, hint', "$_: there is no worker") for qw(wait_for_views() start_worker() rebuild_views());
is($node->safe_psql('restored', 'SELECT p.title, p.comment_count FROM blogstore.get_user_by_name($$ann$$) u, blogstore.create_post(u.id, $$title$$, $$text$$) p'), 'title|0', 'requests write');

# Its slot can be dropped. The hints name no call that needs a place.
my $slot = 'blogstore_' . $node->safe_psql('restored', 'SELECT oid FROM pg_database WHERE datname = current_database()');
$node->safe_psql('restored', qq{
SELECT set_config(name, 'blogstore', false) FROM pg_settings WHERE name = 'output_plugin_libraries';
SELECT pg_create_logical_replication_slot('$slot', 'blogstore')});
$node->safe_psql('restored', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
like($node->safe_psql('restored', $status), qr/^stopped\|\|Call blogstore.stop_worker\(drop_slot => true\) to drop the slot, which keeps \d+ kB of WAL; the worker cannot be started, because 64 /,
	'stopped, with a slot: stat_worker names the call that drops it');
$node->safe_psql('postgres', "SELECT pg_switch_wal() FROM (SELECT pg_logical_emit_message(false, 'filler', 'x')) AS m") for 1 .. 3;
my $offset = log_end($node);
set_and_reload($node, 'max_wal_size', '32MB');
wait_logged($node, $offset, qr/WARNING:  replication slot "$slot" keeps \d+ MB of WAL, and no blogstore worker uses it/);
wait_logged($node, $offset, qr/HINT:  In database "restored", drop the slot with blogstore.stop_worker\(drop_slot => true\)\. No worker can be started there, because 64 other databases/);
is(sqlstate($node, 'restored', 'stop_worker(drop_slot => true)'), 'ok', 'the slot can be dropped');
is($node->safe_psql('restored', "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '$slot'"), '0', '... and is gone');
is($node->safe_psql('restored', $status), 'stopped||Drop the containers in a database that does not need them, or drop that database.', 'stopped, without a slot: what gives it a place');

# Another database can use a place that was given up.
$node->safe_psql('postgres', 'DROP DATABASE blog_2');
$node->safe_psql('restored', 'SELECT blogstore.start_worker()');
isnt($node->safe_psql('restored', $status), $full, 'a database was dropped: the other has a place');
is(sqlstate($node, 'blog_65', 'create_containers(1)'), '54000, hint', 'no further database has a place');
$node->safe_psql('postgres', 'DROP DATABASE blog_3');
is(sqlstate($node, 'blog_65', 'create_containers(1)'), 'ok', 'after another DROP DATABASE it has one');

$node->stop;
done_testing();
