# A session caches whether users are being deleted, so that reads cost nothing
# extra when none are. The cache is correct again after each deletion.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('remembered');
# Autovacuum could hold back the removal of dead rows.
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE other');
for my $dbname ('postgres', 'other')
{
	create_store($node, $dbname);
	fill_store($node, $dbname, 6, 30);
	check_store($node, $dbname, $dbname);
}

my $session = $node->background_psql('postgres');

# The number of buffers that reading a post touches. The session has filled its
# caches, and all deltas, the rows with not yet folded counts, are folded and
# vacuumed away. Vacuum keeps rows that an open transaction can see, so wait
# until no more than the given number of older transactions are open.
sub buffers
{
	my ($open) = @_;
	my $least;

	wait_until($node, 'postgres', q{SELECT count(*) = 0 FROM blogstore.posts WHERE type = 'delta' AND id <> '00000000-0000-0000-0000-000000000000'});
	my $xid = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()::xid');
	wait_until($node, 'postgres',
		"SELECT count(*) <= $open FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid() AND greatest(age(backend_xmin), age(backend_xid)) >= age('$xid'::xid)");
	# Vacuum skips a page that another process has pinned.
	for (1 .. 3)
	{
		my $explained;

		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) blogstore.posts');
		$explained = $session->query_safe(
			'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM blogstore.get_post(kit.p(7))'
		) for 1 .. 3;
		return $explained unless $explained =~ /Custom Scan.*?Buffers: shared hit=(\d+)/s;
		$least = $1 if !defined $least || $1 < $least;
	}
	return $least;
}
# Later numbers can only be lower, by rows that vacuum could not remove here.
my $cost = buffers(0);
like($cost, qr/^\d+$/, "reading a post touches $cost buffers");

$node->safe_psql('other', 'SELECT blogstore.delete_user(kit.u(2)); SELECT kit.views_follow()');
cmp_ok(buffers(0), '<=', $cost, 'no more after a deletion in another database');

$session->query_safe('BEGIN; SAVEPOINT s; SELECT blogstore.delete_user(kit.u(3)); ROLLBACK TO s; COMMIT');
cmp_ok(buffers(0), '<=', $cost, 'no more after a deletion that was rolled back to a savepoint');

$session->query_safe('BEGIN; SELECT blogstore.delete_user(kit.u(3)); ROLLBACK');
cmp_ok(buffers(0), '<=', $cost, 'no more after a deletion that was rolled back');

$node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(4)); SELECT kit.views_follow()');
cmp_ok(buffers(0), '<=', $cost, 'no more after a deletion');

# A deletion under way costs a few buffers more. The cache is used meanwhile,
# too.
my $late = $node->background_psql('postgres');
$late->query_safe('BEGIN; SELECT blogstore.create_like(kit.p(2), kit.u(1))');
$node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(5))');
cmp_ok(buffers(1), '<', $cost + 15, 'a few more while a deletion is under way');
is($session->query_safe('SELECT count(*) FROM blogstore.get_user(kit.u(5))'),
	'0', 'the deleted user is not served');
$late->query_safe('COMMIT');
$late->quit;
$node->safe_psql('postgres', 'SELECT kit.views_follow()');
cmp_ok(buffers(0), '<=', $cost, 'no more when it is done');

$session->quit;
check_store($node, 'postgres', 'at the end');

done_testing();
