
# Topics on a cluster: each node keeps those of its own posts, and every member
# answers with those of all nodes. Pages over nodes, equal topics on several
# nodes, edited, hidden and deleted posts, moved shards beside an open
# transaction and repair(), traffic on a shard that moves, damage on a node, a
# node that is down, the setting, and rights.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreTest;
use BlogstoreWorker qw(:DEFAULT hold release);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 240;

my $cluster = new_cluster('topics');
my ($coordinator, $one, $two) = members($cluster);

create_kit_everywhere($cluster, q{SET citus.enable_ddl_propagation = off;
CREATE FUNCTION kit.tag(n int, tags text[]) RETURNS text LANGUAGE sql
AS $$ SELECT title FROM blogstore.create_post(kit.u(1 + n % 12), 'post ' || n, 'content', kit.p(n), kit.d(n / 2), jsonb_build_object('tags', tags, 'kind', 'k' || n % 2)) $$;
-- The titles of a topic's posts, read by pages
CREATE FUNCTION kit.pages(topic text, size int, oldest_first boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	page	blogstore.post_item[];
	last	blogstore.post_item;
	found	text[] := '{}';
BEGIN
	LOOP
		page := ARRAY(SELECT l FROM blogstore.list_topic_posts(topic, size, last.creation_date, last.id, oldest_first) AS l);
		EXIT WHEN cardinality(page) = 0;
		found := found || ARRAY(SELECT p.title FROM unnest(page) AS p);
		last := page[cardinality(page)];
	END LOOP;
	RETURN array_to_string(found, ',');
END $$;
-- All topics, read by pages
CREATE FUNCTION kit.topic_pages(size int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	page	blogstore.topic_item[];
	found	text[] := '{}';
	last	text;
BEGIN
	LOOP
		page := ARRAY(SELECT l FROM blogstore.list_topics('', size, last) AS l);
		EXIT WHEN cardinality(page) = 0;
		found := found || ARRAY(SELECT t.topic || ' ' || t.post_count FROM unnest(page) AS t);
		last := page[cardinality(page)].topic;
	END LOOP;
	RETURN array_to_string(found, ',');
END $$});

# The topics that posts have, without blogstore's functions: the topics of
# these posts are in lower case.
my $WANTED = q{(SELECT p.id, p.title, p.creation_date, t.topic COLLATE "C" AS topic
FROM blogstore.posts AS p CROSS JOIN LATERAL jsonb_array_elements_text(p.properties -> 'tags') AS t (topic)
WHERE p.type = 'post' AND p.hidden IS NOT TRUE) AS w};

sub wanted
{
	my ($sql) = @_;

	return $coordinator->safe_psql('postgres', $sql =~ s/WANTED/$WANTED/r);
}

my @members = members($cluster);

# Check that every member returns all topics and all their posts, each once and
# in order, and that verify() finds nothing.
sub topics_right
{
	my ($name, %pages) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(cluster_views_follow($cluster), "$name: the views follow");
	wait_jobs($cluster, members($cluster));
	same_everywhere($cluster, 'SELECT * FROM blogstore.list_topics(page_size => NULL)',
		wanted('SELECT topic, count(*) FROM WANTED GROUP BY 1 ORDER BY 1'), "$name: the topics");
	my $all = join ', ', map { "'$_'" } split /\n/, wanted('SELECT DISTINCT topic FROM WANTED ORDER BY 1');
	same_everywhere($cluster, "SELECT t, l.title FROM unnest(ARRAY[$all]::text[]) WITH ORDINALITY AS u (t, n), LATERAL blogstore.list_topic_posts(t, NULL) WITH ORDINALITY AS l ORDER BY n, l.ordinality",
		wanted('SELECT topic, title FROM WANTED ORDER BY 1, creation_date DESC, id DESC'), "$name: their posts");
	foreach my $size (@{ $pages{pages} // [] })
	{
		same_everywhere($cluster, "SELECT kit.pages('all', $size, false)",
			wanted(q{SELECT string_agg(title, ',' ORDER BY creation_date DESC, id DESC) FROM WANTED WHERE topic = 'all'}), "$name: pages of $size");
		same_everywhere($cluster, "SELECT kit.pages('all', $size, true)",
			wanted(q{SELECT string_agg(title, ',' ORDER BY creation_date, id) FROM WANTED WHERE topic = 'all'}), "$name: pages of $size, the oldest first");
		same_everywhere($cluster, "SELECT kit.topic_pages($size)",
			wanted(q{SELECT string_agg(topic || ' ' || n, ',' ORDER BY topic) FROM (SELECT topic, count(*) AS n FROM WANTED GROUP BY 1) AS t}), "$name: pages of $size topics");
	}
	# a different member each time
	push @members, shift @members;
	is($members[0]->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "$name: verify() on " . $members[0]->name);
	return;
}

# The error of a statement: its SQLSTATE, message and hint
sub error_of
{
	my ($member, $sql) = @_;
	my ($rc, $out, $err) = $member->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	my ($state, $message) = $err =~ /ERROR:  (\w{5}): (.*)/;
	return defined $state ? join('|', $state, $message, $err =~ /^HINT:  (.*)/m) : "no error: $out";
}

sub set_everywhere
{
	my ($setting, $value) = @_;
	my %stamp = map { $_->name => $_->safe_psql('postgres', 'SELECT short_form FROM blogstore.view_state') } members($cluster);

	set_and_reload($_, $setting, $value) foreach members($cluster);
	wait_until($_, 'postgres', "SELECT short_form <> $stamp{ $_->name } FROM blogstore.view_state") foreach members($cluster);
	return;
}

# ---- Without the setting, then with it

my $none = '55000|posts have no topics, because blogstore.topic_property is empty|Set blogstore.topic_property to the property of posts that holds their topics, and reload the configuration.';
my $not_ready = '55000|topics are not ready|Wait until the worker has built the views; if it is stopped, call blogstore.start_worker(). See blogstore.stat_worker and blogstore.progress.';

$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 12) AS n;
SELECT count(kit.tag(n, ARRAY['all', 't' || n % 10, 's' || n])) FROM generate_series(1, $POSTS) AS n});
ok(cluster_views_follow($cluster), 'the views follow');
foreach my $member (members($cluster))
{
	is(error_of($member, 'SELECT * FROM blogstore.list_topics()'), $none, $member->name . ': no setting: topics');
	is(error_of($member, q{SELECT * FROM blogstore.list_topic_posts('all')}), $none, $member->name . ': no setting: posts');
}
my $locked = hold($two, 'postgres', 'LOCK TABLE blogstore.topics IN SHARE MODE');
set_everywhere('blogstore.topic_property', 'tags');
is(error_of($_, 'SELECT * FROM blogstore.list_topics()'), $not_ready, $_->name . ': a node builds its topics') foreach members($cluster);
release($locked);
topics_right('built', pages => [ 7, 1000 ]);
cmp_ok($_->safe_psql('postgres', q{SELECT count(*) FROM blogstore.topics WHERE topic = 'all' AND type = 'topic_post'}), '>', $POSTS / 5,
	$_->name . ': has topics of its posts')
  foreach $one, $two;
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM blogstore.topics'), 0, 'the coordinator has no posts, and no topics');

# Topics are compared as on one machine; a limit cuts off topics of each node.
same_everywhere($cluster, q{SELECT * FROM blogstore.list_topics('S', 3, 'S23')}, "s230|1\ns231|1\ns232|1", 'a prefix and a limit');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topic_posts(' ALL ')}, 20, 'a page of posts');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topic_posts('nothing')}, 0, 'no topic');

# ---- Edited, hidden and deleted posts, while the workers are held

my @first = posts_on($cluster, $one, 1, 3);
my @second = posts_on($cluster, $two, 1, 3);
my @holders = map { hold_worker($_, 'postgres') } $one, $two;

$one->safe_psql('postgres', "SELECT blogstore.hide_post(kit.p($_->[0])), blogstore.delete_post(kit.p($_->[1]))") foreach \@first, \@second;
my $gone = join ' OR ', map { "title = 'post $_'" } @first[ 0, 1 ], @second[ 0, 1 ];
same_everywhere($cluster, "SELECT title FROM blogstore.list_topic_posts('all', NULL) WHERE $gone", '', 'before the workers know: no hidden and no deleted posts');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topic_posts('all', NULL)}, $POSTS - 4, '... and all others');
release($_) foreach @holders;
$two->safe_psql('postgres', qq{SELECT blogstore.edit_post(kit.p($first[2]), properties => '{"tags": ["all", "new", "t1"]}');
SELECT blogstore.edit_post(kit.p($second[2]), properties => '{"tags": ["new"]}')});
$coordinator->safe_psql('postgres', q{SELECT blogstore.delete_user(kit.u(12))});
topics_right('edited', pages => [9]);
$coordinator->safe_psql('postgres', "SELECT blogstore.publish_post(kit.p($_))") foreach $first[0], $second[0];
$coordinator->safe_psql('postgres', q{SELECT blogstore.create_user('again', kit.u(12))});
$coordinator->safe_psql('postgres', qq{SELECT count(kit.tag(n, ARRAY['all', 'once more'])) FROM generate_series($POSTS + 1, $POSTS + 24) AS n});
topics_right('published');

# ---- A shard moves

my ($moved, $stays) = posts_on($cluster, $one, 50, 2);
my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($moved))");
my $count_all = q{SELECT count(*), count(DISTINCT id) FROM blogstore.list_topic_posts('all', NULL)};
my $all = wanted(q{SELECT count(*), count(*) FROM WANTED WHERE topic = 'all'});
my $rows = "SELECT count(*) FROM blogstore.topics WHERE id = kit.p($moved)";

# The numbers of n posts of the moved shard
sub moved_posts
{
	my ($from, $n) = @_;

	return split /\n/, $coordinator->safe_psql('postgres',
		"SELECT n FROM generate_series($from, $from + 100 * $n) AS n WHERE get_shard_id_for_distribution_column('blogstore.posts', kit.p(n)) = $shard ORDER BY n LIMIT $n");
}

# The new node has yet to insert the topics. A transaction on it is open.
my $old = $one->background_psql('postgres', on_error_stop => 0);
$old->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM blogstore.get_post(kit.p($stays))");
my $idle = hold($two, 'postgres', "SELECT FROM blogstore.create_like(kit.p($second[2]), kit.u(5))");
$locked = hold($two, 'postgres', 'LOCK TABLE blogstore.topics IN SHARE MODE');
move_shard($cluster, $shard, $one, $two, 'block_writes');
is(error_of($_, $count_all), $not_ready, $_->name . ': the new node lacks the topics: posts') foreach members($cluster);
is(error_of($_, 'SELECT * FROM blogstore.list_topics()'), $not_ready, $_->name . ': the new node lacks the topics: topics') foreach members($cluster);
release($locked);
# The job waits for a transaction that writes. The topics do not.
wait_until($two, 'postgres', q{SELECT count(*) = 1 FROM blogstore.progress WHERE kind = 'arrival' AND phase = 'waiting' AND done > 0});
is($_->safe_psql('postgres', $count_all), $all, $_->name . ': the topics do not wait for an open transaction') foreach members($cluster);
release($idle);
topics_right('a shard has moved', pages => [9]);
is($one->safe_psql('postgres', $rows), 0, 'the old node has no topics of the post');
cmp_ok($two->safe_psql('postgres', $rows), '>', 0, 'the new node has');
$old->query('SELECT * FROM blogstore.list_topics()');
like($old->{stderr}, qr/ERROR:  could not serialize access due to concurrent move of a shard/, 'an older snapshot on the old node');
$old->quit;

# The old node has yet to delete the topics. Then the shard moves back, and
# meanwhile a post was edited and another deleted.
my ($edited, $deleted) = split /\n/, $coordinator->safe_psql('postgres',
	"SELECT n FROM generate_series(1, $POSTS) AS n JOIN blogstore.posts AS p ON p.post_id = kit.p(n) AND p.type = 'post'
WHERE get_shard_id_for_distribution_column('blogstore.posts', kit.p(n)) = $shard AND n <> $moved ORDER BY n LIMIT 2");
$locked = hold($two, 'postgres', 'LOCK TABLE blogstore.topics IN SHARE MODE');
move_shard($cluster, $shard, $two, $one, 'block_writes');
wait_until($one, 'postgres', "SELECT count(*) > 0 FROM blogstore.topics WHERE id = kit.p($moved)");
wait_until($one, 'postgres', q{SELECT count(*) = 0 FROM blogstore.jobs WHERE kind = 'arrival'});
cmp_ok($two->safe_psql('postgres', $rows), '>', 0, 'both nodes have topics of the post');
is($_->safe_psql('postgres', $count_all), $all, $_->name . ': each post is listed once') foreach members($cluster);
is($one->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() does not report them');
$one->safe_psql('postgres', qq{SELECT blogstore.edit_post(kit.p($edited), properties => '{"tags": ["all", "moved"]}');
SELECT blogstore.delete_post(kit.p($deleted))});
wait_until($one, 'postgres', "SELECT count(*) = 0 FROM blogstore.topics WHERE id = kit.p($deleted)");
move_shard($cluster, $shard, $one, $two, 'block_writes');
release($locked);
topics_right('back again');

# ---- repair() in a transaction that a move waits for

my $origin = q{SELECT pg_replication_origin_session_setup('blogstore_worker'); };
my $repair = hold($one, 'postgres', q{SET statement_timeout = '100 s'; SELECT blogstore.repair()});
my $move = start_client($coordinator, 'postgres', sprintf(q{SET client_min_messages = error; CALL citus_cleanup_orphaned_resources();
SELECT citus_move_shard_placement(%d, '%s', %d, '%s', %d, shard_transfer_mode => 'block_writes')},
		$shard, $two->host, $two->port, $one->host, $one->port), 'move');
ok(waits_for_lock($cluster, $move), 'a move waits for repair()');
$two->safe_psql('postgres', $origin . "DELETE FROM blogstore.topics WHERE type = 'topic_post' AND id = kit.p($moved) AND topic = 'all'");
is($repair->query_safe('SELECT blogstore.repair()'), 2, 'repair() does not wait for the move');
release($repair);
my (undef, $error) = finish_client($move);
unlike($error, qr/ERROR/, 'the move ends');
topics_right('repaired beside a move');

# ---- Traffic on the shard that moves, with the same topics on all members,
# beside repair()

my $n = 0;
my @traffic = map {
	my $posts = join ', ', moved_posts(1000 * ++$n, 6);

	start_client($_, 'postgres', qq{
DO \$\$
DECLARE
	n	int;
BEGIN
	WHILE pg_try_advisory_xact_lock_shared(8) LOOP
		FOREACH n IN ARRAY ARRAY[$posts] LOOP
			PERFORM kit.tag(n, ARRAY['all', 't1', 't2']);
			COMMIT;
			PERFORM blogstore.edit_post(kit.p(n), properties => '{"tags": ["all", "t2", "t3"]}');
			COMMIT;
		END LOOP;
		FOREACH n IN ARRAY ARRAY[$posts] LOOP
			PERFORM blogstore.delete_post(kit.p(n));
			COMMIT;
		END LOOP;
	END LOOP;
	FOREACH n IN ARRAY ARRAY[$posts] LOOP
		PERFORM kit.tag(n, ARRAY['all', 'last']);
		COMMIT;
	END LOOP;
END \$\$}, "traffic $n");
} members($cluster);
for my $call (1 .. 3)
{
	my $member = (members($cluster))[ $call - 1 ];

	move_shard($cluster, $shard, $call % 2 ? ($one, $two) : ($two, $one), 'block_writes');
	my ($rc, $out, $err) = $member->psql('postgres', q{SELECT blogstore.repair(); SELECT count(*) - count(DISTINCT id) FROM blogstore.list_topic_posts('all', NULL)});

	# Citus may cancel repair(), which waits for the workers.
	like($err || $out, qr/^[0-9]+\n0$|topics are not ready|distributed deadlock/, 'beside traffic: repair(), and no post twice');
	ok(goes_on($_), '... while posts come and go') foreach @traffic;
}
my @stop = map { $_->background_psql('postgres') } members($cluster);
$_->query_safe('SELECT pg_advisory_lock(8)') foreach @stop;
foreach my $client (@traffic)
{
	my ($written, $errors) = finish_client($client);

	is("@$written$errors", '', 'a client has ended');
}
$_->quit foreach @stop;
topics_right('after traffic', pages => [9]);

# ---- Damage on a node that its worker does not notice

my @here = posts_on($cluster, $two, 60, 3);
my ($away) = posts_on($cluster, $one, 60, 1);
$two->safe_psql('postgres', $origin . qq{
DELETE FROM blogstore.topics WHERE type = 'topic_post' AND topic = 's$here[0]';
UPDATE blogstore.topics SET user_id = kit.u(2) WHERE type = 'topic_post' AND topic = 's$here[1]';
UPDATE blogstore.topics SET user_id = kit.u(3) WHERE type = 'topic_post' AND topic = 's$here[1]' AND 1 + $here[1] % 12 = 2;
UPDATE blogstore.topics SET post_count = 77 WHERE type = 'topic' AND topic = 's$here[2]';
INSERT INTO blogstore.topics (type, topic, creation_date, id, user_id) VALUES ('topic_post', 'forged', kit.d(1), kit.p($here[0]), kit.u(1)), ('topic_post', 'forged', kit.d($away / 2), kit.p($away), kit.u(1));
INSERT INTO blogstore.topics (type, topic, post_count) VALUES ('topic', 'a: b: 2', 3)});
# Four counts are wrong: of the deleted row, the one changed, 'forged' and
# 'a: b: 2'.
my $found = 'SELECT container, problem, type, count(*) FROM blogstore.verify() GROUP BY 1, 2, 3 ORDER BY 1, 2, 3';
is($_->safe_psql('postgres', $found), "topics|extra copy|topic_post|2\ntopics|missing copy|topic_post|1\ntopics|post_count|topic|4\ntopics|stale copy|topic_post|1",
	$_->name . ': verify() shows the damage')
  foreach $coordinator, $two;
is($one->safe_psql('postgres', 'SELECT blogstore.repair()'), 8, 'repair() on the other node');
topics_right('repaired');
# A node returns at most 10,000 findings.
$two->safe_psql('postgres', $origin . q{INSERT INTO blogstore.topics (type, topic, creation_date, id, user_id)
SELECT 'topic_post', 'many', kit.d(1), kit.p(n), kit.u(1) FROM generate_series(1, 10001) AS n});
is($one->safe_psql('postgres', 'SELECT count(*) FROM blogstore.verify()'), 10000, 'many findings');
# The owner writes without the worker's origin: the node builds its topics
# anew.
$two->safe_psql('postgres', q{TRUNCATE blogstore.topics});
topics_right('truncated');
$coordinator->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
topics_right('rebuilt');

# ---- Roles and bad input

foreach my $member (members($cluster))
{
	$member->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; CREATE ROLE app LOGIN});
	$member->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; SELECT blogstore.grant_requests('app'); CREATE ROLE nobody LOGIN; GRANT USAGE ON SCHEMA blogstore TO nobody});
}
foreach my $member (members($cluster))
{
	my $name = $member->name;

	is($member->safe_psql('postgres', 'SET ROLE app; SELECT count(*) FROM blogstore.list_topics(page_size => NULL)'), wanted('SELECT count(DISTINCT topic) FROM WANTED'), "$name: a role that may only execute: topics");
	is($member->safe_psql('postgres', q{SET ROLE app; SELECT count(*) FROM blogstore.list_topic_posts('all', NULL)}), wanted(q{SELECT count(*) FROM WANTED WHERE topic = 'all'}), "$name: posts");
	like(error_of($member, "SET ROLE app; SELECT $_"), qr/^42501/, "$name: $_ is not for it") foreach
	  'blogstore.verify_node()', 'blogstore.repair_topics()', q{blogstore.serve_topic(kit.p(1), 'list_topics', '{"",10,NULL}', true)};
	like(error_of($member, 'SET ROLE app; SELECT FROM blogstore.topics'), qr/^42501/, "$name: nor is the table");
	like(error_of($member, 'SET ROLE nobody; SELECT FROM blogstore.list_topics()'), qr/^42501/, "$name: another role may not");
	like(error_of($member, "SELECT * FROM blogstore.$_->[0]"), qr/^$_->[1]\|/, "$name: $_->[0]") foreach
	  [ 'list_topic_posts(NULL)', '22004' ], [ q{list_topic_posts('all', 0)}, '22023' ], [ q{list_topic_posts('all', -1)}, '22023' ],
	  [ q{list_topic_posts('all', 5, kit.d(1))}, '22023' ], [ q{list_topic_posts('all', oldest_first => NULL)}, '22004' ],
	  [ 'list_topics(NULL)', '22004' ], [ 'list_topics(page_size => 0)', '22023' ], [ q{list_topics(after_topic => repeat('x', 5000))}, '22023' ];
}
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topic_posts(repeat('x', 5000))}, 0, 'a text that cannot be a topic');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topics(repeat('x', 5000))}, 0, 'a long prefix');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topics(E'it''s "odd", {x}\\\\')}, 0, 'quotes');

# ---- The setting is changed, and is empty on one node, and on all

set_everywhere('blogstore.topic_property', 'kind');
ok(cluster_views_follow($cluster), 'another property: the views follow');
same_everywhere($cluster, 'SELECT topic, post_count FROM blogstore.list_topics()',
	$coordinator->safe_psql('postgres', q{SELECT properties ->> 'kind', count(*) FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE AND properties ? 'kind' GROUP BY 1 ORDER BY 1}),
	'another property: the topics');
same_everywhere($cluster, q{SELECT count(*) FROM blogstore.list_topic_posts('all')}, 0, 'no topics of the other');
my $stamp = $two->safe_psql('postgres', 'SELECT short_form FROM blogstore.view_state');
set_and_reload($two, 'blogstore.topic_property', '');
wait_until($two, 'postgres', "SELECT short_form <> $stamp FROM blogstore.view_state");
ok(cluster_views_follow($cluster), 'a node without the setting: the views follow');
is(error_of($_, 'SELECT * FROM blogstore.list_topics()'), $none, $_->name . ': a node without the setting') foreach members($cluster);
set_everywhere('blogstore.topic_property', 'tags');
topics_right('set again');

# ---- A node is down

$two->stop('immediate');
foreach my $member ($coordinator, $one)
{
	like(error_of($member, "SELECT * FROM blogstore.$_"), qr/^08006\|.*connect/, $member->name . ": a node is down: $_") foreach 'list_topics()', q{list_topic_posts('all')};
}
start_member($cluster, $two);
topics_right('the node is back');

done_testing();
