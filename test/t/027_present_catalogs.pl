# The worker reads catalogs as of the past, to decode, and as they are, to
# write, with one set of caches. What it writes has to go by the present,
# whatever it has decoded before: shown by triggers on what it writes.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('catalogs');
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 10);
$node->safe_psql(
	'postgres', q{
CREATE TABLE trace (what text);
GRANT ALL ON trace TO PUBLIC;
CREATE FUNCTION trace() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS
	$$ BEGIN INSERT INTO public.trace VALUES (NEW.user_username); RETURN NEW; END $$;
});
check_store($node, 'postgres', 'filled');

my $walwriter = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");

# Have the worker decode what the first statements did while the commit of the
# others, by which it has to go when it writes, is not decoded yet: that one is
# not waited for, and nobody flushes it before the worker looks. Both processes
# are stopped when they have nothing to do, and so hold no lock that a commit needs.
sub behind
{
	my ($before, $after) = @_;
	my $worker = worker_pid($node, 'postgres');

	$node->safe_psql('postgres', 'SELECT kit.views_follow()');
	wait_until($node, 'postgres',
		"SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AND count(*) = 2 FROM pg_stat_activity WHERE pid IN ($worker, $walwriter) AND wait_event_type IN ('Activity', 'Extension')");
	kill 'STOP', $worker, $walwriter;
	$node->safe_psql('postgres', $before);
	$node->safe_psql('postgres', "SET synchronous_commit = off;\n$after");
	my $flushed = $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()');
	kill 'CONT', $worker;
	$node->safe_psql('postgres', 'SELECT kit.views_follow()');
	kill 'CONT', $walwriter;
	is($flushed, 't', 'the worker has to decode the one before it can decode the other');
	is(worker_pid($node, 'postgres'), $worker, 'it went on');
}

for my $round (1 .. 3)
{
	my $comment = 1000 + $round;

	# a comment under the old name: its leaf is decoded, then relabelled
	behind(
		qq{
BEGIN;
SELECT blogstore.create_comment(kit.p($round), kit.u($round), 'x', kit.c($comment), kit.d($comment));
SELECT blogstore.edit_user(kit.u($round), 'name of round $round');
COMMIT},
		q{CREATE TRIGGER trace AFTER UPDATE OF user_username ON blogstore.posts
	FOR EACH ROW WHEN (NEW.type = 'comment') EXECUTE FUNCTION public.trace()});
	is($node->safe_psql('postgres', "SELECT user_username FROM blogstore.posts WHERE id = kit.c($comment)"),
		"name of round $round", "round $round: relabelled");
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM trace WHERE what = 'name of round $round'"),
		'>', 0, "round $round: the trigger made meanwhile has fired");

	# and one that is dropped meanwhile does not
	$node->safe_psql('postgres', 'TRUNCATE trace');
	behind(
		qq{
BEGIN;
SELECT blogstore.edit_comment(kit.p($round), kit.c($comment), 'y');
SELECT blogstore.edit_user(kit.u($round), 'other name of round $round');
COMMIT},
		q{DROP TRIGGER trace ON blogstore.posts});
	is($node->safe_psql('postgres', "SELECT user_username FROM blogstore.posts WHERE id = kit.c($comment)"),
		"other name of round $round", "round $round: relabelled again");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM trace'),
		'0', "round $round: the trigger dropped meanwhile has not fired");
	check_store($node, 'postgres', "round $round");
}

done_testing();
