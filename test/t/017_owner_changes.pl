# The containers are ordinary tables of their owner, who may write to them and
# change them with SQL: names and views follow that too.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('owner_changes');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 150);
check_store($node, 'postgres', 'filled');
my $columns =
  'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date';

# ---- Direct writes

my %writes = (
	'UPDATE of usernames' =>
	  q{UPDATE blogstore.users SET username = 'direct ' || username WHERE type = 'user' AND user_id IN (kit.u(1), kit.u(2));
		UPDATE blogstore.usernames SET username_key = 'direct ' || username_key WHERE user_id IN (kit.u(1), kit.u(2))},
	'UPDATE of posts' =>
	  q{UPDATE blogstore.posts SET title = 'direct', creation_date = creation_date + interval '1 s' WHERE type = 'post' AND post_id IN (kit.p(3), kit.p(140))},
	'DELETE of posts' =>
	  q{DELETE FROM blogstore.posts WHERE post_id IN (kit.p(4), kit.p(141))},
	'DELETE of copies' =>
	  q{DELETE FROM blogstore.users WHERE type = 'post' AND user_id = kit.u(6)},
	'UPDATE of copies' =>
	  q{UPDATE blogstore.users SET title = 'wrong', user_id = kit.u(1) WHERE type = 'post' AND post_id = kit.p(10)},
	'DELETE in feed' => q{DELETE FROM blogstore.feed WHERE post_id IN (kit.p(100), kit.p(101))},
	'UPDATE in feed' => q{UPDATE blogstore.feed SET like_count = 77},
	'TRUNCATE of feed' => q{TRUNCATE blogstore.feed},
	'INSERT into feed' =>
	  qq{INSERT INTO blogstore.feed ($columns) SELECT $columns FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(9)},
	'INSERT of a copy' =>
	  qq{INSERT INTO blogstore.users ($columns) SELECT gen_random_uuid(), type, gen_random_uuid(), user_id, user_username, title, content, comment_count, like_count, creation_date FROM blogstore.posts WHERE type = 'post' AND post_id = kit.p(9)},
	'TRUNCATE of copies' => join(';', map { "TRUNCATE blogstore.users_p0${_}_post" } 0 .. 3));
for my $write (sort keys %writes)
{
	$node->safe_psql('postgres', $writes{$write});
	check_store($node, 'postgres', $write);
}

# Without anybody asking, too
$node->safe_psql('postgres', q{UPDATE blogstore.feed SET title = 'wrong'});
wait_until($node, 'postgres',
	q{SELECT count(*) = 0 FROM blogstore.feed WHERE title = 'wrong'});

# Other columns of users are not a rename.
$node->safe_psql('postgres',
	q{ALTER TABLE blogstore.users ADD COLUMN note text; UPDATE blogstore.users SET note = 'x' WHERE type = 'user'; SELECT blogstore.wait_for_views()});
$node->safe_psql('postgres', q{SELECT blogstore.stop_worker()});
$node->safe_psql('postgres', q{UPDATE blogstore.users SET note = 'y' WHERE type = 'user'});
is($node->safe_psql('postgres', q{SELECT blogstore.start_worker(); SELECT blogstore.wait_for_views(); SELECT count(*) FROM blogstore.progress}),
	"\nt\n0", 'a note on users asks for no job');
check_store($node, 'postgres', 'a note on users');

# COPY into a container, and out of it
my $file = $node->basedir . '/posts.copy';
$node->safe_psql('postgres',
	qq{COPY (SELECT * FROM blogstore.posts WHERE post_id IN (kit.p(20), kit.p(120), kit.p(150))) TO '$file'});
$node->safe_psql('postgres',
	q{DELETE FROM blogstore.posts WHERE post_id IN (kit.p(20), kit.p(120), kit.p(150))});
check_store($node, 'postgres', 'before COPY');
$node->safe_psql('postgres', qq{COPY blogstore.posts FROM '$file'});
check_store($node, 'postgres', 'COPY');
is($node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.list_user_posts(kit.u(1), NULL) WHERE post_id = kit.p(150)'),
	'1', 'COPY: a post is listed');

# ---- Columns that come and go while the worker is behind

my $holder = hold_worker($node, 'postgres');
$node->safe_psql('postgres', q{SELECT blogstore.edit_post(kit.p(30), 'before the column')});
$holder->quit;
$node->safe_psql('postgres', q{SELECT blogstore.stop_worker()});
for my $sql (
	q{SELECT blogstore.edit_post(kit.p(31), 'one')},
	q{ALTER TABLE blogstore.posts ADD COLUMN language text},
	q{SELECT blogstore.edit_post(kit.p(32), 'two')},
	q{ALTER TABLE blogstore.posts ADD COLUMN score int NOT NULL DEFAULT 5},
	q{SELECT blogstore.create_post(kit.u(3), 'three', 'x')},
	q{ALTER TABLE blogstore.posts DROP COLUMN language},
	q{SELECT blogstore.delete_post(kit.p(33))},
	q{ALTER TABLE blogstore.users ADD COLUMN mood text DEFAULT 'fine'},
	q{SELECT blogstore.edit_post(kit.p(34), 'four')})
{
	$node->safe_psql('postgres', $sql);
}
$node->safe_psql('postgres', q{SELECT blogstore.start_worker()});
check_store($node, 'postgres', 'columns');
is($node->safe_psql('postgres', q{SELECT string_agg(title, ',' ORDER BY post_id) FROM blogstore.users WHERE type = 'post' AND post_id IN (kit.p(31), kit.p(32), kit.p(34))}),
	'one,two,four', 'columns: all changes are in');

# ---- Partitions that come and go

my $made = qr/LOG:  blogstore worker found other partitions/;
my $offset = log_end($node);
my $in_part = $node->safe_psql('postgres',
	q{SELECT count(*) FROM blogstore.posts_p01 WHERE type = 'post'});
cmp_ok($in_part, '>', 5, 'there are posts in the partition');
my $all = $node->safe_psql('postgres',
	q{SELECT count(*) FROM blogstore.posts WHERE type = 'post'});

$node->safe_psql('postgres',
	'ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p01');
wait_until($node, 'postgres',
	q{SELECT count(*) FROM blogstore.users WHERE type = 'post'},
	$all - $in_part);
is( $node->safe_psql('postgres', 'SELECT count(*) FROM blogstore.stat_worker WHERE state IN (\'running\', \'catching up\')'),
	'1', 'detached: the worker goes on');
$node->safe_psql('postgres',
	q{UPDATE blogstore.posts_p01 SET title = 'while detached' WHERE type = 'post'});
$node->safe_psql('postgres',
	'ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p01 FOR VALUES WITH (MODULUS 4, REMAINDER 1)');
check_store($node, 'postgres', 'attached again');
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM blogstore.users WHERE type = 'post' AND title = 'while detached'}),
	$in_part, 'attached again: what was changed meanwhile shows');
is(scalar(logged($node, $offset, $made)), 2, 'the worker has said so twice');

# At once, and while the worker is stopped: only the rows have changed then.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql(
	'postgres', q{
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p02;
UPDATE blogstore.posts_p02 SET title = 'while stopped' WHERE type = 'post';
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.posts_p02 FOR VALUES WITH (MODULUS 4, REMAINDER 2);
SELECT blogstore.start_worker()});
check_store($node, 'postgres', 'attached while stopped');
cmp_ok(
	$node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM blogstore.users WHERE type = 'post' AND title = 'while stopped'}),
	'>', 5,
	'attached while stopped: what was changed shows');

# A replacement made by hand
$node->safe_psql(
	'postgres', q{
BEGIN;
ALTER TABLE blogstore.posts DETACH PARTITION blogstore.posts_p03;
CREATE TABLE blogstore.hand (LIKE blogstore.posts INCLUDING DEFAULTS) PARTITION BY LIST (type);
CREATE TABLE blogstore.hand_post PARTITION OF blogstore.hand (PRIMARY KEY (post_id)) FOR VALUES IN ('post');
CREATE UNIQUE INDEX ON blogstore.hand_post (user_id, creation_date, id);
CREATE INDEX ON blogstore.hand_post (creation_date, id);
CREATE TABLE blogstore.hand_comment PARTITION OF blogstore.hand (PRIMARY KEY (post_id, id)) FOR VALUES IN ('comment');
CREATE INDEX ON blogstore.hand_comment (post_id, creation_date, id);
CREATE INDEX ON blogstore.hand_comment (user_id, id);
CREATE TABLE blogstore.hand_like PARTITION OF blogstore.hand (PRIMARY KEY (user_id, post_id)) FOR VALUES IN ('like');
CREATE INDEX ON blogstore.hand_like (post_id, creation_date, id);
INSERT INTO blogstore.hand SELECT * FROM blogstore.posts_p03;
UPDATE blogstore.hand SET title = 'by hand' WHERE type = 'post';
ALTER TABLE blogstore.posts ATTACH PARTITION blogstore.hand FOR VALUES WITH (MODULUS 4, REMAINDER 3);
DROP TABLE blogstore.posts_p03;
COMMIT});
check_store($node, 'postgres', 'replaced by hand');
my $hand = $node->safe_psql('postgres', q{SELECT post_id FROM blogstore.hand WHERE type = 'post' ORDER BY creation_date LIMIT 1});
$node->safe_psql('postgres', qq{SELECT blogstore.edit_post('$hand', 'edited'); SELECT blogstore.create_like('$hand', kit.u(9))});
check_store($node, 'postgres', 'a post in it edited');
# it has no replica identity that names the copy: found all the same
$node->safe_psql('postgres', qq{SELECT blogstore.delete_post('$hand')});
check_store($node, 'postgres', 'a post in it deleted');

# ---- TRUNCATE of containers

$node->safe_psql('postgres', 'TRUNCATE blogstore.posts');
check_store($node, 'postgres', 'TRUNCATE of posts');
is($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.users WHERE type = 'post'}),
	'0', 'TRUNCATE of posts: no copies are left');

done_testing();
