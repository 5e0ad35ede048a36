
# Topics: while their view is not ready, lists of topics fail with a hint, and
# they are right as soon as it is. A change of the setting, the owner's writes,
# a killed worker, a rebuild of many rows, and snapshots that are kept.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use BlogstoreWorker qw(:DEFAULT hold release);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('topics');
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
SELECT blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, 5) AS n;
--
CREATE FUNCTION kit.tag(n int, tags text[]) RETURNS void LANGUAGE sql
AS $$ SELECT blogstore.create_post(kit.u(1 + n % 5), 'post ' || n, 'content', kit.p(n), kit.d(n), jsonb_build_object('tags', tags, 'kind', 'k' || n % 2)) $$;
-- The rows that topics should have, without blogstore's functions: the topics
-- of these posts are in lower case.
--
CREATE VIEW kit.wanted AS SELECT t.topic COLLATE "C" AS topic, p.creation_date, p.id, p.user_id
FROM blogstore.posts AS p, jsonb_array_elements_text(p.properties -> 'tags') AS t (topic)
WHERE p.type = 'post' AND p.hidden IS NOT TRUE;
CREATE VIEW kit.wrong AS
SELECT * FROM (SELECT * FROM kit.wanted EXCEPT SELECT topic, creation_date, id, user_id FROM blogstore.topics WHERE type = 'topic_post') AS missing
UNION ALL SELECT * FROM (SELECT topic, creation_date, id, user_id FROM blogstore.topics WHERE type = 'topic_post' EXCEPT SELECT * FROM kit.wanted) AS extra
UNION ALL SELECT topic, NULL, NULL, NULL FROM (SELECT topic, count(*) AS n FROM kit.wanted GROUP BY 1) AS w
FULL JOIN (SELECT topic, post_count FROM blogstore.topics WHERE type = 'topic') AS c USING (topic) WHERE n IS DISTINCT FROM post_count;
--
SELECT kit.tag(n, ARRAY['all', 't' || n % 10]) FROM generate_series(1, 100) AS n;
};

my $topics = q{SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics(page_size => 3)};

# The SQLSTATE, message and hint of a query, or its result
sub outcome
{
	my ($query) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$query");

	return $out if $rc == 0 && $err eq '';
	my ($state, $message) = $err =~ /ERROR:  (\w{5}): (.*)/;
	my ($hint) = $err =~ /HINT:  (.*)/;
	return join '|', $state, $message, $hint;
}

sub check_topics
{
	my ($name, $first) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	check_store($node, 'postgres', $name);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM kit.wrong'), 0, "$name: topics are those of the posts");
	is(outcome($topics), $first, "$name: the list of topics");
	return;
}

# ---- No property is set, then one is, while the worker is held

my $none = '55000|posts have no topics, because blogstore.topic_property is empty|Set blogstore.topic_property to the property of posts that holds their topics, and reload the configuration.';
my $not_ready = '55000|topics are not ready|Wait until the worker has built the views; if it is stopped, call blogstore.start_worker(). See blogstore.stat_worker and blogstore.progress.';

is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
is(outcome($topics), $none, 'no property: the error names the setting');
is(outcome(q{SELECT title FROM blogstore.list_topic_posts('all')}), $none, 'the posts of a topic: too');

my $holder = hold($node, 'postgres', 'LOCK TABLE blogstore.topics IN SHARE MODE');
set_and_reload($node, 'blogstore.topic_property', 'tags');
wait_until($node, 'postgres', 'SELECT short_form <> 0 FROM blogstore.view_state');
is(outcome($topics), $not_ready, 'while the views are built, topics are not ready');
is(outcome(q{SELECT count(*) FROM blogstore.list_feed(NULL)}), 100, 'other lists are read from posts');
is($node->safe_psql('postgres', 'SELECT kind, phase FROM blogstore.progress'), 'rebuild|waiting', 'progress shows the rebuild');
release($holder);
check_topics('built', 'all 100, t0 10, t1 10');

# Lists stay as they are while rebuild_views() compares them. The worker is
# held in the phase in which it deletes rows that no post has.
$node->safe_psql('postgres', q{SELECT kit.tag(101, ARRAY['all', 't5', 'meanwhile'])});
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', q{INSERT INTO blogstore.topics (type, topic, creation_date, id, user_id) VALUES ('topic_post', 'forged', kit.d(1), kit.p(1), kit.u(1))});
$holder = hold($node, 'postgres', q{SELECT FROM blogstore.topics WHERE topic = 'forged' FOR KEY SHARE});
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', q{SELECT phase = 'topics' FROM blogstore.progress});
$node->safe_psql('postgres', 'SELECT blogstore.delete_post(kit.p(5))');
kill_worker($node, 'postgres');
check_topics('killed in a rebuild', 'all 100, meanwhile 1, t0 10');

# ---- No worker

$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
is(outcome($topics), $not_ready, 'a stopped worker: topics are not ready');
$node->safe_psql('postgres', q{SELECT blogstore.edit_post(kit.p(10), properties => '{"tags": ["late"]}')});
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_topics('started again', 'all 99, late 1, meanwhile 1');

# A post that is hidden, or whose author is deleted, is not listed, even if the
# worker does not know of it yet. The page is filled up.
my $pid = stop_worker($node, 'postgres');
my $page = q{SELECT string_agg(title, ', ') FROM blogstore.list_topic_posts('all', 3)};
is(outcome($page), 'post 101, post 100, post 99', 'a page');
$node->safe_psql('postgres', q{SELECT blogstore.hide_post(kit.p(100)); SELECT blogstore.hide_post(kit.p(99)); SELECT blogstore.delete_post(kit.p(98))});
is(outcome($page), 'post 101, post 97, post 96', 'hidden and deleted posts leave at once');
$node->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(3))');
is(outcome($page), 'post 101, post 96, post 95', 'a deleted user: too');
kill 'CONT', $pid;
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
is(outcome($topics), 'all 76, late 1, meanwhile 1', 'hidden posts have no topics');
$node->safe_psql('postgres', q{SELECT blogstore.hide_post(kit.p(n), false) FROM unnest(ARRAY[99, 100]) AS n});
check_topics('shown again', 'all 78, late 1, meanwhile 1');

# ---- A snapshot that is kept

my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $seen = $session->query_safe($topics);
$node->safe_psql('postgres', q{SELECT kit.tag(200, ARRAY['all', 'aaa'])});
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
is($session->query_safe($topics), $seen, 'REPEATABLE READ: the same topics');
is($session->query_safe($page), 'post 101, post 100, post 99', 'REPEATABLE READ: the same posts');
$session->query_safe('COMMIT');
is($session->query_safe($page), 'post 200, post 101, post 100', 'then the new one');
$session->quit;

# ---- Many rows, in more than one chunk

$node->safe_psql('postgres', q{
CREATE TABLE kit.many AS SELECT kit.p(n) AS post_id, kit.u(1) AS user_id, 'many ' || n AS title, 'x' AS content, kit.d(n) AS creation_date,
	jsonb_build_object('tags', ARRAY['all', 'many', 'm' || n % 3000]) AS properties
FROM generate_series(1000, 12999) AS n;
SELECT blogstore.import(posts => 'kit.many')});
check_topics('imported', 'aaa 1, all 12079, late 1');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
check_topics('rebuilt', 'aaa 1, all 12079, late 1');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT topic) FROM blogstore.list_topics('m', NULL)}), '3002|3002', 'all topics of a prefix');

# Sixteen topics of the greatest length
$node->safe_psql('postgres', q{SELECT kit.tag(300, ARRAY(SELECT repeat(U&'\+01F600', 99) || chr(96 + n) FROM generate_series(1, 16) AS n))});
check_topics('long topics', 'aaa 1, all 12079, late 1');
is($node->safe_psql('postgres', q{SELECT count(*), max(length(topic)) FROM blogstore.list_topics(U&'\+01F600')}), '16|100', 'all of them are listed');

# ---- Another encoding: the partition of a topic depends on its bytes, so the
# dump is made without topics.

my $dump = PostgreSQL::Test::Utils::tempdir() . '/latin1.sql';

$node->safe_psql('postgres', q{CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'});
$node->safe_psql('postgres', q{CREATE DATABASE utf8 TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'});
create_store($node, 'latin1');
$node->safe_psql('latin1', q{SELECT blogstore.create_user('Ann', kit.u(1))});
$node->safe_psql('latin1', q{SELECT blogstore.create_post(kit.u(1), 'post ' || n, 'content', kit.p(n), kit.d(n), jsonb_build_object('tags', ARRAY[U&'K\00c4SE ' || n])) FROM generate_series(1, 9) AS n});
is($node->safe_psql('latin1', q{SELECT blogstore.wait_for_views('10 min')}), 't', 'LATIN1: the views follow');
is($node->safe_psql('latin1', q{SELECT count(*), min(topic) = U&'k\00e4se 1' FROM blogstore.list_topics()}), '9|t', 'LATIN1: topics');
command_ok([ 'pg_dump', '-Fp', '-f', $dump, '--exclude-table-data=blogstore.topics*', '-d', $node->connstr('latin1') ], 'LATIN1: dump');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('utf8') ], 'LATIN1: restore in UTF-8');
is($node->safe_psql('utf8', q{SELECT blogstore.wait_for_views('10 min')}), 't', 'LATIN1 restored in UTF-8: the views follow');
is($node->safe_psql('utf8', q{SELECT count(*), min(topic) = U&'k\00e4se 1' FROM blogstore.list_topics()}), '9|t', 'LATIN1 restored in UTF-8: topics');
is($node->safe_psql('utf8', q{SELECT title FROM blogstore.list_topic_posts(U&'K\00e4se 3')}), 'post 3', 'LATIN1 restored in UTF-8: posts');

# ---- The longest topics in other encodings. In SQL_ASCII each byte counts as
# a character.

my $post = 20;

sub check_longest
{
	my ($dbname, $hex, $times) = @_;
	my $character = "convert_from(decode('$hex', 'hex'), getdatabaseencoding())";

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$post++;
	$node->safe_psql($dbname, qq{SELECT blogstore.create_post(kit.u(1), 'longest $hex', 'content', kit.p($post), kit.d($post), jsonb_build_object('tags',
	ARRAY[repeat($character, $times) || 'xy'] || ARRAY(SELECT repeat($character, $times) || chr(96 + n) FROM generate_series(1, 16) AS n)))});
	is($node->safe_psql($dbname, q{SELECT blogstore.wait_for_views('10 min')}), 't', "$dbname, $hex: the views follow");
	is($node->safe_psql($dbname, qq{SELECT count(*), min(octet_length(topic)), max(octet_length(topic)), min(length(topic)), max(length(topic)) FROM blogstore.list_topics($character)}),
		join('|', 16, (length($hex) / 2 * $times + 1) x 2, (100) x 2), "$dbname, $hex: sixteen topics of 100 characters");
	is($node->safe_psql($dbname, qq{SELECT count(DISTINCT t.topic), string_agg(DISTINCT p.title, ', ') FROM blogstore.list_topics($character) AS t, blogstore.list_topic_posts(t.topic) AS p}),
		"16|longest $hex", "$dbname, $hex: the post of each");
	is($node->safe_psql($dbname, qq{SELECT count(*) FROM blogstore.list_topic_posts(repeat($character, $times) || 'xy')}), 0, "$dbname, $hex: a longer one is none");
	is($node->safe_psql($dbname, 'SELECT * FROM blogstore.verify()'), '', "$dbname, $hex: verify() shows nothing");
	return;
}

check_longest('latin1', 'e4', 99);
foreach my $encoding ('EUC_JP', 'SQL_ASCII')
{
	my $dbname = lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $dbname TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	create_store($node, $dbname);
	$node->safe_psql($dbname, q{SELECT blogstore.create_user('Ann', kit.u(1))});
}
check_longest('euc_jp', 'a4a2', 99);
check_longest('euc_jp', '8fabb1', 99);
check_longest('sql_ascii', 'e38182', 33);
check_longest('sql_ascii', 'e9', 99);

# ---- Another property, and none

# A session that still has the old property: its statements were sent together,
# and the configuration is read between messages.
$holder = hold($node, 'postgres', 'SELECT pg_advisory_xact_lock(7)');
my $late = $node->background_psql('postgres');
$late->query_until(qr/begun/, q{\echo begun
SELECT pg_advisory_xact_lock_shared(7)\; SELECT blogstore.repair()\; SELECT blogstore.delete_user(kit.u(4))\; SELECT blogstore.create_user('again', kit.u(4));
});
wait_until($node, 'postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)});

# The worker gives way to a lock on a row that it has to delete, far behind the
# first row of its topic and partition. When it goes on, it does not leave out
# what it had looked at before.
my $row = hold($node, 'postgres', q{SELECT FROM blogstore.topics WHERE type = 'topic_post' AND topic = 'all' AND id = kit.p(12500) FOR KEY SHARE});
my $waits = q{SELECT virtualtransaction FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted AND pid = (SELECT pid FROM blogstore.stat_worker)};
set_and_reload($node, 'blogstore.topic_property', 'kind');
wait_until($node, 'postgres', qq{SELECT EXISTS ($waits)});
my $first_wait = $node->safe_psql('postgres', $waits);
wait_until($node, 'postgres', qq{SELECT EXISTS ($waits AND virtualtransaction <> '$first_wait') OR NOT EXISTS (SELECT FROM blogstore.progress WHERE phase = 'topics')});
release($row);
wait_until($node, 'postgres', q{SELECT string_agg(topic, ', ') = 'k0, k1' FROM blogstore.list_topics()});
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'another property: verify() shows nothing');
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT topic, ', ') FROM blogstore.topics}), 'k0, k1', 'another property: no other topics');

release($holder);
like($late->query('SELECT blogstore.wait_for_views()'), qr/^t$/m, 'repair() and create_user() with the old property');
$late->quit;
wait_until($node, 'postgres', q{SELECT count(*) = 0 FROM blogstore.progress});
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'the old property: verify() shows nothing');
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT topic, ', ') FROM blogstore.topics}), 'k0, k1', 'the old property: no other topics');
set_and_reload($node, 'blogstore.topic_property', '');
is(outcome($topics), $none, 'none: the error names the setting again');
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.topics');
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'none: the views follow');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'none: verify() shows nothing');

$node->stop;
done_testing();
