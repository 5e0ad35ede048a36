# A role that may create schemas creates the schema blogstore before a
# superuser creates the extension. The role could then drop all of it, so
# CREATE EXTENSION refuses. A superuser can restore the dump of another.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('schema');
$node->start;
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql(
	'postgres', q{
CREATE ROLE tenant LOGIN;
CREATE ROLE "odd ""name"" %s" LOGIN;
CREATE ROLE member LOGIN IN ROLE tenant;
CREATE ROLE other LOGIN SUPERUSER;
CREATE ROLE blog LOGIN});

# Run a statement as a role in a new database. Returns the messages of CREATE
# EXTENSION after that.
sub made_after
{
	my ($role, $sql, $by) = @_;

	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS shared');
	$node->safe_psql('postgres', 'CREATE DATABASE shared');
	$node->safe_psql('shared', q{GRANT CREATE ON DATABASE shared TO tenant, "odd ""name"" %s", member});
	$node->safe_psql('shared', qq{SET ROLE "$role"; $sql});
	my (undef, undef, $error) = $node->psql('shared', ($by ? qq{SET ROLE $by; } : '') . 'CREATE EXTENSION blogstore', extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	$error =~ s/^(CONTEXT|LOCATION|PL\/pgSQL).*\n?//mg;
	return $error;
}

sub refusal { return qr/ERROR:  42501: schema "blogstore" belongs to role "\Q$_[0]\E", who is no superuser\n.*HINT:  Drop the schema/s }

like(made_after('tenant', 'CREATE SCHEMA blogstore'), refusal('tenant'), 'a schema of another role');
is($node->safe_psql('shared', "SELECT count(*) FROM pg_extension WHERE extname = 'blogstore'"), '0', 'nothing is made in it');
is($node->safe_psql('shared', "SELECT count(*) FROM pg_proc WHERE pronamespace = 'blogstore'::regnamespace"), '0', 'no function either');
like(made_after('odd ""name"" %s', 'CREATE SCHEMA blogstore'), refusal('odd "name" %s'), 'a role with an odd name');
like(made_after('member', 'CREATE SCHEMA blogstore AUTHORIZATION tenant'), refusal('tenant'), 'a schema of a role of which its creator is a member');
like(made_after($superuser, 'CREATE SCHEMA blogstore AUTHORIZATION pg_database_owner'), refusal('pg_database_owner'), 'a schema of the database\'s owner');
like(made_after('tenant', 'CREATE SCHEMA blogstore', 'other'), refusal('tenant'), 'whichever superuser creates the extension');
$node->safe_psql('shared', 'ALTER SCHEMA blogstore OWNER TO CURRENT_USER; CREATE EXTENSION blogstore; SELECT blogstore.new_id()');
is(($node->psql('shared', 'SET ROLE tenant; DROP SCHEMA blogstore CASCADE'))[0], 3, q{after ALTER SCHEMA OWNER, which the hint names, its creator cannot drop it});
is(made_after($superuser, 'CREATE SCHEMA blogstore'), '', 'a schema of the same superuser');
is(made_after('other', 'CREATE SCHEMA blogstore'), '', 'a schema of another superuser');
is(made_after('tenant', 'SELECT 1'), '', 'no schema');
is($node->safe_psql('shared', "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'blogstore'"), $superuser, 'the schema belongs to the superuser');

# ---- A dump is restored by another superuser, with owners and without

$node->safe_psql('shared', 'GRANT CREATE, USAGE ON SCHEMA blogstore TO blog; SELECT blogstore.create_containers(2, $$blog$$); SELECT blogstore.create_user($$Ann$$)');
my $dump = $node->basedir . '/shared.dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('shared') ], 'a dump');
for my $as ([ 'other' ], [ 'other', '--no-owner' ], [ $superuser ])
{
	my ($role, @options) = @$as;
	my $name = join ' ', 'restored by', @$as;

	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS restored');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '--exit-on-error', @options, '-U', $role, '-d', $node->connstr('restored'), $dump ], $name);
	is($node->safe_psql('restored', 'SELECT username FROM blogstore.get_user_by_name($$ann$$)'), 'Ann', "$name: the data is restored");
}
$node->stop;
done_testing();
