
# verify() does not list what the worker has still to do, whatever the views
# lag behind with, and beside traffic. It does list damage that the worker will
# not repair, also while the views lag behind.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('beside');
# Counts are postponed as long as possible.
$node->append_conf('postgresql.conf', "blogstore.count_refresh_interval = 60000\nblogstore.feed_size = 50\n");
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 5, 150);
my $found = 'SELECT container, problem, count(*) FROM blogstore.verify() GROUP BY 1, 2 ORDER BY 1, 2';
my $served = q{SELECT state = 'running' FROM blogstore.stat_worker};

is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
is($node->safe_psql('postgres', $found), '', 'at rest: nothing');

# Damage the views under the worker's replication origin, so that the worker
# does not notice.
sub damage
{
	my (@sql) = @_;

	$node->safe_psql('postgres', join ';', q{SELECT pg_replication_origin_session_setup('blogstore_worker')}, @sql);
	return;
}

# Postponed counts
$node->safe_psql('postgres', q{
SELECT count(blogstore.delete_like(kit.p(n), kit.u(1))) FROM generate_series(1, 150) n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1), 'more')) FROM generate_series(1, 150) n});
isnt( $node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.get_post(kit.p(140)) p JOIN blogstore.feed f ON f.id = p.id WHERE f.like_count <> p.like_count'),
	'0', 'counts in the views are late');
is($node->safe_psql('postgres', $found), '', 'counts that are put off: nothing');
is($node->safe_psql('postgres', $found), '', 'counts that are put off: nothing in a second call');

# All kinds of changes while the worker cannot write
my $holder = hold_worker($node, 'postgres');
my %change = (
	'new posts' => q{SELECT blogstore.create_post(kit.u(1 + n % 5), 'new', 'text', kit.p(200 + n), kit.d(200 + n)) FROM generate_series(1, 20) n},
	'old posts, before the feed' => q{SELECT blogstore.create_post(kit.u(1), 'old', 'text', kit.p(300), kit.d(-1))},
	'edits' => q{SELECT blogstore.edit_post(kit.p(n), 'edited') FROM generate_series(122, 130) n},
	'posts deleted' => q{SELECT blogstore.delete_post(kit.p(n)) FROM generate_series(140, 145) n},
	'a post that comes and goes' => q{SELECT blogstore.delete_post(kit.p(146)); SELECT blogstore.create_post(kit.u(2), 'title 146', repeat('content 146 ', 30), kit.p(146), kit.d(146))},
	'likes' => q{SELECT blogstore.create_like(kit.p(135), kit.u(n)) FROM generate_series(1, 5) n},
	'a rename' => q{SELECT blogstore.edit_user(kit.u(3), 'renamed')},
	'users deleted' => q{SELECT blogstore.delete_user(kit.u(4))},
	'rows of the views by hand' => q{UPDATE blogstore.users SET title = 'by hand' WHERE type = 'post' AND post_id = kit.p(3)},
	'rows of posts by hand' => q{DELETE FROM blogstore.posts WHERE id = kit.p(131) AND type = 'post'; DELETE FROM blogstore.posts WHERE post_id = kit.p(131)});
foreach my $name (sort keys %change)
{
	$node->safe_psql('postgres', $change{$name});
	is($node->safe_psql('postgres', $found), '', "the worker is held: $name");
}

# Meanwhile also damage that the worker will not repair. The feed is locked, so
# only copies can be damaged.
damage(q{UPDATE blogstore.users SET title = 'damaged' WHERE type = 'post' AND post_id = kit.p(1)},
	q{DELETE FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(2)});
is($node->safe_psql('postgres', $found), "users|missing copy|1\nusers|stale copy|1", 'beside that, damage is shown');
$holder->quit;
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
is($node->safe_psql('postgres', $found), '', 'the worker has corrected the copies, whose posts had changed');
damage(q{UPDATE blogstore.users SET title = 'damaged' WHERE type = 'post' AND post_id = kit.p(1)},
	q{DELETE FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(2)});
is($node->safe_psql('postgres', $found), "users|missing copy|1\nusers|stale copy|1", 'damage is shown where the posts have not changed');
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'), '2', 'repair() corrects it');
is($node->safe_psql('postgres', $found), '', 'after that verify() shows nothing');

# Damage of the feed
damage(q{DELETE FROM blogstore.feed WHERE id = kit.p(150)}, q{UPDATE blogstore.feed SET title = 'damaged' WHERE id = kit.p(149)});
is($node->safe_psql('postgres', $found), "feed|missing copy|1\nfeed|stale copy|1", 'a damaged feed is shown');
is($node->safe_psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;' . $found), "1\nfeed|missing copy|1\nfeed|stale copy|1", 'also in REPEATABLE READ');
is($node->safe_psql('postgres', 'BEGIN READ ONLY;' . $found), "feed|missing copy|1\nfeed|stale copy|1", 'and READ ONLY');
$node->safe_psql('postgres', 'SELECT blogstore.repair()');

# A transaction's own items
is($node->safe_psql('postgres', qq{BEGIN; SELECT title FROM blogstore.create_post(kit.u(1), 'mine', ''); $found}), 'mine', 'what a transaction has just written: nothing');

# Changed settings that the worker does not know yet
$node->safe_psql('postgres', 'ALTER SYSTEM SET blogstore.feed_size = 10');
my $worker = $node->safe_psql('postgres', 'SELECT pid FROM blogstore.stat_worker');
kill 'STOP', $worker;
$node->reload;
wait_until($node, 'postgres', q{SELECT current_setting('blogstore.feed_size') = '10'});
is($node->safe_psql('postgres', $found), '', 'another size of the feed: nothing');
kill 'CONT', $worker;
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the views follow');
wait_until($node, 'postgres', 'SELECT feed_size = 10 AND ready FROM blogstore.view_state');
is($node->safe_psql('postgres', $found), '', 'the new size is applied: nothing');

# Beside traffic: all clients create, edit, like and delete the same few posts
$node->safe_psql('postgres', q{
CREATE SEQUENCE kit.next;
CREATE FUNCTION kit.any_change() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	n	int := nextval('kit.next');
	p	uuid := kit.p(400 + n % 7);
BEGIN
	PERFORM CASE n % 11 WHEN 0 THEN blogstore.delete_post(p)
		WHEN 1 THEN (blogstore.edit_post(kit.p(100 + n % 5), 'edit ' || n % 3)).hidden
		WHEN 2 THEN (blogstore.hide_post(kit.p(111), n % 2 = 0)).hidden
		WHEN 3 THEN blogstore.delete_like(kit.p(112), kit.u(1 + n % 3))
		WHEN 4 THEN (blogstore.create_like(kit.p(112), kit.u(1 + n % 3))).id IS NULL
		WHEN 5 THEN (blogstore.edit_user(kit.u(5), 'user 5' || n % 2)).id IS NULL
		ELSE (blogstore.create_post(kit.u(1), 'again', 'text', p, kit.d(400 + n % 7))).hidden END;
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
});
my $script = $node->basedir . '/traffic.sql';
append_to_file($script, "SELECT kit.any_change();\n");
my $traffic = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-j', '2', '-T', '100000', '-R', '300', '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \my $out, '2>', \my $err);
damage(q{UPDATE blogstore.users SET title = 'damaged' WHERE type = 'post' AND post_id = kit.p(1)});
wait_until($node, 'postgres', q{SELECT last_value > 500 FROM kit.next});
my %shown;
$shown{ $node->safe_psql('postgres', $found) }++ for 1 .. 60;
is_deeply([ sort keys %shown ], ['users|stale copy|1'], 'beside traffic: the damage, each time, and nothing else');
cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM kit.next'), '>', 1000, 'there was traffic');
$traffic->signal('TERM');
eval { $traffic->finish };

# Without a worker the views are not used, and not compared.
is($node->safe_psql('postgres', "SELECT blogstore.stop_worker(); $found"), '', 'a worker that is stopped: nothing');

$node->stop;
done_testing();
