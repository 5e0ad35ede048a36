
# Follows on a cluster: a follow lies with the user who follows, its followed
# user and the posts of both anywhere. Requests from every member, pages over
# nodes, transactions, hidden posts, renames and deletions, moved shards, views
# that are not ready, damage and repair(), import and export, bad input, the
# limit, rights, and a node that is down.

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

my $USERS = 30;
my $POSTS = 300;

my $cluster = new_cluster('follows');
my ($coordinator, $one, $two) = members($cluster);

create_kit_everywhere($cluster, q{SET citus.enable_ddl_propagation = off;
-- The ids of a list, read by pages. The list is a call with $1 to $4 for the
-- arguments page_size to oldest_first. If cut is true, the client keeps dates
-- to the millisecond.
CREATE FUNCTION kit.pages(list text, size int, oldest_first boolean, cut boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	item	record;
	n		int;
	seen	text[] := '{}';
	after_date	timestamptz;
	after_id	uuid;
BEGIN
	LOOP
		n := 0;
		FOR item IN EXECUTE 'SELECT id, creation_date FROM blogstore.' || list USING size, after_date, after_id, oldest_first LOOP
			seen := seen || right(item.id::text, 12);
			after_date := CASE WHEN cut THEN date_trunc('milliseconds', item.creation_date) ELSE item.creation_date END;
			after_id := item.id;
			n := n + 1;
		END LOOP;
		EXIT WHEN n < size OR cardinality(seen) > 9000;
	END LOOP;
	RETURN array_to_string(seen, ',');
END $$;
-- Whether user i follows user n
CREATE FUNCTION kit.follows(i int, n int) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN i <> n AND (n = 1 OR i = 2 OR (i * 7 + n * 3) % 5 = 0);
});

my $FOLLOWS = q{(SELECT * FROM blogstore.users WHERE type = 'follow') AS f};
my $SHOWN = q{(SELECT * FROM blogstore.posts WHERE type = 'post' AND hidden IS NOT TRUE) AS p};

# The answer of plain SQL, in which FOLLOWS and SHOWN stand for all follows and
# all posts that are not hidden
sub wanted
{
	my ($sql) = @_;

	return $coordinator->safe_psql('postgres', $sql =~ s/FOLLOWS/$FOLLOWS/r =~ s/SHOWN/$SHOWN/r);
}

my @members = members($cluster);

# Check that every member returns each user's follows and home feed, and that
# verify() finds nothing.
sub follows_right
{
	my ($name, @sizes) = @_;
	my $users = join ', ', map { "'$_'" } split /\n/, $coordinator->safe_psql('postgres', 'SELECT user_id FROM blogstore.user_items ORDER BY 1');
	my $of_users = "unnest(ARRAY[$users]::uuid[]) WITH ORDINALITY AS u (id, n), LATERAL blogstore";

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(cluster_views_follow($cluster), "$name: the views follow");
	wait_jobs($cluster, members($cluster));
	same_everywhere($cluster, "SELECT l.* FROM $of_users.list_following(u.id, NULL) AS l ORDER BY n",
		wanted('SELECT id, type, user_id, user_username, followed_id, followed_username, creation_date FROM FOLLOWS ORDER BY user_id, creation_date DESC, id DESC'),
		"$name: whom each user follows");
	same_everywhere($cluster, "SELECT l.* FROM $of_users.list_followers(u.id, NULL) AS l ORDER BY n",
		wanted('SELECT id, type, user_id, user_username, followed_id, followed_username, creation_date FROM FOLLOWS ORDER BY followed_id, creation_date DESC, id DESC'),
		"$name: who follows each user");
	same_everywhere($cluster, "SELECT u.id, l.id, l.title FROM $of_users.list_home_feed(u.id, NULL) WITH ORDINALITY AS l ORDER BY n, l.ordinality",
		wanted('SELECT f.user_id, p.id, p.title FROM FOLLOWS JOIN SHOWN ON p.user_id = f.followed_id ORDER BY f.user_id, p.creation_date DESC, p.id DESC'),
		"$name: each home feed");
	foreach my $size (@sizes)
	{
		foreach my $oldest_first (0, 1)
		{
			my $order = $oldest_first ? 'ORDER BY creation_date, id' : 'ORDER BY creation_date DESC, id DESC';
			my %lists = (
				'list_following(kit.u(2)' => "SELECT string_agg(right(id::text, 12), ',' $order) FROM FOLLOWS WHERE user_id = kit.u(2)",
				'list_followers(kit.u(1)' => "SELECT string_agg(right(id::text, 12), ',' $order) FROM FOLLOWS WHERE followed_id = kit.u(1)",
				'list_home_feed(kit.u(2)' => "SELECT string_agg(right(id::text, 12), ',' $order) FROM SHOWN WHERE user_id IN (SELECT followed_id FROM FOLLOWS WHERE user_id = kit.u(2))");

			foreach my $list (sort keys %lists)
			{
				foreach my $cut ('false', 'true')
				{
					same_everywhere($cluster, sprintf(q{SELECT kit.pages('%s, $1, $2, $3, $4)', %d, %d::boolean, %s)}, $list, $size, $oldest_first, $cut),
						wanted($lists{$list}), "$name: pages of $size, oldest first $oldest_first, cut $cut, of $list)");
				}
			}
		}
	}
	# a different member each time
	push @members, shift @members;
	is($members[0]->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "$name: verify() on " . $members[0]->name);
	return;
}

# The error of a statement: its SQLSTATE, message and hint
sub error_of
{
	my ($member, $sql, $dbname) = @_;
	my ($rc, $out, $err) = $member->psql($dbname // 'postgres', "\\set VERBOSITY verbose\n$sql");

	my ($state, $message) = $err =~ /ERROR:  (\w{5}): (.*)/;
	return defined $state ? join('|', $state, $message, $err =~ /^HINT:  (.*)/m) : "no error: $out";
}

# The numbers of users whose follows are on a node
sub users_on
{
	my ($node) = @_;

	return grep { home_of($cluster, "kit.u($_)") == $node } 1 .. $USERS;
}

# ---- Follows from every member

$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $USERS) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % $USERS), 'post ' || n, 'content', kit.p(n), kit.d(n / 3) + n % 2 * interval '1.5 ms')) FROM generate_series(1, $POSTS) AS n});
my $asked = 0;
foreach my $member (members($cluster))
{
	# Each member follows for a third of the users. Dates are equal, and differ
	# by less than a millisecond.
	$member->safe_psql('postgres', qq{
SELECT count(blogstore.follow_user(kit.u(i), kit.u(n), kit.d((i + n) / 4) + (i * n % 3) * interval '0.5 ms'))
FROM generate_series(1, $USERS) AS i, generate_series(1, $USERS) AS n WHERE i % 3 = $asked AND kit.follows(i, n)});
	$asked++;
}
follows_right('followed', 4, 500);
cmp_ok($_->safe_psql('postgres', q{SELECT count(*) FROM blogstore.users_follow}), '>', 30, $_->name . ' sees follows') foreach members($cluster);
cmp_ok(scalar(users_on($_)), '>', 3, $_->name . ' has the follows of several users') foreach $one, $two;

my ($near) = grep { $_ > 2 } users_on($one);
my ($far) = grep { $_ > 2 } users_on($two);
foreach my $member (members($cluster))
{
	my $name = $member->name;
	my $there = $member->safe_psql('postgres', "SELECT id FROM blogstore.follow_user(kit.u($near), kit.u(1))");

	is($there, wanted("SELECT id FROM FOLLOWS WHERE user_id = kit.u($near) AND followed_id = kit.u(1)"), "$name: a follow that exists is returned");
	is($member->safe_psql('postgres', "SELECT blogstore.unfollow_user(kit.u($near), kit.u(1)), blogstore.unfollow_user(kit.u($near), kit.u(1))"), 't|f', "$name: the end of a follow");
	is($member->safe_psql('postgres', "SELECT user_username, followed_username, creation_date = kit.d(7) FROM blogstore.follow_user(kit.u($near), kit.u(1), kit.d(7))"), "user $near|user 1|t", "$name: followed again");
	is($member->safe_psql('postgres', qq{
BEGIN;
SELECT followed_username FROM blogstore.follow_user(kit.u($near), kit.u($far), kit.d(500));
SELECT blogstore.unfollow_user(kit.u($far), kit.u(1));
SELECT followed_username FROM blogstore.list_following(kit.u($near), 1);
SELECT count(*) FROM blogstore.list_followers(kit.u($far), NULL) WHERE user_id = kit.u($near);
SELECT count(*) FROM blogstore.get_follows(kit.u($far), ARRAY[kit.u(1), NULL]);
SELECT count(*) FROM blogstore.list_home_feed(kit.u($near), NULL) WHERE user_id = kit.u($far);
SELECT count(*) FROM blogstore.list_home_feed(kit.u($far), NULL) WHERE user_id = kit.u(1);
ROLLBACK}), "user $far\nt\nuser $far\n1\n0\n" . ($POSTS / $USERS) . "\n0", "$name: a transaction sees its follows");
}
my $ids = "ARRAY[kit.u(5), kit.u(99), kit.u(1), NULL, kit.u($far), kit.u(5)]";
same_everywhere($cluster, "SELECT l.followed_username FROM blogstore.get_follows(kit.u(2), $ids) WITH ORDINALITY AS l ORDER BY l.ordinality",
	join("\n", map { "user $_" } 5, 1, $far, 5), 'follows in the order of the ids');
same_everywhere($cluster, 'SELECT count(*) FROM blogstore.list_home_feed(kit.u(99)), blogstore.list_following(kit.u(99))', 0, 'an unknown user');
follows_right('again');

# Longer than what is read at once
$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.create_post(kit.u(n % 3 + 20), 'more ' || n, 'content', kit.p(n), kit.d(7))) FROM generate_series(1001, 1700) AS n});
follows_right('many posts at one moment', 300);
my $cursor = $one->background_psql('postgres');
$cursor->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM blogstore.list_home_feed(kit.u(2), NULL)');
is(scalar(split /\n/, $cursor->query_safe('FETCH 400 FROM c')), 400, 'a cursor');
is(scalar(split /\n/, $cursor->query_safe('FETCH ALL FROM c')), wanted('SELECT count(*) - 400 FROM SHOWN WHERE user_id <> kit.u(2)'), '... and its rest');
$cursor->quit;

# ---- Transactions

$coordinator->safe_psql('postgres', q{SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(31, 33) AS n});
# Citus may report a deadlock that does not exist if one local transaction of a
# node holds a row, and another one waits for it beside transactions of other
# nodes.
my $holder = hold($two, 'postgres', "SELECT followed_username FROM blogstore.follow_user(kit.u($near), kit.u(31))");
my @waiting = map { start_client($_, 'postgres', "SELECT followed_username FROM blogstore.follow_user(kit.u($near), kit.u(32))", 'waits_' . $_->name) } members($cluster);
wait_until($one, 'postgres', 'SELECT count(*) = 3 FROM pg_locks WHERE NOT granted');
is($coordinator->safe_psql('postgres', "SELECT followed_username FROM blogstore.follow_user(kit.u($far), kit.u(31))"), 'user 31', 'a follow of another user does not wait');
ok(goes_on($_), 'another follow of the user waits') foreach @waiting;
release($holder);
foreach my $client (@waiting)
{
	my ($written, $errors) = finish_client($client);

	is("@$written$errors", 'user 32', '... until the first one is committed');
}

my $old = $one->background_psql('postgres', on_error_stop => 0);
$old->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM blogstore.list_followers(kit.u(1))");
$two->safe_psql('postgres', "SELECT blogstore.follow_user(kit.u(1), kit.u(33), kit.d(999)); SELECT blogstore.follow_user(kit.u($far), kit.u(1)); SELECT blogstore.unfollow_user(kit.u($near), kit.u(1))");
is($old->query_safe("SELECT count(*) FROM blogstore.list_followers(kit.u(1), NULL) WHERE user_id = kit.u($near)"), 1, 'REPEATABLE READ: as it was on each node');
is($old->query_safe("SELECT count(*) FROM blogstore.list_home_feed(kit.u($near), NULL) WHERE user_id = kit.u(1)"), $POSTS / $USERS, 'REPEATABLE READ: the home feed, too');
$old->query("SELECT blogstore.unfollow_user(kit.u($near), kit.u(1))");
like($old->{stderr}, qr/could not serialize access/, 'REPEATABLE READ: a concurrent end');
$old->quit;
follows_right('transactions');

# An open follow holds up no change of its user, which would hold up those of
# all other users.
$coordinator->safe_psql('postgres', q{SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(34, 36) AS n});
my $open = hold($two, 'postgres', 'SELECT blogstore.follow_user(kit.u(34), kit.u(35)), blogstore.follow_user(kit.u(36), kit.u(35))');
foreach my $member (members($cluster))
{
	my $name = $member->name;

	is($member->safe_psql('postgres', "SELECT username FROM blogstore.edit_user(kit.u(34), 'user 34 of $name')"), "user 34 of $name", "$name: a rename beside a follow");
}
is($one->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(36))'), 't', 'a deletion beside a follow');
is($one->safe_psql('postgres', "SELECT username FROM blogstore.edit_user(kit.u(35), 'user 35, renamed')"), 'user 35, renamed', 'a rename of another user');
release($open);
follows_right('open follows');
is(wanted('SELECT user_username, followed_username FROM FOLLOWS WHERE followed_id = kit.u(35)'), 'user 34 of ' . $two->name . '|user 35, renamed', 'the new names, and nothing of the deleted user');

# ---- Hidden posts, renames and deletions

sub shown_to_two
{
	my ($where, $expected, $name) = @_;

	same_everywhere($cluster, "SELECT count(*) FROM blogstore.list_home_feed(kit.u(2), NULL) WHERE $where", $expected, $name);
	return;
}

my ($here) = posts_on($cluster, $one, 100, 1);
my ($there) = posts_on($cluster, $two, 100, 1);
my $both = "post_id IN (kit.p($here), kit.p($there))";
$coordinator->safe_psql('postgres', "SELECT blogstore.hide_post(kit.p($here)), blogstore.hide_post(kit.p($there))");
follows_right('hidden');
shown_to_two($both, 0, 'hidden posts are in no home feed');
$two->safe_psql('postgres', "SELECT blogstore.publish_post(kit.p($here))");
follows_right('published');
shown_to_two($both, 1, 'a published post is');

# Both ends of follows on each node get new names, and lose a user.
my ($renamed_near, $gone_near) = grep { $_ > 2 && $_ != $near } users_on($one);
my ($renamed_far, $gone_far) = grep { $_ > 2 && $_ != $far } users_on($two);
$one->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u($renamed_near), 'other $renamed_near'), blogstore.edit_user(kit.u($renamed_far), 'other $renamed_far')");
$two->safe_psql('postgres', "SELECT blogstore.delete_user(kit.u($gone_near)), blogstore.delete_user(kit.u($gone_far))");
same_everywhere($cluster, "SELECT count(*) FROM blogstore.list_home_feed(kit.u(2), NULL) WHERE user_id IN (kit.u($gone_near), kit.u($gone_far))", 0, 'deleted users leave the home feed at once');
follows_right('renamed and deleted');
foreach my $end ('user', 'followed')
{
	is(wanted("SELECT string_agg(DISTINCT ${end}_username, ',' ORDER BY ${end}_username) FROM FOLLOWS WHERE ${end}_id IN (kit.u($renamed_near), kit.u($renamed_far))"),
		join(',', sort "other $renamed_far", "other $renamed_near"), "the new names are on follows: $end");
	is(wanted("SELECT count(*) FROM FOLLOWS WHERE ${end}_id IN (kit.u($gone_near), kit.u($gone_far))"), 0, "no follows are left of deleted users: $end");
}
is(error_of($_, "SELECT blogstore.follow_user(kit.u(2), kit.u($gone_near))"), "23503|user " . $coordinator->safe_psql('postgres', "SELECT kit.u($gone_near)") . ' does not exist|Create the user first, or check the id.',
	$_->name . ': a deleted user cannot be followed') foreach members($cluster);

# ---- A shard moves, and its old node has yet to rename and delete

my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.u($near))");
my ($renamed, $gone) = split /\n/, wanted("SELECT right(followed_id::text, 3)::int FROM FOLLOWS WHERE user_id = kit.u($near) AND followed_id > kit.u(2) ORDER BY followed_id LIMIT 2");
my $stopped = stop_worker($one, 'postgres');
# delete_user() skips what is locked.
my $locker = hold($one, 'postgres', "SELECT FROM blogstore.users WHERE type = 'follow' AND user_id = kit.u($near) AND followed_id = kit.u($gone) FOR UPDATE");
$coordinator->safe_psql('postgres', "SELECT blogstore.edit_user(kit.u($renamed), 'moved'), blogstore.delete_user(kit.u($gone))");
release($locker);
# Node 2 has done its part.
wait_until($two, 'postgres', "SELECT count(*) > 0 FROM blogstore.users_follow WHERE followed_username = 'moved'");
is(wanted("SELECT string_agg(followed_username, ',' ORDER BY followed_username) FROM FOLLOWS WHERE user_id = kit.u($near) AND followed_id IN (kit.u($renamed), kit.u($gone))"), "user $renamed,user $gone", 'the old names are still there');
move_shard($cluster, $shard, $one, $two, 'block_writes');
wait_until($two, 'postgres', "SELECT count(*) = 1 FROM blogstore.users_follow WHERE user_id = kit.u($near) AND followed_username = 'moved'");
wait_until($two, 'postgres', "SELECT count(*) = 0 FROM blogstore.users_follow WHERE user_id = kit.u($near) AND followed_id = kit.u($gone)");
kill 'CONT', $stopped;
follows_right('a shard has moved', 50);
my $old_snapshot = $one->background_psql('postgres', on_error_stop => 0);
$old_snapshot->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM blogstore.get_user(kit.u(1))");
move_shard($cluster, $shard, $two, $one, 'block_writes');
foreach my $list ("list_following(kit.u($near))", 'list_followers(kit.u(1))', "list_home_feed(kit.u($near))")
{
	$old_snapshot->{stderr} = '';
	$old_snapshot->query("SAVEPOINT s; SELECT count(*) FROM blogstore.$list; ROLLBACK TO s");
	like($old_snapshot->{stderr}, qr/ERROR:  a shard has come to this node after the transaction's snapshot was taken/, "an older snapshot: $list");
}
$old_snapshot->quit;
follows_right('it has moved back');

# ---- Follows of the users in a shard that moves, from every member

my $in_shard = join ', ', split /\n/, $coordinator->safe_psql('postgres',
	"SELECT n FROM generate_series(3, $USERS) AS n JOIN blogstore.user_items AS u ON u.user_id = kit.u(n) WHERE get_shard_id_for_distribution_column('blogstore.posts', kit.u(n)) = $shard");
# Each client follows a user of its own, who has the newest post but those of
# the other clients' users. So the rest of a home feed stays the same.
$coordinator->safe_psql('postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(41, 43) AS n;
SELECT count(blogstore.create_post(kit.u(n), 'newest of ' || n, 'content', kit.p(3000 + n), kit.d(500 + n))) FROM generate_series(41, 43) AS n});
ok(cluster_views_follow($cluster), 'the newest posts are in the views');
my %newest;
foreach my $row (split /\n/, wanted('SELECT f.user_id, p.id FROM FOLLOWS JOIN SHOWN ON p.user_id = f.followed_id ORDER BY p.creation_date DESC, p.id DESC'))
{
	my ($user, $post) = split /\|/, $row;

	push @{ $newest{$user} }, qq{"$post"} if @{ $newest{$user} // [] } < 5;
}
my $feeds = '{' . join(', ', map { sprintf '"%s": [%s]', $_, join(', ', @{ $newest{$_} }) } keys %newest) . '}';
my $n = 40;
my @traffic = map {
	$n++;
	start_client($_, 'postgres', qq{
DO \$\$
DECLARE
	n	int;
	follows	boolean;
	feed	uuid[];
BEGIN
	WHILE pg_try_advisory_xact_lock_shared(8) LOOP
		FOREACH n IN ARRAY ARRAY[$in_shard] LOOP
			PERFORM blogstore.follow_user(kit.u(n), kit.u($n));
			COMMIT;
			ASSERT (SELECT count(*) = 1 FROM blogstore.get_follows(kit.u(n), ARRAY[kit.u($n)])), 'a follow is lost';
			COMMIT;
			FOREACH follows IN ARRAY ARRAY[true, false] LOOP
				ASSERT follows OR blogstore.unfollow_user(kit.u(n), kit.u($n)), 'a follow cannot be ended';
				COMMIT;
				feed := ARRAY(SELECT l.id FROM blogstore.list_home_feed(kit.u(n), 5) WITH ORDINALITY AS l ORDER BY l.ordinality);
				COMMIT;
				ASSERT (kit.p(3000 + $n) = ANY (feed)) = follows, format('user %s follows user $n: %s, home feed: %s', n, follows, feed);
				ASSERT feed = (ARRAY(SELECT kit.p(3000 + u) FROM generate_series(43, 41, -1) AS u WHERE kit.p(3000 + u) = ANY (feed))
					|| ARRAY(SELECT jsonb_array_elements_text('$feeds'::jsonb -> kit.u(n)::text)::uuid))[1:5], format('user %s, home feed: %s', n, feed);
			END LOOP;
		END LOOP;
	END LOOP;
	FOREACH n IN ARRAY ARRAY[$in_shard] LOOP
		PERFORM blogstore.follow_user(kit.u(n), kit.u($n));
		COMMIT;
	END LOOP;
END \$\$}, "traffic $n");
} members($cluster);
foreach my $move ([ $one, $two, 'block_writes' ], [ $two, $one, 'force_logical' ], [ $one, $two, 'block_writes' ], [ $two, $one, 'block_writes' ])
{
	move_shard($cluster, $shard, @$move);
	ok(goes_on($_), 'a shard moves while users follow') foreach @traffic;
}
my @stop = map { $_->background_psql('postgres') } members($cluster);
$_->query_safe('SELECT pg_advisory_lock(8)') foreach @stop;
foreach my $client (@traffic)
{
	my ($written, $errors) = finish_client($client);

	is("@$written$errors", '', 'a client has ended');
}
$_->quit foreach @stop;
follows_right('after traffic');
is(wanted("SELECT count(*) FROM FOLLOWS WHERE followed_id BETWEEN kit.u(41) AND kit.u(43)"), 3 * (split /, /, $in_shard), 'each client has followed last');

# ---- Views that are not ready: the home feed is read from posts

$two->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
wait_until($_, 'postgres', 'SELECT NOT blogstore.views_served()') foreach $one, $two;
$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.create_post(kit.u(1), 'late ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(2001, 2020) AS n;
SELECT blogstore.hide_post(kit.p(2001)), blogstore.create_like(kit.p(2002), kit.u(3))});
same_everywhere($cluster, q{SELECT title, content, like_count FROM blogstore.list_home_feed(kit.u(2), 20) WITH ORDINALITY AS l WHERE title LIKE 'late%' ORDER BY l.ordinality},
	join("\n", map { "late $_|content|" . ($_ == 2002 ? 1 : 0) } reverse 2002 .. 2020), 'no views: the home feed');
same_everywhere($cluster, q{SELECT kit.pages('list_home_feed(kit.u(2), $1, $2, $3, $4)', 70, false, true)},
	wanted(q{SELECT string_agg(right(id::text, 12), ',' ORDER BY creation_date DESC, id DESC) FROM SHOWN WHERE user_id IN (SELECT followed_id FROM FOLLOWS WHERE user_id = kit.u(2))}),
	'no views: pages of the home feed');
$two->safe_psql('postgres', 'SELECT blogstore.start_worker()');
follows_right('the views are back');

# ---- Damage

foreach my $asked (members($cluster))
{
	$coordinator->safe_psql('postgres', qq{
UPDATE blogstore.users SET followed_username = 'wrong' WHERE type = 'follow' AND user_id = kit.u($near) AND followed_id = kit.u(2);
UPDATE blogstore.users SET user_username = 'wrong' WHERE type = 'follow' AND user_id = kit.u($far) AND followed_id = kit.u(1);
INSERT INTO blogstore.users (id, type, user_id, user_username, followed_id, followed_username, creation_date)
VALUES (kit.c(1), 'follow', kit.u(98), 'nobody', kit.u(1), 'user 1', kit.d(1)), (kit.c(2), 'follow', kit.u($near), 'user $near', kit.u(99), 'nobody', kit.d(1))});
	is($asked->safe_psql('postgres', 'SELECT container, problem, type, actual FROM blogstore.verify() ORDER BY 1, 2, 3, user_id = kit.u(98)'),
		"users|followed_username|follow|wrong\nusers|orphan|follow|\nusers|orphan|follow|\nusers|username|follow|wrong", $asked->name . ': verify()');
	is($asked->safe_psql('postgres', 'SELECT blogstore.repair()'), 4, $asked->name . ': repair()');
	follows_right('repaired by ' . $asked->name);
}

# ---- Export and import

my $all = wanted('SELECT id, user_id, user_username, followed_id, followed_username, creation_date FROM FOLLOWS ORDER BY 1');
foreach my $member (members($cluster))
{
	is($member->safe_psql('postgres', q{
CREATE TEMP TABLE documents AS SELECT d FROM blogstore.export_documents() AS d WHERE d ->> 'type' = 'follow';
DELETE FROM blogstore.users WHERE type = 'follow';
SELECT type, read, imported, present, rejected FROM blogstore.import_documents('documents') WHERE type = 'follow';
SELECT type, read, imported, present, rejected FROM blogstore.import_documents('documents') WHERE type = 'follow'}),
		join("\n", map { join '|', 'follow', scalar(split /\n/, $all), @$_, 0 } [ scalar(split /\n/, $all), 0 ], [ 0, scalar(split /\n/, $all) ]), $member->name . ': documents');
	is(wanted('SELECT id, user_id, user_username, followed_id, followed_username, creation_date FROM FOLLOWS ORDER BY 1'), $all, $member->name . ': the follows of the documents');
	is($member->safe_psql('postgres', qq{
CREATE TEMP TABLE rejects (type text, reason text, item jsonb);
CREATE TEMP TABLE people AS SELECT kit.u(200) AS user_id, 'new' AS username, kit.d(1) AS creation_date;
CREATE TEMP TABLE follows AS SELECT kit.u(200) AS user_id, kit.u(n) AS followed_id, kit.d(n) AS creation_date FROM generate_series(1, 2) AS n
UNION ALL VALUES (kit.u($near), kit.u(200), kit.d(5)), (kit.u($far), kit.u(200), kit.d(6)), (kit.u($far), kit.u(200), kit.d(7)),
	(kit.u($near), kit.u(99), kit.d(5)), (kit.u(99), kit.u(1), kit.d(5)), (kit.u(1), kit.u(1), kit.d(5)), (NULL, kit.u(1), kit.d(5)), (kit.u(2), kit.u($near), kit.d(5));
SELECT type, read, imported, present, rejected FROM blogstore.import(users => 'people', follows => 'follows', rejects => 'rejects') WHERE type IN ('user', 'follow');
SELECT reason, count(*) FROM rejects GROUP BY reason ORDER BY reason COLLATE "C"}),
		join("\n", 'user|1|1|0|0', 'follow|10|4|0|6', q{followed already|1}, q{followed_id must be another user's|1}, 'id taken|1', 'unknown user|2', 'user_id must not be null|1'),
		$member->name . ': import()');
	follows_right('imported by ' . $member->name);
	$member->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(200))');
	follows_right('and deleted');
}

# ---- An import of follows beside other requests

# An import: user $from follows $from + 1, and $from + 2 follows $from.
my $comments = 5000;

sub import_sql
{
	my ($from) = @_;

	$comments++;
	return qq{
SET client_min_messages = error;
CREATE TEMP TABLE rejects (type text, reason text, item jsonb);
CREATE TEMP TABLE comments AS SELECT kit.c($comments) AS comment_id, kit.p(4001) AS post_id, kit.u(1) AS user_id, 'imported' AS content, kit.d(1) AS creation_date;
CREATE TEMP TABLE follows AS SELECT kit.u($from) AS user_id, kit.u($from + 1) AS followed_id, kit.d(1) AS creation_date UNION ALL SELECT kit.u($from + 2), kit.u($from), kit.d(1);
SELECT imported, present, rejected FROM blogstore.import(comments => 'comments', follows => 'follows', rejects => 'rejects') WHERE type = 'follow'};
}

# Begin an import on a member. It waits for the post on which it writes a
# comment, after it has checked the follows and before it writes them. Returns
# a session of another member that holds the post, and the import.
sub import_held
{
	my ($member, $holding, $from) = @_;
	my $hold = hold($holding, 'postgres', "SELECT FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(4001) FOR UPDATE");
	my $import = start_client($member, 'postgres', import_sql($from), "import_$from");

	wait_until(home_of($cluster, 'kit.p(4001)'), 'postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'transactionid' AND backend_type = 'client backend'});
	return ($hold, $import);
}

# Wait until a client has ended, and check its rows or its error.
sub ends_with
{
	my ($client, $expected, $name) = @_;
	my ($rows, $error) = finish_client($client);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like("@$rows$error", $expected, $name);
}

$coordinator->safe_psql('postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(210, 251) AS n;
SELECT blogstore.create_post(kit.u(1), 'held', 'content', kit.p(4001), kit.d(1))});

# Either end is renamed or deleted, before the import ends or after it.
my @turn = members($cluster);
my $from = 210;
my @left;
foreach my $when ('before', 'after')
{
	foreach my $change ('renamed', 'deleted')
	{
		foreach my $nth (0 .. 2)
		{
			my ($member, $other, $holding) = @turn;
			my $user = $from + $nth;
			my $name = "$when the end of an import by " . $member->name . ", user $user is $change";
			my ($hold, $import) = import_held($member, $holding, $from);
			my $changing = hold($other, 'postgres', $change eq 'renamed' ? "SELECT FROM blogstore.edit_user(kit.u($user), 'renamed $user')" : "SELECT blogstore.delete_user(kit.u($user))");
			my %names = map { $_ => "user $_" } $from .. $from + 2;

			release($changing) if $when eq 'before';
			release($hold);
			if ($when eq 'before')
			{
				ends_with($import, qr/^[^|]*ERROR:  a user was renamed, or deleted, meanwhile/, "$name: the import fails");
				$member->safe_psql('postgres', import_sql($from));
			}
			else
			{
				ends_with($import, qr/^2\|0\|0$/, "$name: the import succeeds");
				release($changing);
			}
			$names{$user} = $change eq 'renamed' ? "renamed $user" : undef;
			push @left, map { "$names{$_->[0]}|$names{$_->[1]}" } grep { defined $names{ $_->[0] } && defined $names{ $_->[1] } } [ $from, $from + 1 ], [ $from + 2, $from ];
			$from += 3;
			push @turn, shift @turn;
		}
	}
}
follows_right('imported beside renames and deletions');
is(wanted('SELECT user_username, followed_username FROM FOLLOWS WHERE user_id BETWEEN kit.u(210) AND kit.u(245) ORDER BY user_id'), join("\n", @left),
	'the names on the imported follows, and nothing of deleted users');

# An import waits for a new follow, and a new follow for an import.
$open = hold($two, 'postgres', 'SELECT FROM blogstore.follow_user(kit.u(246), kit.u(247), kit.d(1))');
my $importing = start_client($one, 'postgres', import_sql(246), 'import_waits');
wait_until(home_of($cluster, 'kit.u(246)'), 'postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype = 'object'});
ok(goes_on($importing), 'an import waits for a new follow');
release($open);
ends_with($importing, qr/^1\|1\|0$/, '... and finds it');
$two->safe_psql('postgres', 'SELECT blogstore.follow_user(kit.u(249), kit.u(246))');
my ($held, $import) = import_held($one, $coordinator, 249);
my $follow = start_client($two, 'postgres', 'SELECT followed_username, creation_date = kit.d(1) FROM blogstore.follow_user(kit.u(249), kit.u(250))', 'follow_waits');
wait_until(home_of($cluster, 'kit.u(249)'), 'postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype = 'object'});
is($two->safe_psql('postgres', 'SELECT blogstore.unfollow_user(kit.u(249), kit.u(246))'), 't', 'the end of a follow does not wait for an import');
ok(goes_on($follow), 'a new follow waits for an import');
release($held);
ends_with($import, qr/^2\|0\|0$/, '... which succeeds');
ends_with($follow, qr/^user 250\|t$/, '... and returns the imported follow');
follows_right('imported beside follows');
is(wanted('SELECT user_username, followed_username FROM FOLLOWS WHERE user_id BETWEEN kit.u(246) AND kit.u(251) ORDER BY user_id'),
	join("\n", 'user 246|user 247', 'user 248|user 246', 'user 249|user 250', 'user 251|user 249'), 'no follow is lost');

# ---- The limit

$coordinator->safe_psql('postgres', qq{
INSERT INTO blogstore.users (id, type, user_id, user_username, followed_id, followed_username, creation_date)
SELECT kit.c(n), 'follow', kit.u(32), 'user 32', kit.u(n), 'many ' || n, kit.d(n) FROM generate_series(20001, 29999) AS n});
is($one->safe_psql('postgres', q{CREATE TEMP TABLE rejects (type text, reason text, item jsonb);
CREATE TEMP TABLE follows AS SELECT kit.u(32) AS user_id, kit.u(n) AS followed_id, kit.d(n) AS creation_date FROM generate_series(1, 2) AS n;
SELECT imported, rejected FROM blogstore.import(follows => 'follows', rejects => 'rejects') WHERE type = 'follow';
SELECT reason FROM rejects}), "1|1\nuser follows too many users", 'an import keeps the limit');
is(error_of($_, 'SELECT blogstore.follow_user(kit.u(32), kit.u(33))'), '54000|a user can follow at most 10000 users|Call blogstore.unfollow_user() for a user first.', $_->name . ': the limit') foreach members($cluster);
is($two->safe_psql('postgres', 'SELECT blogstore.unfollow_user(kit.u(32), kit.u(20001)); SELECT followed_username FROM blogstore.follow_user(kit.u(32), kit.u(33))'), "t\nuser 33", 'room for one');
is($one->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_home_feed(kit.u(32), NULL)'), wanted('SELECT count(*) FROM SHOWN WHERE user_id IN (SELECT followed_id FROM FOLLOWS WHERE user_id = kit.u(32))'), 'a home feed of 10,000 users');
$coordinator->safe_psql('postgres', q{DELETE FROM blogstore.users WHERE type = 'follow' AND user_id = kit.u(32)});

# ---- Bad input, as on one machine

$coordinator->safe_psql('postgres', 'CREATE DATABASE alone');
$coordinator->safe_psql('alone', kit_file('ids') . q{
CREATE EXTENSION blogstore;
SELECT blogstore.create_containers(2);
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 2) AS n});
my @lists = ('list_following', 'list_followers', 'list_home_feed');
foreach my $call (
	'follow_user(NULL, kit.u(1))', 'follow_user(kit.u(1), NULL)', 'follow_user(kit.u(1), kit.u(1))', 'follow_user(kit.u(99), kit.u(1))',
	'follow_user(kit.u(1), kit.u(99))', q{follow_user(kit.u(1), kit.u(2), 'infinity')}, 'unfollow_user(NULL, kit.u(1))', 'unfollow_user(kit.u(1), NULL)',
	'get_follows(NULL, ARRAY[kit.u(1)])', 'get_follows(kit.u(1), NULL)',
	map { ("$_(NULL)", "$_(kit.u(1), 0)", "$_(kit.u(1), -1)", "$_(kit.u(1), 5, kit.d(1))", "$_(kit.u(1), 5, NULL, kit.u(1))", "$_(kit.u(1), oldest_first => NULL)") } @lists)
{
	my $expected = error_of($coordinator, "SELECT * FROM blogstore.$call", 'alone');

	is(error_of($_, "SELECT * FROM blogstore.$call"), $expected, $_->name . ": $call: $expected") foreach members($cluster);
}
foreach my $call ('home_feed_copies(ARRAY[kit.u(1)], 1, NULL, NULL, false)', 'home_feed_posts(ARRAY[kit.u(1)], 1, NULL, NULL, false)')
{
	like(error_of($coordinator, "SELECT * FROM blogstore.$call", 'alone'), qr/^55000\|the containers are not spread/, "one machine: $call");
	unlike(error_of($one, "SELECT * FROM blogstore.$call"), qr/^\w{5}\|/, "a node: $call") if $call =~ /posts/;
}

# ---- Roles

foreach my $member (members($cluster))
{
	$member->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; CREATE ROLE app LOGIN});
	$member->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; SELECT blogstore.grant_requests('app'); GRANT USAGE ON SCHEMA kit TO app});
}
foreach my $member (members($cluster))
{
	my $name = $member->name;

	is($member->safe_psql('postgres', qq{
SET ROLE app;
SELECT followed_username FROM blogstore.follow_user(kit.u($near), kit.u(33));
SELECT count(*) FROM blogstore.list_followers(kit.u(33));
SELECT count(*) FROM blogstore.list_following(kit.u($near), NULL);
SELECT followed_username FROM blogstore.get_follows(kit.u($near), ARRAY[kit.u(33)]);
SELECT count(*) FROM blogstore.list_home_feed(kit.u($near), 3);
SELECT blogstore.unfollow_user(kit.u($near), kit.u(33))}),
		join("\n", 'user 33', wanted('SELECT count(*) + 1 FROM FOLLOWS WHERE followed_id = kit.u(33)'), wanted("SELECT count(*) + 1 FROM FOLLOWS WHERE user_id = kit.u($near)"), 'user 33', 3, 't'),
		"$name: a role that may only execute");
	like(error_of($member, "SET ROLE app; SELECT $_"), qr/^42501/, "$name: $_ is not for it") foreach
	  'blogstore.list_followed(kit.u(1))', 'blogstore.home_feed_copies(ARRAY[kit.u(1)], 1, NULL, NULL, false)', 'blogstore.home_feed_posts(ARRAY[kit.u(1)], 1, NULL, NULL, false)',
	  'blogstore.import_lock_follows()', 'blogstore.import_count_follows(ARRAY[kit.u(1)])', 'blogstore.import_follows(ARRAY[kit.u(1)], ARRAY[kit.u(1)])', q{blogstore.serve_follow(kit.u(1), 'list_following', '{}')};
	like(error_of($member, 'SET ROLE app; SELECT FROM blogstore.users'), qr/^42501/, "$name: nor is the table");
}
follows_right('roles');

# ---- A node is down

my ($lonely) = grep { $_ > 2 && $_ != $near && $_ != $gone && $_ != $gone_near } users_on($one);
my ($known) = grep { $_ > 2 && $_ != $lonely && $_ != $gone && $_ != $gone_near } users_on($one);
$coordinator->safe_psql('postgres', qq{
SELECT count(blogstore.unfollow_user(f.user_id, f.followed_id)) FROM blogstore.list_following(kit.u($lonely), NULL) AS f;
SELECT blogstore.follow_user(kit.u($lonely), kit.u($known))});
my $feed = wanted("SELECT count(*) FROM SHOWN WHERE user_id = kit.u($known)");
follows_right('before a node is down');
$two->stop('immediate');
foreach my $member ($coordinator, $one)
{
	my $name = $member->name;

	like(error_of($member, "SELECT * FROM blogstore.$_"), qr/^08006\|.*connect/, "$name: a node is down: $_") foreach
	  "list_following(kit.u($far))", 'list_followers(kit.u(1))', 'list_home_feed(kit.u(2))', "follow_user(kit.u($far), kit.u(33))", "unfollow_user(kit.u($far), kit.u(1))";
	is($member->safe_psql('postgres', "SELECT count(*) FROM blogstore.list_following(kit.u($lonely)), blogstore.list_home_feed(kit.u($lonely), NULL)"), $feed, "$name: a node is down: what the other node has");
	is($member->safe_psql('postgres', "SELECT followed_username FROM blogstore.follow_user(kit.u($lonely), kit.u(33)); SELECT blogstore.unfollow_user(kit.u($lonely), kit.u(33))"), "user 33\nt", "$name: a node is down: follows of the other node's users");
}
start_member($cluster, $two);
follows_right('the node is back');

done_testing();
