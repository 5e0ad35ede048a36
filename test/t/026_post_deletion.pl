
# delete_post() waits for the transactions that change the post's counts or
# edit it. These never wait for it. Other sessions do not wait either, until
# the deletion has found the post busy several times. Then it closes a gate, a
# lock before which new writers wait, so that the deletion ends. Nothing is
# left of the post, and there is no deadlock.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('gate');
# A session that waits in vain gets error 57014 or 40P01.
$node->append_conf(
	'postgresql.conf', q{
statement_timeout = 300s
deadlock_timeout = 50ms
});
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 10, 30);
$node->safe_psql(
	'postgres', q{
-- Returns whether a process waits for a transaction to end.
CREATE FUNCTION kit.waits_for(waiting int, writer xid) RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT EXISTS (SELECT FROM pg_locks WHERE pid = waiting AND NOT granted AND locktype = 'transactionid' AND transactionid = writer) $$;
-- Returns whether a process holds or wants a lock of the given mode on a
-- post's gate.
CREATE FUNCTION kit.at_gate(process int, wanted text, had boolean) RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
	WHERE c.relname ~ '^posts_p\d+_delta$' AND l.locktype = 'tuple' AND l.pid = process AND l.mode = wanted AND l.granted = had) $$;
CREATE FUNCTION kit.shuts(process int) RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT kit.at_gate(process, 'ShareLock', true) $$;
CREATE FUNCTION kit.knocks(process int) RETURNS boolean LANGUAGE sql VOLATILE
AS $$ SELECT kit.at_gate(process, 'RowExclusiveLock', false) $$;
CREATE FUNCTION kit.await(condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	come	boolean;
BEGIN
	LOOP
		EXECUTE 'SELECT ' || condition INTO come;
		EXIT WHEN come;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
});
check_store($node, 'postgres', 'filled');

# ---- Sessions

my @sessions;

sub session
{
	my $psql = $node->background_psql('postgres', on_error_stop => 0);

	$psql->query_safe('\set VERBOSITY sqlstate');
	push @sessions, { psql => $psql, early => '', pid => $psql->query_safe('SELECT pg_backend_pid()') };
	return $sessions[-1];
}

# Run commands in a session. Returns their rows, and the SQLSTATEs of their
# errors.
sub ask
{
	my ($session, $sql) = @_;
	my $rows = $session->{early} . $session->{psql}->query($sql);
	my @errors = $session->{psql}->{stderr} =~ /(?:ERROR|FATAL):  (\w+)/g;

	$session->{early} = '';
	$session->{psql}->{stderr} = '';
	return join "\n", grep { $_ ne '' } $rows, @errors;
}

# Start a command that waits. answer() returns its result later.
sub start
{
	my ($session, $sql) = @_;
	my $rows = $session->{psql}->query_until(qr/started\n/, "\\echo started\n$sql;\n");

	$session->{early} = $rows =~ s/.*started\n//sr;
	return;
}

sub answer
{
	my ($session) = @_;

	return ask($session, '');
}

my $eye = session();

sub await
{
	my ($condition) = @_;

	ask($eye, "SELECT 'come' FROM kit.await(\$\$$condition\$\$)") eq 'come'
	  or die "this did not come true: $condition";
	return;
}

sub waits_for
{
	my ($xid, @sessions) = @_;

	return join ' AND ', map { "kit.waits_for($_->{pid}, '$xid')" } @sessions;
}

# Begin a transaction, and run a query in it that does not wait. Returns the
# transaction's id.
sub open_transaction
{
	my ($session, $query) = @_;
	my $done = ask($session, "BEGIN; SELECT 'done' FROM $query");

	$done eq 'done' or die "$done: $query";
	return ask($session, 'SELECT pg_current_xact_id()::xid');
}

my $comments = 1000;

sub comment
{
	my ($session, $post) = @_;

	$comments++;
	return open_transaction($session,
		"blogstore.create_comment($post, kit.u(6), 'comment', kit.c($comments))");
}

sub hold
{
	my ($session, $post) = @_;

	return open_transaction($session,
		"blogstore.posts WHERE type = 'post' AND post_id = $post FOR KEY SHARE");
}

# Have sessions delete a post until they close the gate. All the time some open
# transaction has commented on the post, or holds it. Returns the last of these
# sessions and its transaction id.
sub shut
{
	my ($post, $do, @deleters) = @_;
	my ($busy, $next) = (session(), session());
	my $xid = $do->($busy, $post);
	my $rounds = 0;

	start($_, "SELECT blogstore.delete_post($post)") for @deleters;
	for (;;)
	{
		await(waits_for($xid, @deleters));
		last
		  if ask($eye, 'SELECT ' . join ' OR ', map { "kit.shuts($_->{pid})" } @deleters) eq 't';
		die "the deletion of $post never insists" if ++$rounds > 50;
		# The deletion that waits does not make the next writer wait.
		my $another = $do->($next, $post);
		ask($busy, 'COMMIT');
		($busy, $next, $xid) = ($next, $busy, $another);
	}
	cmp_ok($rounds, '>', 5, "deleting $post: the gate is open at first");
	return ($busy, $xid);
}

# Wait until a session waits at a gate.
sub await_knock
{
	my ($session) = @_;

	await("kit.knocks($session->{pid})");
	return;
}

sub items_of
{
	my ($post) = @_;

	return $node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE post_id = $post");
}

sub like_count
{
	my ($post) = @_;

	return ask($eye, "SELECT like_count FROM blogstore.get_post($post)");
}

my $wrong_counts = 'SELECT * FROM kit.wrong_counts()';
my ($deleter, $other, $third) = map { session() } 1 .. 3;

# ---- A deletion that waits makes no other session wait

my $post = 'kit.p(1)';
my $writer = session();
my $xid = open_transaction($writer, "blogstore.create_like($post, kit.u(9))");
start($deleter, "SELECT blogstore.delete_post($post)");
await(waits_for($xid, $deleter));
is(ask($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8)); SELECT 'commented' FROM blogstore.create_comment($post, kit.u(8), 'x')"),
	"liked\ncommented", 'a deletion waits: likes and comments do not');
is(ask($other, "SELECT blogstore.delete_like($post, kit.u(1))"),
	't', 'a deletion waits: nor does delete_like()');
is(ask($other, "BEGIN; SELECT 'liked' FROM blogstore.create_like($post, kit.u(7)); COMMIT"),
	'liked', 'a deletion waits: nor does a like in a transaction block');
is(ask($writer, "SELECT title FROM blogstore.edit_post($post, 'edited')"),
	'edited', 'a deletion waits: the post can be edited');
is(ask($eye, 'SELECT ' . waits_for($xid, $deleter)), 't', 'a deletion waits: it still does');
is(ask($writer, 'COMMIT'), '', 'a deletion waits: the writer commits');
is(answer($deleter), 't', 'a deletion waits: then the post is deleted');
is(items_of($post), 0, 'a deletion waits: nothing is left of the post');

# A like is rolled back to a savepoint, and then does not count as a writer.
$post = 'kit.p(30)';
is(ask($writer, "BEGIN; SAVEPOINT s; SELECT 'liked' FROM blogstore.create_like($post, kit.u(9))"),
	'liked', 'a deletion waits: a like behind a savepoint');
$xid = ask($writer, "SELECT xmin FROM blogstore.posts WHERE type = 'like' AND post_id = $post AND user_id = kit.u(9)");
start($deleter, "SELECT blogstore.delete_post($post)");
await(waits_for($xid, $deleter));
is(ask($writer, 'ROLLBACK TO s'), '', 'a deletion waits: the like is undone');
is(answer($deleter), 't', 'a deletion waits: then the post is deleted');
is(ask($writer, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); ROLLBACK"),
	'23503', 'a deletion waits: and cannot be liked again');
is(items_of($post), 0, 'a deletion waits: nothing is left of the post that was liked for a moment');

# ---- A deletion that closes the gate

$post = 'kit.p(2)';
my ($busy, $busy_xid) = shut($post, \&comment, $deleter);
start($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8))");
await_knock($other);
start($third, "SELECT blogstore.delete_like($post, kit.u(3))");
await_knock($third);

# Readers and writers of other posts do not wait at the gate.
is(ask($eye, "SELECT like_count FROM blogstore.get_post($post); SELECT count(*) FROM blogstore.list_post_likes($post)"),
	"5\n5", 'a deletion insists: the post is read');
is(ask($eye, $wrong_counts), '', 'a deletion insists: counts are exact');
cmp_ok(ask($eye, "SELECT count(*) FROM blogstore.posts p JOIN blogstore.posts o ON o.tableoid = p.tableoid WHERE p.type = 'post' AND p.post_id = $post AND o.post_id IN (SELECT kit.p(n) FROM generate_series(3, 29) n)"),
	'>', 0, 'other posts lie beside it');
is(ask($eye, 'SELECT count(blogstore.create_like(kit.p(n), kit.u(6))) FROM generate_series(3, 29) n'),
	27, 'a deletion insists: other posts are liked');

# The transaction that the deletion waits for can go on writing.
my @calls = (
	[ 'likes it', "SELECT 'done' FROM blogstore.create_like($post, kit.u(9))" ],
	[ 'comments on it', "SELECT 'done' FROM blogstore.create_comment($post, kit.u(9), 'x', kit.c(1))" ],
	[ 'takes the like back', "SELECT 'done' WHERE blogstore.delete_like($post, kit.u(9))" ],
	[ 'and the comment', "SELECT 'done' WHERE blogstore.delete_comment($post, kit.c(1))" ],
	[ 'edits it', "SELECT 'done' FROM blogstore.edit_post($post, 'edited')" ],
	[ 'likes it after that', "SELECT 'done' FROM blogstore.create_like($post, kit.u(9))" ],
	[ 'undoes a like and an edit',
		"SAVEPOINT s; SELECT 'do' FROM blogstore.create_like($post, kit.u(10)); SELECT 'ne' FROM blogstore.edit_post($post, 'undone'); ROLLBACK TO s" ],
	[ 'and likes it again', "SELECT 'done' FROM blogstore.create_like($post, kit.u(10))" ]);
for my $call (@calls)
{
	my ($name, $sql) = @$call;

	is(ask($busy, $sql) =~ s/\n//gr, 'done', "a deletion insists: the transaction it waits for $name");
}
is(ask($busy, "SELECT title, like_count FROM blogstore.get_post($post)"),
	'edited|7', 'a deletion insists: the transaction it waits for sees its own changes');
is(ask($eye, 'SELECT ' . waits_for($busy_xid, $deleter)
		  . " AND kit.shuts($deleter->{pid}) AND kit.knocks($other->{pid}) AND kit.knocks($third->{pid})"),
	't', 'a deletion insists: all others still wait');
is(ask($busy, 'COMMIT'), '', 'a deletion insists: the transaction it waits for commits');
is(answer($deleter), 't', 'a deletion insists: then the post is deleted');
is(answer($other), '23503', 'a deletion insists: create_like() fails after it');
is(answer($third), 'f', 'a deletion insists: delete_like() finds no like after it');
is(items_of($post), 0, 'a deletion insists: nothing is left of the post');

# ---- A deletion that closed the gate is cancelled, or its session terminated

for my $way ('cancel', 'terminate')
{
	$post = $way eq 'cancel' ? 'kit.p(3)' : 'kit.p(4)';
	# The gate opens when the command fails; its transaction goes on.
	my $victim = session();
	is(ask($victim, 'BEGIN; SAVEPOINT s'), '', "$way: a transaction");
	($busy) = shut($post, \&comment, $victim);
	my $likes = like_count($post);
	start($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8))");
	await_knock($other);
	start($third, "SELECT blogstore.delete_like($post, kit.u(3))");
	await_knock($third);
	is(ask($eye, "SELECT pg_${way}_backend($victim->{pid})"), 't', "$way a deletion");
	is(answer($other), 'liked', "$way: create_like() succeeds");
	is(answer($third), 't', "$way: so does delete_like()");
	is(like_count($post), $likes, "$way: both are counted");
	is(ask($eye, $wrong_counts), '', "$way: counts are exact");
	if ($way eq 'cancel')
	{
		is(answer($victim), '57014', "$way: the deletion has failed");
		is(ask($victim, "ROLLBACK TO s; SELECT like_count FROM blogstore.get_post($post)"),
			$likes, "$way: its transaction goes on");
		is(ask($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(7))"),
			'liked', "$way: beside it the post is liked");
		is(ask($victim, 'COMMIT'), '', "$way: and ends");
	}
	is(ask($busy, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(10)); COMMIT"),
		'liked', "$way: the transaction it waited for goes on");
	is(ask($eye, $wrong_counts), '', "$way: counts are still exact");
}

# ---- A deletion beside an edit

$post = 'kit.p(5)';
$xid = open_transaction($writer, "blogstore.edit_post($post, 'edited')");
start($deleter, "SELECT blogstore.delete_post($post)");
await(waits_for($xid, $deleter));
is(ask($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8)); SELECT blogstore.delete_like($post, kit.u(1))"),
	"liked\nt", 'an edit: others like and unlike the post meanwhile');
is(ask($other, "BEGIN; SELECT 'liked' FROM blogstore.create_like($post, kit.u(7)); COMMIT"),
	'liked', 'an edit: in a transaction, too');
is(ask($eye, $wrong_counts), '', 'an edit: counts are exact');
is(ask($writer, "SELECT blogstore.delete_post($post)"), 't', 'an edit: the transaction that edited the post deletes it at once');
is(ask($writer, 'COMMIT'), '', 'an edit: and commits');
is(answer($deleter), 'f', 'an edit: the deletion that waited finds no post');
is(items_of($post), 0, 'an edit: nothing is left of the post');

# ---- A deletion beside row locks, like those of foreign keys

$post = 'kit.p(6)';
($busy) = shut($post, \&hold, $deleter);
start($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8))");
await_knock($other);
is(ask($eye, "SELECT like_count FROM blogstore.get_post($post)"), 6, 'a deletion insists beside locks: the post is read');
is(ask($busy, "SELECT title FROM blogstore.edit_post($post, 'edited'); SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); COMMIT"),
	"edited\nliked", 'a deletion insists beside locks: the transaction it waits for edits and likes the post');
is(answer($deleter), 't', 'a deletion insists beside locks: then the post is deleted');
is(answer($other), '23503', 'a deletion insists beside locks: others learn that');
is(items_of($post), 0, 'a deletion insists beside locks: nothing is left of the post');

# ---- Two deletions

$post = 'kit.p(7)';
$xid = open_transaction($writer, "blogstore.create_like($post, kit.u(9))");
start($_, "SELECT blogstore.delete_post($post)") for $deleter, $other;
await(waits_for($xid, $deleter, $other));
is(ask($writer, 'COMMIT'), '', 'two deletions: the transaction they wait for commits');
is(join(' ', sort map { answer($_) } $deleter, $other), 'f t', 'two deletions: one has deleted the post');
is(items_of($post), 0, 'two deletions: nothing is left of the post');

# The worker could make one deletion find the post busy more often than the
# other.
$post = 'kit.p(8)';
my $holder = hold_worker($node, 'postgres');
($busy) = shut($post, \&comment, $deleter, $other);
is(ask($eye, "SELECT kit.shuts($deleter->{pid}) AND kit.shuts($other->{pid})"), 't', 'two deletions insist');
is(ask($busy, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); SELECT title FROM blogstore.edit_post($post, 'edited'); COMMIT"),
	"liked\nedited", 'two deletions insist: the transaction they wait for goes on');
is(join(' ', sort map { answer($_) } $deleter, $other), 'f t', 'two deletions insist: one has deleted the post');
is(items_of($post), 0, 'two deletions insist: nothing is left of the post');
$holder->query_safe('COMMIT');
$holder->quit;

# ---- The post's author is deleted

$post = 'kit.p(11)';
my $author = $node->safe_psql('postgres', "SELECT user_id FROM blogstore.get_post($post)");
$xid = open_transaction($writer, "blogstore.create_like($post, kit.u(9))");
is(ask($deleter, "SELECT blogstore.delete_user('$author')"), 't', 'the author is deleted: that does not wait');
$node->safe_psql('postgres',
	"SELECT kit.await(\$\$EXISTS (SELECT FROM blogstore.progress WHERE kind = 'deletion' AND phase = 'waiting')\$\$)");
is(items_of("$post AND type = 'post'"), 1, 'the author is deleted: the worker leaves the post until later');
is(ask($writer, "SELECT kit.try('blogstore.create_like($post, kit.u(10))'), kit.try('blogstore.edit_post($post, ''x'')')"),
	'23503, hint|23503, hint', 'the author is deleted: the post is gone, also for the transaction that has liked it');
is(ask($writer, 'COMMIT'), '', 'the author is deleted: the transaction that has liked the post commits');
is($node->safe_psql('postgres', 'SELECT kit.views_follow()'), 't', 'the author is deleted: the worker is done');
is(items_of($post), 0, 'the author is deleted: nothing is left of the post');
is($node->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE user_id = '$author'"),
	0, 'the author is deleted: nor of the author');

# ---- The transaction that a deletion waits for deletes the post

$post = 'kit.p(10)';
($busy) = shut($post, \&comment, $deleter);
is(ask($busy, "SELECT blogstore.delete_post($post); COMMIT"), 't', 'the transaction that a deletion waits for deletes the post');
is(answer($deleter), 'f', 'the deletion that waited finds no post');
is(items_of($post), 0, 'two deletions, one after the other: nothing is left of the post');

# ---- The transaction that a deletion waits for has only locked the post, or
# edited a comment

$post = 'kit.p(18)';
($busy) = shut($post, \&hold, $deleter);
is(ask($busy, "SELECT title FROM blogstore.edit_post($post); SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); COMMIT") =~ s/^.*\n//r,
	'liked', 'a transaction that has locked the post likes it');
is(answer($deleter), 't', 'the post was locked: then it is deleted');
is(items_of($post), 0, 'the post was locked: nothing is left of it');

$post = 'kit.p(19)';
ask($writer, "SELECT FROM blogstore.create_comment($post, kit.u(3), 'earlier', kit.c(91))");
$xid = open_transaction($writer, "blogstore.edit_comment($post, kit.c(91), 'edited')");
start($deleter, "SELECT blogstore.delete_post($post)");
await(waits_for($xid, $deleter));
is( ask($writer, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); SELECT title FROM blogstore.edit_post($post, 'edited'); COMMIT"),
	"liked\nedited", 'a transaction that has edited a comment likes and edits the post');
is(answer($deleter), 't', 'a comment was edited: then the post is deleted');
is(items_of($post), 0, 'a comment was edited: nothing is left of the post');

# ---- Prepared transactions

$post = 'kit.p(12)';
$xid = open_transaction($writer, "blogstore.create_like($post, kit.u(9))");
is(ask($writer, "PREPARE TRANSACTION 'one'"), '', 'prepared: a like');
start($deleter, "SELECT blogstore.delete_post($post)");
await(waits_for($xid, $deleter));
is(ask($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8))"), 'liked', 'prepared: others do not wait');
is(ask($other, "COMMIT PREPARED 'one'"), '', 'prepared: committed');
is(answer($deleter), 't', 'prepared: then the post is deleted');
is(items_of($post), 0, 'prepared: nothing is left of the post');

$post = 'kit.p(13)';
($busy, $busy_xid) = shut($post, \&comment, $deleter);
start($other, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(8))");
await_knock($other);
is(ask($busy, "SELECT 'liked' FROM blogstore.create_like($post, kit.u(9)); PREPARE TRANSACTION 'two'"),
	'liked', 'prepared while a deletion insists');
is(ask($eye, 'SELECT ' . waits_for($busy_xid, $deleter) . " AND kit.knocks($other->{pid})"),
	't', 'prepared while a deletion insists: it still waits, and others for it');
is(ask($third, "ROLLBACK PREPARED 'two'"), '', 'prepared while a deletion insists: rolled back');
is(answer($deleter), 't', 'prepared while a deletion insists: then the post is deleted');
is(answer($other), '23503', 'prepared while a deletion insists: others learn that');
is(items_of($post), 0, 'prepared while a deletion insists: nothing is left of the post');

# ---- At the end

is(ask($eye, "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.locktype = 'tuple' AND c.relname ~ '_delta\$'"),
	0, 'no gate is closed');
for my $session (@sessions)
{
	# One session was terminated.
	eval { $session->{psql}->quit };
}
check_store($node, 'postgres', 'at the end');
is(join("\n", logged($node, 0, qr/deadlock detected/)), '', 'there was no deadlock');
is($node->safe_psql('postgres', "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'"),
	0, 'the statistics count no deadlock');

done_testing();
