
# Timeouts that are set for the database, the owner of the containers or the
# worker's role do not end what the worker does.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('timeouts');
$node->start;
my @timeouts = qw(statement_timeout lock_timeout idle_in_transaction_session_timeout idle_session_timeout);
push @timeouts, 'transaction_timeout' if $node->pg_version->major >= 17;

$node->safe_psql('postgres', 'CREATE ROLE blog_owner; CREATE DATABASE blog');
foreach my $timeout (@timeouts)
{
	$node->safe_psql('postgres', "ALTER $_ SET $timeout = '1ms'")
	  foreach 'DATABASE blog', 'ROLE blog_owner', 'ROLE blog_owner IN DATABASE blog', 'ROLE CURRENT_USER IN DATABASE blog';
}
# The test's own sessions have no timeouts.
$ENV{PGOPTIONS} = join ' ', map { "-c $_=0" } @timeouts;
is($node->safe_psql('blog', join '; ', map { "SELECT setting, reset_val FROM pg_settings WHERE name = '$_'" } @timeouts), join("\n", ('0|0') x @timeouts),
	'the sessions of this test have no timeouts');

my $log = log_end($node);
$node->safe_psql('blog', q{
CREATE EXTENSION blogstore;
GRANT CREATE ON SCHEMA blogstore TO blog_owner;
SET client_min_messages = warning;
SELECT blogstore.create_containers(4, owner => 'blog_owner');
});
create_kit($node, 'blog');
fill_store($node, 'blog', 10, 200);
check_store($node, 'blog', 'filled');
my $worker = worker_pid($node, 'blog');

# A rename that waits for longer than each of the timeouts
my $holder = hold_worker($node, 'blog');
$node->safe_psql('blog', "SELECT blogstore.edit_user(kit.u(2), 'renamed'), blogstore.rebuild_views()");
close_gate($node, 'blog', 'gate', 'LOCK TABLE ONLY blogstore.posts_p02_comment IN SHARE MODE');
$holder->query_safe('COMMIT');
$holder->quit;
await_gate($node, 'blog');
open_gate($node, 'blog', 'gate');
check_store($node, 'blog', 'renamed and rebuilt');
is($node->safe_psql('blog', 'SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(2)'), 'renamed', 'the rename is done');
is(worker_pid($node, 'blog'), $worker, 'it is the same worker all the time');
is($node->safe_psql('blog', 'SELECT last_error FROM blogstore.stat_worker'), '', 'without an error');
is(join("\n", logged($node, $log, qr/timeout/)), '', 'nothing was cancelled or ended by a timeout');
$node->stop;

done_testing();
