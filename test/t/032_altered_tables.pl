
# The containers' owner alters them in every way: other partitions, columns
# that are dropped, renamed or retyped, NULLs in columns that must have a
# value. Requests that need the altered table fail with a clear error, and
# others go on. No process crashes, and everything is right when the change is
# undone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('altered_tables');
$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'\n");
$node->start;
$node->safe_psql('postgres', q{
CREATE ROLE blog_owner;
CREATE ROLE intruder;
CREATE EXTENSION blogstore;
SELECT blogstore.create_containers(4, owner => 'blog_owner')});
create_kit($node, 'postgres');
fill_store($node, 'postgres', 20, 200);
check_store($node, 'postgres', 'filled');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p', 'i', 'I', 't') AND relowner <> 'blog_owner'::regrole}),
	'0', 'all tables belong to the role that was named');

# Every request on a post, a user and the lists
my @requests = (
	'get_post(kit.p(%1$d))', 'get_user(kit.u(%2$d))', 'get_like(kit.p(%1$d), kit.u(%2$d))',
	'get_posts(ARRAY[kit.p(%1$d)])', 'get_users(ARRAY[kit.u(%2$d)])', 'get_likes(kit.u(%2$d), ARRAY[kit.p(%1$d)])',
	'list_user_posts(kit.u(%2$d))', 'list_post_comments(kit.p(%1$d))', 'list_comment_replies(kit.p(%1$d), kit.c(1))',
	'list_post_likes(kit.p(%1$d))', 'list_comment_likes(kit.p(%1$d), kit.c(1))', 'get_comment_likes(kit.u(%2$d), kit.p(%1$d))', 'list_feed(20)',
	'create_like(kit.p(%1$d), kit.u(%2$d))', 'create_comment(kit.p(%1$d), kit.u(%2$d), $$c$$, kit.c(900000))',
	'edit_post(kit.p(%1$d), content => $$edited$$)', 'delete_like(kit.p(%1$d), kit.u(%2$d))',
	'delete_comment(kit.p(%1$d), kit.c(900000))', 'edit_user(kit.u(%2$d), $$User %2$d$$)');

sub outcomes
{
	my ($post, $user) = @_;

	return join "\n", map {
		no warnings 'redundant';
		my $call = sprintf $_, $post, $user;
		$call =~ s/'/''/g;
		my $name = $call;
		$name =~ s/\(.*//s;
		"$name: " . $node->safe_psql('postgres', "SELECT kit.try('blogstore.$call')");
	} @requests;
}

# The number of a post or user whose key is in a partition of the four
sub in_partition
{
	my ($container, $partition, $function) = @_;
	my $key = $container eq 'users' ? 'user_id' : 'post_id';
	my $type = $container eq 'users' ? 'user' : 'post';

	return $node->safe_psql('postgres',
		"SELECT min(n) FROM generate_series(1, 20) n JOIN blogstore.${container}_p0${partition}_$type ON $key = kit.$function(n)");
}

# A post and a user in partition 1 of their containers, and a pair in partition
# 2
my ($post, $user) = (in_partition('posts', 1, 'p'), in_partition('users', 1, 'u'));
my ($other_post, $other_user) = (in_partition('posts', 2, 'p'), in_partition('users', 2, 'u'));
my $fine = join "\n", map { my $n = $_; $n =~ s/\(.*//s; "$n: ok" } @requests;
is(outcomes($post, $user), $fine, 'before: all requests');
is(outcomes($other_post, $other_user), $fine, 'before: all others');
check_store($node, 'postgres', 'before');

# Alter a table, and wait until the worker is blocked and no longer serves the
# views. Check which requests fail with which error. Undo the change, and check
# that all is as before.
sub altered
{
	my ($name, $alter, $undo, $failing) = @_;
	my $log = log_end($node);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', "SET client_min_messages = error; $alter");
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
	my %outcome = map { split /: /, $_, 2 } split /\n/, outcomes($post, $user);
	my @unlike = grep { $outcome{$_} ne ($failing->{$_} // 'ok') } sort keys %outcome;
	is(join(', ', map { "$_ is $outcome{$_}" } @unlike), '', "$name: exactly the expected requests fail");
	# The lists read all partitions, the altered one too.
	is(join("\n", grep { !/: ok$/ && !(/^(list_feed|list_user_posts): (.*)/ && $2 eq ($failing->{$1} // '')) } split /\n/, outcomes($other_post, $other_user)), '',
		"$name: requests on other posts and users work") unless $failing->{others};
	$node->safe_psql('postgres', "SET client_min_messages = error; $undo");
	check_store($node, 'postgres', "$name, undone");
	is(outcomes($post, $user), $fine, "$name, undone: all requests");
	is(join("\n", logged($node, $log, qr/was terminated by signal|PANIC|TRAP/)), '', "$name: no process has crashed");
	return;
}

my $gone = '55000, hint';
my %post_fails = map { $_ => $gone }
  qw(get_post get_posts create_like create_comment edit_post delete_like delete_comment list_feed list_user_posts);

# ---- Other tables in the place of a partition

my $detach = 'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p01';
my $attach = 'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)';
my $as = 'FOR VALUES WITH (MODULUS 4, REMAINDER 1)';
my $like = '(LIKE blogstore.posts INCLUDING ALL)';
my $undo = "DROP TABLE blogstore.odd; $attach";
my %partition_fails = (%post_fails, list_post_comments => $gone, list_comment_replies => $gone, list_post_likes => $gone, list_comment_likes => $gone, get_comment_likes => $gone, get_like => $gone, get_likes => $gone);

for my $odd (
	[ 'partitioned by date', 'PARTITION BY RANGE (creation_date)' ],
	[ 'partitioned by another list', 'PARTITION BY LIST (user_username)' ],
	[ 'partitioned by hash', 'PARTITION BY HASH (type)' ],
	[ 'partitioned by a number', 'PARTITION BY LIST (like_count)',
		'CREATE TABLE blogstore.odd_1 PARTITION OF blogstore.odd FOR VALUES IN (0, 1)' ],
	[ 'partitioned by an expression', 'PARTITION BY LIST (lower(type))' ],
	[ 'partitioned by another comparison', 'PARTITION BY LIST (type text_pattern_ops)',
		q{CREATE TABLE blogstore.odd_1 PARTITION OF blogstore.odd FOR VALUES IN ('post')} ],
	[ 'partitioned by another collation', 'PARTITION BY LIST (type COLLATE "C")',
		q{CREATE TABLE blogstore.odd_1 PARTITION OF blogstore.odd FOR VALUES IN ('post')} ])
{
	altered("a partition that is $odd->[0]",
		"$detach; CREATE TABLE blogstore.odd $like $odd->[1]; ALTER TABLE blogstore.odd OWNER TO blog_owner; "
		  . ($odd->[2] ? "$odd->[2]; ALTER TABLE blogstore.odd_1 OWNER TO blog_owner; " : '')
		  . "ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.odd $as",
		$undo, \%partition_fails);
}
altered('a plain table as a partition',
	"$detach; CREATE TABLE blogstore.odd $like; ALTER TABLE blogstore.odd OWNER TO blog_owner; ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.odd $as",
	$undo, \%partition_fails);
altered('a partition of somebody else',
	'ALTER TABLE blogstore.posts_p01 OWNER TO intruder', 'ALTER TABLE blogstore.posts_p01 OWNER TO blog_owner',
	\%partition_fails);
altered('a leaf of somebody else',
	'ALTER TABLE blogstore.posts_p01_post OWNER TO intruder', 'ALTER TABLE blogstore.posts_p01_post OWNER TO blog_owner',
	\%post_fails);
altered('a leaf that is unlogged',
	'ALTER TABLE blogstore.posts_p01_post SET UNLOGGED', 'ALTER TABLE blogstore.posts_p01_post SET LOGGED',
	\%post_fails);
altered('a leaf for two types',
	q{ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_comment;
	ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_like;
	ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_comment FOR VALUES IN ('comment', 'like')},
	q{ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_comment;
	ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_like FOR VALUES IN ('like');
	ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_comment FOR VALUES IN ('comment')},
	{ map { $_ => $gone } qw(list_post_comments list_comment_replies list_post_likes get_like get_likes create_like create_comment delete_like delete_comment) });
altered('a leaf that is partitioned',
	q{ALTER TABLE blogstore.posts_p01 DETACH PARTITION blogstore.posts_p01_post;
	CREATE TABLE blogstore.odd (LIKE blogstore.posts_p01_post INCLUDING DEFAULTS) PARTITION BY RANGE (creation_date);
	ALTER TABLE blogstore.odd OWNER TO blog_owner;
	ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.odd FOR VALUES IN ('post')},
	q{DROP TABLE blogstore.odd; ALTER TABLE blogstore.posts_p01 ATTACH PARTITION blogstore.posts_p01_post FOR VALUES IN ('post')},
	\%post_fails);

# ---- Columns and indexes

altered('a column renamed in all leaves',
	'ALTER TABLE blogstore.posts RENAME COLUMN title TO headline', 'ALTER TABLE blogstore.posts RENAME COLUMN headline TO title',
	{ %post_fails, others => 1 });
# Views depend on the column. create_containers() creates posts_with_counts
# again, and the test the views in kit.
my $views = $node->safe_psql('postgres', q{SELECT string_agg(format('CREATE VIEW %s AS %s', oid::regclass, pg_get_viewdef(oid)), ' ') FROM pg_class WHERE relnamespace = 'kit'::regnamespace AND relkind = 'v'});
for my $case (
	[ 'a column retyped', 'ALTER TABLE blogstore.posts ALTER COLUMN title TYPE varchar(100)', 'ALTER TABLE blogstore.posts ALTER COLUMN title TYPE text' ],
	[ 'a column of a domain', 'CREATE DOMAIN public.heading AS text; ALTER TABLE blogstore.posts ALTER COLUMN title TYPE public.heading',
		'ALTER TABLE blogstore.posts ALTER COLUMN title TYPE text; DROP DOMAIN public.heading' ])
{
	altered($case->[0], "DROP VIEW kit.posts, kit.implied, blogstore.posts_with_counts; $case->[1]", "$case->[2]; $views; SELECT blogstore.create_containers(owner => 'blog_owner')",
		{ %post_fails, others => 1 });
}
altered('a primary key that is none',
	'ALTER TABLE blogstore.posts_p01_post DROP CONSTRAINT posts_p01_post_pkey; CREATE INDEX odd ON blogstore.posts_p01_post (post_id)',
	'DROP INDEX blogstore.odd; ALTER TABLE blogstore.posts_p01_post ADD PRIMARY KEY (post_id)',
	{ %post_fails, list_feed => 'ok', list_user_posts => 'ok' });
altered('another unique index in the place of a primary key',
	'ALTER TABLE blogstore.posts_p01_like DROP CONSTRAINT posts_p01_like_pkey; CREATE UNIQUE INDEX odd ON blogstore.posts_p01_like (post_id, user_id)',
	'DROP INDEX blogstore.odd; ALTER TABLE blogstore.posts_p01_like ADD PRIMARY KEY (user_id, post_id)',
	{ map { $_ => $gone } qw(get_like get_likes delete_like) });

# ---- NULLs

# Set a column that must have a value to NULL, in one post, comment, like or
# user. The worker reads posts to maintain the views, so a NULL in a post
# blocks it.
sub without
{
	my ($name, $table, $column, $where, $restore, $failing) = @_;
	my $log = log_end($node);
	my $blocks = $table =~ /_post$/;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', "ALTER TABLE blogstore.$table ALTER COLUMN $column DROP NOT NULL; UPDATE blogstore.$table SET $column = NULL WHERE $where");
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker") if $blocks;
	my %outcome = map { split /: /, $_, 2 } split /\n/, outcomes($post, $user);
	is(join(', ', grep { $outcome{$_} !~ /^22004, hint/ } @$failing), '', "$name: requests that read it fail with 22004");
	is(join("\n", grep { !/: (ok|22004, hint)$/ } map { "$_: $outcome{$_}" } sort keys %outcome), '', "$name: there are no other errors");
	# Lists that are read from posts may meet this post.
	is(join("\n", grep { !/: ok$/ && !($blocks && /^list_(feed|user_posts): 22004, hint$/) } split /\n/, outcomes($other_post, $other_user)), '',
		"$name: requests on other posts and users work");
	$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p($other_post), content => '$name')");
	if ($blocks)
	{
		my $key = $node->safe_psql('postgres', "SELECT kit.p($post)");
		like($node->safe_psql('postgres', 'SELECT last_error, hint FROM blogstore.stat_worker'),
			qr/^post $key has no $column\|Set the column to a value\. /, "$name: stat_worker says what is wrong, and what to do");
	}
	else
	{
		is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', "$name: the views follow");
	}
	isnt($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.verify()"), '0', "$name: verify() shows it");
	$node->safe_psql('postgres', "UPDATE blogstore.$table SET $column = $restore WHERE $column IS NULL; ALTER TABLE blogstore.$table ALTER COLUMN $column SET NOT NULL");
	wait_until($node, 'postgres', "SELECT state = 'running' FROM blogstore.stat_worker");
	$node->safe_psql('postgres', 'SELECT blogstore.repair()');
	check_store($node, 'postgres', "$name, mended");
	is(outcomes($post, $user), $fine, "$name, mended: all requests");
	is(join("\n", logged($node, $log, qr/was terminated by signal|PANIC|TRAP/)), '', "$name: no process has crashed");
	return;
}

my $this_post = "post_id = kit.p($post)";
without('a user without a name', 'users_p01_user', 'username', "user_id = kit.u($user)", "'User $user'", ['get_user', 'get_users', 'create_like']);
without('a post without a title', 'posts_p01_post', 'title', $this_post, "'a title'", [ 'get_post', 'get_posts', 'edit_post' ]);
without('a post without a count', 'posts_p01_post', 'like_count', $this_post, '0', [ 'get_post', 'get_posts', 'edit_post' ]);
without('a post without a name', 'posts_p01_post', 'user_username', $this_post, "''", [ 'get_post', 'get_posts', 'edit_post' ]);
without('comments without an author', 'posts_p01_comment', 'user_id', $this_post, "kit.u($user)", ['list_post_comments']);
without('likes without a date', 'posts_p01_like', 'creation_date', $this_post, 'kit.d(1)', ['list_post_likes']);

# A rename stays queued while the worker is blocked. repair() writes the
# missing count.
my $author = $node->safe_psql('postgres', "SELECT user_id FROM blogstore.posts_p01_post WHERE $this_post");
my $named = $node->safe_psql('postgres', "SELECT username FROM blogstore.users WHERE type = 'user' AND user_id = '$author'");
$node->safe_psql('postgres', "ALTER TABLE blogstore.posts_p01_post ALTER COLUMN comment_count DROP NOT NULL; UPDATE blogstore.posts_p01_post SET comment_count = NULL WHERE $this_post");
wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
$node->safe_psql('postgres', "SELECT blogstore.edit_user('$author', 'Of a post without a count')");
is($node->safe_psql('postgres', "SELECT kind, user_id = '$author' FROM blogstore.progress WHERE kind = 'rename'"), 'rename|t', 'a rename beside a post without a count: it is kept');
$node->safe_psql('postgres', 'SELECT blogstore.repair(); ALTER TABLE blogstore.posts_p01_post ALTER COLUMN comment_count SET NOT NULL');
wait_until($node, 'postgres', "SELECT NOT EXISTS (SELECT FROM blogstore.progress WHERE kind = 'rename')");
is($node->safe_psql('postgres', "SELECT DISTINCT user_username FROM blogstore.posts WHERE user_id = '$author'"), 'Of a post without a count', 'a rename beside a post without a count: it is done then');
$node->safe_psql('postgres', "SELECT blogstore.edit_user('$author', '$named')");
check_store($node, 'postgres', 'a rename beside a post without a count');

# ---- Nonsense in the table of jobs

my $log = log_end($node);
$node->safe_psql('postgres', q{
INSERT INTO blogstore.jobs (id, kind, user_id, phase, partition_number) VALUES
	(gen_random_uuid(), 'deletion', NULL, 0, 0),
	(gen_random_uuid(), 'rename', kit.u(1), 77, -5),
	(gen_random_uuid(), 'rename', kit.u(2), 1, 100000),
	(gen_random_uuid(), 'rename', kit.u(3), -1, 3),
	(gen_random_uuid(), 'rename', kit.u(99999), 2, 3),
	(gen_random_uuid(), 'rebuild', kit.u(3), 99, 100000)});
is($node->safe_psql('postgres', "SELECT count(*) > 150 FROM blogstore.posts WHERE type = 'post'"), 't', 'odd jobs: nothing is deleted');
$node->safe_psql('postgres', "DELETE FROM blogstore.jobs WHERE kind = 'deletion' AND user_id IS NULL");
check_store($node, 'postgres', 'odd jobs');

# The owner writes jobs with odd times and progress. progress shows them before
# the worker sees them, and the worker then does them.
my $odd_times = q{
INSERT INTO blogstore.jobs (id, kind, user_id, phase, done, total, started_at)
SELECT gen_random_uuid(), 'rename', kit.u(99999), 5, done, 9223372036854775807, began
FROM unnest(ARRAY['infinity'::timestamptz, '-infinity', '4714-11-24 BC']) AS began, unnest(ARRAY[-9223372036854775808, 1, 9223372036854775807]) AS done};
is($node->safe_psql('postgres', "BEGIN; $odd_times; SELECT count(*) FROM blogstore.progress WHERE user_id = kit.u(99999); ROLLBACK"),
	'9', 'odd times of jobs: progress shows them');
$node->safe_psql('postgres', $odd_times);
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.jobs WHERE user_id = kit.u(99999)');
check_store($node, 'postgres', 'odd times of jobs');

# ---- Other tables in the place of the tables that are no containers

for my $table ('jobs', 'view_state', 'usernames', 'change_feed')
{
	for my $kind (
		[ 'a table of somebody else', "CREATE TABLE blogstore.$table (LIKE blogstore.kept INCLUDING ALL); ALTER TABLE blogstore.$table OWNER TO intruder", 'TABLE' ],
		[ 'a view', "CREATE VIEW blogstore.$table AS SELECT * FROM blogstore.kept; ALTER VIEW blogstore.$table OWNER TO blog_owner", 'VIEW' ],
		[ 'a table with other columns', "CREATE TABLE blogstore.$table (id integer PRIMARY KEY); ALTER TABLE blogstore.$table OWNER TO blog_owner", 'TABLE' ])
	{
		my ($name, $make, $drop) = @$kind;

		$node->safe_psql('postgres', "SET client_min_messages = error; SELECT blogstore.stop_worker()") if $table eq 'change_feed';
		$node->safe_psql('postgres', "BEGIN; ALTER TABLE blogstore.$table RENAME TO kept; $make; COMMIT");
		my $call = { jobs => 'get_post(kit.p(1))', view_state => 'start_worker()', usernames => "get_user_by_name('x')", change_feed => 'stop_worker(true)' }->{$table};
		is(sqlstate($node, 'postgres', $call), '55000, hint', "$name as $table: refused");
		is(sqlstate($node, 'postgres', 'import()'), $table eq 'jobs' || $table eq 'usernames' ? '55000, hint' : 'ok', "$name as $table: an import that needs it is refused");
		is(sqlstate($node, 'postgres', "create_containers(4, 'blog_owner')"), '42P07, hint', "$name as $table: create_containers() does not take it for blogstore's own");
		$node->safe_psql('postgres', "BEGIN; DROP $drop blogstore.$table; ALTER TABLE blogstore.kept RENAME TO $table; COMMIT");
		$node->safe_psql('postgres', "SELECT blogstore.start_worker()") if $table eq 'change_feed';
	}
	check_store($node, 'postgres', "$table, put back");
}
$node->safe_psql('postgres', "CREATE TABLE public.child () INHERITS (blogstore.usernames); ALTER TABLE public.child OWNER TO blog_owner");
is(sqlstate($node, 'postgres', "get_user_by_name('x')"), '55000, hint', 'a child of usernames: refused');
$node->safe_psql('postgres', 'DROP TABLE public.child; CREATE RULE r AS ON INSERT TO blogstore.usernames DO INSTEAD NOTHING');
is(sqlstate($node, 'postgres', "create_user('x')"), '55000, hint', 'a rule on usernames: refused');
$node->safe_psql('postgres', 'DROP RULE r ON blogstore.usernames; ALTER TABLE blogstore.usernames ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
is(sqlstate($node, 'postgres', "create_user('x')"), '55000, hint', 'row-level security forced on usernames: refused');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.usernames DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY');

# Writes to an unlogged table are not decoded, so the worker would not learn of
# jobs.
$node->safe_psql('postgres', 'ALTER TABLE blogstore.jobs SET UNLOGGED');
is(sqlstate($node, 'postgres', 'rebuild_views()'), '55000, hint', 'jobs unlogged: refused');
$node->safe_psql('postgres', 'ALTER TABLE blogstore.jobs SET LOGGED; SELECT blogstore.rebuild_views()');
check_store($node, 'postgres', 'jobs logged again');

# ---- A missing table

fill_lists($node, 'postgres', 10);
check_store($node, 'postgres', 'with follows, topics and a scheduled post');
my $lists = show_lists($node, 'postgres');
like($lists, qr/^all\|20\|.*\|scheduled\|/ms, 'there are topics, and a scheduled post');
for my $table ('feed', 'topics', 'view_state', 'change_feed', 'usernames', 'jobs', 'publish_queue')
{
	# posts_with_counts reads jobs, so CASCADE drops it too.
	$node->safe_psql('postgres', "SET client_min_messages = error; DROP TABLE blogstore.$table CASCADE");
	is(sqlstate($node, 'postgres', 'create_containers()'), '42P07, hint', "$table dropped: not made for another role");
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT blogstore.create_containers(owner => 'blog_owner')");
	is($ret, 0, "$table dropped: create_containers() creates it again");
	like($err, qr/NOTICE:  (container|table) "$table" was missing and has been made/, "$table dropped: a NOTICE says so");
	is(sqlstate($node, 'postgres', "create_containers(owner => 'blog_owner')"), '42P07, hint', "$table made: nothing is missing");
	check_store($node, 'postgres', "$table made");
}
# The worker has written the queue of scheduled posts anew.
wait_until($node, 'postgres', q{SELECT count(*) = 1 FROM blogstore.publish_queue WHERE post_id = kit.p(900) AND publish_date = '2200-01-01'});
# The worker lets readers use the views again.
wait_until($node, 'postgres', 'SELECT ready FROM blogstore.view_state');
check_store($node, 'postgres', 'tables made');
ok(show_lists($node, 'postgres') eq $lists, 'tables made: follows, home feeds, topics and scheduled posts are as before');
$node->safe_psql('postgres', 'DROP TABLE blogstore.feed');
is(sqlstate($node, 'postgres', 'get_post(kit.p(1))'), 'ok', 'feed dropped: a request that does not need it works');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_feed(50)'), '50', 'feed dropped: the feed is read from the posts');
$node->safe_psql('postgres', "SELECT blogstore.create_containers(owner => 'blog_owner')");
check_store($node, 'postgres', 'feed made again');

# ---- A partition is detached while one of its authors is renamed and another
# deleted

my $late = $node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts_p01 WHERE user_id = kit.u(5)");
cmp_ok($late, '>', 0, 'a partition away: it has items of the user who is renamed');
$node->safe_psql('postgres', "$detach; SELECT blogstore.edit_user(kit.u(5), 'Renamed meanwhile')");
is(sqlstate($node, 'postgres', 'delete_user(kit.u(6))'), $gone, 'a partition away: no user is deleted');
wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
is($node->safe_psql('postgres', "SELECT string_agg(kind, ', ') FROM blogstore.progress WHERE user_id IS NOT NULL"), 'rename',
	'a partition away: the rename is kept for it');
$node->safe_psql('postgres', "$attach; SELECT blogstore.delete_user(kit.u(6))");
check_store($node, 'postgres', 'a partition attached again');
is($node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE user_id = kit.u(6)), count(*) FILTER (WHERE user_id = kit.u(5) AND user_username <> 'Renamed meanwhile') FROM blogstore.posts}),
	'0|0', 'a partition attached again: no stale name, and nothing of the deleted user');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.progress'), '0', 'a partition attached again: no job is left');

# ---- Statements over whole containers are refused while a partition is
# detached

$node->safe_psql('postgres', 'CREATE TABLE kit.documents (document jsonb)');

for my $case (
	[ 'a partition of users', 'blogstore.users', 'users_p01', 'FOR VALUES WITH (MODULUS 4, REMAINDER 1)' ],
	[ 'a leaf of users', 'blogstore.users_p01', 'users_p01_user', q{FOR VALUES IN ('user')} ],
	[ 'a leaf of comments', 'blogstore.posts_p01', 'posts_p01_comment', q{FOR VALUES IN ('comment')} ],
	[ 'a leaf of likes', 'blogstore.posts_p01', 'posts_p01_like', q{FOR VALUES IN ('like')} ],
	[ 'a leaf of likes of comments', 'blogstore.posts_p01', 'posts_p01_comment_like', q{FOR VALUES IN ('comment_like')} ],
	[ 'a leaf of deltas', 'blogstore.posts_p01', 'posts_p01_delta', q{FOR VALUES IN ('delta')} ],
	[ 'a partition of posts', 'blogstore.posts', 'posts_p01', 'FOR VALUES WITH (MODULUS 4, REMAINDER 1)' ],
	[ 'a leaf of posts', 'blogstore.posts_p01', 'posts_p01_post', q{FOR VALUES IN ('post')} ])
{
	my ($name, $parent, $table, $bound) = @$case;

	$node->safe_psql('postgres', "ALTER TABLE $parent DETACH PARTITION blogstore.$table");
	is(join(', ', map { "$_: " . sqlstate($node, 'postgres', $_) } 'verify()', 'repair()', 'export_documents()', q{import_documents('kit.documents')}),
		"verify(): $gone, repair(): $gone, export_documents(): $gone, import_documents('kit.documents'): $gone", "$name away: refused");
	$node->safe_psql('postgres', "ALTER TABLE $parent ATTACH PARTITION blogstore.$table $bound");
	check_store($node, 'postgres', "$name attached again");
}

for my $case (
	[ 'a leaf of copies', 'blogstore.users_p01', 'users_p01_post' ],
	[ 'the leaf of the feed', 'blogstore.feed', 'feed_post' ])
{
	my ($name, $parent, $table) = @$case;

	$node->safe_psql('postgres', "ALTER TABLE $parent DETACH PARTITION blogstore.$table");
	is(join(', ', map { "$_: " . sqlstate($node, 'postgres', $_) } 'verify()', 'repair()'), "verify(): $gone, repair(): $gone", "$name away: refused");
	$node->safe_psql('postgres', "ALTER TABLE $parent ATTACH PARTITION blogstore.$table FOR VALUES IN ('post')");
	check_store($node, 'postgres', "$name attached again");
}

# ---- The worker cannot read a user whose new name it has to write on items

for my $case (
	[ 'a column of users renamed', 'ALTER TABLE blogstore.users RENAME COLUMN username TO odd', 'ALTER TABLE blogstore.users RENAME COLUMN odd TO username' ],
	[ 'a partition of users away', "ALTER TABLE blogstore.users DETACH PARTITION blogstore.users_p01", "ALTER TABLE blogstore.users ATTACH PARTITION blogstore.users_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)" ])
{
	my ($name, $alter, $mend) = @$case;

	$node->safe_psql('postgres', "BEGIN; DROP VIEW kit.implied, kit.posts; SELECT blogstore.edit_user(kit.u($user), '$name'); $alter; COMMIT");
	wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
	is($node->safe_psql('postgres', 'SELECT kind FROM blogstore.progress WHERE user_id IS NOT NULL'), 'rename', "$name: the rename is kept");
	$node->safe_psql('postgres', "$mend; $views");
	check_store($node, 'postgres', "$name, mended");
	is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u($user) AND user_username <> '$name'"), '0', "$name, mended: no stale name");
}

# ---- All partitions and leaf tables in another schema, under other names

$node->safe_psql('postgres', q{
CREATE SCHEMA elsewhere AUTHORIZATION blog_owner;
DO $$ DECLARE
	moved regclass;
	n int := 0;
BEGIN
	FOR moved IN SELECT t.relid FROM unnest(ARRAY['posts', 'users', 'topics']) AS name, pg_partition_tree(('blogstore.' || name)::regclass) AS t WHERE t.level > 0 LOOP
		n := n + 1;
		EXECUTE format('ALTER TABLE %s RENAME TO moved_%s', moved, n);
		EXECUTE format('ALTER TABLE %s SET SCHEMA elsewhere', moved);
	END LOOP;
END $$;
});
$node->safe_psql('postgres', q{
SELECT count(blogstore.create_post(kit.u(1 + n % 5), 'moved ' || n, 'x', kit.p(7000 + n), properties => '{"tags": "moved"}')) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_comment(kit.p(7000 + n), kit.u(2), 'x')), count(blogstore.create_like(kit.p(7000 + n), kit.u(3))) FROM generate_series(1, 20) AS n;
SELECT blogstore.edit_post(kit.p(7001), 'edited'), blogstore.delete_post(kit.p(7002)), blogstore.hide_post(kit.p(7003));
SELECT blogstore.edit_user(kit.u(3), 'moved user');
});
check_store($node, 'postgres', 'in another schema');
is($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.list_topic_posts('moved')}), '18', 'in another schema: topics follow');
is($node->safe_psql('postgres', 'SELECT state, last_error FROM blogstore.stat_worker'), 'running|', 'in another schema: the worker runs');

# ---- A partition is repaired while there is no worker

my $leaf = $node->safe_psql('postgres', q{SELECT relid FROM pg_partition_tree('blogstore.posts') WHERE isleaf LIMIT 1});
$node->safe_psql('postgres', "ALTER TABLE $leaf OWNER TO intruder");
wait_until($node, 'postgres', "SELECT state = 'blocked' FROM blogstore.stat_worker");
my $launcher = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'blogstore launcher'");
kill 'STOP', $launcher;
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'blogstore worker'");
$node->safe_psql('postgres', "ALTER TABLE $leaf OWNER TO blog_owner");
kill 'CONT', $launcher;
check_store($node, 'postgres', 'mended without a worker');

is(join("\n", logged($node, 0, qr/was terminated by signal|PANIC|TRAP/)), '', 'no process has crashed');
$node->stop;
done_testing();
