
# The flushed WAL can end in the middle of a record, as long as the transaction
# that writes it goes on and no other commits. The worker does not wait for the
# rest of the record. It shows what was committed before, and exits when the
# postmaster does.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('wal_end');
# All other processes should write as little WAL as possible.
$node->append_conf('postgresql.conf', "wal_writer_delay = 10ms\nautovacuum = off\nbgwriter_delay = 10s\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 20);
check_store($node, 'postgres', 'filled');
$node->safe_psql('postgres', 'CREATE TABLE kit.filler (a text)');

# Write in a transaction that never commits, until the flushed WAL ends at the
# end of a page and in the middle of a record.
my $writer = $node->background_psql('postgres');

sub write_to_page_end
{
	my $timeout = $PostgreSQL::Test::Utils::timeout_default;

	return $writer->query_safe(
		qq{DO \$\$
DECLARE
	give_up	timestamptz := clock_timestamp() + interval '$timeout s';
	flushed	pg_lsn;
BEGIN
	LOOP
		INSERT INTO kit.filler SELECT md5(random()::text) || n FROM generate_series(1, 200) n;
		PERFORM pg_sleep(0.1);
		flushed := pg_current_wal_flush_lsn();
		EXIT WHEN (flushed - '0/0'::pg_lsn) % 8192 = 0 AND pg_current_wal_insert_lsn() > flushed;
		IF clock_timestamp() > give_up THEN
			RAISE 'the flushed WAL does not end with a page';
		END IF;
	END LOOP;
END \$\$;
SELECT pg_current_wal_flush_lsn()});
}

# Return whether the worker comes to the last complete record before such an
# end. Other processes may flush the rest of the record meanwhile; the worker
# does when it stores its position. The function then tries again.
sub worker_comes_to_page_end
{
	for (1 .. 100)
	{
		my $end = write_to_page_end();
		$node->poll_query_until('postgres',
			"SELECT lag_bytes < 8192 OR pg_current_wal_flush_lsn() <> '$end' FROM blogstore.stat_worker")
		  or return 0;
		return 1
		  if $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()') eq $end;
	}
	return 0;
}

$writer->query_safe('BEGIN');
ok(worker_comes_to_page_end(),
	'an unfinished record: the worker comes to the last finished one, and goes on');
$writer->query_safe('ROLLBACK');
check_store($node, 'postgres', 'rolled back');

# The postmaster is killed
$writer->query_safe('BEGIN');
ok(worker_comes_to_page_end(), 'an unfinished record again: the same');
my $pid = worker_pid($node, 'postgres');
$node->kill9;
$writer->{run}->finish;
my $looks = 10 * $PostgreSQL::Test::Utils::timeout_default;
while (kill(0, $pid) && $looks-- > 0)
{
	select(undef, undef, undef, 0.1);
}
ok(!kill(0, $pid), 'postmaster killed: the worker ends');
kill 9, $pid if kill 0, $pid;
start_again($node);
check_store($node, 'postgres', 'started again');

done_testing();
