
# From PostgreSQL 19 on, the worker needs no wal_level above replica. The
# server writes WAL for logical decoding while a logical slot exists, which
# effective_wal_level shows. Below replica the hints name replica.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($version) = qx{$ENV{PG_CONFIG} --version} =~ /(\d+)/;
plan skip_all => 'before PostgreSQL 19, logical decoding needs wal_level = logical' if $version < 19;

my $node = new_server('replica');
$node->append_conf('postgresql.conf', "wal_level = replica\n");
$node->start;
my $level = q{SELECT current_setting('effective_wal_level')};
my $state = 'SELECT state, hint FROM blogstore.stat_worker';

is($node->safe_psql('postgres', $level), 'replica', 'without a slot, WAL has level replica');

$node->safe_psql('postgres', 'CREATE ROLE blog_owner; CREATE EXTENSION blogstore; GRANT CREATE ON SCHEMA blogstore TO blog_owner');
my ($rc, $stdout, $stderr) = $node->psql('postgres', q{SELECT blogstore.create_containers(4, owner => 'blog_owner')});
is($rc, 0, 'create_containers() works');
unlike($stderr, qr/WARNING/, 'and does not warn');
create_kit($node, 'postgres');
fill_store($node, 'postgres', 10, 60);
check_store($node, 'postgres', 'at replica');
is($node->safe_psql('postgres', $level), 'logical', 'the slot raises the level');
is($node->safe_psql('postgres', $state), 'running|', 'the worker runs');

$node->restart;
check_store($node, 'postgres', 'after a restart');
is($node->safe_psql('postgres', $level), 'logical', 'the level stays after a restart');

$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
wait_until($node, 'postgres', q{SELECT current_setting('effective_wal_level') = 'replica'});
$node->safe_psql('postgres', 'SELECT blogstore.create_like(kit.p(1 + n), kit.u(1)) FROM generate_series(1, 20) n');
is($node->safe_psql('postgres', 'SELECT * FROM kit.wrong_counts()'), '', 'without the slot, counts are exact');

$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'with a new slot');
is($node->safe_psql('postgres', $level), 'logical', 'the new slot raises the level again');

# ---- Below replica

$node->safe_psql('postgres', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
is($node->safe_psql('postgres', $state), 'disabled|Set wal_level = replica and restart the server.', 'at minimal, stat_worker names replica');
$node->safe_psql('postgres', 'CREATE DATABASE other');
($rc, $stdout, $stderr) = $node->psql('other', q{CREATE EXTENSION blogstore; GRANT CREATE ON SCHEMA blogstore TO blog_owner; SELECT blogstore.create_containers(4, owner => 'blog_owner')});
is($rc, 0, 'at minimal, create_containers() works');
like($stderr, qr/WARNING: .*wal_level is below replica\nDETAIL: .*\nHINT: .*wal_level = replica/, 'and warns, and names replica');

$node->append_conf('postgresql.conf', "wal_level = replica\nmax_wal_senders = 10\n");
$node->restart;
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'at replica again');
$node->stop;

done_testing();
