=pod

=head1 NAME

BlogstoreUpgrade - stores of 0.1, and what upgrade_containers() makes of them

=cut

package BlogstoreUpgrade;

use strict;
use warnings;
use FindBin;

use BlogstoreServer;
use BlogstoreTest;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  $CALL $NOTHING $ADDED $INDEXES create_older_store make_older is_older is_fresh upgrade items hold release
);

our $CALL = 'CALL blogstore.upgrade_containers()';
our $NOTHING = 'NOTICE:  there was nothing to upgrade';
our $ADDED = 'NOTICE:  added the columns of this version to the containers';
our $INDEXES = 'NOTICE:  made the indexes of this version on 2 leaves';

=pod

=over

=item make_older(node, dbname)

Counts in the post items, and no counters, as 0.1 has them. Stops the worker.

=cut

sub make_older
{
	my ($node, $dbname) = @_;

	$node->safe_psql(
		$dbname, q{
SELECT blogstore.stop_worker();
BEGIN;
UPDATE blogstore.posts p SET comment_count = p.comment_count + d.comments, like_count = p.like_count + d.likes
FROM (SELECT post_id, sum(comment_count) AS comments, sum(like_count) AS likes FROM blogstore.posts WHERE type = 'delta' GROUP BY 1) d
WHERE p.type = 'post' AND p.post_id = d.post_id;
DELETE FROM blogstore.posts WHERE type = 'delta';
COMMIT;
});
	return;
}

=pod

=item create_older_store(node, dbname, posts, comments)

A database with containers as 0.1 has made them, posts with likes, and so many comments on
the first of them, each by one of four users; the extension is updated, the worker stopped.

=cut

sub create_older_store
{
	my ($node, $dbname, $posts, $comments) = @_;

	$comments //= 0;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql($dbname, "CREATE EXTENSION blogstore VERSION '0.1'");
	$node->safe_psql($dbname, slurp_file("$FindBin::RealBin/../data/store-0.1.sql"));
	create_kit($node, $dbname);
	$node->safe_psql(
		$dbname, qq{
ALTER EXTENSION blogstore UPDATE;
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(5, 6) n;
SELECT count(blogstore.create_post(kit.u(1), 'title ' || n, 'content', kit.p(n), kit.d(n))) FROM generate_series(11, $posts + 10) n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(m), kit.d(n + m))) FROM generate_series(11, $posts + 10) n, generate_series(3, 3 + n % 2) m;
SELECT count(blogstore.create_comment(kit.p(11 + n % 20), kit.u(3 + n % 4), repeat('x', 400) || n, kit.c(1000 + n), kit.d(n))) FROM generate_series(1, $comments) n;
CREATE VIEW kit.uncounted AS
SELECT tableoid::regclass::text AS leaf, post_id FROM blogstore.posts p WHERE type = 'post'
	AND NOT EXISTS (SELECT FROM blogstore.posts d WHERE d.post_id = p.post_id AND d.type = 'delta' AND d.id = '00000000-0000-0000-0000-000000000000');
});
	make_older($node, $dbname);
	return;
}

# All that the catalogs say of the tables
my $tables = q{
SELECT c.relname, c.relkind, c.relreplident, c.relpersistence, pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid, 'pg_class'),
	(SELECT array_agg(o ORDER BY o) FROM unnest(c.reloptions) o),
	(SELECT array_agg((a.attname, a.attnotnull, format_type(a.atttypid, a.atttypmod), a.attcollation, pg_get_expr(d.adbin, d.adrelid)) ORDER BY a.attnum)
	 FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = c.oid AND a.attnum > 0),
	(SELECT array_agg((i.indexrelid::regclass, pg_get_indexdef(i.indexrelid), i.indisreplident, i.indisvalid, i.indisready) ORDER BY pg_get_indexdef(i.indexrelid)) FROM pg_index i WHERE i.indrelid = c.oid),
	(SELECT array_agg((k.conname, k.contype, k.convalidated, pg_get_constraintdef(k.oid)) ORDER BY k.conname) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n')
FROM pg_class c WHERE c.relnamespace = 'blogstore'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1};
my %fresh;

# The tables of a database that are not as create_containers() makes them
sub not_fresh
{
	my ($node, $dbname) = @_;

	if (!%fresh)
	{
		$node->safe_psql('postgres', 'CREATE DATABASE fresh');
		$node->safe_psql('fresh', 'CREATE EXTENSION blogstore; SELECT blogstore.create_containers(2)');
		%fresh = map { $_ => 1 } split /\n/, $node->safe_psql('fresh', $tables);
	}
	return grep { !$fresh{$_} } split /\n/, $node->safe_psql($dbname, $tables);
}

=pod

=item is_fresh(node, dbname, name), is_older(node, dbname, name)

The tables of a database are as this version makes them, by name, type and definition
of all that they have; or not one of the containers is.

=cut

sub is_fresh
{
	my ($node, $dbname, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", not_fresh($node, $dbname)), '', $name);
	return;
}

sub is_older
{
	my ($node, $dbname, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(scalar(grep { /^(users|posts|feed)\b/ } not_fresh($node, $dbname)), 3, $name);
	return;
}

=pod

=item upgrade(node, dbname)

Call it; returns what it says.

=cut

sub upgrade
{
	my ($node, $dbname) = @_;
	my $err = '';

	$node->psql($dbname, $CALL, stderr => \$err);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	return $err;
}

=pod

=item items(node, dbname)

All users, posts, comments and likes with all that 0.1 has stored of them.

=cut

sub items
{
	my ($node, $dbname) = @_;

	return $node->safe_psql(
		$dbname, q{
SELECT id, type, user_id, username, creation_date FROM blogstore.users WHERE type = 'user' ORDER BY id;
SELECT id, type, post_id, user_id, user_username, title, content, comment_count, like_count, creation_date FROM blogstore.posts WHERE type <> 'delta' ORDER BY type, id});
}

=pod

=item hold(node, dbname, sql), release(psql)

A psql that has run SQL in a transaction which stays open, and how that ends.

=cut

sub hold
{
	my ($node, $dbname, $sql) = @_;
	my $psql = $node->background_psql($dbname);

	$psql->query_safe("BEGIN; $sql");
	return $psql;
}

sub release
{
	my ($psql) = @_;

	$psql->query_safe('COMMIT');
	$psql->quit;
	return;
}

=pod

=back

=cut

1;
