
# The WAL that is flushed can end in the middle of a record, for as long as the
# transaction that has written it goes on and nobody else commits. The worker
# does not wait there: it shows what was committed before, and ends with the
# postmaster.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('wal_end');
# others than the transaction below write as little as possible
$node->append_conf('postgresql.conf', "wal_writer_delay = 10ms\nautovacuum = off\nbgwriter_delay = 10s\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 20);
check_store($node, 'postgres', 'filled');
$node->safe_psql('postgres', 'CREATE TABLE kit.filler (a text)');

# Write, not to be committed, until what is flushed ends with a page and not
# with a record
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

# Has the worker come to the last finished record before such an end? Others may
# flush what comes behind it in the meantime, as the worker itself does when it
# writes down how far it is; then once more.
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
