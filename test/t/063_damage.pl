
# The owner alters the containers so that the worker cannot maintain the views.
# The worker stops, marks the views as not ready, drops its slot, and reports
# what is wrong and what to do. When the change is undone it rebuilds the
# views. Readers read posts meanwhile. Other events do not cost the slot, and a
# job that fails is parked and blocks nothing else.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('damage');
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\nblogstore.topic_property = 'tags'\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 8, 120);
fill_lists($node, 'postgres', 8);
$node->safe_psql('postgres', 'SELECT count(blogstore.follow_user(kit.u(a), kit.u(b))) FROM generate_series(1, 8) AS a, generate_series(1, 8) AS b WHERE a <> b');
check_store($node, 'postgres', 'filled');
$node->safe_psql('postgres', q{
CREATE ROLE intruder;
CREATE FUNCTION kit.nothing() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RETURN NEW; END $$;
CREATE DOMAIN kit.label AS text;
CREATE TABLE kit.authors (user_id uuid PRIMARY KEY);
INSERT INTO kit.authors SELECT user_id FROM blogstore.users WHERE type = 'user'});

my $status = 'SELECT state, slot, last_error, hint FROM blogstore.stat_worker';

# ---- Changes that block the worker

# Each has a name, the change, a pattern of the error in stat_worker, and the
# statement that undoes the change. Some have, under "unread", what cannot be
# read or written meanwhile: posts, or the state of the views.
my $view = qr/"(users_p0\d_post|feed_post|topics_p0\d_topic(_post)?)", which holds a view, has /;
my @damages = (

	# ---- additions of the owner to the views' tables
	[ 'a trigger on users', 'CREATE TRIGGER odd BEFORE UPDATE ON blogstore.users FOR EACH ROW EXECUTE FUNCTION kit.nothing()',
		qr/${view}a trigger, "odd"/, 'DROP TRIGGER odd ON blogstore.users' ],
	[ 'a disabled trigger on the feed',
		'CREATE TRIGGER odd AFTER INSERT ON blogstore.feed_post FOR EACH ROW EXECUTE FUNCTION kit.nothing(); ALTER TABLE blogstore.feed_post DISABLE TRIGGER odd',
		qr/${view}a trigger, "odd"/, 'DROP TRIGGER odd ON blogstore.feed_post' ],
	[ 'a trigger of statements on a leaf of copies',
		'CREATE TRIGGER odd AFTER INSERT ON blogstore.users_p01_post FOR EACH STATEMENT EXECUTE FUNCTION kit.nothing()',
		qr/${view}a trigger, "odd"/, 'DROP TRIGGER odd ON blogstore.users_p01_post' ],
	[ 'a CHECK on users', q{ALTER TABLE blogstore.users ADD CONSTRAINT odd CHECK (username <> 'root')},
		qr/${view}a constraint, "odd"/, 'ALTER TABLE blogstore.users DROP CONSTRAINT odd' ],
	[ 'a CHECK on the feed, of no row so far', q{ALTER TABLE blogstore.feed ADD CONSTRAINT odd CHECK (title <> 'x') NOT VALID},
		qr/${view}a constraint, "odd"/, 'ALTER TABLE blogstore.feed DROP CONSTRAINT odd' ],
	[ 'a CHECK on the topics', q{ALTER TABLE blogstore.topics ADD CONSTRAINT odd CHECK (topic <> 'x')},
		qr/${view}a constraint, "odd"/, 'ALTER TABLE blogstore.topics DROP CONSTRAINT odd' ],
	[ 'an index on the posts of topics', 'CREATE INDEX odd ON blogstore.topics_p00_topic_post (user_id)',
		qr/${view}an index, "odd"/, 'DROP INDEX blogstore.odd' ],
	[ 'a foreign key of the copies', 'ALTER TABLE blogstore.users_p02_post ADD CONSTRAINT odd FOREIGN KEY (user_id) REFERENCES kit.authors',
		qr/${view}a constraint, "odd"/, 'ALTER TABLE blogstore.users_p02_post DROP CONSTRAINT odd' ],
	[ 'a foreign key to the feed',
		'CREATE TABLE kit.pinned (post_id uuid CONSTRAINT odd REFERENCES blogstore.feed_post)',
		qr/${view}a constraint, "odd"/, 'DROP TABLE kit.pinned' ],
	[ 'a column of a domain', 'ALTER TABLE blogstore.users ADD COLUMN odd kit.label',
		qr/${view}a column of a domain, "odd"/, 'ALTER TABLE blogstore.users DROP COLUMN odd' ],
	[ 'a generated column', 'ALTER TABLE blogstore.feed ADD COLUMN odd integer GENERATED ALWAYS AS (length(title)) STORED',
		qr/${view}a generated column, "odd"/, 'ALTER TABLE blogstore.feed DROP COLUMN odd' ],
	[ 'a column that is NOT NULL', 'ALTER TABLE blogstore.users ADD COLUMN odd integer NOT NULL DEFAULT 7',
		qr/${view}a column that is NOT NULL, "odd"/, 'ALTER TABLE blogstore.users DROP COLUMN odd' ],
	[ 'a date of editing that is NOT NULL',
		q{BEGIN; LOCK TABLE blogstore.feed; UPDATE blogstore.feed SET modification_date = now(); ALTER TABLE blogstore.feed_post ALTER COLUMN modification_date SET NOT NULL; COMMIT},
		qr/${view}a column that is NOT NULL, "modification_date"/, 'ALTER TABLE blogstore.feed_post ALTER COLUMN modification_date DROP NOT NULL' ],
	[ 'an index on the titles', 'CREATE INDEX odd ON blogstore.users_p00_post (title)',
		qr/${view}an index, "odd"/, 'DROP INDEX blogstore.odd' ],
	[ 'an index that has a column besides', 'CREATE INDEX odd ON blogstore.feed_post (creation_date, id) INCLUDE (title)',
		qr/${view}an index, "odd"/, 'DROP INDEX blogstore.odd' ],
	[ 'an index of some rows', q{CREATE INDEX odd ON blogstore.feed_post (creation_date, id) WHERE title < 'm'},
		qr/${view}an index, "odd"/, 'DROP INDEX blogstore.odd' ],
	[ 'an exclusion constraint', 'ALTER TABLE blogstore.feed_post ADD CONSTRAINT odd EXCLUDE USING btree (post_id WITH =)',
		qr/${view}an index, "odd"/, 'ALTER TABLE blogstore.feed_post DROP CONSTRAINT odd' ],

	# ---- additions to the tables that are no containers
	[ 'a trigger on the jobs', 'CREATE TRIGGER odd AFTER INSERT ON blogstore.jobs FOR EACH ROW EXECUTE FUNCTION kit.nothing()',
		qr/table "blogstore.jobs" is not as blogstore made it: it has a trigger, "odd"/, 'DROP TRIGGER odd ON blogstore.jobs', unread => 'posts' ],
	[ 'a CHECK on the usernames', q{ALTER TABLE blogstore.usernames ADD CONSTRAINT odd CHECK (username_key <> 'root')},
		qr/"blogstore.usernames" is not as blogstore made it: it has a constraint, "odd"/, 'ALTER TABLE blogstore.usernames DROP CONSTRAINT odd' ],
	[ 'a default in the position', 'ALTER TABLE blogstore.change_feed ADD COLUMN odd timestamptz DEFAULT now()',
		qr/"blogstore.change_feed" .* it has a column that is NOT NULL or has a default, "odd"/, 'ALTER TABLE blogstore.change_feed DROP COLUMN odd' ],
	[ 'an index on the usernames', 'CREATE INDEX odd ON blogstore.usernames (user_id)',
		qr/"blogstore.usernames" .* it has an index, "odd"/, 'DROP INDEX blogstore.odd' ],
	[ 'a CHECK on the scheduled posts', q{ALTER TABLE blogstore.publish_queue ADD CONSTRAINT odd CHECK (publish_date < '2300-01-01')},
		qr/"blogstore.publish_queue" is not as blogstore made it: it has a constraint, "odd"/, 'ALTER TABLE blogstore.publish_queue DROP CONSTRAINT odd' ],
	[ "the views' state without a column", 'ALTER TABLE blogstore.view_state RENAME COLUMN enabled TO odd',
		qr/"blogstore.view_state" .* it has no column "enabled"/, 'ALTER TABLE blogstore.view_state RENAME COLUMN odd TO enabled', unread => 'state' ],
	[ 'the position dropped', 'DROP TABLE blogstore.change_feed',
		qr/table "blogstore.change_feed" is missing/, q{SET client_min_messages = error; SELECT blogstore.create_containers()} ],

	# ---- a partition that is detached or dropped
	[ 'a partition of users away', 'ALTER TABLE blogstore.users DETACH PARTITION blogstore.users_p01',
		qr/container "users" has no partition WITH \(MODULUS 4, REMAINDER 1\)/,
		'ALTER TABLE blogstore.users ATTACH PARTITION blogstore.users_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)' ],
	[ 'a leaf of copies away', 'ALTER TABLE blogstore.users_p01 DETACH PARTITION blogstore.users_p01_post',
		qr/partition \d of container "users" has no leaf for items of type "post"/,
		q{ALTER TABLE blogstore.users_p01 ATTACH PARTITION blogstore.users_p01_post FOR VALUES IN ('post')} ],
	[ 'a leaf of follows away', 'ALTER TABLE blogstore.users_p01 DETACH PARTITION blogstore.users_p01_follow',
		qr/partition \d of container "users" has no leaf for items of type "follow"/,
		q{ALTER TABLE blogstore.users_p01 ATTACH PARTITION blogstore.users_p01_follow FOR VALUES IN ('follow')} ],
	[ 'a leaf of comments away', 'ALTER TABLE blogstore.posts_p03 DETACH PARTITION blogstore.posts_p03_comment',
		qr/partition \d of container "posts" has no leaf for items of type "comment"/,
		q{ALTER TABLE blogstore.posts_p03 ATTACH PARTITION blogstore.posts_p03_comment FOR VALUES IN ('comment')} ],
	[ "the feed's leaf away", 'ALTER TABLE blogstore.feed DETACH PARTITION blogstore.feed_post',
		qr/container "feed" has no leaf for items of type "post"/, q{ALTER TABLE blogstore.feed ATTACH PARTITION blogstore.feed_post FOR VALUES IN ('post')} ],
	[ 'a partition of topics away', 'ALTER TABLE blogstore.topics DETACH PARTITION blogstore.topics_p01',
		qr/container "topics" has no partition WITH \(MODULUS 4, REMAINDER 1\)/,
		'ALTER TABLE blogstore.topics ATTACH PARTITION blogstore.topics_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)' ],
	[ 'a leaf of topics away', 'ALTER TABLE blogstore.topics_p01 DETACH PARTITION blogstore.topics_p01_topic',
		qr/partition \d of container "topics" has no leaf for items of type "topic"/,
		q{ALTER TABLE blogstore.topics_p01 ATTACH PARTITION blogstore.topics_p01_topic FOR VALUES IN ('topic')} ],
	[ 'the feed dropped', 'DROP TABLE blogstore.feed',
		qr/container "feed" is missing/, q{SET client_min_messages = error; SELECT blogstore.create_containers()} ],
	[ 'a partition of posts away', 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p02',
		qr/container "posts" has no partition WITH \(MODULUS 4, REMAINDER 2\)/,
		'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p02 FOR VALUES WITH (MODULUS 4, REMAINDER 2)', unread => 'posts' ],
	[ 'a leaf of counts away', 'ALTER TABLE blogstore.posts_p02 DETACH PARTITION blogstore.posts_p02_delta',
		qr/partition \d of container "posts" has no leaf for items of type "delta"/,
		q{ALTER TABLE blogstore.posts_p02 ATTACH PARTITION blogstore.posts_p02_delta FOR VALUES IN ('delta')}, unread => 'posts' ],

	# ---- a table with other properties
	[ 'a column of likes renamed', 'BEGIN; DROP VIEW kit.implied, kit.posts; ALTER TABLE blogstore.posts RENAME COLUMN title TO odd; COMMIT',
		qr/"posts_p0\d_\w+" has no column "title"/, 'BEGIN; ALTER TABLE blogstore.posts RENAME COLUMN odd TO title; VIEWS COMMIT', unread => 'posts' ],
	[ 'a leaf of users unlogged', 'ALTER TABLE blogstore.users_p03_user SET UNLOGGED',
		qr/partition "users_p03_user" is unlogged/, 'ALTER TABLE blogstore.users_p03_user SET LOGGED' ],
	[ 'a leaf of likes of somebody else', 'ALTER TABLE blogstore.posts_p00_like OWNER TO intruder',
		qr/"posts_p00_like" does not belong to the containers' owner/, 'ALTER TABLE blogstore.posts_p00_like OWNER TO CURRENT_USER' ],
	[ 'an index of comments dropped', 'DROP INDEX blogstore.posts_p01_comment_list',
		qr/"posts_p01_comment" lacks an index that blogstore needs/, 'CREATE INDEX posts_p01_comment_list ON blogstore.posts_p01_comment (post_id, creation_date, id) WHERE parent_id IS NULL' ],
	[ 'an index of topics dropped', 'DROP INDEX blogstore.topics_p01_topic_post_by_id',
		qr/"topics_p01_topic_post" lacks an index that blogstore needs/, 'CREATE INDEX topics_p01_topic_post_by_id ON blogstore.topics_p01_topic_post (id)' ],
	[ 'posts renamed', 'BEGIN; DROP VIEW kit.implied, kit.posts; ALTER TABLE blogstore.posts RENAME TO odd; COMMIT',
		qr/container "posts" is missing/, 'BEGIN; ALTER TABLE blogstore.odd RENAME TO posts; VIEWS COMMIT', unread => 'posts and state' ]);

my $views = $node->safe_psql('postgres',
	q{SELECT string_agg(format('CREATE VIEW %s AS %s', oid::regclass, pg_get_viewdef(oid)), ' ' ORDER BY oid) FROM pg_class WHERE relnamespace = 'kit'::regnamespace AND relkind = 'v'});
my $topics = q{SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics(); SELECT count(*) FROM blogstore.list_topic_posts('all', NULL)};
my $scheduled = q{SELECT g.title, g.hidden, q.publish_date = '2200-01-01' FROM blogstore.publish_queue AS q, blogstore.get_post(q.post_id) AS g};
my $n = 0;

# What a call returns for the users in the partition with a remainder ($there
# is true), for all others (false), or for all users (no remainder)
sub outcomes
{
	my ($call, $remainder, $there) = @_;
	my $where = defined $remainder ? "WHERE satisfies_hash_partition('blogstore.users'::regclass, 4, $remainder, kit.u(n)) IS " . ($there ? 'true' : 'false') : '';

	return $node->safe_psql('postgres', "SELECT string_agg(DISTINCT kit.try(format('blogstore.$call', n)), ' and ') FROM generate_series(1, 8) AS n $where");
}

for my $damage (@damages)
{
	my ($name, $do, $says, $undo, %of) = @$damage;
	my $unread = $of{unread} // '';
	my $offset = log_end($node);

	$undo =~ s/VIEWS/$views/;
	$n++;
	$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1 + $n % 8), 'before $n', 'x', kit.p(1000 + $n), kit.d(1000 + $n)); $do");
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
	my ($state, $slot, $error, $hint) = split /\|/, $node->safe_psql('postgres', $status), -1;
	like($error, $says, "$name: stat_worker says what is wrong");
	like($hint, qr/^[A-Z].*\.$/, "$name: stat_worker says what to do");
	is($slot, '', "$name: there is no slot");
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_replication_slots"), '0', "$name: there is no slot of another name either");
	is($node->safe_psql('postgres', 'SELECT ready FROM blogstore.view_state'), 'f', "$name: the views are marked as not ready") unless $unread =~ /state/;
	unless ($unread =~ /posts/ || $name =~ /users away|unlogged/)
	{
		$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(1000 + $n), 'meanwhile $n')");
		is($node->safe_psql('postgres', 'SELECT title FROM blogstore.list_feed(1)'), "meanwhile $n", "$name: Q6 is answered from posts");
		is($node->safe_psql('postgres', "SELECT title FROM blogstore.list_user_posts(kit.u(1 + $n % 8), 1)"), "meanwhile $n", "$name: so is Q3");
	}
	if ($name =~ /(users|follows) away/)
	{
		is(outcomes('list_home_feed(kit.u(%s))', 1, 1), '55000, hint', "$name: there is no home feed of its users");
		is(outcomes('list_home_feed(kit.u(%s))', 1, 0), 'ok', "$name: those of others are answered from posts");
		is(outcomes('list_followers(kit.u(%s))'), '55000, hint', "$name: there are no lists of followers");
	}
	is(outcomes('list_home_feed(kit.u(%s))'), '55000, hint', "$name: there is no home feed") if $name =~ /partition of posts away/;
	is(outcomes('list_topics(page_size => %s)') . ' ' . outcomes('list_topic_posts($$all$$, %s)'), '55000, hint 55000, hint', "$name: there are no lists of topics");
	$node->safe_psql('postgres', $undo);
	check_store($node, 'postgres', "$name, mended");
	is($node->safe_psql('postgres', $topics), "all 20, topic 0 6, topic 1 7, topic 2 7\n20", "$name, mended: topics are listed");
	is($node->safe_psql('postgres', $scheduled), 'scheduled|t|t', "$name, mended: the post is scheduled");
	is($node->safe_psql('postgres', "SELECT state, slot IS NOT NULL, hint FROM blogstore.stat_worker"), 'running|t|', "$name, mended: stat_worker says no more");
	is(join("\n", logged($node, $offset, qr/was terminated by signal|PANIC|TRAP|exited with exit code 1/)), '', "$name: no process has failed");
	is(join("\n", logged($node, $offset, qr/replication slot .* was lost/)), '', "$name: the log does not say that the slot was lost");
}

# ---- A blocked worker sleeps between its checks, also after a reload

my $sleep = wait_event($node, 'BlogstoreWorkerTables');
$node->safe_psql(
	'postgres', qq{
CREATE FUNCTION kit.worker_sleeps(times int) RETURNS int LANGUAGE plpgsql AS \$\$
DECLARE slept int := 0;
BEGIN
	FOR i IN 1 .. times LOOP
		PERFORM pg_sleep(0.1);
		slept := slept + (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'blogstore worker' AND wait_event = '$sleep');
	END LOOP;
	RETURN slept;
END \$\$;
CREATE INDEX odd ON blogstore.feed_post (title)});
wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
$node->reload;
cmp_ok($node->safe_psql('postgres', 'SELECT kit.worker_sleeps(40)'), '>', 20, 'a blocked worker sleeps after a reload');
$node->safe_psql('postgres', 'DROP INDEX blogstore.odd');
check_store($node, 'postgres', 'after a reload');

# ---- A session that has read the topics knows at once that new ones are not
# ready, before the worker does

my $stopped = stop_worker($node, 'postgres');
my $list = q{SELECT kit.try('blogstore.list_topics()')};
is($node->safe_psql('postgres', "SET client_min_messages = error; $list; DROP TABLE blogstore.topics; SELECT blogstore.create_containers() IS NULL; $list"),
	"ok\nf\n55000, hint", 'topics made: a session that has read the old ones');
kill 'CONT', $stopped;
wait_until($node, 'postgres', 'SELECT ready FROM blogstore.view_state');
check_store($node, 'postgres', 'topics made');
is($node->safe_psql('postgres', $topics), "all 20, topic 0 6, topic 1 7, topic 2 7\n20", 'topics made: they are listed');

# ---- stat_worker names what delays the creation of the slot

sub delayed
{
	my ($name, $begin, $hint, $end) = @_;

	$node->safe_psql('postgres', 'CREATE INDEX odd ON blogstore.feed_post (title)');
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
	my $pid = $begin->();
	$hint =~ s/PID/$pid/;
	$node->safe_psql('postgres', 'DROP INDEX blogstore.odd');
	wait_until($node, 'postgres', "SELECT state = 'catching up' AND hint LIKE '$hint' FROM blogstore.stat_worker");
	pass("$name: stat_worker names it");
	$end->();
	check_store($node, 'postgres', "$name, ended");
	return;
}

my $open = $node->background_psql('postgres');
delayed('an open transaction',
	sub { return $open->query_safe('BEGIN; SELECT pg_current_xact_id() IS NULL; SELECT pg_backend_pid()') =~ /(\d+)\s*$/ ? $1 : die },
	'The replication slot will be created when this transaction ends: process PID in database "postgres", open since 20%',
	sub { $open->query_safe('COMMIT') });
$open->quit;
delayed('a prepared transaction',
	sub { $node->safe_psql('postgres', "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'delay'"); return 0 },
	'The replication slot will be created when this transaction ends: prepared transaction "delay" in database "postgres", prepared at 20%',
	sub { $node->safe_psql('postgres', "COMMIT PREPARED 'delay'") });

# ---- Events that do not block the worker

# The worker is cancelled while it writes. It starts again, with the same slot.
my $offset = log_end($node);
my $blocked = qr/blogstore worker is blocked/;
close_gate($node, 'postgres', 'cancel', 'LOCK TABLE blogstore.view_state IN ACCESS EXCLUSIVE MODE');
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(3), 'beside a cancellation')");
await_gate($node, 'postgres');
my $pid = worker_pid($node, 'postgres');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
wait_logged($node, $offset, qr/canceling statement due to user request/);
open_gate($node, 'postgres', 'cancel');
check_store($node, 'postgres', 'cancelled');
isnt(worker_pid($node, 'postgres'), $pid, 'cancelled: another worker');
is(join("\n", slots_made($node, $offset), logged($node, $offset, $blocked)), '', 'cancelled: with the same slot');

# REINDEX CONCURRENTLY of indexes beside the worker
$offset = log_end($node);
$node->safe_psql('postgres', $_) for 'REINDEX INDEX CONCURRENTLY blogstore.feed_post_date', 'REINDEX TABLE CONCURRENTLY blogstore.users_p00_post', 'REINDEX TABLE CONCURRENTLY blogstore.jobs';
# Additional columns that have at most a default
$node->safe_psql('postgres', "ALTER TABLE blogstore.users ADD COLUMN mood text DEFAULT 'fine'; ALTER TABLE blogstore.feed ADD COLUMN mood text; ALTER TABLE blogstore.jobs ADD COLUMN mood text");
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(1), 'beside a column', 'x', kit.p(2000), kit.d(2000))");
check_store($node, 'postgres', 'indexes built anew, and columns');
is($node->safe_psql('postgres', "SELECT mood FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(2000)"), '', 'a column of the copies: the worker does not use its default');
$node->safe_psql('postgres', "ALTER TABLE blogstore.$_ DROP COLUMN mood") for qw(users feed jobs);
check_store($node, 'postgres', 'columns dropped');
is(join("\n", slots_made($node, $offset), logged($node, $offset, $blocked)), '', 'indexes and columns: the worker is not blocked');

# ---- A job that fails is parked

$node->safe_psql('postgres', q{
CREATE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
CREATE TRIGGER odd BEFORE UPDATE ON blogstore.posts FOR EACH ROW
WHEN (NEW.type = 'comment' AND NEW.user_username = 'refused') EXECUTE FUNCTION kit.refuse();
SELECT blogstore.edit_user(kit.u(3), 'refused'), blogstore.edit_user(kit.u(4), 'accepted')});
my $worker = worker_pid($node, 'postgres');
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'a job fails: wait_for_views() does not wait for it');
is($node->safe_psql('postgres', 'SELECT kind, user_id = kit.u(3), phase FROM blogstore.progress'), 'rename|t|parked', 'a job fails: it is parked');
is($node->safe_psql('postgres', 'SELECT state, last_error FROM blogstore.stat_worker'), 'running|not this one', 'a job fails: stat_worker says why');
is($node->safe_psql('postgres', "SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = kit.u(4)"), 'accepted', 'a job fails: another is done');
$node->safe_psql('postgres', "SELECT blogstore.create_post(kit.u(5), 'behind it', 'x', kit.p(2001), kit.d(2001))");
is($node->safe_psql('postgres', 'SELECT kit.views_follow(); SELECT title FROM blogstore.feed ORDER BY creation_date DESC LIMIT 1'), "t\nbehind it", 'a job fails: the views go on');
# with an error of a connection, or one that a remote server has sent, such as
# postgres_fdw raises
foreach my $user ([ 1, '08006' ], [ 2, '57014' ])
{
	$node->safe_psql('postgres', "CREATE OR REPLACE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS \$\$ BEGIN RAISE EXCEPTION 'error %', '$user->[1]' USING ERRCODE = '$user->[1]'; END \$\$;
ALTER TRIGGER odd ON blogstore.posts RENAME TO odd_$user->[0];
CREATE TRIGGER odd BEFORE UPDATE ON blogstore.posts FOR EACH ROW
WHEN (NEW.type = 'comment' AND NEW.user_username = 'refused $user->[0]') EXECUTE FUNCTION kit.refuse();
SELECT blogstore.edit_user(kit.u($user->[0]), 'refused $user->[0]')");
	is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', "a job fails with $user->[1]: wait_for_views() does not wait for it");
	is($node->safe_psql('postgres', "SELECT phase FROM blogstore.progress WHERE user_id = kit.u($user->[0])"), 'parked', "a job fails with $user->[1]: it is parked");
	is($node->safe_psql('postgres', 'SELECT state, last_error FROM blogstore.stat_worker'), "running|error $user->[1]", "a job fails with $user->[1]: stat_worker says why");
}
is(worker_pid($node, 'postgres'), $worker, 'jobs fail: the worker goes on');
$node->safe_psql('postgres', 'DROP TRIGGER odd_1 ON blogstore.posts; DROP TRIGGER odd_2 ON blogstore.posts');
$node->safe_psql('postgres', 'DROP TRIGGER odd ON blogstore.posts');
# The worker tries the job again from time to time.
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.progress');
check_store($node, 'postgres', 'the job succeeds later');

# ---- A delta, a row with not yet folded counts, that cannot be folded does
# not keep others from being folded

my $stripes = 'SELECT count(*) FROM blogstore.posts WHERE type = $$delta$$ AND id <> $$00000000-0000-0000-0000-000000000000$$';
my $log = log_end($node);
$node->safe_psql('postgres', q{
CREATE OR REPLACE FUNCTION kit.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_type = 'blogstore worker') THEN
		RAISE EXCEPTION 'not folded' USING ERRCODE = CASE NEW.post_id WHEN kit.p(7) THEN 'P0001' ELSE '53400' END;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER odd BEFORE UPDATE ON blogstore.posts FOR EACH ROW
WHEN (NEW.type = 'delta' AND NEW.post_id IN ('00000000-0000-7000-8001-000000000007', '00000000-0000-7000-8001-000000000008')) EXECUTE FUNCTION kit.refuse()});
my $busy = $node->background_psql('postgres');
$busy->query_safe('BEGIN; SELECT count(blogstore.create_like(kit.p(n), kit.u(7))) FROM generate_series(5, 9) n');
$node->safe_psql('postgres', 'SELECT count(blogstore.create_like(kit.p(n), kit.u(8))) FROM generate_series(5, 9) n');
is($node->safe_psql('postgres', $stripes), '5', 'a fold fails: there are deltas');
$busy->query_safe('COMMIT');
$busy->quit;
wait_until($node, 'postgres', "SELECT ($stripes) = 2");
is($node->safe_psql('postgres', 'SELECT state, last_error FROM blogstore.stat_worker'), 'running|not folded', 'a fold fails: other deltas are folded');
wait_logged($node, $log, qr/DETAIL:  The post is/);
like(join("\n", logged($node, $log, qr/could not fold|DETAIL:  The post|CONTEXT:  PL/)),
	qr{could not fold counts and will retry in [0-9]+ s: not folded\n.*DETAIL:  The post is 00000000-0000-7000-8001-00000000000[78]\.\n.*CONTEXT:  PL/pgSQL function refuse\(\) line 4 at RAISE},
	'a fold fails: the log names the post and the function');
is(worker_pid($node, 'postgres'), $worker, 'a fold fails: the worker goes on');
check_store($node, 'postgres', 'a fold fails');
$node->safe_psql('postgres', 'DROP TRIGGER odd ON blogstore.posts');
wait_until($node, 'postgres', "SELECT ($stripes) = 0");
check_store($node, 'postgres', 'the fold succeeds later');

$node->stop;
done_testing();
