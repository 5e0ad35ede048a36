# A caller leaves a cursor on a set-returning function open, holds it, rolls
# back to a savepoint, reads two cursors by turns, or closes one late. Every
# function must survive this. Only the caller's own errors may be raised.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('cursors');
# Functions that store their rows have to write them to disk.
$node->append_conf('postgresql.conf', "work_mem = '64kB'\nblogstore.topic_property = 'tags'\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 6, 300);
check_store($node, 'postgres', 'at first');
$node->safe_psql(
	'postgres', q{
CREATE VIEW kit.some_users AS SELECT user_id, username, creation_date FROM blogstore.users WHERE type = 'user' LIMIT 3;
CREATE VIEW kit.some_documents AS SELECT document FROM blogstore.export_documents() document LIMIT 3;
SELECT count(blogstore.follow_user(kit.u(1), kit.u(n))), count(blogstore.follow_user(kit.u(n), kit.u(1))) FROM generate_series(2, 6) n;
CREATE PROCEDURE kit.loop(query text) LANGUAGE plpgsql AS $$
DECLARE
	item	record;
	n		int := 0;
BEGIN
	FOR item IN EXECUTE query LOOP
		n := n + 1;
		IF n % 100 = 1 THEN
			COMMIT;
		END IF;
	END LOOP;
	RAISE NOTICE '% rows', n;
END $$;
SELECT count(blogstore.edit_post(kit.p(n), properties => jsonb_build_object('tags', ARRAY['all', 'topic ' || n % 30]))) FROM generate_series(1, 300) n;
SELECT kit.views_follow();
});

# Functions that read views, and the number of rows that each returns
my @of_views = (
	[ 'list_topics(page_size => NULL)', 31 ],
	[ q{list_topic_posts('all', NULL)}, 300 ],
	[ q{list_topic_posts('all', NULL, oldest_first => true)}, 300 ],
	[ 'list_home_feed(kit.u(1), NULL)', 250 ],
	[ 'list_user_posts(kit.u(1), NULL)', 50 ],
	[ 'list_feed(NULL)', 300 ]);

# Functions that are called while the worker is stopped
my @functions = (
	[ 'get_user(kit.u(1))', 1 ],
	[ q{get_user_by_name('user 1')}, 1 ],
	[ 'get_post(kit.p(1))', 1 ],
	[ 'get_like(kit.p(1), kit.u(1))', 1 ],
	[ 'get_comment(kit.p(1), (SELECT id FROM blogstore.list_post_comments(kit.p(1), 1)))', 1 ],
	[ 'get_posts(ARRAY[kit.p(2), kit.p(1), kit.p(2)])', 3 ],
	[ 'get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(1, 300) n))', 300 ],
	[ 'get_users(ARRAY[kit.u(2), kit.u(1)])', 2 ],
	[ 'get_likes(kit.u(1), ARRAY[kit.p(1)])', 1 ],
	[ 'list_user_posts(kit.u(1), NULL)', 50 ],
	[ 'list_post_comments(kit.p(1))', 3 ],
	[ 'list_comment_replies(kit.p(1), kit.c(1))', 0 ],
	[ 'list_user_comments(kit.u(1), NULL)', 150 ],
	[ 'list_user_likes(kit.u(1), NULL)', 300 ],
	[ 'list_post_likes(kit.p(1))', 5 ],
	[ 'list_comment_likes(kit.p(1), kit.c(1))', 0 ],
	[ 'get_comment_likes(kit.u(1), kit.p(1))', 0 ],
	[ 'get_follows(kit.u(1), ARRAY[kit.u(2), kit.u(3)])', 2 ],
	[ 'list_following(kit.u(1))', 5 ],
	[ 'list_followers(kit.u(1))', 5 ],
	[ 'list_home_feed(kit.u(1), NULL)', 250 ],
	[ 'list_feed(NULL)', 300 ],
	[ 'list_feed(NULL, oldest_first => true)', 300 ],
	[ 'list_user_posts(kit.u(1), NULL, oldest_first => true)', 50 ],
	[ 'verify()', 0 ],
	[ 'get_workers_status()', 1 ],
	[ 'get_progress()', 1 ],
	[ 'get_request_stats()', 40 ],
	[ q{import(users => 'kit.some_users')}, 4 ],
	[ q{import_documents('kit.some_documents')}, 4 ],
	[ 'export_documents()', 6 + 300 * (1 + 3 + 5) + 10 ]);

# What a script does with a cursor, and how many rows each of its MOVEs passes,
# given the number of rows of the query
my @ways = (
	[ 'left open at COMMIT', 'DECLARE c CURSOR FOR %s; MOVE 1 c; COMMIT', sub { min($_[0], 1) } ],
	[ 'of a name that sorts elsewhere', 'DECLARE "<unnamed portal 2>" CURSOR FOR %s; DECLARE " " CURSOR FOR %s; MOVE 1 "<unnamed portal 2>"; MOVE 1 " "; COMMIT',
		sub { (min($_[0], 1)) x 2 } ],
	[ 'left open at ROLLBACK', 'DECLARE c CURSOR FOR %s; MOVE 1 c; ROLLBACK', sub { min($_[0], 1) } ],
	[ 'held, begun', 'DECLARE c CURSOR WITH HOLD FOR %s; MOVE 1 c; COMMIT; MOVE ALL c; CLOSE c', sub { (min($_[0], 1), max($_[0] - 1, 0)) } ],
	[ 'held, not begun', 'DECLARE c CURSOR WITH HOLD FOR %s; COMMIT; MOVE ALL c; CLOSE c', sub { $_[0] } ],
	[ 'held, scrolled', 'DECLARE c SCROLL CURSOR WITH HOLD FOR %s; MOVE 2 c; COMMIT; MOVE BACKWARD ALL c; MOVE ALL c; CLOSE c',
		sub { (min($_[0], 2), min($_[0], 1), $_[0]) } ],
	[ 'begun in a savepoint that is rolled back', 'DECLARE c CURSOR FOR %s; SAVEPOINT a; MOVE 1 c; ROLLBACK TO a; MOVE ALL c; CLOSE c; COMMIT',
		sub { (min($_[0], 1), max($_[0] - 1, 0)) } ],
	[ 'begun in a savepoint, closed after it', 'DECLARE c CURSOR FOR %s; SAVEPOINT a; MOVE 1 c; ROLLBACK TO a; CLOSE c; COMMIT', sub { min($_[0], 1) } ],
	[ 'begun in a savepoint that is released', 'SAVEPOINT a; DECLARE c CURSOR FOR %s; MOVE 1 c; RELEASE a; MOVE ALL c; COMMIT',
		sub { (min($_[0], 1), max($_[0] - 1, 0)) } ],
	[ 'gone with a savepoint', 'SAVEPOINT a; DECLARE c CURSOR FOR %s; MOVE 1 c; ROLLBACK TO a; DECLARE c CURSOR FOR %s; MOVE ALL c; COMMIT',
		sub { (min($_[0], 1), $_[0]) } ],
	[ 'read on after an error', "DECLARE c CURSOR FOR %s; MOVE 1 c; SAVEPOINT a; \\set ON_ERROR_STOP off\nSELECT 1 / 0;\n\\set ON_ERROR_STOP on\nROLLBACK TO a; MOVE ALL c; CLOSE c; COMMIT",
		sub { (min($_[0], 1), max($_[0] - 1, 0)) } ],
	[ 'beside another', 'DECLARE c CURSOR FOR %s; DECLARE d CURSOR FOR %s; MOVE 1 c; MOVE 1 d; MOVE 1 c; CLOSE c; MOVE ALL d; CLOSE d; COMMIT',
		sub { (min($_[0], 1), min($_[0], 1), $_[0] > 1 ? 1 : 0, max($_[0] - 1, 0)) } ],
	[ 'closed late', "SAVEPOINT a; DECLARE c CURSOR WITH HOLD FOR %s; MOVE 1 c; SAVEPOINT b; MOVE 1 c; ROLLBACK TO b; RELEASE a; COMMIT; BEGIN; CLOSE c; COMMIT",
		sub { (min($_[0], 1), $_[0] > 1 ? 1 : 0) } ],
	[ 'closed by CLOSE ALL', 'DECLARE c CURSOR FOR %s; MOVE 1 c; DECLARE d CURSOR FOR %s; CLOSE ALL; COMMIT', sub { min($_[0], 1) } ]);

sub min { return $_[0] < $_[1] ? $_[0] : $_[1]; }
sub max { return $_[0] > $_[1] ? $_[0] : $_[1]; }

# Run a script. Returns psql's exit status and the number of rows of each MOVE,
# and of each loop in PL/pgSQL.
sub moved
{
	my ($script) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SET client_min_messages = notice;\n\\set QUIET off\n$script");
	my @moved = $out =~ /^MOVE (\d+)/mg;

	push @moved, $1 while $err =~ /NOTICE:  (\d+) rows/g;
	return "$rc: @moved";
}

# Use cursors and loops over functions in all ways.
sub check_cursors
{
	my (@functions) = @_;

	for my $function (@functions)
	{
		my ($call, $n) = @$function;

		for my $query ("SELECT blogstore.$call", "SELECT * FROM blogstore.$call")
		{
			my (@script, @expected);

			for my $way (@ways)
			{
				my ($name, $script, $moves) = @$way;

				$script =~ s/%s/$query/g;
				push @script, "BEGIN; $script;";
				push @expected, $moves->($n);
			}
			push @script, "CALL kit.loop(\$q\$$query\$q\$);";
			push @expected, $n;
			my $got = moved(join "\n", @script);
			if (!is($got, "0: @expected", "cursors over $query"))
			{
				# Run the cursors one by one, to find the wrong one.
				for my $way (@ways)
				{
					my ($name, $script, $moves) = @$way;

					$script =~ s/%s/$query/g;
					diag("$name: " . moved("BEGIN; $script;") . ', not 0: ' . join ' ', $moves->($n));
				}
			}
		}
	}
	return;
}

# Call functions within other parts of statements
sub check_inside
{
	my (@functions) = @_;

	for my $function (@functions)
	{
		my ($call, $n) = @$function;

		is( $node->safe_psql(
				'postgres', qq{
SELECT count(*) FROM (SELECT blogstore.$call LIMIT 1) x;
SELECT count(*) FROM generate_series(1, 3), LATERAL blogstore.$call;
SELECT count(*) FROM generate_series(1, 3) n, LATERAL (SELECT blogstore.$call OFFSET n - n) x;
SELECT (SELECT count(*) FROM (SELECT blogstore.$call OFFSET n - n) x) FROM generate_series(1, 2) n;
SELECT count(*) FROM (SELECT blogstore.$call, blogstore.$call) x;
SELECT EXISTS (SELECT FROM blogstore.$call);
}),
			join("\n", min($n, 1), 3 * $n, 3 * $n, $n, $n, $n, $n > 0 ? 't' : 'f'),
			"$call inside of statements");
	}
	return;
}

check_cursors(@of_views);
check_inside(@of_views);
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(); SELECT blogstore.rebuild_views()');
check_cursors(@functions);
check_inside(@functions);

# A cursor that has begun shows its snapshot to the end, whatever the owner
# does to the tables.
for my $call ('list_feed(NULL)', 'list_user_posts(kit.u(1), NULL)', 'list_post_likes(kit.p(1))', 'export_documents()')
{
	my ($n) = map { $_->[1] } grep { $_->[0] eq $call } @functions;

	for my $ddl ('TRUNCATE blogstore.users, blogstore.posts, blogstore.feed, blogstore.jobs',
		'DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.usernames, blogstore.jobs, blogstore.view_state CASCADE',
		'DELETE FROM blogstore.posts')
	{
		is( moved("BEGIN; DECLARE c CURSOR FOR SELECT blogstore.$call; MOVE 1 c; $ddl; MOVE ALL c; CLOSE c; ROLLBACK;"),
			'0: 1 ' . ($n - 1), "$call is read to its end after: " . substr($ddl, 0, 20));
	}
	my ($rc, $out, $err) = $node->psql('postgres',
		"BEGIN; DECLARE c CURSOR FOR SELECT blogstore.$call; DROP TABLE blogstore.users, blogstore.posts, blogstore.feed, blogstore.usernames, blogstore.jobs, blogstore.view_state CASCADE; \\set VERBOSITY verbose\nMOVE 1 c;");
	like($err, qr/ERROR:  55000/, "$call, begun when there are no containers");
}

$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
check_store($node, 'postgres', 'at the end');
is(logged($node, 0, qr/was terminated by signal|PANIC|TRAP/), 0, 'no process has crashed');
is(logged($node, 0, qr/WARNING:  .*leak/), 0, 'no resource was leaked');

done_testing();
