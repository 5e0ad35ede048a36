
# verify() on a cluster, called on any member, shows nothing while the worker
# of a node lags behind, and nothing beside traffic on all members. It shows
# damage that no worker repairs.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('verify');
my ($coordinator, $one, $two) = members($cluster);
my $n = 0;
my $found = 'SELECT container, problem, type, count(*) FROM blogstore.verify() GROUP BY 1, 2, 3 ORDER BY 1, 2, 3';

$coordinator->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 20) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 20), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(3), 'comment', kit.c(n), kit.d(n))) FROM generate_series(1, 60) AS n;
});
ok(cluster_views_follow($cluster), 'the views follow');
is($_->safe_psql('postgres', $found), '', $_->name . ': at rest') foreach members($cluster);

# It uses the functions and operators of pg_catalog, not those in the caller's
# search_path.
$coordinator->safe_psql(
	'postgres', q{
SET citus.enable_ddl_propagation = off;
CREATE ROLE watcher LOGIN;
GRANT USAGE ON SCHEMA blogstore TO watcher;
GRANT EXECUTE ON FUNCTION blogstore.verify TO watcher;
CREATE SCHEMA trap AUTHORIZATION watcher;
SET ROLE watcher;
CREATE FUNCTION trap.differ(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called by %', current_user; END $$;
CREATE OPERATOR trap.<> (FUNCTION = trap.differ, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION trap.get(jsonb, text) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN RAISE 'called by %', current_user; END $$;
CREATE OPERATOR trap.-> (FUNCTION = trap.get, LEFTARG = jsonb, RIGHTARG = text);
CREATE FUNCTION trap.bool_and(boolean) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called by %', current_user; END $$;
});
is($coordinator->safe_psql('postgres', 'SET ROLE watcher; SET search_path = trap, pg_catalog; SELECT count(*) FROM blogstore.verify()'), '0', 'the caller has nothing run by the owner');

# ---- A worker is held, with changes of posts on its node

my $holder = hold_worker($two, 'postgres');
my @there = posts_on($cluster, $two, 100, 4);
my $ids = join ', ', map { "kit.p($_)" } @there;
$coordinator->safe_psql('postgres', "SELECT count(blogstore.create_post(kit.u(1), 'late', 'late', kit.p(n), kit.d(200 + n))) FROM unnest(ARRAY[@{[ join ', ', @there ]}]) AS n;
SELECT count(blogstore.create_like(id, kit.u(2))) FROM unnest(ARRAY[$ids]) AS id;
SELECT blogstore.delete_post(kit.p($there[3]))");
is($_->safe_psql('postgres', $found), '', $_->name . ': a worker is held') foreach members($cluster);
$holder->quit;
ok(cluster_views_follow($cluster), 'the views follow');
is($coordinator->safe_psql('postgres', $found), '', 'the worker has caught up: nothing');

# ---- Damage that no worker notices

my ($user) = grep { home_of($cluster, "kit.u($_)")->name eq $two->name } 2 .. 20;
my $damage = "SELECT pg_replication_origin_session_setup('blogstore_worker'); UPDATE blogstore.users SET title = 'damaged' WHERE type = 'post' AND user_id = kit.u($user) AND creation_date < kit.d(21)";
$two->safe_psql('postgres', $damage);
is($_->safe_psql('postgres', $found), 'users|stale copy|post|1', $_->name . ': a damaged copy') foreach members($cluster);

# ---- Beside traffic on all members

my @traffic = map {
	my $first = 1000 * ++$n;

	start_client($_, 'postgres', qq{
DO \$\$
BEGIN
	WHILE pg_try_advisory_xact_lock_shared(8) LOOP
		FOR n IN $first .. $first + 5 LOOP
			PERFORM blogstore.create_post(kit.u(1), 'again', 'text', kit.p(n), kit.d(n));
			COMMIT;
			PERFORM blogstore.create_like(kit.p(n), kit.u(2)), blogstore.create_comment(kit.p(n), kit.u(2), 'comment', kit.c(n));
			COMMIT;
			PERFORM blogstore.delete_like(kit.p(n), kit.u(2)), blogstore.edit_post(kit.p(n), 'edited');
			COMMIT;
		END LOOP;
		FOR n IN $first .. $first + 5 LOOP
			PERFORM blogstore.delete_post(kit.p(n));
			COMMIT;
		END LOOP;
	END LOOP;
END \$\$}, "traffic $n");
} members($cluster);
my %shown;
for my $call (1 .. 5)
{
	$shown{ $_->safe_psql('postgres', $found) }++ foreach members($cluster);
	ok(goes_on($_), '... while posts come and go') foreach @traffic;
}
is_deeply([ sort keys %shown ], ['users|stale copy|post|1'], 'beside traffic: the damage, each time, and nothing else');
my @stop = map { $_->background_psql('postgres') } members($cluster);
$_->query_safe('SELECT pg_advisory_lock(8)') foreach @stop;
foreach my $client (@traffic)
{
	my ($written, $errors) = finish_client($client);

	is("@$written$errors", '', 'a client has ended');
}
$_->quit foreach @stop;
is($two->safe_psql('postgres', 'SELECT blogstore.repair()'), '1', 'repair() mends it');
views_right($cluster, 'afterwards');

done_testing();
