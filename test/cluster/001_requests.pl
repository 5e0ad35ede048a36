
# Every request, in every SQL form of a call, returns on the coordinator and on
# each node what it returns on one server. So do blocks and savepoints over
# posts of two nodes. Each bad input has the same SQLSTATE. If two nodes claim
# a name at the same time, one gets it.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('requests');
my $single = new_single($cluster, 'single');
my @members = members($cluster);
my ($one, $two) = nodes($cluster);

# The calls take their arguments from the rows of the table ids. Answers leave
# out what the server generates: ids of likes, and dates of edits and of
# publishing. The table has no statistics, so that joins with it have the same
# plan, and rows the same order, on every server.
my $KIT = q{
CREATE TABLE kit.ids (n int PRIMARY KEY, post_id uuid, user_id uuid, comment_id uuid, seen jsonb) WITH (autovacuum_enabled = off);
CREATE FUNCTION kit.show(item jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN jsonb_typeof(item) <> 'object' THEN item
		ELSE item - ARRAY['modification_date', 'modificationDate'] - CASE WHEN item ->> 'type' IN ('like', 'comment_like') THEN 'id' ELSE '' END
			- CASE WHEN coalesce(item ->> 'creation_date', item ->> 'creationDate') >= '2025' THEN ARRAY['creation_date', 'creationDate'] ELSE '{}' END
		END $$;
CREATE FUNCTION kit.undone(first uuid, second uuid, someone uuid) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM blogstore.create_like(first, someone), blogstore.create_like(second, someone);
	PERFORM blogstore.create_comment(kit.p(999999), someone, 'no such post');
	RETURN 'not undone';
EXCEPTION WHEN foreign_key_violation THEN
	RETURN 'undone';
END $$;
};
create_kit_everywhere($cluster, $KIT);
$single->safe_psql('postgres', $KIT);

# ---- The calls. P, U, C and N stand for the post, user, comment and number of
# a row of ids

my @commands = (
	q{create_user('someone ' || N, U, kit.d(N))},
	q{edit_user(U, 'renamed ' || N, '{"city": "Bern"}')},
	q{create_post(U, 'title ' || N, repeat('content ' || N || ' ', 30), P, kit.d(N), '{"slug": "a"}')},
	q{create_comment(P, U, 'comment ' || N, C, kit.d(N))},
	q{create_comment(P, kit.u(1), 'reply', kit.c(N + 50), kit.d(N + 1), parent_id => C)},
	q{create_like(P, U, kit.d(N))},
	q{create_like(P, kit.u(1), kit.d(N + 1))},
	# The same like again returns the existing one.
	q{create_like(P, U, kit.d(N + 2))},
	q{create_like(P, kit.u(2), kit.d(N + 3), C)},
	q{create_like(P, U, kit.d(N + 4), C)},
	q{create_like(P, U, kit.d(N + 5), C)},
	q{edit_post(P, 'edited ' || N)},
	q{edit_comment(P, C, 'edited ' || N)},
	q{hide_comment(P, kit.c(N + 50))},
	q{hide_comment(P, kit.c(N + 50), false)},
	q{hide_post(P)},
	q{schedule_post(P, '2200-01-01')},
	q{schedule_post(P, NULL)},
	q{schedule_post(P, '2201-01-01')},
	q{publish_post(P)},
	q{schedule_post(P, kit.d(N))},
	q{schedule_post(P, '2202-01-01')},
	q{hide_post(P, false)},
);
my @queries = (
	q{get_post(P)},
	q{get_posts(ARRAY[P, kit.p(1), NULL, kit.p(999999), kit.p(2), P])},
	q{list_post_comments(P)},
	q{list_post_comments(P, 5, kit.d(N + 1), kit.c(N + 50))},
	q{list_post_likes(P, NULL, oldest_first => true)},
	q{list_comment_replies(P, C)},
	q{get_like(P, U)},
	q{get_likes(kit.u(1), ARRAY[P, kit.p(3), kit.p(4)])},
	q{get_like(P, U, C)},
	q{list_comment_likes(P, C)},
	q{list_comment_likes(P, C, 1, kit.d(N + 4), kit.p(999999))},
	q{get_comment_likes(kit.u(2), P)},
	q{get_user(U)},
	q{get_user_by_name('RENAMED ' || N)},
	q{get_users(ARRAY[U, kit.u(2), NULL, kit.u(999999)])},
	q{list_user_comments(U)},
	q{list_user_comments(kit.u(1), 7)},
	q{list_user_likes(U, NULL)},
	q{list_user_likes(kit.u(1), 3, P)},
	q{list_user_likes(kit.u(2), NULL)},
	q{list_user_likes(kit.u(2), 5, P, after_comment_id => C)},
);
my @deletions = (
	q{delete_like(P, kit.u(1))},
	q{delete_like(P, kit.u(1))},
	q{delete_like(P, U, C)},
	q{delete_like(P, U, C)},
	q{list_post_comments(P)},
	q{delete_comment(P, kit.c(N + 50))},
	q{get_post(P)},
	q{delete_post(CASE N % 4 WHEN 0 THEN P ELSE kit.p(999999) END)},
	q{get_post(P)},
	q{delete_user(CASE N % 4 WHEN 1 THEN U ELSE kit.u(999999) END)},
	q{get_user(U)},
	q{get_post(P)},
);
# Lists that are read from the views
my @lists = (
	q{list_user_posts(U)},
	q{list_user_posts(kit.u(1), 3)},
	q{list_user_posts(kit.u(2), 4, kit.d(20), kit.p(20))},
	q{list_feed()},
	q{list_feed(10, kit.d(40), kit.p(40))},
	q{list_feed(10, oldest_first => true)},
);

# A call with values in place of its letters
sub call
{
	my ($call, $post, $user, $comment, $number) = @_;
	my %for = (P => $post, U => $user, C => $comment, N => $number);

	return 'blogstore.' . $call =~ s/\b([PUCN])\b/$for{$1}/gr;
}

sub call_of_row { return call($_[0], 't.post_id', 't.user_id', 't.comment_id', 't.n'); }

# ---- The forms of calls

my $functions = 0;
my %forms = (
	from => sub {
		my ($call, @n) = @_;

		return join '', map { 'SELECT kit.show(to_jsonb(x)) FROM ' . call($call, "kit.p($_)", "kit.u($_)", "kit.c($_)", $_) . " AS x;\n" } @n;
	},
	lateral => sub { return 'SELECT t.n, kit.show(to_jsonb(x)) FROM kit.ids AS t, LATERAL ' . call_of_row($_[0]) . " AS x;\n" },
	left_join => sub { return 'SELECT t.n, kit.show(to_jsonb(x)) FROM kit.ids AS t LEFT JOIN LATERAL ' . call_of_row($_[0]) . " AS x ON true;\n" },
	list => sub { return 'SELECT t.n, kit.show(to_jsonb(' . call_of_row($_[0]) . ")) FROM kit.ids AS t;\n" },
	cast => sub {
		my ($call) = @_;
		my $type = $call =~ /^delete/ ? '::text' : '::jsonb';

		return 'SELECT t.n, kit.show(to_jsonb((' . call_of_row($call) . ")$type)) FROM kit.ids AS t;\n";
	},
	# This form makes the call once for each column, so use few rows.
	columns => sub {
		my ($call) = @_;

		return call_of_row($call) =~ s/^(.*)$/SELECT t.n, $1 FROM kit.ids AS t;\n/r if $call =~ /^delete/;
		return 'SELECT kit.show(to_jsonb(s)) FROM (SELECT (' . call_of_row($call) . ").* FROM kit.ids AS t WHERE t.n % 4 < 2) AS s;\n";
	},
	scalar => sub { return 'SELECT t.n, (SELECT jsonb_agg(kit.show(to_jsonb(x))) FROM ' . call_of_row($_[0]) . " AS x) FROM kit.ids AS t;\n" },
	cte => sub {
		my ($call, @n) = @_;

		return join '',
		  map { 'WITH page AS MATERIALIZED (SELECT * FROM ' . call($call, "kit.p($_)", "kit.u($_)", "kit.c($_)", $_) . " AS x) SELECT kit.show(to_jsonb(page)) FROM page;\n" } @n;
	},
	block => sub {
		my ($call) = @_;
		my $name = 'kit.block_' . ++$functions;
		my $text = call($call, 'post', 'someone', 'comment', 'number');

		return "SET citus.enable_ddl_propagation = off;
CREATE FUNCTION $name(post uuid, someone uuid, comment uuid, number int) RETURNS SETOF jsonb LANGUAGE plpgsql AS \$\$
BEGIN RETURN QUERY SELECT kit.show(to_jsonb(x)) FROM $text AS x; END \$\$;
RESET citus.enable_ddl_propagation;
SELECT t.n, x FROM kit.ids AS t, LATERAL $name(t.post_id, t.user_id, t.comment_id, t.n) AS x;\n";
	},
	prepared => sub {
		my ($call, @n) = @_;

		return 'PREPARE q(uuid, uuid, uuid, int) AS SELECT kit.show(to_jsonb(x)) FROM ' . call($call, '$1', '$2', '$3', '$4') . " AS x;\n"
		  . join('', map { "EXECUTE q(kit.p($_), kit.u($_), kit.c($_), $_);\n" } @n)
		  . "DEALLOCATE q;\n";
	},
	generic => sub {
		my ($call, @n) = @_;

		return 'SET plan_cache_mode = force_generic_plan; PREPARE q(uuid, uuid, uuid, int) AS SELECT kit.show(to_jsonb('
		  . call($call, '$1', '$2', '$3', '$4') . "));\n"
		  . join('', map { "EXECUTE q(kit.p($_), kit.u($_), kit.c($_), $_);\n" } @n)
		  . "DEALLOCATE q; RESET plan_cache_mode;\n";
	},
	# Updated rows move in the table. Use an order, so that posts are published
	# in the same order on all servers.
	update => sub {
		return 'WITH done AS (UPDATE kit.ids AS s SET seen = x.items
FROM (SELECT t.n, jsonb_agg(kit.show(to_jsonb(y))) AS items FROM (SELECT * FROM kit.ids ORDER BY n OFFSET 0) AS t, LATERAL ' . call_of_row($_[0]) . " AS y GROUP BY t.n) AS x
WHERE x.n = s.n RETURNING s.n, s.seen) SELECT * FROM done ORDER BY n;\n";
	},
	insert => sub {
		return 'CREATE TEMPORARY TABLE here AS SELECT t.n, kit.show(to_jsonb(x)) AS item FROM kit.ids AS t, LATERAL ' . call_of_row($_[0])
		  . " AS x;\nSELECT * FROM here; DROP TABLE here;\n";
	},
	transaction => sub {
		return 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT t.n, kit.show(to_jsonb(x)) FROM kit.ids AS t, LATERAL ' . call_of_row($_[0]) . " AS x; COMMIT;\n";
	});
# Forms for queries only
my %query_forms = (
	read_only => sub {
		return 'BEGIN READ ONLY; SELECT t.n, kit.show(to_jsonb(x)) FROM kit.ids AS t, LATERAL ' . call_of_row($_[0]) . " AS x; COMMIT;\n";
	},
	cursor => sub {
		my ($call, $n) = @_;

		return 'BEGIN; DECLARE c CURSOR FOR SELECT kit.show(to_jsonb(x)) FROM ' . call($call, "kit.p($n)", "kit.u($n)", "kit.c($n)", $n)
		  . " AS x; FETCH 2 FROM c; FETCH 1 FROM c; CLOSE c; COMMIT;\n";
	});

# ---- Compare the cluster with one server

# Returns the output of a script: rows, and SQLSTATEs of errors.
sub run_script
{
	my ($server, $script) = @_;
	my ($out, $err) = ('', '');

	$server->psql('postgres', "SET client_min_messages = error;\nSET timezone = 'UTC';\n\\set VERBOSITY sqlstate\n$script",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	$err =~ s/^psql:<stdin>:(\d+): /line $1: /mg;
	return "$out\n$err";
}

# Check that a script has the same output on a member and on the single server,
# and that the single server reports no error unless errors are expected.
sub same_answer
{
	my ($member, $name, $script, $errors) = @_;
	my @got = split /\n/, run_script($member, $script);
	my @expected = split /\n/, run_script($single, $script);
	my ($n) = grep { ($got[$_] // 'no row') ne ($expected[$_] // 'no row') } 0 .. @got + @expected;
	my $what = $member->name . ": $name";

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", grep { /^line \d+: ERROR/ } @expected), '', "$name: one server reports no error") unless $errors;
	cmp_ok(scalar(grep { $_ ne '' } @expected), '>', 0, "$name: one server gives rows");
	ok(!defined $n, "$what: the same output as on one server") or diag sprintf "line %d of %d and %d\ngot:      %.300s\nexpected: %.300s",
	  $n, scalar @got, scalar @expected, $got[$n] // 'nothing', $expected[$n] // 'nothing';
	return;
}

sub ids
{
	my ($first, $n) = @_;

	# DELETE would change the order of the new rows.
	return "TRUNCATE kit.ids; INSERT INTO kit.ids SELECT n, kit.p(n), kit.u(n), kit.c(n) FROM generate_series($first, $first + $n - 1) AS n;\n";
}

# Users and posts 1 to 8, to which the scripts of the other rows refer
for my $server ($one, $single)
{
	$server->safe_psql('postgres', ids(1, 8) . join '', map { $forms{lateral}->($_) } @commands);
}

my $base = 0;
for my $member (@members)
{
	for my $form (sort keys %forms)
	{
		my $first = 100 * ++$base;
		my @n = ($first .. $first + ($form eq 'columns' ? 3 : 7));
		my $ids = ids($first, scalar @n);

		same_answer($member, "$form, commands", $ids . join '', map { $forms{$form}->($_, @n) } @commands);
		same_answer($member, "$form, queries", $ids . join '', map { $forms{$form}->($_, @n) } @queries);
		same_answer($member, "$form, deletions", $ids . join '', map { $forms{$form}->($_, @n) } @deletions);
	}
	for my $form (sort keys %query_forms)
	{
		same_answer($member, "$form, queries", ids(1, 8) . join '', map { $query_forms{$form}->($_, 5) } @queries);
	}
}

# ---- Transactions over two nodes

my @posts = map { posts_on($cluster, $_, 1, 1) } $one, $two;
is(scalar(grep { $_ <= 8 } @posts), 2, 'each node has one of the first posts');
my ($a, $b) = map { "kit.p($_)" } @posts;
my $both = "SELECT id, comment_count, like_count, title FROM blogstore.get_posts(ARRAY[$a, $b]);\n";
for my $member (@members)
{
	my $n = 100 * ++$base;
	my $both_liked = "SELECT p.post_id, l.user_id FROM unnest(ARRAY[$a, $b]) AS p (post_id), LATERAL blogstore.get_like(p.post_id, kit.u($n)) AS l;\n";

	same_answer($member, 'two nodes', "SELECT username FROM blogstore.create_user('both $n', kit.u($n), kit.d($n));
BEGIN;
SELECT user_username FROM blogstore.create_like($a, kit.u($n), kit.d($n));
SELECT user_username FROM blogstore.create_like($b, kit.u($n), kit.d($n));
$both $both_liked
SAVEPOINT s;
SELECT content FROM blogstore.create_comment($a, kit.u($n), 'one', kit.c($n), kit.d($n));
SELECT content FROM blogstore.create_comment($b, kit.u($n), 'two', kit.c($n), kit.d($n));
SELECT title FROM blogstore.edit_post($a, 'not for long');
SELECT count(*) FROM blogstore.list_user_comments(kit.u($n));
$both
ROLLBACK TO s;
$both
SELECT count(*) FROM blogstore.list_user_comments(kit.u($n));
COMMIT;
$both $both_liked");
	same_answer($member, 'two nodes, rolled back', "BEGIN;
SELECT blogstore.delete_like($a, kit.u($n)), blogstore.delete_like($b, kit.u($n));
SELECT title FROM blogstore.edit_post($b, 'not for long');
$both $both_liked
ROLLBACK;
$both $both_liked");
	same_answer($member, 'two nodes, an error', "BEGIN;
SELECT blogstore.delete_like($a, kit.u($n)), blogstore.delete_like($b, kit.u($n));
SELECT blogstore.create_like(kit.p(999999), kit.u($n));
SELECT blogstore.delete_like($a, kit.u($n));
COMMIT;
$both $both_liked", 'errors');
	same_answer($member, 'two nodes, an error in a savepoint', "BEGIN;
SELECT blogstore.delete_like($a, kit.u($n));
SAVEPOINT s;
SELECT blogstore.delete_like($b, kit.u($n));
SELECT blogstore.create_like(kit.p(999999), kit.u($n));
ROLLBACK TO s;
SELECT content FROM blogstore.create_comment($b, kit.u($n), 'kept', kit.c($n), kit.d($n));
COMMIT;
$both $both_liked", 'errors');
	same_answer($member, 'two nodes, a block undone', "SELECT kit.undone($a, $b, kit.u(2));\n$both $both_liked");
	same_answer($member, 'a user and a post on each node in one transaction', "BEGIN;
SELECT username FROM blogstore.create_user('all at once $n', kit.u($n + 1), kit.d($n));
SELECT user_username, title FROM blogstore.create_post(kit.u($n + 1), 'x', 'x', kit.p($n + 1), kit.d($n));
SELECT count(blogstore.create_like(kit.p(n), kit.u($n + 1), kit.d($n))) FROM generate_series(1, 8) AS n;
SELECT username FROM blogstore.edit_user(kit.u($n + 1), 'all at once and renamed $n');
COMMIT;
SELECT username FROM blogstore.get_user(kit.u($n + 1));
SELECT count(*) FROM blogstore.list_user_likes(kit.u($n + 1));");
}

# ---- Bad input

my $P = 'kit.p(1)';
my $U = 'kit.u(1)';
my %bad = (
	'23503' => [
		"create_post(kit.u(999999), 'x', 'x')", "create_comment(kit.p(999999), $U, 'x')",
		"create_comment($P, kit.u(999999), 'x')", "create_comment($P, $U, 'x', parent_id => kit.c(999999))",
		"create_like(kit.p(999999), $U)", "create_like($P, kit.u(999999))",
		"edit_user(kit.u(999999), 'x')", "edit_post(kit.p(999999), 'x')", "edit_comment($P, kit.c(999999), 'x')",
		'hide_post(kit.p(999999))', 'publish_post(kit.p(999999))', 'schedule_post(kit.p(999999), NULL)', "hide_comment($P, kit.c(999999))" ],
	'22004' => [
		'create_user(NULL)', "create_post(NULL, 'x', 'x')", "create_post($U, NULL, 'x')", "create_comment(NULL, $U, 'x')",
		"create_comment($P, NULL, 'x')", "create_like(NULL, $U)", "create_like($P, NULL)", 'edit_post(NULL)',
		"edit_comment(NULL, kit.c(1), 'x')", 'delete_post(NULL)', 'delete_user(NULL)', "delete_like(NULL, $U)", 'delete_comment(NULL, NULL)',
		'hide_post(NULL)', 'publish_post(NULL)', 'schedule_post(NULL, NULL)', 'get_post(NULL)', 'get_posts(NULL)', 'get_user(NULL)', 'get_users(NULL)', 'get_user_by_name(NULL)',
		"get_like(NULL, $U)", "get_likes(NULL, '{}')", "get_comment_likes($U, NULL)", 'list_comment_likes(NULL, NULL)', 'list_user_posts(NULL)', 'list_post_comments(NULL)', 'list_post_likes(NULL)',
		"list_comment_replies($P, NULL)", 'list_user_comments(NULL)', 'list_user_likes(NULL)' ],
	'23505' => [
		"create_user('Renamed 1')", "create_user('renamed 1', kit.u(999998))", "edit_user($U, 'RENAMED 2')",
		"create_user('another', $U)", "create_post($U, 'another', 'x', $P)", "create_comment($P, $U, 'another', kit.c(1))" ],
	'22023' => [
		"create_user(' ')", "create_post($U, '', 'x')", "create_comment($P, $U, '')", "create_post($U, 'x', 'x', properties => '[]')",
		"list_post_comments($P, 0)", "list_post_comments($P, 5, kit.d(1))", "list_post_likes($P, 5, NULL, kit.p(1))",
		"list_user_posts($U, 5, kit.d(1))", "list_user_comments($U, 5, kit.d(1))", "list_user_likes($U, 0)", 'list_feed(0)', 'list_feed(5, kit.d(1))' ]);
my @writes = (
	"create_user('x')", "create_post($U, 'x', 'x')", "create_post($U, 'x', 'x', kit.p(999997))", "create_comment($P, $U, 'x')", "create_like($P, $U)",
	"edit_user($U, 'x')", "edit_post($P, 'x')", "edit_comment($P, kit.c(1), 'x')", "hide_post($P)", "publish_post($P)", "schedule_post($P, NULL)", "hide_comment($P, kit.c(1))",
	"delete_like($P, $U)", "delete_comment($P, kit.c(1))", "delete_post($P)", "delete_user($U)");
for my $state (sort keys %bad)
{
	my @calls = @{ $bad{$state} };
	# Each call runs in kit.try(), which also shows the hint; as a plain
	# statement; and in a block that continues after a savepoint.
	my $script = join '', map { "SELECT kit.try(\$\$blogstore.$_\$\$);\nSELECT * FROM blogstore.$_;\nBEGIN; SAVEPOINT s; SELECT blogstore.$_; ROLLBACK TO s; COMMIT;\n" } @calls;
	my @states = split /\n/, run_script($single, join '', map { "SELECT kit.try(\$\$blogstore.$_\$\$);\n" } @calls);

	is(scalar(grep { /^$state, / } @states), scalar @calls, "one server: $state for each");
	same_answer($_, "bad input, $state", $script, 'errors') foreach @members;
}
for my $member (@members)
{
	my $script = join '', map { "BEGIN READ ONLY; SELECT blogstore.$_; ROLLBACK;\n" } @writes;

	same_answer($member, 'read-only transactions', $script, 'errors');
	is(scalar(grep { /ERROR: +25006/ } split /\n/, run_script($member, $script)),
		scalar @writes, $member->name . ': read-only transactions: 25006 for each');
}

# ---- The result of all these calls

my $items = q{SELECT type, post_id, user_id, comment_id, user_username, title, content, parent_id, hidden,
	CASE WHEN type NOT IN ('like', 'comment_like') THEN id END, CASE WHEN creation_date < '2025-01-01' THEN creation_date END
FROM blogstore.posts WHERE type <> 'delta' ORDER BY 1, 2, 3, 4, 7, 10};
wait_jobs($cluster, $single, @members);
ok(wait_views($single), 'one server: the views follow');
views_right($cluster, 'every form');
same_everywhere($cluster, $items, $single->safe_psql('postgres', $items), 'every item is as on one server');
for my $member (@members)
{
	for my $form (sort keys %forms)
	{
		same_answer($member, "$form, views", ids(1, 8) . join '', map { $forms{$form}->($_, 1 .. 8) } @lists);
	}
	for my $form (sort keys %query_forms)
	{
		same_answer($member, "$form, views", ids(1, 8) . join '', map { $query_forms{$form}->($_, 3) } @lists);
	}
}

# ---- Posts without an id, and node_of()

for my $member (@members)
{
	my $made = $member->safe_psql('postgres',
		'SELECT x.post_id FROM generate_series(1, 20) AS n, LATERAL blogstore.create_post(kit.u(1 + n % 8), $$no id $$ || n, $$x$$) AS x');
	my @ids = split /\n/, $made;
	my $array = 'ARRAY[' . join(', ', map { "'$_'" } @ids) . ']::uuid[]';
	my %ids = map { $_ => 1 } @ids;

	is(scalar keys %ids, 20, $member->name . ': posts without an id have one each');
	same_everywhere($cluster, "SELECT count(*), count(DISTINCT title) FROM blogstore.get_posts($array)", '20|20',
		$member->name . ': posts without an id are found');
	like($member->safe_psql('postgres', 'SELECT (blogstore.create_post(kit.u(1), $$no id$$, $$x$$, NULL)).post_id'),
		qr/^[0-9a-f-]{36}$/, $member->name . ': a post with NULL for its id has one');
	my $homes = join "\n", map { my $home = home_of($cluster, "'$_'"); $home->host . '|' . $home->port } @ids;
	same_everywhere($cluster, "SELECT n.host, n.port FROM unnest($array) AS p, LATERAL blogstore.node_of(p) AS n", $homes,
		$member->name . ': node_of() says where posts are');
}
views_right($cluster, 'posts without an id');

# ---- One name, claimed on two nodes at once: the second session waits for the
# first one

# Claim a name in a transaction on one server, then on another one, and wait
# until that waits. Returns the result of the second claim after the first
# transaction has ended.
sub claim
{
	my ($first, $second, $number, $name, $end) = @_;
	my $holder = $first->background_psql('postgres');
	$holder->query_safe("BEGIN; SELECT blogstore.create_user('$name', kit.u($number))");
	my $client = start_client($second, 'postgres', "\\set VERBOSITY sqlstate\nSELECT username FROM blogstore.create_user(upper('$name'), kit.u($number + 1));\n",
		"claim_$number");

	ok(waits_for_lock($cluster, $client), "$name: the second claim waits");
	$holder->query_safe($end);
	$holder->quit;
	my ($rows, $err) = finish_client($client);
	return join "\n", @$rows, $err =~ /(ERROR: .*)/ ? $1 : ();
}

my $number = 900000;
for my $pair ([ $one, $two ], [ $two, $one ], [ $cluster->{coordinator}, $one ], [ $two, $cluster->{coordinator} ])
{
	my ($first, $second) = @$pair;
	my $name = 'claimed ' . ($number += 10);

	is(claim($first, $second, $number, $name, 'COMMIT'), 'ERROR:  23505', "$name: the first session has it");
	same_everywhere($cluster, "SELECT user_id = kit.u($number), username FROM blogstore.get_user_by_name('$name')", "t|$name", "$name: every member finds the first user");
	$name = 'claimed ' . ($number += 10);
	is(claim($first, $second, $number, $name, 'ROLLBACK'), uc $name, "$name: the second session has it if the first rolls back");
	same_everywhere($cluster, "SELECT user_id = kit.u($number + 1) FROM blogstore.get_user_by_name('$name')", 't', "$name: every member finds the second user");
}

done_testing();
