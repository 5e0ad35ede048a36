
# A database that an interrupted DROP DATABASE has left is invalid: nobody can connect to it. No
# worker is started there, neither when the server starts nor when that happens while it runs.

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

# What DROP DATABASE does first, and an interrupt leaves
$node->safe_psql('postgres', q{UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'lost'});
isnt($node->psql('lost', 'SELECT 1'), 0, 'nobody can connect to an invalid database');

# A worker that ends is started again, in turn: when the one that ended later is back, the other
# would have been tried
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '%s'};
my $offset = log_end($node);
foreach my $dbname (qw(lost kept))
{
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity WHERE backend_type = 'blogstore worker' AND datname = '$dbname'");
}
wait_until($node, 'kept', q{SELECT state = 'running' FROM blogstore.stat_worker});
is_deeply([ logged($node, $offset, qr/FATAL: .*invalid database/) ], [], 'no worker is started there again');
is($node->safe_psql('postgres', sprintf($workers, 'lost')), '0', 'there is none');

$offset = log_end($node);
$node->restart;
# written behind the other in pg_database, so looked at later
$node->safe_psql('postgres', 'ALTER DATABASE kept CONNECTION LIMIT 50');
$node->restart;
wait_until($node, 'kept', q{SELECT state = 'running' FROM blogstore.stat_worker});
is_deeply([ logged($node, $offset, qr/FATAL: .*invalid database/) ], [], 'nor when the server starts');

$node->safe_psql('postgres', 'DROP DATABASE lost');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE database <> 'kept'}), '0', 'it can be dropped, with its slot');

$node->stop;
done_testing();
