
# A server whose administrator removes the library and the package before the
# slots, the extension, the settings and the roles: what works then, and how
# the rest is dropped, as "Removing blogstore" of docs/OPERATIONS.md describes.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %installation = copy_installation();
my $node = new_server('removed', install_path => $installation{install_path});
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE blog; CREATE ROLE my_app; CREATE ROLE authenticator; CREATE DATABASE blog; CREATE DATABASE gone');
foreach my $dbname (qw(blog gone))
{
	$node->safe_psql($dbname, "CREATE EXTENSION blogstore; SELECT blogstore.create_containers(4, owner => 'blog'); SELECT blogstore.grant_requests('my_app')");
	create_kit($node, $dbname);
	fill_store($node, $dbname, 9, 120);
	check_store($node, $dbname, $dbname);
}
my $counts = 'SELECT count(*), sum(like_count), sum(comment_count) FROM blogstore.posts_with_counts';
my $before = $node->safe_psql('blog', $counts);
my $items = $node->safe_psql('blog', 'SELECT count(*) FROM blogstore.posts');
my $slot = worker_slot($node, 'gone');
$node->safe_psql('blog', 'GRANT SET ON PARAMETER blogstore.current_user_id TO authenticator');
$node->safe_psql('blog', 'ALTER SYSTEM SET blogstore.feed_size = 50');

# The SQLSTATE of SQL in a session of its own, or ok
sub state_of
{
	my ($dbname, $sql) = @_;
	my $told = ($node->psql($dbname, $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]))[2];

	return $told =~ /ERROR:  (\w+)/ ? $1 : 'ok';
}

# ---- The library is not preloaded any more, and wal_level is lowered

$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
wal_level_too_low($node);
my $offset = log_end($node);
ok(!$node->start(fail_ok => 1), 'the server does not start with a lower wal_level');
like(join("\n", logged($node, $offset, qr/FATAL/)), qr/logical replication slot "blogstore_[0-9]+" exists, but "?wal_level"? </, '... and says why');
$node->append_conf('postgresql.conf', "wal_level = logical\nmax_wal_senders = 10\n");
$node->start;
$node->safe_psql('gone', 'DROP EXTENSION blogstore');
$node->safe_psql('blog', 'SELECT blogstore.stop_worker(drop_slot => true)');
is($node->safe_psql('postgres', 'SELECT slot_name, active FROM pg_replication_slots'), "$slot|f", 'it starts with the higher one; DROP EXTENSION has left a slot');

# ---- The package is removed, and one database has the extension

my @files = ("$installation{pkglibdir}/blogstore.so", glob "$installation{sharedir}/extension/blogstore*");
my $kept = PostgreSQL::Test::Utils::tempdir('kept');
move($_, $kept) or die "$_: $!" foreach @files;
$node->restart;
is(state_of('blog', "SELECT blogstore.get_post(kit.p(1))"), '58P01', 'without the package functions fail');
is($node->safe_psql('blog', $counts), $before, '... SQL reads the tables and the view');
my $dump = "$kept/blog.dump";
$node->command_ok([ 'pg_dump', '--format=custom', '--file', $dump, '--exclude-schema=kit', '--dbname', $node->connstr('blog') ], '... pg_dump works');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my @restore = ('pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $dump);
$node->command_fails_like(\@restore, qr/extension "blogstore" is not available/, '... and its dump is not restored');

# Settings and roles
is($node->safe_psql('postgres', 'SHOW blogstore.feed_size'), '50', 'a setting is left');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET blogstore.feed_size');
$node->reload;
unlike(slurp_file($node->data_dir . '/postgresql.auto.conf'), qr/blogstore/, '... which ALTER SYSTEM RESET removes');
is(state_of('postgres', "DROP ROLE $_"), '2BP01', "the role $_ is in use") foreach qw(blog my_app authenticator);
is(state_of('blog', 'DROP EXTENSION blogstore'), 'ok', 'DROP EXTENSION works');
is($node->safe_psql('blog', 'SELECT count(*) FROM blogstore.posts'), $items, '... and keeps the tables');
$node->safe_psql($_, 'DROP SCHEMA blogstore CASCADE') foreach qw(blog gone);
is(state_of('postgres', "DROP ROLE $_"), 'ok', "no database has objects of $_: it is dropped") foreach qw(blog my_app);
is(state_of('postgres', 'DROP ROLE authenticator'), '2BP01', 'a role may set a setting');
is(state_of('postgres', 'DROP OWNED BY authenticator; DROP ROLE authenticator'), 'ok', '... until DROP OWNED');

# The slot
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('$slot')");
$node->stop;
wal_level_too_low($node);
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', 'pg_drop_replication_slot() drops the slot, and the server starts with a lower wal_level');

# ---- The package is installed again

foreach my $file (@files)
{
	move("$kept/" . ($file =~ s{.*/}{}r), $file) or die "$file: $!";
}
$node->safe_psql('postgres', 'CREATE ROLE blog; CREATE ROLE my_app; DROP DATABASE restored; CREATE DATABASE restored');
$node->command_ok(\@restore, 'with the package the dump is restored');
is($node->safe_psql('restored', $counts), $before, '... with all posts');
$node->stop;

done_testing();
