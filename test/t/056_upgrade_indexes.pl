
# upgrade_containers() gives large leaves of 0.1 their indexes beside writers: by a process of
# its own, whatever is killed or cancelled meanwhile, also while the library is not preloaded,
# and for an owner who can do nothing but own.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use BlogstoreUpgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('indexes');
$node->append_conf('postgresql.conf', "statement_timeout = 300s\nautovacuum = off\n");
$node->start;

my $BUILDER = "backend_type = 'blogstore index builder'";

# The indexes that a build has left behind, with whether they are valid
sub begun
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, q{SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indexrelid::regclass::text LIKE '%\_new' ORDER BY 1});
}

# Take the indexes away again
sub without_indexes
{
	my ($dbname) = @_;

	$node->safe_psql($dbname, join '', map { qq{
DROP INDEX blogstore.posts_p0${_}_comment_replies, blogstore.posts_p0${_}_comment_by_user;
CREATE INDEX posts_p0${_}_comment_by_user ON blogstore.posts_p0${_}_comment (user_id, id);
} } 0, 1);
	return;
}

# A store whose containers have all but the indexes
sub create_store_without
{
	my ($dbname) = @_;

	create_older_store($node, $dbname, 40, 6000);
	like(upgrade($node, $dbname), qr/^$ADDED\n$INDEXES\n/, "$dbname: leaves of comments get their indexes");
	is_fresh($node, $dbname, "$dbname: the tables are those of this version");
	without_indexes($dbname);
	return;
}

# A call whose process builds an index, and waits for somebody's transaction
sub begin_call
{
	my ($dbname) = @_;
	my $holder = hold($node, $dbname, q{SELECT count(blogstore.create_comment(kit.p(n), kit.u(3), 'open')) FROM generate_series(11, 16) n});
	my $client = start_client($node, $dbname, $CALL, 'upgrade');

	wait_until($node, $dbname, "SELECT count(*) = 1 FROM pg_stat_activity WHERE $BUILDER AND wait_event_type = 'Lock' AND query LIKE 'blogstore.upgrade_containers(): index of posts_p0%_comment'");
	return ($holder, $client);
}

sub builder
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, "SELECT pid FROM pg_stat_activity WHERE $BUILDER");
}

sub caller_of
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'upgrade'});
}

# Kill a process; the server starts again
sub kill_one
{
	my ($dbname, $pid, $holder, $client) = @_;
	my $offset = log_end($node);

	kill 'KILL', $pid;
	finish_client($client);
	wait_logged($node, $offset, qr/all server processes terminated/);
	$holder->{run}->finish;
	wait_accepts($node);
	return;
}

# ---- Nobody waits for the process that builds

create_store_without('one');
is($node->safe_psql('one', q{SELECT min(pg_relation_size(oid)) > 64 * 8192 FROM pg_class WHERE relname ~ '^posts_p\d+_comment$'}), 't', 'leaves of comments are large');
my $before = items($node, 'one');
my ($holder, $client) = begin_call('one');
is( $node->safe_psql(
		'one', q{
SET lock_timeout = '20s';
SELECT count(blogstore.create_comment(kit.p(n), kit.u(4), 'beside', kit.c(n))) FROM generate_series(11, 30) n;
SELECT count(blogstore.edit_comment(kit.p(n), kit.c(n), 'edited')) FROM generate_series(11, 30) n;
SELECT count(*) FROM generate_series(11, 30) n, blogstore.list_post_comments(kit.p(n), NULL);
SELECT bool_and(blogstore.delete_comment(kit.p(n), kit.c(n))) FROM generate_series(11, 30) n;
}), "20\n20\n6020\nt", 'nobody who writes or reads comments waits for it');
release($holder);
unlike((finish_client($client))[1], qr/WARNING|ERROR/, 'when the transaction has ended, so does the call');
$node->safe_psql('one', q{SELECT blogstore.delete_comment(post_id, id) FROM blogstore.posts WHERE type = 'comment' AND content = 'open'});
is_fresh($node, 'one', 'the tables are those of this version');
is(upgrade($node, 'one'), $NOTHING, 'once more there is nothing to do');
is($node->safe_psql('one', 'SELECT count(*) FROM kit.wrong_counts()'), '0', 'counts are exact');
is(items($node, 'one'), $before, 'no item is changed');
$node->safe_psql('one', 'SELECT blogstore.start_worker()');
check_store($node, 'one', 'beside writers');

# ---- Killed, cancelled, ended

create_store_without('two');
$before = items($node, 'two');
($holder, $client) = begin_call('two');
kill_one('two', caller_of('two'), $holder, $client);
is(begun('two'), 'blogstore.posts_p00_comment_by_user_new|f', 'the caller killed: an index is left that is not valid');

($holder, $client) = begin_call('two');
kill_one('two', builder('two'), $holder, $client);
is(begun('two'), 'blogstore.posts_p00_comment_by_user_new|f', 'the builder killed: the same');

# at one moment with the builder, which could have the lock first when the transaction it waits for is cut off
($holder, $client) = begin_call('two');
my $builder = builder('two');
kill 'STOP', $builder;
$node->kill9;
kill 'KILL', $builder;
$holder->{run}->finish;
finish_client($client);
start_again($node);
is(begun('two'), 'blogstore.posts_p00_comment_by_user_new|f', 'the postmaster killed: the same');

for my $end (qw(pg_cancel_backend pg_terminate_backend))
{
	($holder, $client) = begin_call('two');
	$node->safe_psql('two', "SELECT $end(" . caller_of('two') . ')');
	like((finish_client($client))[1], $end eq 'pg_cancel_backend' ? qr/canceling statement due to user request/ : qr/terminating connection due to administrator command/, "$end: the call ends");
	wait_until($node, 'two', "SELECT count(*) = 0 FROM pg_stat_activity WHERE $BUILDER");
	is(begun('two'), 'blogstore.posts_p00_comment_by_user_new|f', '... and the builder, too');
	$holder->query_safe('ROLLBACK');
	$holder->quit;
}

# whoever calls meanwhile waits for who builds, and both end well
($holder, $client) = begin_call('two');
my $second = start_client($node, 'two', $CALL, 'second');
wait_until($node, 'two', "SELECT count(*) = 2 FROM pg_stat_activity WHERE $BUILDER AND wait_event_type = 'Lock'");
is($node->safe_psql('two', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $BUILDER AND wait_event <> 'relation'"), 't', 'the first builder is ended');
wait_until($node, 'two', "SELECT count(*) > 0 FROM pg_stat_activity WHERE $BUILDER AND wait_event = 'virtualxid'");
$holder->query_safe('ROLLBACK');
$holder->quit;
unlike((finish_client($_))[1], qr/WARNING|ERROR/, 'two calls at once: each ends well') for $client, $second;
is_fresh($node, 'two', 'killed five times: the tables are those of this version');
is(upgrade($node, 'two'), $NOTHING, '... and nothing is left to do');
is(items($node, 'two'), $before, '... no item is changed');
$node->safe_psql('two', 'SELECT blogstore.start_worker()');
check_store($node, 'two', 'killed and called again');

# ---- Two calls at once, and nobody else

create_store_without('pair');
for my $round (1 .. 6)
{
	my @pair = map { start_client($node, 'pair', $CALL, "pair $round $_") } 1, 2;

	unlike((finish_client($_))[1], qr/WARNING|ERROR/, "round $round: of two calls at once each ends well") for @pair;
	is_fresh($node, 'pair', '... and no index is built twice');
	without_indexes('pair');
}

# ---- What else may be in the way

create_older_store($node, 'three', 40, 6000);
$before = items($node, 'three');
# an index and a table that have final names, and the older index by another name
$node->safe_psql('three', q{
CREATE INDEX posts_p00_comment_replies ON blogstore.posts_p00_comment (content);
CREATE TABLE blogstore.posts_p01_comment_replies ();
ALTER INDEX blogstore.posts_p01_comment_by_user RENAME TO owners_own});
like(upgrade($node, 'three'), qr/^$ADDED\n$INDEXES\n/, 'names that others have: the call goes on');
is( $node->safe_psql('three', q{SELECT indexrelid::regclass::text COLLATE "C", pg_get_indexdef(indexrelid) ~ 'btree \(content\)', indisvalid FROM pg_index WHERE indrelid::regclass::text ~ 'posts_p0[01]_comment$' AND indexrelid::regclass::text !~ '_(list|pkey)$' ORDER BY 1}),
	join("\n", map { "blogstore.$_|t" } qw(owners_own|f posts_p00_comment_by_user|f posts_p00_comment_replies|t posts_p00_comment_replies_new|f posts_p01_comment_by_user|f posts_p01_comment_replies_new|f)),
	'... indexes have the names that are free');
is(upgrade($node, 'three'), $NOTHING, '... and nothing is left to do');
$node->safe_psql('three', 'DROP INDEX blogstore.posts_p00_comment_replies; DROP TABLE blogstore.posts_p01_comment_replies');
upgrade($node, 'three');
is(begun('three'), '', 'names that are free at last are taken');
is(items($node, 'three'), $before, '... no item is changed');

# names under which indexes are built, and an index of the owner's on the whole container,
# which takes in the older one of each leaf; leaves are large, or small
for my $comments (0, 6000)
{
	my $dbname = "names_$comments";

	create_older_store($node, $dbname, 40, $comments);
	$before = items($node, $dbname);
	$node->safe_psql($dbname, q{
CREATE TABLE blogstore.posts_p00_comment_replies_new ();
CREATE INDEX posts_p01_comment_by_user_new ON blogstore.posts_p01_comment (content);
CREATE INDEX owners_own ON blogstore.posts (user_id, id)});
	like(upgrade($node, $dbname), qr/^$ADDED\n$INDEXES\nNOTICE:  [^\n]*$/, "$comments comments, what else the owner has made: the call goes on");
	is( $node->safe_psql($dbname, q{
SELECT replace(indexrelid::regclass::text, indrelid::oid::text, 'OID') COLLATE "C", split_part(pg_get_indexdef(indexrelid), ' btree ', 2), indisvalid
FROM pg_index WHERE indrelid::regclass::text ~ 'posts_p0[01]_comment$' AND indexrelid::regclass::text !~ '_(list|pkey)$' ORDER BY 1}),
		join("\n", map { "blogstore.$_|t" } 'posts_p00_comment_by_user|(user_id, id)', 'posts_p00_comment_by_user_new|(user_id, creation_date, id)',
			'posts_p00_comment_replies|(post_id, parent_id, creation_date, id) WHERE (parent_id IS NOT NULL)',
			'posts_p01_comment_OID_by_user_new|(user_id, creation_date, id)', 'posts_p01_comment_by_user|(user_id, id)', 'posts_p01_comment_by_user_new|(content)',
			'posts_p01_comment_replies|(post_id, parent_id, creation_date, id) WHERE (parent_id IS NOT NULL)'),
		'... and leaves it as it is');
	is(upgrade($node, $dbname), $NOTHING, '... nothing is left to do');
	$node->safe_psql($dbname, 'DROP TABLE blogstore.posts_p00_comment_replies_new; DROP INDEX blogstore.owners_own, blogstore.posts_p01_comment_by_user_new');
	upgrade($node, $dbname);
	is_fresh($node, $dbname, '... when it has gone, the tables are those of this version');
	is(items($node, $dbname), $before, '... no item is changed');
}

# ---- In a DO block, by whoever may call it, as an owner who may do nothing

create_older_store($node, 'four', 40, 6000);
$before = items($node, 'four');
$node->safe_psql(
	'four', q{
CREATE ROLE operator LOGIN;
CREATE ROLE blog_owner NOLOGIN;
GRANT USAGE ON SCHEMA blogstore TO operator;
GRANT EXECUTE ON PROCEDURE blogstore.upgrade_containers TO operator;
DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') LOOP EXECUTE format('ALTER TABLE %s OWNER TO blog_owner', t); END LOOP; END $$;
ALTER DATABASE four SET default_transaction_read_only = on;
ALTER DATABASE four SET default_transaction_isolation = serializable;
ALTER DATABASE four SET default_tablespace = nowhere;
ALTER DATABASE four SET lock_timeout = 1});
is(run_as($node, 'four', 'operator', q{SET default_transaction_read_only = off; SET default_transaction_isolation = 'read committed'; SET lock_timeout = 0; DO $$ BEGIN CALL blogstore.upgrade_containers(); END $$}),
	'', 'the process that builds is told nothing by the database');
is_fresh($node, 'four', '... in a DO block, as an owner who cannot log in nor create anything');
is($node->safe_psql('four', q{SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'blogstore'::regnamespace AND relowner <> 'blog_owner'::regrole}), '0', '... indexes are the owner\'s');
is(items($node, 'four'), $before, '... no item is changed');

# ---- Where no process can be started, and where the library is not preloaded

create_older_store($node, 'five', 40, 6000);
$node->append_conf('postgresql.conf', "max_worker_processes = 0\nshared_preload_libraries = ''\n");
$node->restart;
like(upgrade($node, 'five'), qr/^WARNING:  new indexes of 2 leaves could not be built\nHINT:  /m, 'no process is free: the call says so');
$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
unlike(upgrade($node, 'five'), qr/WARNING|ERROR/, 'one is free: that is enough, and no preload is needed');
is_fresh($node, 'five', '... the tables are those of this version');

$node->stop;
done_testing();
