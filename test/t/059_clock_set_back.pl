
# The server's clock is set back by an hour. Nothing waits until the hour has
# passed again. set_back.c changes the clock for this server alone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('clock');
my $clock = $node->basedir . '/clock';

$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = '1s'\n");
set_clock($clock, 0);
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
create_store($node, 'postgres');
fill_store($node, 'postgres', 9, 120);
check_store($node, 'postgres', 'filled');
my $slot = worker_slot($node, 'postgres');

# Write likes of many posts, whose counts are postponed; change a copy by hand;
# rename a user with many items.
sub write_much
{
	my ($user) = @_;

	$node->safe_psql('postgres', "SELECT count(blogstore.create_like(kit.p(n), kit.u($user))) FROM generate_series(1, 120) n");
	$node->safe_psql('postgres', "UPDATE blogstore.users SET title = 'altered $user' WHERE id = kit.p(7)");
	$node->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u($user), 'number $user')");
	return;
}

my $counts = 'SELECT sum(like_count) FROM blogstore.users';
my $before = $node->safe_psql('postgres', $counts);
write_much(6);
wait_until($node, 'postgres', $counts, $before + 120);
pass('before: the views show the new counts');

my $now = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
set_clock($clock, -3600);
is($node->safe_psql('postgres', "SELECT clock_timestamp() < '$now'"), 't', 'the clock is set back');
write_much(7);
my $lsn = $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
wait_until($node, 'postgres', $counts, $before + 240);
pass('the views show the new counts');
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM blogstore.users WHERE title LIKE 'altered%'");
pass('the worker corrects a copy that was changed by hand');
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM blogstore.posts WHERE user_id = kit.u(7) AND user_username <> 'number 7'");
pass('a renamed user has the new name on all items');
wait_until($node, 'postgres', "SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = '$slot'");
pass('the slot moves on');
check_store($node, 'postgres', 'set back');

# The launcher starts a worker that fails repeatedly after a pause.
$node->safe_psql('postgres', 'ALTER TABLE blogstore.view_state RENAME TO away');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 180000) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
set_clock($clock, -7200);
$node->safe_psql('postgres', 'ALTER TABLE blogstore.away RENAME TO view_state');
wait_until($node, 'postgres', "SELECT state = 'running' FROM blogstore.stat_worker");
check_store($node, 'postgres', 'set back once more, and started again');
set_clock($clock, 0);
check_store($node, 'postgres', 'set right');

done_testing();
