
# Live hints: after the views were refreshed, a client that listens gets the
# keys of what has changed, and none of a hidden post. A hint that cannot be
# sent is dropped, and the views are right all the same. set_back.c changes the
# clock of the server alone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use BlogstoreWorker;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $HOUR = 3600;
my $node = new_server('hints');
my $clock = $node->basedir . '/clock';

set_clock($clock, 0);
$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'");
$node->append_conf('postgresql.conf', 'max_notify_queue_pages = 64') if $node->pg_version >= 17;
start_preloaded($node, 'set_back', CLOCK_OFFSET => $clock);
create_store($node, 'postgres');
$node->safe_psql('postgres', q{
SELECT blogstore.create_user('user ' || n, kit.u(n)) FROM generate_series(1, 3) AS n;
CREATE ROLE listener LOGIN;
});

# Anybody may listen.
my $listener = $node->background_psql('postgres', extra_params => ['-U', 'listener']);
$listener->query_safe('LISTEN blogstore');

# The payloads that have come until the views show all commits. psql prints
# them behind the result of a query. The worker sends a hint after it has told
# those who wait for the views, and before it answers the next one who waits.
sub hints
{
	$node->safe_psql('postgres', 'SELECT blogstore.wait_for_views()') foreach 1 .. 2;
	my ($out) = $listener->query('SELECT 1');

	return $out =~ /^Asynchronous notification "blogstore" with payload "(.*)" received from/mg;
}

# What hints name: "feed", and the keys with their kinds
sub named
{
	my ($feed, %keys);

	foreach my $hint (map { decode_json($_) } @_)
	{
		return 'all' if $hint->{all};
		$feed ||= $hint->{feed};
		foreach my $kind (qw(posts users topics))
		{
			$keys{"$kind $_"} = 1 foreach @{ $hint->{$kind} };
		}
	}
	return join ', ', ($feed ? 'feed' : ()), sort keys %keys;
}

# What the hints of some SQL name
sub hinted
{
	my ($sql) = @_;

	hints();
	$node->safe_psql('postgres', $sql);
	return named(hints());
}

sub p { return sprintf 'posts %s', $node->safe_psql('postgres', "SELECT kit.p($_[0])") }
sub u { return sprintf 'users %s', $node->safe_psql('postgres', "SELECT kit.u($_[0])") }

my $create = q{SELECT blogstore.create_post(kit.u(1), 'title', 'content', kit.p(1), properties => '{"tags": ["One", "a\\"b"]}')};

is(hinted($create), '', 'no hint is sent by default');
set_and_reload($node, 'blogstore.notify', 'on');

# ---- What is named

my ($p1, $u1, $u2) = (p(1), u(1), u(2));

is(hinted($create =~ s/kit.p\(1\)/kit.p(2)/r), join(', ', 'feed', p(2), 'topics a"b', 'topics one', $u1), 'a new post: feed, post, topics, author');
is(hinted('SELECT blogstore.create_like(kit.p(1), kit.u(2))'), join(', ', 'feed', $p1, 'topics a"b', 'topics one', $u1), 'a like: the post that has it');
is(hinted(q{SELECT blogstore.edit_post(kit.p(1), properties => '{"tags": "two"}')}), join(', ', 'feed', $p1, 'topics a"b', 'topics one', 'topics two', $u1),
	'other topics: the old ones and the new ones');
is(hinted(q{SELECT blogstore.edit_user(kit.u(3), properties => '{"a": 1}')}), '', 'properties of a user: nothing');
is(hinted('SELECT blogstore.create_post(kit.u(2), n::text, n::text, kit.p(1000 + n), kit.d(n)) FROM generate_series(1, 120) AS n'), 'feed, ' . join(', ', sort map { p(1000 + $_) } 1 .. 120) . ", $u2",
	'120 posts of one transaction');
is(hinted(q{SELECT blogstore.edit_post(kit.p(1001), 'older')}), join(', ', p(1001), $u2), 'a post that the feed does not reach');
is(hinted('SELECT blogstore.create_post(kit.u(3), n::text, n::text, kit.p(2000 + n), kit.d(n)) FROM generate_series(1, 300) AS n'), 'all', '300 posts: all');

# The payload of a NOTIFY has a limit in bytes. A topic has up to 100
# characters.
my $long = q{SELECT blogstore.create_post(kit.u(1), 'long', 'content', kit.p(n), properties => jsonb_build_object('tags',
	(SELECT jsonb_agg(repeat(chr(128512 + 20 * (n % 2) + i), 100)) FROM generate_series(1, 16) AS i))) FROM generate_series(%d, %d) AS n};
my $offset = -s $node->logfile;
is(scalar(() = hinted(sprintf $long, 2401, 2401) =~ /topics [^,]{100}(?=,)/g), 16, 'a post with 6400 bytes of topics: each of them');
is(hinted(sprintf $long, 2402, 2403), 'all', 'two posts with 12800 bytes of topics: all');
unlike(slurp_file($node->logfile, $offset), qr/a live hint .* was dropped/, 'none is dropped');

# ---- When it comes

# The worker waits for the lock at the end of the batch, with a scheduled post
# in it. It gives up, rolls the batch back, and tries again.
hints();
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK TABLE blogstore.publish_queue IN SHARE MODE');
$node->safe_psql('postgres', "SELECT blogstore.edit_post(kit.p(1), 'late'), blogstore.create_post(kit.u(1), 'scheduled', 'content', kit.p(2501), publish_date => '2200-01-01')");
wait_until($node, 'postgres', q{SELECT last_error LIKE 'could not write the views:%' FROM blogstore.stat_worker});
unlike(($listener->query('SELECT 1'))[0], qr/Asynchronous notification/, 'no hint while the batch is not committed');
is($node->safe_psql('postgres', q{SELECT title FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)}), 'title', '... and the views are as before');
$lock->quit;
is(join(' ', map { @{ $_->{posts} } } map { decode_json($_) } hints()), $node->safe_psql('postgres', 'SELECT kit.p(1)'), 'then the hint comes');
is($node->safe_psql('postgres', q{SELECT title FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)}), 'late', '... and the views are refreshed');

# ---- Hidden posts

is(hinted('SELECT blogstore.hide_post(kit.p(1))'), 'feed, topics two', 'hiding a post: lists that lose it, and no key of it');
is(hinted(q{SELECT blogstore.edit_post(kit.p(1), 'hidden', properties => '{"tags": ["two", "three"]}')}), 'feed', 'an edit of a hidden post');
is(hinted(q{SELECT blogstore.create_post(kit.u(1), 'draft', 'draft', kit.p(3), properties => '{"tags": "three"}', hidden => true)}), 'feed', 'a new hidden post');
is(hinted('SELECT blogstore.delete_post(kit.p(3))'), 'feed', 'a hidden post that is deleted');
is(hinted('SELECT blogstore.publish_post(kit.p(1))'), join(', ', 'feed', $p1, 'topics three', 'topics two', $u1), 'the published post');
is(hinted('SELECT blogstore.delete_post(kit.p(2))'), join(', ', 'feed', 'topics a"b', 'topics one'), 'a deleted post: lists that lose it, and no key of it');
is(hinted('SELECT blogstore.create_comment(kit.p(1), kit.u(2), $$comment$$, kit.c(1))'), join(', ', 'feed', $p1, 'topics three', 'topics two', $u1), 'a comment: the post that has it');
is(hinted('SELECT blogstore.hide_post(post_id) FROM (SELECT post_id FROM blogstore.list_feed() OFFSET 99) AS oldest'), 'feed', 'the oldest post of the feed is hidden');
$node->safe_psql('postgres', q{SELECT blogstore.publish_post(post_id) FROM blogstore.posts WHERE type = 'post' AND hidden});

# ---- Scheduled posts

my $date = "date_trunc('hour', now()) + interval";
is(hinted(qq{SELECT blogstore.create_post(kit.u(1), 'scheduled', 'content', kit.p(4), properties => '{"tags": "three"}', publish_date => $date '3 hours')}), 'feed', 'a scheduled post');
is(hinted("SELECT blogstore.schedule_post(kit.p(4), $date '4 hours')"), 'feed', 'another date');
is(hinted('SELECT blogstore.schedule_post(kit.p(4), NULL)'), 'feed', 'no date');
is(hinted("SELECT blogstore.schedule_post(kit.p(4), $date '3 hours')"), 'feed', 'a date again');
is(hinted("SELECT blogstore.schedule_post(kit.p(1), $date '9 hours')"), 'feed, topics three, topics two', 'a shown post that is scheduled: lists that lose it, and no key of it');
hints();
set_clock($clock, 5 * $HOUR);
wait_until($node, 'postgres', 'SELECT NOT hidden FROM blogstore.get_post(kit.p(4))');
is(named(hints()), join(', ', 'feed', p(4), 'topics three', $u1), 'the date has come: feed, post, topics, author');
$node->safe_psql('postgres', 'SELECT blogstore.publish_post(kit.p(1))');

# ---- Views that were built anew, and another worker

# Readers use the views a moment before the hint is sent.
sub all_hinted
{
	my ($name) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	my $all = 0;

	$all = grep { $_ eq '{"all": true}' } hints() until $all || time > $end;
	ok($all, $name);
	return;
}

set_and_reload($node, 'blogstore.short_form_length', 100);
all_hinted('views that were built anew');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'blogstore worker'});
all_hinted('another worker');

# ---- Hints that cannot be sent

sub dropped
{
	my ($name, $cause, $number) = @_;
	my $offset = -s $node->logfile;

	$node->safe_psql('postgres', "SET synchronous_commit = local; SELECT blogstore.create_post(kit.u(1), '$name', 'content', kit.p($number))");
	hints();
	like(slurp_file($node->logfile, $offset), qr/a live hint of database "postgres" was dropped: $cause/, "$name: the hint is dropped, and logged");
	is($node->safe_psql('postgres', "SELECT title FROM blogstore.list_feed(1)"), $name, "$name: the feed has the post");
	return;
}

# A session that waits for a standby at the commit of its NOTIFY holds the lock
# that all senders need. It sends again until it waits: the server follows the
# setting a moment after it was reloaded.
$node->safe_psql('postgres', 'CREATE TABLE kit.sent (payload text)');
set_and_reload($node, 'synchronous_standby_names', 'nobody');
my $holder = $node->background_psql('postgres');
$holder->query_until(qr/sending/, "\\echo sending\nINSERT INTO kit.sent SELECT pg_notify('other', '') \\watch 0.1\n");
wait_until($node, 'postgres', q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')});
dropped('lock', 'canceling statement due to lock timeout', 3001);
set_and_reload($node, 'synchronous_standby_names', '');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO kit.sent%'});
$holder->{run}->finish;
is(hinted(q{SELECT blogstore.edit_post(kit.p(3001), 'sent')}), 'all', 'the next hint makes up for it');
is(hinted(q{SELECT blogstore.edit_post(kit.p(3001), 'again')}), join(', ', 'feed', p(3001), $u1), 'the hint behind it has keys');

SKIP:
{
	skip 'the queue of notifications has 8 GB on this version', 4 if $node->pg_version < 17;
	my $sleeper = $node->background_psql('postgres');
	$sleeper->query_safe('LISTEN other');
	$sleeper->query_safe('BEGIN');
	my (undef, undef, $error) = $node->psql('postgres', join '', map { "SELECT pg_notify('other', repeat('x', 7000) || $_);\n" } 1 .. 100);
	like($error, qr/too many notifications in the NOTIFY queue/, 'the queue is full');
	dropped('full', 'too many notifications', 3002);
	$sleeper->query_safe('ROLLBACK');
	$sleeper->query_safe('UNLISTEN *');
	$sleeper->quit;
	is(hinted(q{SELECT blogstore.edit_post(kit.p(3002), 'sent')}), 'all', 'full: the next hint makes up for it');
}

$listener->quit;
check_store($node, 'postgres', 'at the end');
$node->stop;
done_testing();
