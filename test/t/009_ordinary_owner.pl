
# An ordinary role owns the containers. Another role has EXECUTE on the
# functions and no other right. Neither gets further than its rights.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('owner');
$node->start;
create_owned_database($node, 'blog', qw(blog_app stranger));
my @as_owner = (extra_params => [ '-U', 'blog_owner' ]);
my @as_app = (extra_params => [ '-U', 'blog_app' ]);
my @as_stranger = (extra_params => [ '-U', 'stranger' ]);

$node->safe_psql('blog', 'SELECT blogstore.create_containers(4)', @as_owner);
create_kit($node, 'blog');
$node->safe_psql('blog', 'GRANT USAGE ON SCHEMA kit TO PUBLIC; GRANT SELECT ON kit.implied TO PUBLIC');
is( $node->safe_psql(
		'blog', "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p')"),
	'blog_owner',
	'the containers belong to the role that created them');

# The application can call every request.
is( $node->safe_psql(
		'blog', q{
SELECT username FROM blogstore.create_user('alice', kit.u(1), kit.d(1));
SELECT username FROM blogstore.create_user('bob', kit.u(2), kit.d(2));
SELECT title FROM blogstore.create_post(kit.u(1), 'one', repeat('x', 300), kit.p(1), kit.d(1));
SELECT content FROM blogstore.create_comment(kit.p(1), kit.u(2), 'comment', kit.c(1), kit.d(1));
SELECT user_username FROM blogstore.create_like(kit.p(1), kit.u(2));
SELECT username FROM blogstore.edit_user(kit.u(2), 'robert');
SELECT title FROM blogstore.edit_post(kit.p(1), 'one!');
SELECT kit.views_follow();
SELECT title, length(content), comment_count, like_count FROM blogstore.list_feed();
SELECT title, user_username FROM blogstore.list_user_posts(kit.u(1));
SELECT user_username FROM blogstore.list_post_comments(kit.p(1));
SELECT user_username FROM blogstore.list_post_likes(kit.p(1));
SELECT count(*) FROM blogstore.verify();
SELECT blogstore.repair();
SELECT state FROM blogstore.get_worker_status();
}, @as_app),
	join("\n", 'alice', 'bob', 'one', 'comment', 'bob', 'robert', 'one!', 't', 'one!|200|1|1', 'one!|alice', 'robert', 'robert', '0', '0', 'running'),
	'a role with EXECUTE alone can use every request');
check_store($node, 'blog', 'owned by a role');

# It can operate the worker.
is( $node->safe_psql(
		'blog', q{
SET client_min_messages = error;
SELECT blogstore.stop_worker();
SELECT state FROM blogstore.get_worker_status();
SELECT blogstore.start_worker();
SELECT kit.views_follow();
SELECT blogstore.rebuild_views();
SELECT kit.views_follow();
SELECT blogstore.stop_worker(true);
SELECT blogstore.start_worker();
SELECT kit.views_follow();
}, @as_app) =~ s/\n+/\n/gr =~ s/^\n|\n$//gr,
	"stopped\nt\nt\nt",
	'and operate the worker');
check_store($node, 'blog', 'operated');

# It cannot access the tables, before or after a call in the same session.
for my $role (\@as_app, \@as_stranger)
{
	for my $statement (
		'SELECT * FROM blogstore.posts',
		'SELECT * FROM blogstore.posts_p00_post',
		'UPDATE blogstore.posts SET like_count = 1000',
		'DELETE FROM blogstore.usernames',
		'INSERT INTO blogstore.jobs (id, kind) VALUES (kit.u(1), \'rebuild\')',
		'UPDATE blogstore.view_state SET ready = false',
		'TRUNCATE blogstore.feed')
	{
		my ($rc, $out, $err) = $node->psql('blog', "\\set VERBOSITY sqlstate\n$statement", @$role);
		like($err, qr/ERROR:  42501/, "$role->[1][1]: $statement");
	}
}
{
	my ($rc, $out, $err) = $node->psql('blog',
		"\\set VERBOSITY sqlstate\nSELECT count(*) FROM blogstore.create_like(kit.p(1), kit.u(1));\nSELECT current_user;\nSELECT * FROM blogstore.posts;",
		@as_app);
	is($out, "1\nblog_app", 'after a call the role is the same');
	like($err, qr/ERROR:  42501/, 'and has no more rights than before');
}
{
	# The same after a call that failed
	my ($rc, $out, $err) = $node->psql('blog',
		"\\set VERBOSITY sqlstate\nBEGIN;\nSAVEPOINT a;\nSELECT blogstore.create_like(kit.p(99), kit.u(1));\nROLLBACK TO a;\nSELECT current_user;\nSELECT * FROM blogstore.posts;",
		@as_app, on_error_stop => 0);
	is($out, 'blog_app', 'after a failed call the role is the same');
	like($err, qr/ERROR:  23503.*ERROR:  42501/s, 'and has no more rights than before');
}
{
	my ($rc, $out, $err) = $node->psql('blog',
		"\\set VERBOSITY sqlstate\nSELECT blogstore.get_post(kit.p(1))", @as_stranger);
	like($err, qr/ERROR:  42501/, 'a role without EXECUTE is turned away');
	($rc, $out, $err) = $node->psql('blog',
		"\\set VERBOSITY sqlstate\nSELECT * FROM blogstore.stat_worker", @as_stranger);
	like($err, qr/ERROR:  42501/, 'from monitoring, too');
}

# The owner may use the tables like any other. Triggers run as the owner, not
# as the caller or the worker's superuser.
$node->safe_psql(
	'blog', q{
CREATE TABLE kit.log (who text, what text);
GRANT USAGE ON SCHEMA kit TO blog_owner;
GRANT ALL ON kit.log TO blog_owner;
GRANT CREATE ON SCHEMA kit TO blog_owner;
});
$node->safe_psql(
	'blog', q{
CREATE FUNCTION kit.note() RETURNS trigger LANGUAGE plpgsql SET search_path = kit, pg_temp AS $$
BEGIN
	INSERT INTO kit.log VALUES (current_user, TG_TABLE_NAME || ' ' || TG_OP);
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON blogstore.posts FOR EACH ROW EXECUTE FUNCTION kit.note();
ALTER TABLE blogstore.posts ENABLE ALWAYS TRIGGER note;
SELECT count(*) FROM blogstore.posts;
}, @as_owner);
$node->safe_psql('blog',
	"SELECT blogstore.create_post(kit.u(1), 'logged', 'x', kit.p(2), kit.d(2)); SELECT blogstore.edit_user(kit.u(1), 'alison'); SELECT kit.views_follow()",
	@as_app);
is($node->safe_psql('blog', 'SELECT DISTINCT who FROM kit.log'),
	'blog_owner', 'triggers run as the owner of the containers');
is($node->safe_psql('blog', "SELECT count(*) > 0 FROM kit.log WHERE what LIKE 'posts_p%_post INSERT'"),
	't', 'for the commands of the application');
is($node->safe_psql('blog', "SELECT count(*) > 0 FROM kit.log WHERE what LIKE 'posts_p%_comment UPDATE' OR what LIKE 'posts_p%_post UPDATE'"),
	't', 'and for what the worker does to the items');
check_store($node, 'blog', 'with triggers');

# It still works after a change of the owner.
$node->safe_psql('blog', 'REASSIGN OWNED BY blog_owner TO blog_app; GRANT ALL ON kit.log TO blog_app');
$node->safe_psql('blog',
	"SELECT blogstore.create_post(kit.u(1), 'another owner', 'x', kit.p(3), kit.d(3)); SELECT kit.views_follow()",
	@as_app);
check_store($node, 'blog', 'of another owner');
is($node->safe_psql('blog', 'SELECT title FROM blogstore.feed ORDER BY creation_date DESC LIMIT 1'),
	'another owner', 'of another owner: the views follow');

done_testing();
