
# A session that holds locks, or writes messages to the WAL, which any role may
# do, delays the views no longer than it lasts, and delays nothing else.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('in_the_way');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 120);
check_store($node, 'postgres', 'filled');
my $pid = worker_pid($node, 'postgres');

# ---- A session has locked the views

# hide_post() locks the views until its transaction ends.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT blogstore.hide_post(kit.p(3))');
set_and_reload($node, 'blogstore.feed_size', 110);
# The worker has nothing else to write. It reports the lock after several
# attempts.
wait_until($node, 'postgres', "SELECT last_error LIKE 'could not write the views: %' FROM blogstore.stat_worker");
pass('stat_worker says why the views wait');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('1 s')"), 'f', 'the feed of the new size does not count as written');
$node->safe_psql('postgres', "SELECT blogstore.create_comment(kit.p(7), kit.u(2), 'x'), blogstore.create_post(kit.u(2), 'behind it', 'x', kit.p(200), kit.d(200)), blogstore.edit_user(kit.u(2), 'two')");
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM blogstore.posts WHERE type IN ('comment', 'like') AND user_id = kit.u(2) AND user_username <> 'two'");
pass('a rename goes on meanwhile');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.feed WHERE title = 'behind it'"), '0', 'the views wait');
is(worker_pid($node, 'postgres'), $pid, 'the worker has not ended');
is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'running', 'readers still use the views');
$holder->query_safe('ROLLBACK');
$holder->quit;
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min'); SELECT count(*) FROM blogstore.feed"), "t\n110", 'the feed has the new size when the lock is released');
is(worker_pid($node, 'postgres'), $pid, 'all by the same worker');

set_and_reload($node, 'blogstore.feed_size', 100);
check_store($node, 'postgres', 'the feed as it was');

# ---- Messages in the WAL

# The message by which nodes of a cluster announce a post to look at
my $touch = "pg_logical_emit_message(false, 'blogstore touch', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || int8send(0))";
$node->safe_psql('postgres', 'CREATE ROLE anybody LOGIN');
# The worker updates this row when it no longer trusts the views.
my $row = 'SELECT xmin FROM blogstore.view_state';
my $written = $node->safe_psql('postgres', $row);

# More messages than the worker keeps one by one. It reads them before their
# transaction ends.
my @open = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe('SET ROLE anybody; BEGIN; SELECT pg_current_xact_id()') for @open;
$open[0]->query_safe("SELECT count($touch) FROM generate_series(1, 200001)");
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'the worker has read messages of a transaction that is open');
$open[0]->query_safe('ROLLBACK; BEGIN; SELECT pg_current_xact_id()');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min'); $row"), "t\n$written", 'the messages have caused no rebuild');

# Two transactions that stay open write messages in turn.
for (1 .. 20)
{
	$_->query_safe("SET LOCAL synchronous_commit = off; SELECT $touch") for @open;
}
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'transactions are open: the worker has read their messages');
my $offset = -s $node->logfile;
$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($pid)");
$node->wait_for_log(qr/Grand total: \d+ bytes/, $offset);
my $sets = () = slurp_file($node->logfile, $offset) =~ /blogstore dirty set/g;
cmp_ok($sets, '>', 0, 'the log lists the memory of the worker');
cmp_ok($sets, '<', 10, 'the worker keeps no set of posts for each message');
$_->quit for @open;
is(worker_pid($node, 'postgres'), $pid, 'messages: the same worker');
check_store($node, 'postgres', 'messages');

done_testing();
