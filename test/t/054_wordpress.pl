# WordPress moves in from its MariaDB by the commands of docs/MOVING_IN.md,
# with a dump and with mysql_fdw, and with items that WordPress itself has
# written. Where there is no MariaDB, only 053_moving_in.pl tests this, with
# dumps that this test compares with real ones.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreMoving;
use BlogstoreTest;
use File::Temp;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PATH} .= ':/usr/sbin:/sbin';
foreach my $program (qw(mariadbd mariadb mariadb-install-db))
{
	plan skip_all => "there is no $program" unless eval { run_shell('/', "command -v $program") };
}

my $data = "$FindBin::RealBin/../moving";
my $directory = PostgreSQL::Test::Utils::tempdir('wordpress');

# ---- A MariaDB for this test. The name of a socket must be short.

my $place = PostgreSQL::Test::Utils::tempdir_short();
my $socket = "$place/mariadb";
my $port = PostgreSQL::Test::Cluster::get_free_port();
my ($said, $mariadb) = ('');

append_to_file("$directory/.my.cnf", "[client]\nuser = root\nsocket = $socket\n");
run_shell($directory, "mariadb-install-db --no-defaults --datadir='$place/data' --auth-root-authentication-method=normal --skip-test-db");
$mariadb = IPC::Run::start(
	[
		'mariadbd', '--no-defaults', "--datadir=$place/data", "--socket=$socket", "--port=$port", '--bind-address=127.0.0.1',
		"--pid-file=$place/pid", '--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M'
	],
	'<', \undef, '>&', \$said, IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default, name => 'mariadbd'));
END
{
	my $status = $?;
	$mariadb->kill_kill if defined $mariadb && $mariadb->pumpable;
	$? = $status;
}
$mariadb->pump until $said =~ /ready for connections/;

# Run commands like a user with access to WordPress's database.
sub shell
{
	return run_shell($directory, $_[0], HOME => $directory);
}

sub load
{
	shell("mariadb --default-character-set=utf8mb4 wordpress <'$data/$_[0]'");
	return;
}

# ---- WordPress: Debian's package if it is installed, otherwise its files. To
# install the package would install and start a web server.

my $wordpress = '/usr/share/wordpress';
my $without = '';
if (!eval { shell(q{php -r 'exit((int) !extension_loaded("mysqli"));'}); 1 })
{
	$without = 'there is no php with mysqli';
}
elsif (!-f "$wordpress/wp-settings.php")
{
	$wordpress = "$directory/files/usr/share/wordpress";
	eval { shell('apt-get -q download wordpress && dpkg-deb -x wordpress_*.deb files'); 1 }
	  or $without = "Debian's package of WordPress could not be had: $@";
}
shell("mariadb -e 'CREATE DATABASE wordpress'");
if ($without eq '')
{
	shell("php '$data/wordpress.php' '$wordpress' '$socket' install");
}
else
{
	diag "WordPress itself is left out, and only tables like its are read: $without";
	load('wordpress_tables.sql');
}

# ---- Dumps

load('wordpress.sql');
my $dump = block('sh', 'From a dump');
shell($dump);
is(slurp_file("$directory/wordpress.jsonl"), slurp_file("$data/wordpress.jsonl"), 'the dump is equal to the one in 053_moving_in.pl');
load('wordpress_changes.sql');
shell($dump);
is(slurp_file("$directory/wordpress.jsonl"), slurp_file("$data/wordpress_changed.jsonl"), 'a later dump is equal to the later one there');

my $node = new_server('wordpress');
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION blogstore;
CREATE ROLE blog;
SELECT blogstore.create_containers(4, owner => 'blog'), blogstore.grant_requests('blog');
GRANT EXECUTE ON FUNCTION blogstore.key_id, blogstore.import, blogstore.verify, blogstore.wait_for_views TO blog;
GRANT CREATE, TEMPORARY ON DATABASE postgres TO blog;
});

# Run a block of the page as the containers' owner, who is no superuser.
sub page
{
	local $ENV{PGOPTIONS} = '-c role=blog';
	return run_block($node, 'postgres', $directory, @_);
}

page($_) foreach 'Files', 'Tables to load it into', 'From a dump', 'What import() reads', 'The import from WordPress', 'What has gone';
is($node->safe_psql('postgres', 'SELECT count(*) FROM wordpress.rejects'), '0', 'a dump moves in');

# ---- Items written by WordPress itself

SKIP:
{
	skip $without, 5 if $without ne '';
	shell("php '$data/wordpress.php' '$wordpress' '$socket' write");
	shell($dump);
	page('From a dump');
	is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'the store catches up with what is written in WordPress');
user|7|0|7|0|0|{}
post|12|4|8|0|0|{}
comment|10|3|7|0|0|{}
like|0|0|0|0|0|
END
	is(page('What has gone'), "16|Behind a password\n107|Of an old version; mended.", 'items in the trash of WordPress are hidden');
		my @items = grep { /^(?:[4-9].|1[2-9].)\|.*\|.*\|/ && !/^12[01]/ } split /\n/, moved_items($node, 'postgres', 'wordpress', 'wp:');
	is(join("\n", @items), <<'END' =~ s/\n\z//r, 'posts and comments are as they were written');
40|1|Käse & "Brot"|"<p>It's <em>one</em> \\ two 😀</p>"|2|2024-08-01 10:00||now|{"slug": "kase-und-brot", "tags": ["Brot 🍞", "first"], "categories": ["Uncategorized"]}
50|6|Later on|"Soon."|0|2024-08-02 10:00||now|{"slug": "later-on", "categories": ["Uncategorized"]}
60|6|Stays a draft|""|0|now|hidden||{"status": "draft", "categories": ["Uncategorized"]}
70|6|Scheduled|"Then."|0|now|hidden||{"slug": "scheduled", "categories": ["Uncategorized"]}
122|40|0|"Isn't it? \\o/"|2024-08-01 11:00||hidden||{"author": "Zoë"}
123|40|0|"And butter?"|2024-08-01 12:00||||{"author": "Zoë"}
125|40|1|"Of course."|2024-08-01 14:00|123|||
END
	is($node->safe_psql('postgres', q{SELECT publish_date = '2044-08-01 10:00:00+00' FROM blogstore.get_post(blogstore.key_id('post', 'wp:70'))}),
		't', 'a scheduled post is scheduled in the store');
	is($node->safe_psql('postgres', 'SELECT * FROM wordpress.wp_old_slugs ORDER BY 1, 2'),
		"10|hello\n11|brought\n21|about-me\n40|kase-brot", 'slugs that posts had');
}

# ---- The same with mysql_fdw

SKIP:
{
	skip 'there is no mysql_fdw', 4
	  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'mysql_fdw'}) eq '0';
	my @tables = qw(wp_users wp_posts wp_comments wp_terms wp_old_slugs);
	$node->safe_psql('postgres', join ';', map { "CREATE TABLE $_ AS TABLE wordpress.$_" } @tables);
	shell(q{mariadb -e "CREATE USER moving@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON wordpress.* TO moving@'%'"});
	my $foreign = block('sql', 'By mysql_fdw', 2) =~ s/'3306'/'$port'/r;
	run_block($node, 'postgres', $directory, 'By mysql_fdw');
	$node->safe_psql('postgres', "SET ROLE blog; $foreign");
	my $cut = block('sh', 'By mysql_fdw');
	is(shell($cut), "0\n", 'no text has a NUL byte, at which mysql_fdw would cut it');
	is(page('By mysql_fdw', 3), '', 'tables are loaded by mysql_fdw');
	is($node->safe_psql('postgres', join ' UNION ALL ',
			map { "SELECT '$_', to_jsonb(t) FROM ((TABLE $_ EXCEPT ALL TABLE wordpress.$_) UNION ALL (TABLE wordpress.$_ EXCEPT ALL TABLE $_)) t" } @tables),
		'', 'the tables are equal to those of the dump');
	shell(q{mariadb wordpress -e "UPDATE wp_comments SET comment_content = CONCAT('a', CHAR(0), 'b') WHERE comment_ID = 112"});
	is(shell($cut), "1\n", 'a text with a NUL byte is counted');
}

is(page('Checks'), 't', 'nothing is missing');
$node->stop;
$mariadb->signal('TERM');
$mariadb->finish;
done_testing();
