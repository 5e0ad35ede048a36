# The worker decodes with catalogs of the past and writes with present ones, in
# one process with one set of caches. Its writes must follow the present
# catalogs, whatever it has decoded before. Triggers on the written rows show
# that.

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

# Have the worker decode the first statements while it has not decoded the
# commit of the second ones, whose catalog changes its writes have to follow.
# The second commit is asynchronous, and the walwriter, which would flush it,
# is stopped. So is the worker, before the statements. Both are stopped while
# they are idle and hold no lock that a commit needs.
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
	is($flushed, 't', 'the second commit is not flushed when the worker begins to decode');
	is(worker_pid($node, 'postgres'), $worker, 'the worker is the same');
}

for my $round (1 .. 3)
{
	my $comment = 1000 + $round;

	# The worker decodes a new comment with the old name, and writes the new
	# name on it. The trigger was created meanwhile, and has to fire.
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

	# The trigger is dropped meanwhile, and must not fire.
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
