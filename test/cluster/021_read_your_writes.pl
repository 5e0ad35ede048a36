
# A client writes a post on any node of a cluster, calls wait_for_posts() on
# any node, and then finds the post in the lists of every node. While the
# worker of a node is held, the wait ends after its timeout. A live hint of the
# post comes from its node, also after its shard was moved.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('your_writes');
my ($coordinator, $one, $two) = members($cluster);
my @members = members($cluster);

$coordinator->safe_psql('postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 60) AS n;
});
ok(cluster_views_follow($cluster), 'the views follow');

my @session = map { $_->background_psql('postgres') } @members;

# In turn one member creates a post, another one waits for it, and a third one
# lists it.
my $n = 100;
my $missing = 0;
for (1 .. 60)
{
	my ($writer, $waiter, $reader) = map { $session[ ($n + $_) % @session ] } 0 .. 2;
	my $user = 1 + $n % 20;

	$n++;
	$writer->query_safe("SELECT FROM blogstore.create_post(kit.u($user), 'new $n', 'content', kit.p($n), kit.d($n))");
	$waiter->query_safe("SELECT blogstore.wait_for_posts('1 min')") eq 't' or die 'the wait has timed out';
	$missing++ if $reader->query_safe('SELECT title FROM blogstore.list_feed(1)') ne "new $n";
	$missing++ if $reader->query_safe("SELECT title FROM blogstore.list_user_posts(kit.u($user), 1)") ne "new $n";
}
is($missing, 0, 'of 60 posts none is missing');

# One transaction writes on several nodes.
my $several = join '; ', map { "SELECT FROM blogstore.edit_post(kit.p($_), 'edited $_')" } 1 .. 12;
$session[0]->query_safe("BEGIN; $several; COMMIT");
is($session[1]->query_safe("SELECT blogstore.wait_for_posts('1 min')"), 't', 'of several nodes: waited');
is($session[2]->query_safe(q{SELECT count(*) FROM generate_series(1, 20) AS u, blogstore.list_user_posts(kit.u(u), NULL) AS p WHERE p.title LIKE 'edited %'}), '12',
	'... and all are listed');

# The wait is refused if its own transaction has written a post, on whatever
# node.
my ($there) = posts_on($cluster, $two, 1000, 1);
my $refused = '';
$coordinator->psql('postgres', "\\set VERBOSITY sqlstate\nBEGIN; SELECT FROM blogstore.create_post(kit.u(1), 'open', 'content', kit.p($there)); SELECT blogstore.wait_for_posts()", stderr => \$refused);
like($refused, qr/ERROR:  25001/, 'an error if the transaction has written a post');

# A worker is held.
my $holder = hold_worker($two, 'postgres');
$coordinator->safe_psql('postgres', "SELECT FROM blogstore.create_post(kit.u(1), 'late', 'content', kit.p($there), kit.d(5000))");
is($session[$_]->query_safe("SELECT blogstore.wait_for_posts('200 ms')"), 'f', $members[$_]->name . ': false while the worker of a node is held') foreach 0 .. 2;
$holder->quit;
is($session[$_]->query_safe("SELECT blogstore.wait_for_posts('1 min')"), 't', $members[$_]->name . ': true afterwards') foreach 0 .. 2;
is($session[$_]->query_safe('SELECT title FROM blogstore.list_feed(1)'), 'late', $members[$_]->name . ': and it is listed') foreach 0 .. 2;

# ---- Live hints: the node that keeps a post sends them, to its own clients

set_and_reload($_, 'blogstore.topic_property', 'tags') foreach @members;
wait_until($_, 'postgres', 'SELECT ready FROM blogstore.view_state') foreach @members;
set_and_reload($_, 'blogstore.notify', 'on') foreach @members;
$_->query_safe('LISTEN blogstore') foreach @session;

# What SQL makes the nodes send: the name of the node and the payload
sub hinted
{
	my ($sql) = @_;
	my %hints;

	foreach my $time (qw(before after))
	{
		cluster_views_follow($cluster) foreach 1 .. 2;
		%hints = map { my $n = $_; map { ($members[$n]->name . " $_" => 1) } ($session[$n]->query('SELECT 1'))[0] =~ /with payload "(.*)" received/mg } 0 .. 2;
		$session[0]->query_safe($sql) if $time eq 'before';
	}
	return join "\n", sort keys %hints;
}

my ($id, $author) = split /\|/, $coordinator->safe_psql('postgres', "SELECT kit.p($there), kit.u(1)");
my $edit = "SELECT FROM blogstore.edit_post(kit.p($there), '%s', properties => '{\"tags\": \"%s\"}')";
my $payload = qq({"feed": true, "posts": ["$id"], "users": ["$author"], "topics": [%s]});

is(hinted(sprintf $edit, 'hinted', 'music'), $two->name . sprintf(" $payload", '"music"'), 'which node has sent a hint');
is($session[1]->query_safe("SELECT title FROM blogstore.list_topic_posts('music')"), 'hinted', 'another node lists the topic');
my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($there))");
move_shard($cluster, $shard, $two, $one, 'block_writes');
is(hinted(sprintf $edit, 'moved', 'travel'), $one->name . sprintf(" $payload", '"travel", "music"'), 'the shard has moved: the other node');

# A node whose feed cannot be written gets the change later.
$holder = hold_worker($coordinator, 'postgres');
$session[0]->query_safe(sprintf $edit, 'early', 'travel');
my $end = time + $PostgreSQL::Test::Utils::timeout_default;
my $hint = '';
$hint .= ($session[1]->query("SELECT pg_sleep(0.1)"))[0] until $hint =~ /Asynchronous/ || time > $end;
like($hint, qr/Asynchronous/, 'the hint does not wait for a node that is held');
$holder->quit;
ok(cluster_views_follow($cluster), 'the views follow again');
is($session[0]->query_safe('SELECT title FROM blogstore.list_feed(1)'), 'early', '... and its feed');
$_->quit foreach @session;

# A role with the rights of grant_requests() on the node to which it connects
foreach my $member (@members)
{
	$member->safe_psql('postgres', q{
SET citus.enable_ddl_propagation = off;
DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
SELECT blogstore.grant_requests('app');
GRANT USAGE ON SCHEMA kit TO app;
});
	is($member->safe_psql('postgres', 'SELECT blogstore.wait_for_posts()', extra_params => [ '-U', 'app' ]), 't', $member->name . ': with EXECUTE alone');
}

done_testing();
