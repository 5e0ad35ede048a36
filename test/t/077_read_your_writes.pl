
# A client that has written a post calls wait_for_posts() and then finds the
# post in the lists: from another session, with only the rights that
# grant_requests() gives, and through wrappers. The wait causes no work for the
# worker. It ends if the worker is held, stopped or missing.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use BlogstoreWorker;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('your_writes');
# Postponed counts stay so for the length of the test.
$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = '60s'\nmax_prepared_transactions = 5\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
CREATE ROLE app LOGIN;
CREATE ROLE site;
CREATE ROLE web LOGIN;
GRANT USAGE ON SCHEMA kit TO app, web;
SELECT blogstore.grant_requests('app');
SELECT blogstore.grant_requests('site');
GRANT EXECUTE ON FUNCTION blogstore.create_api TO site;
CREATE SCHEMA api AUTHORIZATION site;
CREATE SCHEMA web AUTHORIZATION site;
SET ROLE site;
SELECT blogstore.create_api('api', 'app');
SELECT blogstore.create_api('web', 'web', as_caller => true);
RESET ROLE;
GRANT SET ON PARAMETER blogstore.current_user_id TO web;
--
SELECT blogstore.create_user('user ' || n, kit.u(n), kit.d(n)) FROM generate_series(1, 20) AS n;
SELECT blogstore.create_post(kit.u(1), 'old ' || n, 'content', kit.p(n), kit.d(n)) FROM generate_series(1, 100) AS n;
};
ok($node->safe_psql('postgres', 'SELECT kit.views_follow()') eq 't', 'the views follow');

my $app = $node->connstr('postgres') . ' user=app';
my @session = map { $node->background_psql('postgres', extra_params => [ '-U', 'app' ]) } 1 .. 3;
my ($writer, $waiter, $reader) = @session;
my $wait = 'SELECT blogstore.wait_for_posts()';

# ---- Each post is in the next list

# Returns how many of 100 posts are missing in the lists. One session writes,
# one waits, and one reads.
my $n = 100;
sub missing
{
	my ($schema) = @_;
	my $missing = 0;

	for (1 .. 100)
	{
		$n++;
		$writer->query_safe("SELECT $schema.create_post(kit.u(1), 'new $n', 'content', kit.p($n), kit.d($n))");
		$waiter->query_safe("SELECT $schema.wait_for_posts('5 min')") eq 't' or die 'the wait has timed out';
		$missing++ if $reader->query_safe("SELECT title FROM $schema.list_feed(1)") ne "new $n";
		$missing++ if $reader->query_safe("SELECT title FROM $schema.list_user_posts(kit.u(1), 1)") ne "new $n";
	}
	return $missing;
}
is(missing('blogstore'), 0, 'of 100 posts none is missing');
is(missing('api'), 0, 'nor with wrappers');

# Commits that do not wait until the WAL is flushed
$writer->query_safe('SET synchronous_commit = off');
is(missing('blogstore'), 0, 'nor with asynchronous commits');
$writer->query_safe('RESET synchronous_commit');

# The role of a browser
$node->safe_psql('postgres', "SET blogstore.current_user_id = '" . $node->safe_psql('postgres', 'SELECT kit.u(1)') . "'; SET ROLE web; SELECT web.create_post('by web', 'content')");
is($node->safe_psql('postgres', "SET ROLE web; SELECT web.wait_for_posts('5 min')"), 't', 'a wrapper as_caller waits');
is($node->safe_psql('postgres', 'SET ROLE web; SELECT title FROM web.list_feed(1)'), 'by web', '... for the post');
is($node->safe_psql('postgres', "SET ROLE web; SELECT web.wait_for_posts()"), 't', '... and nobody has to be signed in');
# That post has the present date, and the following ones are older.
$node->safe_psql('postgres', "SELECT blogstore.delete_post(post_id) FROM blogstore.list_feed(1)");

# Posts that were edited, deleted, or prepared before
foreach my $change ([ 'edit_post(kit.p(101), $$edited$$)', 'edited|1' ], [ 'delete_post(kit.p(101))', '|0' ])
{
	my ($call, $expected) = @$change;

	$writer->query_safe("SELECT blogstore.$call");
	is($waiter->query_safe("SELECT blogstore.wait_for_posts('5 min')"), 't', "$call: waited");
	is($reader->query_safe("SELECT max(title), count(*) FROM blogstore.list_user_posts(kit.u(1), NULL) WHERE id = kit.p(101)"), $expected, '... and listed so');
}
for (1 .. 20)
{
	$n++;
	$writer->query_safe("BEGIN; SELECT blogstore.create_post(kit.u(1), 'prepared $n', 'content', kit.p($n), kit.d(1000 + $n)); PREPARE TRANSACTION 'post'");
	$writer->query_safe("COMMIT PREPARED 'post'");
	$waiter->query_safe("SELECT blogstore.wait_for_posts('5 min')") eq 't' or die 'the wait has timed out';
	my $title = $reader->query_safe('SELECT title FROM blogstore.list_feed(1)');
	next if $title eq "prepared $n" && $_ < 20;
	is($title, "prepared $n", 'what was prepared is there after COMMIT PREPARED');
	last;
}

# ---- It does not wait for postponed counts, and does not cause their refresh

# The worker postpones the counts of many posts for a minute and then refreshes
# them all. Try again if it has just done so.
my $late = q{SELECT count(*) FROM blogstore.list_user_posts(kit.u(1), NULL) AS l, blogstore.get_post(l.post_id) AS g WHERE l.like_count <> g.like_count};
my $put_off = 0;
foreach my $fan (1 .. 20)
{
	$writer->query_safe("SELECT count(blogstore.create_like(kit.p(i), kit.u($fan))) FROM generate_series(1, 100) AS i");
	$n++;
	$writer->query_safe("SELECT blogstore.create_post(kit.u(1), 'new $n', 'content', kit.p($n), kit.d(2000 + $n))");
	is($waiter->query_safe("SELECT blogstore.wait_for_posts('30 s')"), 't', 'counts of many posts are not waited for');
	is($reader->query_safe('SELECT title FROM blogstore.list_feed(1)'), "new $n", '... when there is a new post');
	last if ($put_off = $reader->query_safe($late)) > 0;
}
cmp_ok($put_off, '>', 0, '... while the counts are late');

# ---- It causes no work for the worker

my $plan = decode_json($waiter->query_safe("EXPLAIN (ANALYZE, WAL, FORMAT json) SELECT blogstore.wait_for_posts() FROM generate_series(1, 1000)"))->[0];
is($plan->{Plan}{'WAL Records'}, 0, 'a thousand calls write no WAL');
is($plan->{Plan}{'Actual Rows'}, 1000, '... and return each time');
is($waiter->query_safe('BEGIN READ ONLY; SELECT blogstore.wait_for_posts(); COMMIT'), 't', 'a read-only transaction waits');
is($waiter->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT blogstore.wait_for_posts(); COMMIT'), 't', 'a serializable one, too');

# ---- It does not wait for changes of its own transaction

my $in = sub { my ($psql) = @_; my ($rc, $out, $err) = $node->psql('postgres', $psql, extra_params => [ '-v', 'VERBOSITY=sqlstate', '-U', 'app' ]); return $err =~ /ERROR:\s+(\w+)/ ? $1 : join ' ', grep { $_ ne '' } split /\n/, $out };
my $post = "SELECT FROM blogstore.create_post(kit.u(1), 'open', 'content')";
is($in->("BEGIN; $post; $wait"), '25001', 'an error if the transaction has written a post');
is($in->("BEGIN; SAVEPOINT s; $post; RELEASE s; $wait"), '25001', 'also in a released savepoint');
is($in->("BEGIN; SAVEPOINT s; $post; ROLLBACK TO s; $wait"), 't', 'but not after a rollback of it');
is($in->("BEGIN; SELECT FROM blogstore.create_like(kit.p(5), kit.u(9)); $wait"), '25001', 'also if it has changed a count');
is($in->("BEGIN; SELECT FROM blogstore.create_user('somebody'); $wait"), 't', 'but not if it has created a user, who is in no list');
is($in->("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT blogstore.wait_for_posts() UNION ALL SELECT blogstore.wait_for_posts(); FETCH 1 FROM c; COMMIT; FETCH 1 FROM c"), 't t', 'in a cursor');

# ---- Arguments

is(sqlstate($node, 'postgres', 'wait_for_posts(NULL)'), '22004, hint', 'NULL');
is($waiter->query_safe("SELECT blogstore.wait_for_posts(t::interval) FROM unnest(ARRAY['0', '-1 day', '1000 years', '-178000000 years']) AS t"), "t\nt\nt\nt", 'any time-out, with nothing to wait for');
is($node->psql('postgres', $wait, extra_params => [ '-U', 'web' ]), 3, 'not without EXECUTE');

# ---- A worker that is held

my $pid = stop_worker($node, 'postgres');
$n++;
$writer->query_safe("SELECT blogstore.create_post(kit.u(1), 'held', 'content', kit.p($n), kit.d(3000 + $n))");
is($waiter->query_safe("SELECT blogstore.wait_for_posts('0')"), 'f', 'held: a timeout of 0 returns false');
is($waiter->query_safe("SELECT blogstore.wait_for_posts('300 ms'), clock_timestamp() - statement_timestamp() >= '300 ms'"), 'f|t', 'held: false after the time-out');
is($waiter->query_safe("SELECT count(*) FROM generate_series(1, 3), blogstore.wait_for_posts('-1 s') AS w WHERE NOT w"), '3', 'held: each look');
is($in->("SET statement_timeout = '200 ms'; $wait"), '57014', 'held: a statement that takes too long ends');
is($in->("SELECT web.wait_for_posts('0')"), '42501', 'held: wrappers are for their role');
is($node->safe_psql('postgres', "SET ROLE web; SELECT web.wait_for_posts('0')"), 'f', 'held: false by a wrapper');
# A timeout of a thousand years ends after a minute.
my $long = $node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
is($long->query_safe("SELECT blogstore.wait_for_posts('1000 years'), clock_timestamp() - statement_timestamp() BETWEEN '60 s' AND '30 min'"), 'f|t', 'held: a minute at most');
$long->quit;
# A session waits while the worker continues.
my $going = start_client($node, 'postgres', "SELECT blogstore.wait_for_posts('1 min')", 'going');
kill 'CONT', $pid or die "kill: $!";
is_deeply((finish_client($going))[0], ['t'], 'the worker continues, and the wait ends');
is($reader->query_safe('SELECT title FROM blogstore.list_feed(1)'), 'held', '... and the post is listed');

# ---- Without a worker lists are read from posts, so there is nothing to wait
# for

$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
$n++;
$writer->query_safe("SELECT blogstore.create_post(kit.u(1), 'stopped', 'content', kit.p($n), kit.d(4000 + $n))");
is($waiter->query_safe("SELECT blogstore.wait_for_posts('0')"), 't', 'stopped: nothing to wait for');
is($reader->query_safe('SELECT title FROM blogstore.list_feed(1)'), 'stopped', '... since the list has the post');

# The worker is started and stopped again and again. A post is listed whenever
# the wait for it has ended.
my $switch = start_client($node, 'postgres', q{
DO $$
BEGIN
	SET client_min_messages = error;
	WHILE pg_try_advisory_xact_lock_shared(8) LOOP
		PERFORM blogstore.start_worker();
		COMMIT;
		PERFORM blogstore.wait_for_views('10 s');
		COMMIT;
		PERFORM blogstore.stop_worker();
		COMMIT;
	END LOOP;
	PERFORM blogstore.start_worker();
END $$}, 'switch');
my $missing = 0;
for (1 .. 200)
{
	$n++;
	$writer->query_safe("SELECT blogstore.create_post(kit.u(1), 'new $n', 'content', kit.p($n), kit.d(5000 + $n))");
	next if $waiter->query_safe("SELECT blogstore.wait_for_posts('1 min')") ne 't';
	$missing++ if $reader->query_safe('SELECT title FROM blogstore.list_feed(1)') ne "new $n";
}
is($missing, 0, 'no post is missing while the worker is started and stopped');
my $end = $node->background_psql('postgres');
$end->query_safe('SELECT pg_advisory_lock(8)');
finish_client($switch);
$end->quit;
$_->quit foreach @session;

# A standby has no worker to ask.
$node->safe_psql('postgres', 'SET client_min_messages = error; SELECT blogstore.stop_worker(drop_slot => true)');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is(sqlstate($standby, 'postgres', 'wait_for_posts()'), '25006, hint', 'a standby refuses');
$standby->stop;

# ---- wal_level is too low for a worker

wal_level_too_low($node);
$node->restart;
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_posts('0')"), 't', 'wal_level is too low: there is nothing to wait for');

done_testing();
