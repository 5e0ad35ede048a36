
# An interrupted DROP DATABASE leaves an invalid database, to which nobody can
# connect. The launcher starts no worker there, neither at a start of the
# server nor when the database becomes invalid later.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('invalid');
$node->start;
foreach my $dbname (qw(lost kept))
{
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	create_store($node, $dbname);
	is($node->safe_psql($dbname, 'SELECT kit.views_follow()'), 't', "$dbname has a worker");
}

# DROP DATABASE makes this update first, and an interrupted one leaves it.
$node->safe_psql('postgres', q{UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'lost'});
isnt($node->psql('lost', 'SELECT 1'), 0, 'nobody can connect to an invalid database');

# The launcher restarts workers in the order in which they ended. When the
# second one is back, it has passed the first one.
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '%s'};
my $offset = log_end($node);
foreach my $dbname (qw(lost kept))
{
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
}
wait_until($node, 'kept', q{SELECT state = 'running' FROM blogstore.stat_worker});
is_deeply([ logged($node, $offset, qr/FATAL: .*invalid database/) ], [], 'no worker is started there again');
is($node->safe_psql('postgres', sprintf($workers, 'lost')), '0', 'there is no worker in it');

$offset = log_end($node);
$node->restart;
# ALTER DATABASE moves the row behind the other one in pg_database, so that the
# launcher comes to it later.
$node->safe_psql('postgres', 'ALTER DATABASE kept CONNECTION LIMIT 50');
$node->restart;
wait_until($node, 'kept', q{SELECT state = 'running' FROM blogstore.stat_worker});
is_deeply([ logged($node, $offset, qr/FATAL: .*invalid database/) ], [], 'nor when the server starts');

$node->safe_psql('postgres', 'DROP DATABASE lost');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE database <> 'kept'}), '0', 'it can be dropped, with its slot');

$node->stop;
done_testing();
