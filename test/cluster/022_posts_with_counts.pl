
# On a cluster, the view posts_with_counts shows posts as get_post() returns
# them, from any node, to a role that may read the tables and execute nothing.
# The containers were created on the cluster, or distributed later.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $fill = q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_comment(kit.p(1 + n % 60), kit.u(1 + n % 20), 'comment', kit.c(n), kit.d(n))) FROM generate_series(1, 200) AS n;
SELECT count(blogstore.create_like(kit.p(p), kit.u(u))) FROM generate_series(1, 60) AS p, generate_series(1, 20) AS u WHERE (p + u) % 3 = 0;
SELECT FROM blogstore.hide_post(kit.p(5));
SELECT blogstore.delete_post(kit.p(6));
};
my $columns = 'id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, hidden, modification_date, properties, publish_date';
my $view = "SELECT $columns FROM blogstore.posts_with_counts ORDER BY id";
my $true = "SELECT $columns FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM generate_series(1, 60) AS n)) ORDER BY id";

# Compare the view with get_posts() on each member, as the superuser and as a
# reader.
sub same_view
{
	my ($cluster, $name) = @_;
	my @members = members($cluster);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	on_each($cluster, q{SET citus.enable_ddl_propagation = off; DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$});
	# Citus propagates grants on tables, but not on views.
	$members[0]->safe_psql('postgres', 'GRANT SELECT ON blogstore.posts, blogstore.user_items TO reader');
	on_each($cluster, q{SET citus.enable_ddl_propagation = off; GRANT SELECT ON blogstore.posts_with_counts TO reader});
	foreach my $member (@members)
	{
		my $there = $member->safe_psql('postgres', $true);

		is($member->safe_psql('postgres', $view), $there, "$name: " . $member->name . ': as get_posts() has them');
		is($member->safe_psql('postgres', $view, extra_params => [ '-U', 'reader' ]), $there, "$name: " . $member->name . ': a reader, too');
	}
	my ($one) = $members[1]->safe_psql('postgres', 'SELECT title, comment_count, like_count FROM blogstore.posts_with_counts WHERE post_id = kit.p(7)');
	is($one, $members[1]->safe_psql('postgres', 'SELECT title, comment_count, like_count FROM blogstore.get_post(kit.p(7))'), "$name: one post");
	return;
}

# ---- Containers created on a cluster

my $cluster = new_cluster('counts');
my ($coordinator, $one, $two) = members($cluster);
$coordinator->safe_psql('postgres', $fill);
same_view($cluster, 'made so');
my $holder = hold_worker($one, 'postgres');
my $user = 0;
my @open = map { my $s = $_->background_psql('postgres'); $user++; $s->query_safe('BEGIN'); $s->query_safe("SELECT FROM blogstore.create_like(kit.p($_), kit.u($user))") foreach 10 .. 20; $s } $two, $one;
same_view($cluster, 'while others write');
foreach (@open) { $_->query_safe('COMMIT'); $_->quit }
same_view($cluster, 'with deltas');
$holder->quit;
$coordinator->safe_psql('postgres', 'SELECT blogstore.delete_user(kit.u(3))');
ok(cluster_views_follow($cluster), 'a user has been deleted');
same_view($cluster, 'without the user');
my $owned = q{SELECT relowner::regrole, reloptions FROM pg_class WHERE oid = 'blogstore.posts_with_counts'::regclass};
my $owner = $coordinator->safe_psql('postgres', q{SELECT relowner::regrole FROM pg_class WHERE oid = 'blogstore.posts'::regclass});
is(join(' ', map { $_->safe_psql('postgres', $owned) } members($cluster)), join(' ', ("$owner|{security_invoker=true}") x 3), 'it is the owner\'s on each node');
is(sqlstate($coordinator, 'postgres', 'create_containers()'), '42P07, hint', 'nothing is missing');
$coordinator->safe_psql('postgres', "DROP VIEW blogstore.posts_with_counts; SET client_min_messages = error; SELECT blogstore.create_containers(owner => '$owner')");
same_view($cluster, 'made again');

# ---- Containers of one machine that are distributed later

my $later = new_cluster('counts_later', containers => 0);
create_kit_everywhere($later);
my $machine = $later->{coordinator};
$machine->safe_psql('postgres', q{SET client_min_messages = error; CREATE ROLE blog LOGIN; GRANT CREATE ON SCHEMA blogstore TO blog; SELECT blogstore.create_containers(4, 'blog', distributed => false)});
$machine->safe_psql('postgres', $fill);
foreach my $own ('SELECT 1 AS own', "SELECT id::text, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date, hidden, modification_date, properties, publish_date FROM blogstore.posts")
{
	my $err = '';

	$machine->safe_psql('postgres', "SET citus.enable_ddl_propagation = off; SET client_min_messages = error; DROP VIEW IF EXISTS blogstore.posts_with_counts; CREATE VIEW blogstore.posts_with_counts AS $own; ALTER VIEW blogstore.posts_with_counts OWNER TO blog");
	$machine->psql('postgres', "\\set VERBOSITY verbose\nSELECT blogstore.distribute_containers(8)", stderr => \$err);
	like($err, qr/ERROR:  0A000: view [\w.]+ cannot be carried over/, "a view with other columns is refused: $own");
	$machine->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; DROP VIEW blogstore.posts_with_counts');
}
$machine->safe_psql('postgres', "SET client_min_messages = error; SELECT blogstore.create_containers(4, 'blog', distributed => false)");
on_each($later, 'SET citus.enable_ddl_propagation = off; CREATE ROLE report LOGIN');
$machine->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; GRANT USAGE ON SCHEMA blogstore TO report; GRANT SELECT ON blogstore.posts_with_counts, blogstore.posts, blogstore.jobs TO report');
# A client reads the view all the time. It locks the view before the tables.
my $reading = $machine->background_psql('postgres');
my $queries = "$PostgreSQL::Test::Utils::tmp_check/queries.sql";
append_to_file($queries, "SELECT count(*) FROM blogstore.posts_with_counts;\n" x 2000);
$reading->query_until(qr/begun/, "\\set ON_ERROR_STOP 0\n\\echo begun\n\\i $queries\n");
$machine->safe_psql('postgres', q{SET client_min_messages = warning; SELECT blogstore.distribute_containers(8, keep => false)});
$reading->query_safe('SELECT 1');
is($reading->{stderr}, '', 'it is distributed beside a reader of the view, who meets no error');
$reading->quit;
same_view($later, 'distributed');
is(join(' ', map { $_->safe_psql('postgres', $owned) } members($later)), join(' ', ('blog|{security_invoker=true}') x 3), 'it is the owner\'s on each node');
$machine->safe_psql('postgres', 'GRANT SELECT ON blogstore.user_items TO report');
is($machine->safe_psql('postgres', 'SET ROLE report; SELECT count(*) > 0 FROM blogstore.posts_with_counts'), 't', 'and who could read it can once user_items may be read, too');

done_testing();
