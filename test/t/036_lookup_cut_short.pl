# A session caches what it reads about the owner and the owner's triggers and
# the like. After an error has interrupted this reading, the session reads
# again.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('half_looked');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE ROLE blog_owner LOGIN;
CREATE ROLE new_owner LOGIN;
CREATE ROLE caller LOGIN;
CREATE DATABASE blog OWNER blog_owner;
});
$node->safe_psql(
	'blog', q{
CREATE EXTENSION blogstore;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA blogstore TO caller;
SELECT blogstore.create_containers(2, 'blog_owner');
SELECT blogstore.stop_worker();	-- it would look up the owner, too
GRANT TEMPORARY ON DATABASE blog TO caller;
SET ROLE blog_owner;
CREATE TABLE public.audit_log (who text);
CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN INSERT INTO audit_log VALUES (current_user); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER INSERT ON blogstore.users_p00_user FOR EACH ROW EXECUTE FUNCTION public.audit();
CREATE TRIGGER audit AFTER INSERT ON blogstore.users_p01_user FOR EACH ROW EXECUTE FUNCTION public.audit();
});

# Run a session in which the caller creates three users: alice, before a
# change; bob, while a catalog is locked, so that the lookup fails; and carol,
# when the lock is released.
sub session
{
	my ($change, $catalog) = @_;
	my ($out, $err) = ('', '');

	$node->psql(
		'blog', qq{
\\set VERBOSITY sqlstate
SET search_path = pg_catalog;
SET SESSION AUTHORIZATION caller;
SELECT username FROM blogstore.create_user('alice $catalog');
$change
BEGIN;
LOCK TABLE pg_catalog.$catalog;
PREPARE TRANSACTION 'catalog';
SET SESSION AUTHORIZATION caller;
SET lock_timeout = '1ms';
SELECT username FROM blogstore.create_user('bob $catalog');
RESET SESSION AUTHORIZATION;
ROLLBACK PREPARED 'catalog';
SET SESSION AUTHORIZATION caller;
RESET lock_timeout;
SELECT username FROM blogstore.create_user('carol $catalog');
}, stdout => \$out, stderr => \$err, on_error_stop => 0);
	return join "\n", $out, $err =~ /(ERROR: .*)$/mg;
}

is( session('RESET SESSION AUTHORIZATION; REASSIGN OWNED BY blog_owner TO new_owner; ALTER ROLE new_owner CONNECTION LIMIT 9;', 'pg_authid'),
	"alice pg_authid\ncarol pg_authid\nERROR:  55P03",
	'a new owner is found after a lookup that failed');
is($node->safe_psql('blog', 'SELECT who FROM public.audit_log'), "blog_owner\nnew_owner",
	'triggers run as the present owner');

is( session('RESET SESSION AUTHORIZATION; ALTER FUNCTION public.audit() RESET search_path;', 'pg_proc'),
	"alice pg_proc\nERROR:  55P03\nERROR:  55000",
	'a function without a search_path is refused after a lookup that failed');
$node->safe_psql('blog', 'ALTER FUNCTION public.audit() SET search_path = public, pg_temp');

is($node->safe_psql('blog', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');
is(slurp_file($node->logfile) =~ /was terminated by signal/ ? 'crash' : '', '', 'no process has crashed');

$node->stop;
done_testing();
