
# Eight clients like, unlike, comment, delete and edit at random. In every
# snapshot the counts match the items, and no item is lost. The test repeats
# this under SERIALIZABLE, and with edits concurrent to likes.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Commands of a client in one run of pgbench, and reads of the reader. The test
# repeats the run until the reader has made all its reads.
my $COMMANDS = 1000;
my $LOOKS = 30;

my $node = new_server('load');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 50, 200);

# A random command. An item that another client has deleted or taken is no
# error.
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION kit.one_of(n int) RETURNS int LANGUAGE sql VOLATILE
AS $$ SELECT 1 + floor(random() * n)::int $$;
-- Half of all commands meet on five posts.
CREATE FUNCTION kit.some_post() RETURNS uuid LANGUAGE sql VOLATILE
AS $$ SELECT kit.p(CASE WHEN random() < 0.5 THEN 195 + kit.one_of(5) ELSE kit.one_of(200) END) $$;

CREATE PROCEDURE kit.random_command() LANGUAGE plpgsql AS $$
DECLARE
	dice	int := kit.one_of(100);
	post	uuid := kit.some_post();
	someone	uuid := kit.u(kit.one_of(50));
	n		int := kit.one_of(200);
BEGIN
	CASE
	WHEN dice <= 30 THEN
		PERFORM blogstore.create_like(post, someone);
	WHEN dice <= 50 THEN
		PERFORM blogstore.delete_like(post, someone);
	WHEN dice <= 62 THEN
		PERFORM blogstore.create_comment(post, someone, 'comment');
	WHEN dice <= 67 THEN
		PERFORM blogstore.create_comment(post, someone, 'the same', kit.c(n));
	WHEN dice <= 77 THEN
		PERFORM blogstore.delete_comment(post, c.id)
		FROM blogstore.list_post_comments(post, 5) c LIMIT 2;
	WHEN dice <= 80 THEN
		PERFORM blogstore.delete_comment(post, kit.c(n));
	WHEN dice <= 86 THEN
		PERFORM blogstore.edit_post(post, 'title ' || n, CASE WHEN n % 2 = 0 THEN repeat('new ', n) END);
	WHEN dice <= 89 THEN
		PERFORM blogstore.edit_comment(post, c.id, 'edited')
		FROM blogstore.list_post_comments(post, 1) c;
	WHEN dice <= 91 THEN
		PERFORM blogstore.delete_post(post);
	WHEN dice <= 95 THEN
		PERFORM blogstore.create_post(someone, 'title ' || n, 'content', kit.p(kit.one_of(200)), kit.d(n));
	WHEN dice <= 96 THEN
		PERFORM blogstore.edit_user(someone, 'user ' || n + 1000);
	WHEN dice <= 98 THEN
		-- Several commands on one post that are rolled back
		BEGIN
			PERFORM blogstore.create_like(post, someone);
			PERFORM blogstore.create_comment(post, someone, 'undone');
			PERFORM blogstore.delete_like(post, kit.u(kit.one_of(50)));
			RAISE 'undo' USING ERRCODE = 'P0099';
		EXCEPTION WHEN SQLSTATE 'P0099' THEN
			NULL;
		END;
	ELSE
		-- Several commands that commit together
		PERFORM blogstore.create_like(post, someone);
		PERFORM blogstore.create_comment(post, someone, 'together');
		PERFORM blogstore.edit_post(post, 'together');
	END CASE;
EXCEPTION WHEN foreign_key_violation OR unique_violation THEN
	NULL;
END $$;
});
check_store($node, 'postgres', 'filled');

my $base = $PostgreSQL::Test::Utils::tmp_check;
append_to_file("$base/random.pgbench", "CALL kit.random_command();\n");
my $deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";

# Start pgbench in the background.
sub start_load
{
	my ($isolation, @options) = @_;
	my $load = { out => '', err => '' };

	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . $isolation =~ s/ /\\ /r;
	$load->{run} = IPC::Run::start(
		[
			$node->installed_command('pgbench'), '--no-vacuum',
			'--client=8', '--jobs=2', @options, $node->connstr('postgres')
		],
		'<', \undef,
		'>', \$load->{out},
		'2>', \$load->{err});
	return $load;
}

sub finish_load
{
	my ($name, $load, $expected) = @_;

	$load->{run}->finish;
	is($load->{run}->result(0), 0, "$name: no client met an error")
	  or diag $load->{err};
	my ($done) = $load->{out} =~ /number of transactions actually processed: (\d+)/;
	is($done // 0, $expected, "$name: commands were run");
	note "$name: $done commands";
	return $done;
}

# ---- Random commands under READ COMMITTED, beside readers

my $load = start_load('read committed', "--transactions=$COMMANDS", "--file=$base/random.pgbench");
my $reader = $node->background_psql('postgres');
my ($snapshots, @wrong) = (0);
for (;;)
{
	$load->{run}->pump_nb;
	if (!$load->{run}->pumpable)
	{
		finish_load('at random', $load, 8 * $COMMANDS);
		last if $snapshots >= $LOOKS;
		$load = start_load('read committed', "--transactions=$COMMANDS", "--file=$base/random.pgbench");
	}
	# Read one snapshot twice, while the clients write.
	my $found = $reader->query_safe(
		q{BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT 'counts', * FROM kit.wrong_counts();
SELECT 'likes', p.post_id, p.like_count, (SELECT count(*) FROM blogstore.list_post_likes(p.post_id, NULL))
FROM generate_series(196, 200) n, LATERAL blogstore.get_post(kit.p(n)) p
WHERE p.like_count <> (SELECT count(*) FROM blogstore.list_post_likes(p.post_id, NULL));
SELECT 'comments', p.post_id, p.comment_count, (SELECT count(*) FROM blogstore.list_post_comments(p.post_id, NULL))
FROM generate_series(196, 200) n, LATERAL blogstore.get_post(kit.p(n)) p
WHERE p.comment_count <> (SELECT count(*) FROM blogstore.list_post_comments(p.post_id, NULL));
SELECT 'counts again', * FROM kit.wrong_counts();
SELECT 'feed', count(*) FROM blogstore.feed HAVING count(*) <> 100;
SELECT 'order', id FROM (
	SELECT id, (creation_date, id) > lag((creation_date, id)) OVER () AS wrong FROM blogstore.list_feed()) x
WHERE wrong;
COMMIT});
	push @wrong, $found if $found ne '';
	# A single statement has one snapshot as well.
	$found = $reader->query_safe('SELECT * FROM kit.wrong_counts()');
	push @wrong, $found if $found ne '';
	$snapshots += 2;
}
$reader->quit;
is(join("\n", @wrong), '', 'at random: in every snapshot counts are those of the items, and the feed holds 100 posts');
note "$snapshots snapshots";
is($node->safe_psql('postgres', $deadlocks), '0', 'at random: no deadlock');
check_store($node, 'postgres', 'at random');

# ---- The same under SERIALIZABLE: a conflicting transaction fails and is
# repeated; counts stay exact

for my $isolation ('repeatable read', 'serializable')
{
	$load = start_load($isolation, '--transactions=200', '--max-tries=100000', "--file=$base/random.pgbench");
	@wrong = ();
	$reader = $node->background_psql('postgres');
	while ($load->{run}->pumpable)
	{
		$load->{run}->pump_nb;
		my $found = $reader->query_safe('SELECT * FROM kit.wrong_counts()');
		push @wrong, $found if $found ne '';
	}
	$reader->quit;
	is(join("\n", @wrong), '', "$isolation: counts are those of the items");
	finish_load($isolation, $load, 1600);
	check_store($node, 'postgres', $isolation);
}

# ---- Read your writes: two clients wait for the views after each of many
# commits. wait_for_views() must never return true too early.

$node->safe_psql(
	'postgres', q{
CREATE TABLE kit.too_early (client int, round int, post_id uuid, title text, seen text);
CREATE PROCEDURE kit.read_own_writes(client int, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	post	uuid := kit.p(2000 + client);
BEGIN
	PERFORM blogstore.create_post(kit.u(client), 'round 0', 'x', post, kit.d(2000 + client));
	COMMIT;
	FOR round IN 1 .. rounds LOOP
		PERFORM blogstore.edit_post(post, 'round ' || round);
		COMMIT;
		IF NOT kit.views_follow() THEN
			RAISE 'timeout';
		END IF;
		INSERT INTO kit.too_early
		SELECT client, round, post, 'round ' || round, title FROM blogstore.feed WHERE post_id = post AND title <> 'round ' || round
		UNION ALL
		SELECT client, round, post, 'round ' || round, title FROM blogstore.users WHERE type = 'post' AND post_id = post AND title <> 'round ' || round;
		COMMIT;
	END LOOP;
END $$;
});
my @readers = map { start_client($node, 'postgres', "CALL kit.read_own_writes($_, 2000)", "reader_$_") } 1 .. 2;
for my $client (@readers)
{
	my ($rows, $err) = finish_client($client);
	is($err, '', 'read your writes: no error');
}
is($node->safe_psql('postgres', 'SELECT * FROM kit.too_early LIMIT 5'),
	'', 'read your writes: whenever wait_for_views() is true, the views show the commits before it');
check_store($node, 'postgres', 'read your writes');

# ---- Concurrent edits, likes and comments of one post: none is lost

$node->safe_psql(
	'postgres', q{
SELECT blogstore.create_post(kit.u(1), 'viral', 'x', kit.p(1000), kit.d(1000));
CREATE SEQUENCE kit.liker START 1001;
CREATE SEQUENCE kit.edit;
SELECT count(blogstore.create_user('liker ' || n, kit.u(n))) FROM generate_series(1001, 3000) n;
});
append_to_file("$base/like.pgbench",
	"SELECT blogstore.create_like(kit.p(1000), kit.u(nextval('kit.liker')::int));\n");
append_to_file("$base/edit.pgbench",
	"SELECT blogstore.edit_post(kit.p(1000), 'edit ' || nextval('kit.edit'), repeat('y', 10));\n");
append_to_file("$base/comment.pgbench",
	"SELECT blogstore.create_comment(kit.p(1000), kit.u(1), 'comment');\n");
$load = start_load(
	'read committed', '--transactions=200',
	"--file=$base/like.pgbench\@2", "--file=$base/edit.pgbench\@2",
	"--file=$base/comment.pgbench\@1");
my $done = finish_load('edits beside likes', $load, 1600);
is( $node->safe_psql(
		'postgres', q{
SELECT p.like_count = l.last_value - 1000, p.like_count + p.comment_count + e.last_value
FROM blogstore.get_post(kit.p(1000)) p, kit.liker l, kit.edit e}),
	"t|$done",
	'edits beside likes: every like and every comment is counted');
like($node->safe_psql('postgres', 'SELECT title FROM blogstore.get_post(kit.p(1000))'),
	qr/^edit \d+$/, 'edits beside likes: the edits are there');
check_store($node, 'postgres', 'edits beside likes');
is($node->safe_psql('postgres', $deadlocks), '0', 'no deadlock');

done_testing();
