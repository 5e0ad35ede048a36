
# Who is in the worker's way, knowingly or not, keeps the views waiting for no longer than he is
# there, and nothing else: neither locks, nor messages in the WAL, which anybody may write.

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

# ---- Somebody has the views locked

# hide_post() holds them up until its transaction ends
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT blogstore.hide_post(kit.p(3))');
set_and_reload($node, 'blogstore.feed_size', 110);
# there is nothing else to write; after so many tries in vain
wait_until($node, 'postgres', "SELECT last_error LIKE 'could not write the views: %' FROM blogstore.stat_worker");
pass('stat_worker says why the views wait');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('1 s')"), 'f', 'nor does the feed count as made');
$node->safe_psql('postgres', "SELECT blogstore.create_comment(kit.p(7), kit.u(2), 'x'), blogstore.create_post(kit.u(2), 'behind it', 'x', kit.p(200), kit.d(200)), blogstore.edit_user(kit.u(2), 'two')");
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM blogstore.posts WHERE type IN ('comment', 'like') AND user_id = kit.u(2) AND user_username <> 'two'");
pass('a rename goes on meanwhile');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.feed WHERE title = 'behind it'"), '0', 'the views wait');
is(worker_pid($node, 'postgres'), $pid, 'the worker has not ended');
is($node->safe_psql('postgres', 'SELECT state FROM blogstore.stat_worker'), 'running', 'nor are readers without the views');
$holder->query_safe('ROLLBACK');
$holder->quit;
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min'); SELECT count(*) FROM blogstore.feed"), "t\n110", 'then the feed has the size that is set');
is(worker_pid($node, 'postgres'), $pid, 'all by the same worker');

set_and_reload($node, 'blogstore.feed_size', 100);
check_store($node, 'postgres', 'the feed as it was');

# ---- Messages in the WAL

# a post that is to be looked at, as nodes of a cluster tell it
my $touch = "pg_logical_emit_message(false, 'blogstore touch', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || int8send(0))";
$node->safe_psql('postgres', 'CREATE ROLE anybody LOGIN');
# it is written anew where views are not to be trusted
my $row = 'SELECT xmin FROM blogstore.view_state';
my $written = $node->safe_psql('postgres', $row);

# more than the worker would look at one by one, and it has read them before their transaction ends
my @open = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe('SET ROLE anybody; BEGIN; SELECT pg_current_xact_id()') for @open;
$open[0]->query_safe("SELECT count($touch) FROM generate_series(1, 200001)");
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'the worker has read messages of a transaction that is open');
$open[0]->query_safe('ROLLBACK; BEGIN; SELECT pg_current_xact_id()');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min'); $row"), "t\n$written", 'they have nothing built anew');

# two transactions in turn, which stay open
for (1 .. 20)
{
	$_->query_safe("SET LOCAL synchronous_commit = off; SELECT $touch") for @open;
}
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'transactions are open: the worker has read their messages');
my $offset = -s $node->logfile;
$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($pid)");
$node->wait_for_log(qr/Grand total: \d+ bytes/, $offset);
my $sets = () = slurp_file($node->logfile, $offset) =~ /blogstore dirty set/g;
cmp_ok($sets, '>', 0, 'the worker has told its memory');
cmp_ok($sets, '<', 10, 'it holds nothing back for them');
$_->quit for @open;
is(worker_pid($node, 'postgres'), $pid, 'messages: the same worker');
check_store($node, 'postgres', 'messages');

done_testing();
