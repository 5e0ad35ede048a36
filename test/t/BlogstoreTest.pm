
=pod

=head1 NAME

BlogstoreTest - stores for blogstore's TAP tests. Brings along BlogstoreServer
and BlogstoreWorker.

=cut

package BlogstoreTest;

use strict;
use warnings;

use BlogstoreServer;
use BlogstoreWorker;
use Exporter 'import';
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = (
	@BlogstoreServer::EXPORT, @BlogstoreWorker::EXPORT, qw(
  create_store create_kit kit_file create_owned_database run_as fill_store fill_lists show_lists sqlstate check_store check_answers
  start_client goes_on finish_client
));

=pod

=head1 STORES

=over

=item create_store(node, dbname)

Create the extension, containers with 4 partitions, and the helpers.

=cut

sub create_store
{
	my ($node, $dbname) = @_;

	$node->safe_psql($dbname,
		'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(4)');
	create_kit($node, $dbname);
	return;
}

=pod

=item create_kit(node, dbname)

Create the schema kit from the files ids and store of test/kit. It has
functions for the ids of user, post and comment number n and for minute n of
2024, for the SQLSTATE of a call, and for a patient wait for the views, and
views with the posts and counts that the posts container implies.

=cut

sub create_kit
{
	my ($node, $dbname) = @_;

	foreach my $file (qw(ids store))
	{
		$node->safe_psql($dbname, kit_file($file));
	}
	return;
}

=pod

=item kit_file(name)

The SQL of a file of test/kit.

=cut

sub kit_file
{
	my ($name) = @_;

	return slurp_file("$FindBin::RealBin/../kit/$name.sql");
}

=pod

=item create_owned_database(node, dbname, caller...)

Create a database of the role blog_owner, which is no superuser and may create
containers there, and roles for callers. The first caller may execute all
functions, the others none.

=cut

sub create_owned_database
{
	my ($node, $dbname, @callers) = @_;

	$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN") foreach 'blog_owner', @callers;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname OWNER blog_owner");
	$node->safe_psql(
		$dbname, qq{
CREATE EXTENSION blogstore;
GRANT CREATE ON SCHEMA blogstore TO blog_owner;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO blog_owner, $callers[0];
});
	return;
}

=pod

=item run_as(node, dbname, role, sql)

Run SQL as a role, without stopping at errors. Returns what psql shows, with
errors as lines that have SQLSTATE, message and hint.

=cut

sub run_as
{
	my ($node, $dbname, $role, $sql) = @_;
	my ($out, $err) = ('', '');

	$node->psql($dbname, "\\set VERBOSITY verbose\n$sql", stdout => \$out,
		stderr => \$err, on_error_stop => 0, extra_params => [ '-U', $role ]);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	my @errors = $err =~ /^((?:ERROR|HINT): .*)$/mg;
	return join "\n", grep { $_ ne '' } $out, @errors;
}

=pod

=item fill_store(node, dbname, users, posts)

Create users 1 to n, and posts 1 to n by them in turn. Each post has 3
comments, and likes of the first 5 users.

=cut

sub fill_store
{
	my ($node, $dbname, $users, $posts) = @_;

	$node->safe_psql(
		$dbname, qq{
SELECT kit.fill($users, $posts);
SELECT count(blogstore.create_comment(kit.p(n), kit.u(1 + (n + m) % $users), 'comment', kit.c(10 * n + m), kit.d(n + m)))
FROM generate_series(1, $posts) n, generate_series(1, 3) m;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m)))
FROM generate_series(1, $posts) n, generate_series(1, least(5, $users)) m;
});
	return;
}

=pod

=item fill_lists(node, dbname, users)

Add what fill_store() leaves out: follows among the first users, topics of the
first 20 posts, and a scheduled post. blogstore.topic_property is "tags".

=cut

sub fill_lists
{
	my ($node, $dbname, $users) = @_;

	$node->safe_psql(
		$dbname, qq{
SELECT count(blogstore.follow_user(kit.u(a), kit.u(b), kit.d(100 * a + b)))
FROM generate_series(1, $users) a, generate_series(1, $users) b WHERE a <> b AND (a + b) % 3 <> 0;
SELECT count(blogstore.edit_post(kit.p(n), properties => jsonb_build_object('tags', ARRAY['all', 'Topic ' || n % 3])))
FROM generate_series(1, 20) n;
SELECT title FROM blogstore.create_post(kit.u(1), 'scheduled', 'content', kit.p(900), kit.d(900), publish_date => '2200-01-01');
});
	return;
}

=pod

=item show_lists(node, dbname)

The lists of follows, home feeds and topics, and the scheduled posts. The views
must be ready.

=cut

sub show_lists
{
	my ($node, $dbname) = @_;
	my $each_user = q{FROM blogstore.users AS u, LATERAL blogstore.%s(u.user_id, NULL) AS l WHERE u.type = 'user' ORDER BY u.user_id, l.creation_date, l.id};

	return join "\n--\n", answers($node, $dbname,
		sprintf("SELECT l.* $each_user", 'list_followers'),
		sprintf("SELECT l.* $each_user", 'list_following'),
		sprintf("SELECT u.username, l.* $each_user", 'list_home_feed'),
		'SELECT t.*, p.* FROM blogstore.list_topics(page_size => NULL) AS t, blogstore.list_topic_posts(t.topic, NULL) AS p ORDER BY t.topic, p.id',
		'SELECT q.post_id, q.publish_date, p.* FROM blogstore.publish_queue AS q, blogstore.get_post(q.post_id) AS p ORDER BY q.post_id');
}

=pod

=item sqlstate(node, dbname, call)

The outcome of a call: "ok", or its SQLSTATE and whether there is a hint.

=cut

sub sqlstate
{
	my ($node, $dbname, $call) = @_;

	$call =~ s/'/''/g;
	return $node->safe_psql($dbname, "SELECT kit.try('blogstore.$call')");
}

=pod

=item answers(node, dbname, query...)

The results of several queries that run in one session.

=cut

sub answers
{
	my ($node, $dbname, @queries) = @_;
	my $mark = '=== next ===';

	return map { s/\n\z//r } split /^$mark(?:\n|\z)/m,
	  $node->safe_psql($dbname, join("\n\\echo $mark\n", map { "$_;" } @queries)), -1;
}

=pod

=item check_store(node, dbname, name)

Wait for the views. Then check that verify() shows nothing, counts are exact,
and that list_feed(), feed and the copies in users are equal to one query over
all posts. Posts may be hidden.

=cut

sub check_store
{
	my ($node, $dbname, $name) = @_;
	my $columns =
	  'id, user_id, user_username, title, content, comment_count, like_count, creation_date';
	my $order = 'ORDER BY creation_date DESC, id DESC';
	my ($follow, $verify, $wrong, $newest, $shown, $feed, $list, $all, $copies) = answers($node, $dbname,
		"SELECT blogstore.wait_for_views('10 min')",
		'SELECT * FROM blogstore.verify()',
		'SELECT * FROM kit.wrong_counts()',
		"SELECT $columns FROM kit.implied WHERE NOT hidden $order LIMIT 100",
		"SELECT $columns FROM kit.implied WHERE NOT hidden $order",
		"SELECT $columns FROM blogstore.feed $order",
		"SELECT $columns FROM blogstore.list_feed(NULL)",
		"SELECT $columns FROM kit.implied $order",
		"SELECT $columns FROM blogstore.users WHERE type = 'post' $order");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($follow, 't', "$name: the views follow");
	is($verify, '', "$name: verify() shows nothing");
	is($wrong, '', "$name: counts are exact");
	ok($feed eq $newest, "$name: feed holds the newest 100 posts");
	ok($list eq $shown, "$name: list_feed() lists all posts");
	ok($copies eq $all, "$name: users holds a copy of each post");
	return;
}

=pod

=item check_answers(node, dbname, name)

Check that get_post(), list_user_posts() and list_feed() return at once what
one query over all posts does, in whatever state the views are. Names are left
out, because a rename may not have written them yet.

=cut

sub check_answers
{
	my ($node, $dbname, $name) = @_;
	my $columns =
	  'id, user_id, title, content, comment_count, like_count, creation_date';
	my $order = 'ORDER BY creation_date DESC, id DESC';
	my ($feed, $all, $lists, $by_user, $wrong) = answers($node, $dbname,
		"SELECT $columns FROM blogstore.list_feed(NULL)",
		"SELECT $columns FROM kit.implied WHERE NOT hidden $order",
		"SELECT p.* FROM (SELECT user_id FROM blogstore.users WHERE type = 'user' ORDER BY 1) u, LATERAL (SELECT $columns FROM blogstore.list_user_posts(u.user_id, NULL)) p",
		"SELECT $columns FROM kit.implied WHERE NOT hidden ORDER BY user_id, creation_date DESC, id DESC",
		'SELECT * FROM kit.wrong_counts()');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($feed eq $all, "$name: list_feed() is right");
	ok($lists eq $by_user, "$name: list_user_posts() is right");
	is($wrong, '', "$name: get_post() is right");
	return;
}

=pod

=back

=head1 CLIENTS

=over

=item start_client(node, dbname, sql, name)

Start psql with a script in the background, in a connection of its own with the
given application_name. Its rows are in a file when it has ended.

=cut

sub start_client
{
	my ($node, $dbname, $sql, $name) = @_;
	my $base = "$PostgreSQL::Test::Utils::tmp_check/client_${name}_$$";

	PostgreSQL::Test::Utils::append_to_file("$base.sql", '');
	unlink "$base.sql", "$base.out", "$base.err";
	PostgreSQL::Test::Utils::append_to_file("$base.sql", $sql);
	local $ENV{PGAPPNAME} = $name;
	my $run = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq',
			'-v', 'ON_ERROR_STOP=1',
			'-f', "$base.sql",
			'-d', $node->connstr($dbname)
		],
		'<', \undef,
		'>', "$base.out",
		'2>', "$base.err");
	return { run => $run, out => "$base.out", err => "$base.err" };
}

=pod

=item goes_on(client)

Whether a client in the background has not ended. A client is a hash with the
handle of IPC::Run as run.

=cut

sub goes_on
{
	my ($client) = @_;
	my $run = $client->{run};

	# The client's stdin is a pipe. IPC::Run notices the end of the client only
	# after it has closed the pipe.
	die $@ if $run->pumpable && !eval { $run->pump_nb; 1 } && $@ !~ /process ended prematurely/;
	return $run->pumpable;
}

=pod

=item finish_client(client)

Wait until a client has ended. Returns its rows, and what it wrote to stderr.

=cut

sub finish_client
{
	my ($client) = @_;

	$client->{run}->finish;
	return ([ split /\n/, slurp_file($client->{out}) ],
		slurp_file($client->{err}));
}

=pod

=back

=cut

1;
