
# upgrade_containers() makes containers of 0.1 what create_containers() makes: beside
# traffic, with the worker running and stopped, going on after a kill wherever it was,
# waiting for no transaction of others, and right in every snapshot.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use BlogstoreUpgrade;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('upgrade');
$node->append_conf('postgresql.conf', "statement_timeout = 300s\nautovacuum = off\n");
$node->start;

sub uncounted
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, 'SELECT leaf, count(*) FROM kit.uncounted GROUP BY 1 ORDER BY 1');
}

# ---- The worker stopped, and nobody there

create_older_store($node, 'one', 1400);
my @posts = split /\n/, uncounted('one');
is(scalar @posts, 2, 'posts of both partitions have no counter');
is_older($node, 'one', 'tables of 0.1 are not those of this version');
is($node->safe_psql('one', 'SELECT count(*) FROM kit.wrong_counts()'), '0', 'counts of 0.1 are exact');

# Imports go into containers of 0.1, but for values that have no column there
$node->safe_psql(
	'one', q{
CREATE SCHEMA bring;
CREATE TABLE bring.users (user_id uuid, username text, creation_date timestamptz, properties jsonb);
CREATE TABLE bring.posts (post_id uuid, user_id uuid, title text, content text, creation_date timestamptz, properties jsonb, hidden boolean, modification_date timestamptz);
CREATE TABLE bring.comments (comment_id uuid, post_id uuid, user_id uuid, content text, creation_date timestamptz, properties jsonb, hidden boolean, modification_date timestamptz, parent_id uuid);
CREATE TABLE bring.likes (post_id uuid, user_id uuid, creation_date timestamptz);
INSERT INTO bring.users VALUES (kit.u(50), 'imported', kit.d(50));
INSERT INTO bring.posts VALUES (kit.p(5000), kit.u(50), 'imported', 'content', kit.d(50));
INSERT INTO bring.comments VALUES (kit.c(5000), kit.p(5000), kit.u(50), 'imported', kit.d(51)), (kit.c(5001), kit.p(5000), kit.u(50), 'imported', kit.d(52));
INSERT INTO bring.likes VALUES (kit.p(5000), kit.u(50), kit.d(53)), (kit.p(11), kit.u(50), kit.d(54));
CREATE VIEW bring.documents AS SELECT d || jsonb '{"new": 1}' AS document FROM blogstore.export_documents() d;
});
my $import = q{import('bring.users', 'bring.posts', 'bring.comments', 'bring.likes', changed => 'update')};
is($node->safe_psql('one', "SELECT type, imported, present, rejected, updated FROM blogstore.$import"),
	"user|1|0|0|0\npost|1|0|0|0\ncomment|2|0|0|0\nlike|2|0|0|0", 'an import goes into containers of 0.1');
is($node->safe_psql('one', "SELECT type, imported, present, rejected, updated FROM blogstore.$import"),
	"user|0|1|0|0\npost|0|1|0|0\ncomment|0|2|0|0\nlike|0|2|0|0", '... once more it finds all');
$node->safe_psql('one', q{UPDATE bring.users SET username = 'renamed by import'; UPDATE bring.posts SET title = 'edited'; UPDATE bring.comments SET content = 'edited'});
is($node->safe_psql('one', "SELECT type, imported, present, rejected, updated FROM blogstore.$import"),
	"user|0|0|0|1\npost|0|0|0|1\ncomment|0|0|0|2\nlike|0|2|0|0", '... and takes over what has changed');
my $before = items($node, 'one');
for my $column (
	[ 'users', 'properties', q{'{"a": 1}'} ], [ 'posts', 'properties', q{'{"a": 1}'} ], [ 'posts', 'hidden', 'true' ], [ 'posts', 'modification_date', 'kit.d(60)' ],
	[ 'comments', 'properties', q{'{"a": 1}'} ], [ 'comments', 'hidden', 'true' ], [ 'comments', 'modification_date', 'kit.d(60)' ], [ 'comments', 'parent_id', 'kit.c(5001)' ])
{
	my ($table, $name, $value) = @$column;

	for my $fresh (0, 1)
	{
		# of an item that is there, and of one that is not
		$node->safe_psql('one', "CREATE TABLE bring.kept AS SELECT * FROM bring.$table; UPDATE bring.$table SET $name = $value");
		$node->safe_psql('one', 'DELETE FROM bring.comments WHERE comment_id = kit.c(5001)') if $table eq 'comments';
		$node->safe_psql('one', {
				users => q{UPDATE bring.users SET user_id = kit.u(51), username = 'another'},
				posts => 'UPDATE bring.posts SET post_id = kit.p(5001)',
				comments => 'UPDATE bring.comments SET comment_id = kit.c(5002)' }->{$table}) if $fresh;
		my $call = "import($table => 'bring.$table', changed => 'update')";
		my $state = sqlstate($node, 'one', $call);

		# dates of edits do not tell items apart
		is($state, $name eq 'modification_date' && !$fresh ? 'ok' : '55000, hint', "$table with $name, which have no column: $state" . ($fresh ? ', new' : ''));
		$node->safe_psql('one', "DELETE FROM bring.$table; INSERT INTO bring.$table SELECT * FROM bring.kept; DROP TABLE bring.kept");
	}
}
is(sqlstate($node, 'one', q{import_documents('bring.documents')}), '23514, hint', 'documents with other keys are rejected');
is(items($node, 'one'), $before, '... and nothing is changed');

like(upgrade($node, 'one'), qr/^$ADDED\n$INDEXES\nNOTICE:  made counters of 1406 posts, changed the settings of 6 leaves and the columns of 11$/,
	'the call says what it has done');
is(items($node, 'one'), $before, 'no item is changed');
is(uncounted('one'), '', 'each post has a counter');
is_fresh($node, 'one', 'the tables are those of this version');
is(upgrade($node, 'one'), $NOTHING, 'once more there is nothing to do');
is($node->safe_psql('one', 'SELECT count(*) FROM kit.wrong_counts()'), '0', 'counts are exact');
$node->safe_psql('one', 'SELECT blogstore.start_worker()');
check_store($node, 'one', 'upgraded without a worker');

# What the owner has set is the owner's
$node->safe_psql('one', 'ALTER TABLE blogstore.posts_p00_delta SET (fillfactor = 55)');
is(upgrade($node, 'one'), $NOTHING, 'a setting of the owner is left alone');

# ---- Killed wherever it is, and called again

create_older_store($node, 'two', 1400);
$node->safe_psql('two', 'SELECT blogstore.start_worker()');

# Have a call wait for a lock, and kill the process there; the server starts again
sub kill_call
{
	my ($lock, $shown) = @_;
	my $holder = hold($node, 'two', "LOCK TABLE $lock");
	my $client = start_client($node, 'two', $CALL, 'upgrade');

	# waits for the lock while it shows what it is doing
	wait_until($node, 'two', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'upgrade' AND wait_event_type = 'Lock' AND query LIKE 'blogstore.upgrade_containers(): $shown%'");
	my $pid = $node->safe_psql('two', q{SELECT pid FROM pg_stat_activity WHERE application_name = 'upgrade'});
	my $offset = log_end($node);
	kill 'KILL', $pid;
	finish_client($client);
	wait_logged($node, $offset, qr/all server processes terminated/);
	$holder->{run}->finish;
	wait_accepts($node);
	return;
}

kill_call('blogstore.users_p01_post IN SHARE MODE', 'settings, partition 1 of users, 0 posts');
is( $node->safe_psql('two', q{SELECT relname, reloptions[1] FROM pg_class WHERE relname IN ('posts_p01_delta', 'users_p00_post', 'users_p01_post') ORDER BY 1}),
	"posts_p01_delta|autovacuum_vacuum_threshold=5000\nusers_p00_post|autovacuum_vacuum_scale_factor=0.1\nusers_p01_post|fillfactor=80",
	'killed between settings: those before are there');
kill_call('blogstore.posts_p01_delta IN SHARE MODE', 'counters, partition 1 of posts, ');
is(uncounted('two'), $posts[1], 'killed between partitions: counters of the first are there');
# between chunks of a partition: some of its posts have counters already
$node->safe_psql('two', q{DELETE FROM blogstore.posts WHERE type = 'delta' AND tableoid = 'blogstore.posts_p00_delta'::regclass AND post_id > kit.p(700)});

# A constraint is there, and not proven yet
$node->safe_psql('two', q{ALTER TABLE blogstore.posts_p00_comment ADD CONSTRAINT blogstore_not_null CHECK (content IS NOT NULL) NOT VALID});
kill_call('blogstore.posts_p00_comment IN SHARE UPDATE EXCLUSIVE MODE', 'columns, partition 0 of posts, ');
is(uncounted('two'), '', 'killed between columns: all counters are there');
like(upgrade($node, 'two'), qr/^$ADDED\n$INDEXES\nNOTICE:  made counters of 0 posts, changed the settings of 0 leaves and the columns of \d+$/, 'it goes on');
is_fresh($node, 'two', 'killed three times, and called again: the tables are those of this version');
is(upgrade($node, 'two'), $NOTHING, '... and nothing is left to do');
check_store($node, 'two', 'killed three times');

# ---- Transactions of others that are open: none is waited for

create_older_store($node, 'three', 20);
# while no worker folds, who counts on a post would make its counter
$node->safe_psql('three', 'SELECT blogstore.start_worker()');
$node->safe_psql('three', 'SELECT kit.views_follow()');
my @open = (
	hold($node, 'three', 'SELECT blogstore.create_like(kit.p(11), kit.u(5))'),
	hold($node, 'three', q{SELECT blogstore.edit_post(kit.p(12), 'edited')}),
	hold($node, 'three', 'SELECT blogstore.delete_post(kit.p(13))'),
	hold($node, 'three', q{SELECT blogstore.delete_post(kit.p(14)); SELECT blogstore.create_post(kit.u(1), 'anew', 'anew', kit.p(14), kit.d(14)); SELECT blogstore.create_like(kit.p(14), kit.u(5))}),
	hold($node, 'three', 'SELECT blogstore.create_comment(kit.p(15), kit.u(5), $$open$$); SELECT blogstore.delete_like(kit.p(15), kit.u(3))'));
my $said = upgrade($node, 'three');
like($said, qr/^NOTICE:  made counters of 24 posts/m, 'open transactions: posts that nobody is deleting have counters');
like($said, qr/^WARNING:  others were at 2 posts and \d+ leaves, which are as they were\nHINT:  Call/m, '... and the others are told of');
is($node->safe_psql('three', 'SELECT count(*) FROM kit.wrong_counts()'), '0', '... counts are exact');
release($_) for @open;
is($node->safe_psql('three', 'SELECT count(*) FROM kit.wrong_counts()'), '0', '... and when all have committed');
is($node->safe_psql('three', 'SELECT like_count FROM blogstore.get_post(kit.p(14))'), '1', 'a post that was made anew has its own count');
upgrade($node, 'three');
is(uncounted('three'), '', 'called again: each post has a counter');
is_fresh($node, 'three', '... and the tables are those of this version');
check_store($node, 'three', 'beside open transactions');

# ---- A chunk that is open: who likes, comments and edits does not wait for it

create_older_store($node, 'four', 20);
$node->safe_psql(
	'four', q{
SELECT blogstore.start_worker();
CREATE FUNCTION kit.stop_here() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.post_id IN (SELECT max(post_id::text)::uuid FROM blogstore.posts WHERE type = 'post' GROUP BY tableoid) THEN
		PERFORM pg_advisory_xact_lock(1);
	END IF;
	RETURN NEW;
END $$;
});
$node->safe_psql('four', 'SELECT kit.views_follow(); CREATE TRIGGER stop_here BEFORE INSERT ON blogstore.posts_p00_delta FOR EACH ROW EXECUTE FUNCTION kit.stop_here()');
my $gate = hold($node, 'four', 'SELECT pg_advisory_xact_lock(1)');
my $client = start_client($node, 'four', $CALL, 'upgrade');
wait_until($node, 'four', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'upgrade' AND wait_event = 'advisory'});
my ($first, $second) = split /\n/, $node->safe_psql('four', q{SELECT post_id FROM kit.uncounted WHERE leaf LIKE '%p00_post' ORDER BY 1 LIMIT 2});
is( $node->safe_psql(
		'four', qq{
SET lock_timeout = '20s';
SELECT type FROM blogstore.create_like('$first', kit.u(5));
SELECT type FROM blogstore.create_comment('$first', kit.u(5), 'beside');
SELECT title FROM blogstore.edit_post('$first', 'beside');
SELECT blogstore.delete_like('$second', kit.u(1));
}), "like\ncomment\nbeside\nt", 'nobody who counts or edits waits for the chunk');
is($node->safe_psql('four', 'SELECT count(*) FROM kit.wrong_counts()'), '0', '... counts are exact');
my $deleter = start_client($node, 'four', "SELECT blogstore.delete_post('$second')", 'deleter');
wait_until($node, 'four', q{SELECT (SELECT pid FROM pg_stat_activity WHERE application_name = 'upgrade') = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity WHERE application_name = 'deleter'});
release($gate);
my ($rows, $err) = finish_client($client);
unlike($err, qr/ERROR/, 'the chunk ends');
($rows, $err) = finish_client($deleter);
is("@$rows$err", 't', '... and then the post is deleted, for which the deleter has waited');
upgrade($node, 'four');
is(uncounted('four'), '', 'each post has a counter');
check_store($node, 'four', 'a chunk that was open');

# ---- Items that lack a value

create_older_store($node, 'five', 2);
$node->safe_psql('five', q{UPDATE blogstore.posts SET like_count = NULL WHERE type = 'post' AND post_id = kit.p(11);
	ALTER TABLE blogstore.posts_p00_post ADD CONSTRAINT blogstore_not_null CHECK (title IS NOT NULL) NOT VALID;
	ALTER TABLE blogstore.posts_p01_post ADD CONSTRAINT blogstore_not_null CHECK (title IS NOT NULL) NOT VALID});
unlike(upgrade($node, 'five'), qr/ERROR/, 'a constraint that speaks of one column is there: no error') for 1, 2;
$node->safe_psql('five', "ALTER TABLE blogstore.${_}_post ALTER content DROP NOT NULL, ALTER title DROP NOT NULL, ADD CONSTRAINT blogstore_not_null CHECK (title IS NOT NULL)")
	for qw(posts_p00 posts_p01);
unlike(upgrade($node, 'five'), qr/ERROR/, '... nor if it is proven');
like(upgrade($node, 'five'), qr/^NOTICE:  made counters of 0 posts.*\nWARNING:  1 leaves have items that lack a value, and no NOT NULL therefore\nHINT:  Mend/,
	'a leaf with an item that lacks a value is told of');
is($node->safe_psql('five', q{SELECT count(*) FROM pg_constraint WHERE conname = 'blogstore_not_null'}), '0', '... and nothing is left on it');
is(uncounted('five'), '', '... and posts have counters');
$node->safe_psql('five', 'SELECT blogstore.start_worker(); SELECT blogstore.repair()');
like(upgrade($node, 'five'), qr/^NOTICE:  made counters of 0 posts, changed the settings of 0 leaves and the columns of 1$/, 'mended, it becomes what the others are');
is_fresh($node, 'five', 'the tables are those of this version');
check_store($node, 'five', 'mended');

# ---- A bookkeeping table that was lost is in nobody's way

create_older_store($node, 'lost', 2);
$node->safe_psql('lost', 'DROP TABLE blogstore.view_state');
like(upgrade($node, 'lost'), qr/^$ADDED\n$INDEXES\n/, 'a bookkeeping table was lost: the containers are upgraded');
is(upgrade($node, 'lost'), $NOTHING, '... and nothing is left to do');
$node->safe_psql('lost', 'SELECT blogstore.create_containers(2)');
is_fresh($node, 'lost', '... once it is made anew, the tables are those of this version');

# ---- Two calls at once, and nobody else

create_older_store($node, 'pair', 2);
upgrade($node, 'pair');
for my $round (1 .. 3)
{
	$node->safe_psql(
		'pair', q{
DO $$
DECLARE
	leaf	regclass;
BEGIN
	FOR leaf IN SELECT oid FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relname ~ '^(posts|users)_p\d+_(post|comment|like)$' LOOP
		EXECUTE format('ALTER TABLE %s ALTER user_username DROP NOT NULL', leaf);
	END LOOP;
END $$;
DROP INDEX blogstore.posts_p00_comment_replies, blogstore.posts_p01_comment_by_user;
ALTER TABLE blogstore.posts_p00_delta SET (fillfactor = 10)});
	my $holder = hold($node, 'pair', 'LOCK TABLE blogstore.posts_p00_delta IN SHARE UPDATE EXCLUSIVE MODE');
	my @pair = map { start_client($node, 'pair', $CALL, "pair $round $_") } 1, 2;
	wait_until($node, 'pair', q{SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name LIKE 'pair %' AND wait_event_type = 'Lock'});
	release($holder);
	unlike((finish_client($_))[1], qr/others were at|ERROR/, "round $round: of two calls at once none keeps the other from a leaf") foreach @pair;
	is(upgrade($node, 'pair'), $NOTHING, "round $round: all is done");
	is_fresh($node, 'pair', "round $round: the tables are those of this version");
}

# ---- Beside clients, two calls at once

create_older_store($node, 'six', 3000, 6000);
$node->safe_psql(
	'six', q{
SELECT blogstore.start_worker();
CREATE TABLE kit.stop ();
CREATE FUNCTION kit.one_of(n int) RETURNS int LANGUAGE sql VOLATILE
AS $$ SELECT 1 + floor(random() * n)::int $$;
-- like, unlike, comment, edit, delete, make anew, until told to stop; what others have
-- deleted or made is no error
CREATE PROCEDURE kit.traffic() LANGUAGE plpgsql AS $$
DECLARE
	n	bigint := 0;
BEGIN
	LOOP
		DECLARE
			dice	int := kit.one_of(100);
			post	uuid := kit.p(10 + kit.one_of(3000));
			someone	uuid := kit.u(2 + kit.one_of(4));
		BEGIN
			CASE
			WHEN dice <= 50 THEN PERFORM blogstore.create_like(post, someone);
			WHEN dice <= 65 THEN PERFORM blogstore.delete_like(post, someone);
			WHEN dice <= 80 THEN PERFORM blogstore.create_comment(post, someone, 'comment');
			WHEN dice <= 88 THEN PERFORM blogstore.edit_post(post, 'edited ' || n);
			WHEN dice <= 94 THEN PERFORM blogstore.delete_post(post);
			ELSE PERFORM blogstore.create_post(someone, 'anew', 'anew', post, kit.d(1));
			END CASE;
		EXCEPTION WHEN foreign_key_violation OR unique_violation THEN NULL;
		END;
		COMMIT;
		n := n + 1;
		EXIT WHEN n > 100 AND EXISTS (SELECT FROM kit.stop);
	END LOOP;
END $$;
CREATE PROCEDURE kit.look() LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		IF EXISTS (SELECT FROM kit.wrong_counts()) THEN
			RAISE EXCEPTION 'counts are wrong';
		END IF;
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM kit.stop);
	END LOOP;
END $$;
});
my @clients = map { start_client($node, 'six', 'CALL kit.traffic()', "client$_") } 1 .. 3;
push @clients, start_client($node, 'six', 'CALL kit.look()', 'reader');
# the clients' own comments: a post they delete takes hundreds of the older ones away
wait_until($node, 'six', q{SELECT count(*) > 20 FROM blogstore.posts WHERE type = 'comment' AND content = 'comment'});
my @upgrades = map { start_client($node, 'six', $CALL, "upgrade$_") } 1, 2;
($rows, $err) = finish_client($_), unlike($err, qr/ERROR/, 'a call beside clients, and another call, ends') for @upgrades;
$node->safe_psql('six', 'INSERT INTO kit.stop DEFAULT VALUES');
($rows, $err) = finish_client($_), is($err, '', 'a client meets no error, and no wrong count') for @clients;
upgrade($node, 'six');
is(uncounted('six'), '', 'each post has a counter');
is_fresh($node, 'six', 'the tables are those of this version');
check_store($node, 'six', 'beside clients');

# ---- Who may call it

$node->safe_psql('six', 'CREATE ROLE operator LOGIN; CREATE ROLE nobody LOGIN; CREATE ROLE blog_owner; GRANT EXECUTE ON PROCEDURE blogstore.upgrade_containers TO operator');
$node->safe_psql('six', q{DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p') LOOP EXECUTE format('ALTER TABLE %s OWNER TO blog_owner', t); END LOOP; END $$;
GRANT CREATE ON SCHEMA blogstore TO blog_owner;
ALTER TABLE blogstore.posts_p01_delta SET (fillfactor = 10), ALTER like_count DROP NOT NULL});
make_older($node, 'six');
like(run_as($node, 'six', 'nobody', $CALL), qr/^ERROR:  42501/, 'it takes EXECUTE');
is(run_as($node, 'six', 'operator', $CALL), '', '... and no more');
is(uncounted('six'), '', 'it acts as the owner, who is no superuser');
is_fresh($node, 'six', '... in altering, too');

$node->stop;
done_testing();
