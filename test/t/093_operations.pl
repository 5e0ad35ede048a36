
# The commands of docs/OPERATIONS.md, from installation to removal, on a server
# of its own with a standby, a subscriber and restored copies. The document has
# each message of the worker and the launcher, and no other.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreDocument;
use BlogstoreTest;
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $place = PostgreSQL::Test::Utils::tempdir('operations');
read_document('docs/OPERATIONS.md');
my $node = new_server('operations', prepared => 0);
my $version = $node->pg_version->major;

# A block of the document, with this test's paths and server in place of those
# of the example
sub adapted
{
	my ($language, $heading, $number) = @_;
	my $socket = $node->host;
	my $port = $node->port;

	return block($language, $heading, $number)
	  =~ s{/srv/}{$place/}gr
	  =~ s{host=primary\.example port=5432}{host=$socket port=$port}gr
	  =~ s{user=postgres}{'user=' . getpwuid($<)}ger;
}

# Run a block of SQL. Returns what psql shows.
sub sql
{
	my ($heading, $number, %to) = @_;
	my ($on, $dbname) = ($to{on} // $node, $to{dbname} // 'blog');

	return $on->safe_psql($dbname, "SET client_min_messages = error;\n" . adapted('sql', $heading, $number));
}

# Run a block of shell commands.
sub shell
{
	my ($heading, $number, $on) = @_;

	$on //= $node;
	run_shell($place, adapted('bash', $heading, $number),
		PGHOST => $on->host, PGPORT => $on->port, PATH => $node->config_data('--bindir') . ":$ENV{PATH}");
	pass("$heading, block " . ($number // 1) . ' of commands');
	return;
}

# ---- Messages

# The text of a message in the sources, as the document writes it: three dots
# for each value
sub written
{
	my ($literals) = @_;

	return join('', $literals =~ /"((?:[^"\\]|\\.)*)"/g) =~ s/\\"/"/gr =~ s/%(?:X\/%X|s\.%s|lld\.%03d|lld|[sud])/.../gr;
}

my (%message, %reason);
find(
	sub {
		return if !/\.c\z/;
		my $source = slurp_file($_);
		my $admin = $File::Find::dir =~ m{/admin};

		while ($source =~ /\bereport\((\w+),(.*?)\)\s*\);/sg)
		{
			my ($level, $body) = ($1, $2);

			next if $level eq 'NOTICE' || ($admin && $level ne 'WARNING');
			$message{ written($1) } = 1 if $body =~ /errmsg(?:_internal)?\(((?:\s*"(?:[^"\\]|\\.)*")+)/ && written($1) ne '...';
		}
		while ($source =~ /worker_entry_error\([^"]*?psprintf\(((?:\s*"(?:[^"\\]|\\.)*")+)/sg)
		{
			$message{ written($1) } = 1;
		}
		return if $_ ne 'slot.c';
		# Where a macro follows, the literal ends in a space.
		$reason{ $1 =~ s/ \z/ .../r } = 1 while $source =~ /"(The(?:re)? (?:slot|was no slot) [^"]*[. ])"/g;
	},
	"$root/src/views",
	"$root/src/cluster/view_delivery",
	"$root/src/cluster/user_items",
	"$root/src/admin");
my $script = slurp_file("$root/sql/blogstore--1.0.sql");
while ($script =~ /RAISE WARNING USING MESSAGE = format\('([^']+)'/g)
{
	$message{ $1 =~ s/%[sI]/.../gr } = 1;
}
cmp_ok(scalar keys %message, '>', 20, 'the sources have messages');
cmp_ok(scalar keys %reason, '>', 5, 'the sources have reasons for a new slot');

# The texts in the first column of the tables in a section
sub listed
{
	my ($section, $exclude) = @_;

	return { map { $_ => 1 } slurp_file("$root/docs/OPERATIONS.md") =~ /^#+ \Q$section\E\n(.*?)^#/ms ? $1 =~ /^\| `([^`]+)` \|/mg : () };
}

my $listed = listed('Messages');
# Messages that are settings in the way, and not literals
delete @$listed{
	'no free background worker slot', 'the slot has no worker', 'wal_level is below ...', 'max_replication_slots is 0',
	'the library is not preloaded', 'the database is a template', 'more than ... databases have blogstore containers'
};
is(join("\n", sort keys %$listed), join("\n", sort keys %message), 'the document lists the messages of the sources');
is(join("\n", sort keys %{ listed('Why a slot was replaced') }), join("\n", sort keys %reason), '... and the reasons for a new slot');

# ---- Installation

$node->append_conf('postgresql.conf', block('conf', 'Install and configure'));
# For what the test does besides
$node->append_conf('postgresql.conf', "wal_log_hints = on\narchive_mode = on\narchive_command = 'mkdir -p $place/archive && cp %p $place/archive/%f'\n");
$node->start;
shell('Install and configure');
is(sql('Install and configure') =~ s/\n+\z//r =~ s/.*\n//sr, 't', 'installed: the worker runs');
create_kit($node, 'blog');
fill_store($node, 'blog', 10, 120);
check_store($node, 'blog', 'installed');

# ---- Size, and what to look at

$node->append_conf('postgresql.conf', block('conf', 'WAL on disk'));
$node->reload;
like(sql('WAL on disk'), qr/^[0-9]+ (?:bytes|kB|MB|GB)$/, 'the WAL of 30 seconds');
is(sql('What to wake up for'), '', 'a healthy server raises no alert');
is($node->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker', extra_params => [ '-U', 'monitoring' ]),
	'running', 'the role for monitoring reads the views');
is(run_as($node, 'blog', 'monitoring', 'SELECT * FROM blogstore.verify()') =~ /^(ERROR:  42501)/ ? $1 : 'ok', 'ERROR:  42501', '... and may not call verify()');
my ($grant) = slurp_file("$root/docs/OPERATIONS.md") =~ /`(GRANT EXECUTE ON FUNCTION[^`]*)`/ or die 'no GRANT';
$node->safe_psql('blog', $grant);
is(run_as($node, 'blog', 'monitoring', 'SELECT * FROM blogstore.verify()'), '', '... until it is granted');

# Each query returns a row once there is something to wake up for.
$node->safe_psql('blog', 'SET client_min_messages = error; SELECT blogstore.stop_worker()');
like(sql('What to wake up for'), qr/^stopped\|.*start_worker/, 'a stopped worker raises an alert');
# Its slot keeps more than is allowed; a checkpoint would make it lost.
set_and_reload($node, max_slot_wal_keep_size => '1MB');
$node->safe_psql('postgres', 'SELECT pg_switch_wal(); SELECT txid_current()') for 1 .. 3;
like(sql('What to wake up for'), qr/^stopped\|.*^blogstore_[0-9]+\|blog\|(?:unreserved|lost)\|/ms, '... and so does its slot');
set_and_reload($node, max_slot_wal_keep_size => '10GB');
$node->safe_psql('blog', 'SELECT blogstore.start_worker()');
check_store($node, 'blog', 'started again');
$node->safe_psql('blog', "ALTER TABLE blogstore.posts ADD CONSTRAINT in_the_way CHECK (user_username <> 'refused') NOT VALID");
$node->safe_psql('blog', "SELECT blogstore.edit_user(kit.u(1), 'refused')");
wait_until($node, 'blog', "SELECT count(*) = 1 FROM blogstore.progress WHERE phase = 'parked'");
like(sql('What to wake up for'), qr/^running\|.*in_the_way.*\nrename\|/s, 'a parked job raises an alert');
$node->safe_psql('blog', "ALTER TABLE blogstore.posts DROP CONSTRAINT in_the_way; SELECT blogstore.edit_user(kit.u(1), 'accepted')");
check_store($node, 'blog', 'mended');

# The worker is held until the last call waits for it.
my $holder = hold_worker($node, 'blog');
my $client = start_client($node, 'blog', "SET client_min_messages = error;\n" . adapted('sql', 'Stop, start, rebuild'), 'rebuild');
wait_until($node, 'blog', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'rebuild' AND state = 'active' AND query LIKE '%wait_for_views%'");
$holder->quit;
my ($rows, $told) = finish_client($client);
like(join("\n", @$rows), qr/^rebuild\|.*^t$/ms, 'the worker is stopped, started, and builds the views');
check_store($node, 'blog', 'rebuilt');

# The advice for "could not write the views": find the session that has locked
# them, and end it.
$holder = hold_worker($node, 'blog');
my $pid = $holder->query_safe('SELECT pg_backend_pid()');
$node->safe_psql('blog', "SELECT blogstore.edit_post(kit.p(1), 'locked')");
wait_until($node, 'blog', "SELECT last_error LIKE 'could not write the views: %' FROM blogstore.stat_worker");
wait_until($node, 'blog', 'SELECT pg_blocking_pids(pid) FROM blogstore.stat_worker', "{$pid}");
$node->safe_psql('blog', "SELECT pg_terminate_backend($pid)");
$holder->{run}->finish;
check_store($node, 'blog', 'the session that had locked the views was ended');

# The advice for "exists but does not belong to blogstore": keep another
# program's slot under another name.
my $slot = worker_slot($node, 'blog');
$node->safe_psql('blog', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->safe_psql('blog', "SELECT pg_create_logical_replication_slot('$slot', 'pgoutput')");
$node->safe_psql('blog', 'SELECT blogstore.start_worker()');
wait_until($node, 'blog', qq{SELECT last_error = 'replication slot "$slot" exists but does not belong to blogstore' FROM blogstore.stat_worker});
$node->safe_psql('blog', "SELECT pg_copy_logical_replication_slot('$slot', 'others'); SELECT pg_drop_replication_slot('$slot')");
check_store($node, 'blog', 'the slot of another program has another name');
is($node->safe_psql('blog', 'SELECT slot_name, plugin FROM pg_replication_slots ORDER BY 2'), "$slot|blogstore\nothers|pgoutput", '... and is kept');
$node->safe_psql('blog', "SELECT pg_drop_replication_slot('others')");

# ---- Backups

shell('Backup and restore');
is(sql('Backup and restore', 1, dbname => 'restored'), 't', 'restored: the views are built, and verify() shows nothing');
like(run_shell($place, 'pg_dumpall --roles-only', PGHOST => $node->host, PGPORT => $node->port, PATH => $node->config_data('--bindir') . ":$ENV{PATH}"),
	qr/^CREATE ROLE blog;.*^CREATE ROLE my_app;/ms, 'the roles are dumped');
run_shell($place, q{
createdb --encoding=UTF8 --template=template0 jobs
pg_restore --exit-on-error --jobs=4 --dbname=jobs blog.dump
pg_dump --format=custom --exclude-table-data='blogstore.topics*' --file=other.dump blog
createdb --encoding=LATIN1 --locale=C --template=template0 latin1
pg_restore --exit-on-error --dbname=latin1 other.dump
}, PGHOST => $node->host, PGPORT => $node->port, PATH => $node->config_data('--bindir') . ":$ENV{PATH}");
is(sql('Backup and restore', 1, dbname => 'jobs'), 't', 'restored by several jobs: the same');
is(sql('Backup and restore', 1, dbname => 'latin1'), 't', 'restored with another encoding: the same');
shell('Restore as an ordinary role');
is(sql('Backup and restore', 1, dbname => 'ordinary'), 't', 'restored as an ordinary role: the same');
is($node->safe_psql('ordinary', "SET ROLE my_app; SELECT count(*) FROM blogstore.list_feed(NULL)"), '120', '... and the application reads it');
is($node->safe_psql('ordinary', "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('r', 'p')"),
	'blog', '... and the tables belong to that role');
$node->safe_psql('postgres', "DROP DATABASE $_") foreach qw(restored jobs latin1 ordinary);

# A server in a directory that a block has filled
sub server_in
{
	my ($name, $conf) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);

	rmdir $server->data_dir;
	mkdir $server->basedir;
	rename "$place/$name", $server->data_dir or die "$place/$name: $!";
	# The document's path leads to the server still.
	symlink $server->data_dir, "$place/$name" or die "$place/$name: $!";
	$server->append_conf('postgresql.conf', 'port = ' . $server->port . "\narchive_mode = off\n$conf");
	return $server;
}

shell('Base backups and PITR');
$node->safe_psql('blog', "SELECT blogstore.create_post(kit.u(2), 'kept', 'x', kit.p(500), kit.d(500)); SELECT pg_create_restore_point('before the accident')");
$node->safe_psql('blog', 'SELECT count(blogstore.delete_post(kit.p(n))) FROM generate_series(1, 100) n');
my $wal = $node->safe_psql('blog', 'SELECT pg_walfile_name(pg_switch_wal())');
my $restored = server_in('restored', adapted('conf', 'Base backups and PITR'));
append_to_file($restored->data_dir . '/recovery.signal', '');
wait_until($node, 'postgres', "SELECT last_archived_wal >= '$wal' FROM pg_stat_archiver");
$restored->start;
wait_accepts($restored, 'SELECT NOT pg_is_in_recovery()');
check_store($restored, 'blog', 'recovered to a point');
is($restored->safe_psql('blog', 'SELECT count(*), max(title) FILTER (WHERE id = kit.p(500)) FROM blogstore.list_feed(NULL)'),
	'121|kept', '... which has the posts of that time');
is(join(', ', slots_made($restored, 0)), 'The slot was missing.', '... with a new slot');
$restored->stop;

# ---- Long transactions, and a full disk

my $open = $node->background_psql('blog');
$open->query_safe('BEGIN; SELECT blogstore.create_like(kit.p(110), kit.u(9))');
$node->safe_psql('blog', "BEGIN; SELECT blogstore.create_like(kit.p(111), kit.u(9)); PREPARE TRANSACTION 'orphan'");
$node->safe_psql('blog', "BEGIN; SELECT blogstore.create_like(kit.p(112), kit.u(9)); PREPARE TRANSACTION 'another'");
# The statement of the document, without waiting for five minutes
my $long = adapted('sql', 'Long transactions and timeouts') =~ s/5 min/0 s/gr;
my $found = $node->safe_psql('blog', $long);
like($found, qr/^prepared\|blog\|orphan\|.*^prepared\|blog\|another\|/ms, 'prepared transactions are found');
like($found, qr/^([0-9]+)\|blog\|idle in transaction\|.*create_like/m, 'long transactions are found');
my ($open_pid) = $found =~ /^([0-9]+)\|/m;
$node->safe_psql('blog', "SELECT pg_terminate_backend($open_pid, 180000)");
$open->{run}->finish;
$node->safe_psql('blog', "COMMIT PREPARED 'orphan'");
$node->safe_psql('blog', "ROLLBACK PREPARED 'another'");
is($node->safe_psql('blog', $long), '', '... and have ended');
is($node->safe_psql('blog', 'SELECT count(*) FROM generate_series(110, 112) n, LATERAL blogstore.list_user_likes(kit.u(9)) l WHERE l.post_id = kit.p(n); SELECT blogstore.wait_for_views()'),
	"1\nt", '... by COMMIT PREPARED with its changes, by the other ways without');
like(sql('Full disk'), qr/^blogstore_[0-9]+\|blog\|t\|reserved\|[0-9]+ /m, 'what each slot keeps');

# ---- A standby

set_and_reload($node, wal_keep_size => '1GB');
sql('Standbys and failover');
shell('Standbys and failover', 1);
my $conf = adapted('conf', 'Standbys and failover', 1);
my $synced = block('conf', 'Standbys and failover', 2);
$conf .= $synced if $version >= 17;
my $standby = server_in('standby', $conf);
my $logfile = $standby->logfile;
my $start = adapted('bash', 'Standbys and failover', 2) =~ s{--log=\S+}{--log=$logfile}r;
my ($begin, $promote) = $start =~ /\A(.*)^(pg_ctl [^\n]* promote)\n\z/ms or die $start;
my %path = (PGAPPNAME => 'standby', PATH => $node->config_data('--bindir') . ":$ENV{PATH}");
run_shell($place, $begin, %path);
$standby->_update_pid(1);

# On PostgreSQL 17 and later, wait until a standby has the worker's slot.
sub wait_synced
{
	my ($from, $to) = @_;

	return if $version < 17;
	until ($to->safe_psql('blog', "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '$slot' AND synced AND NOT temporary"))
	{
		$from->safe_psql('blog', 'SELECT pg_log_standby_snapshot(); SELECT blogstore.edit_post(kit.p(101), md5(random()::text)); SELECT kit.views_follow()');
	}
	return;
}
wait_synced($node, $standby);
$node->safe_psql('blog', "SELECT blogstore.create_post(kit.u(2), 'before the failover', 'x', kit.p(501), kit.d(501))");
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is($standby->safe_psql('blog', 'SELECT title FROM blogstore.list_feed(1)'), 'before the failover', 'the standby answers');
is($standby->safe_psql('blog', 'SELECT state FROM blogstore.stat_worker'), 'disabled', '... and runs no worker');
is($node->safe_psql('blog', "SELECT slot_type, active FROM pg_replication_slots WHERE slot_name = 'standby'"), 'physical|t', '... and uses its slot');
$node->stop;
run_shell($place, $promote, %path);
check_store($standby, 'blog', 'promoted');
my $reason = $version >= 17 ? '' : 'The slot was missing.';
is(join(', ', slots_made($standby, 0)), $reason, 'promoted: the worker goes on, or has a new slot');

# ---- After the promotion: the old primary was shut down before, and becomes a
# standby without pg_rewind

# The query that names slots which are left over
my $leftover = adapted('sql', 'After a promotion');
$leftover =~ s/ AND NOT synced// or die $leftover if $version < 17;

# What the document's configuration of a standby is for this primary
sub standby_of
{
	my ($primary) = @_;
	my $port = $primary->port;

	return $conf =~ s/port=[0-9]+/port=$port/r;
}

sql('Standbys and failover', 1, on => $standby);
$node->append_conf('postgresql.conf', standby_of($standby));
append_to_file($node->data_dir . '/standby.signal', '');
my $offset = log_end($node);
$node->start;
$standby->safe_psql('blog', "SELECT blogstore.create_post(kit.u(2), 'on the new primary', 'x', kit.p(502), kit.d(502)); SELECT kit.views_follow()");
$standby->wait_for_catchup($node, 'replay', $standby->lsn('flush'));
is($node->safe_psql('blog', 'SELECT pg_is_in_recovery(); SELECT title FROM blogstore.list_feed(2)'),
	"t\non the new primary\nbefore the failover", 'the old primary is a standby of the new one');
is(join(', ', sort split /\n/, $node->safe_psql('blog', $leftover)), "$slot, standby", '... with its slots');
wait_logged($node, $offset, qr/exiting from slot synchronization because same name slot "$slot" already exists on the standby/) if $version >= 17;
like(run_as($node, 'blog', scalar(getpwuid($<)), 'SELECT blogstore.stop_worker(drop_slot => true)'), qr/^ERROR:  25006/, '... which stop_worker() does not drop there');
$node->safe_psql('blog', "SELECT pg_drop_replication_slot('$_')") foreach $slot, 'standby';
is($node->safe_psql('blog', $leftover), '', '... and which can be dropped');
wait_synced($standby, $node);

# ---- Back again: the primary goes on after the promotion, and needs pg_rewind

$offset = log_end($node);
$node->promote;
check_store($node, 'blog', 'promoted once more');
is(join(', ', slots_made($node, $offset)), $reason, 'promoted once more: the worker goes on, or has a new slot');
$standby->safe_psql('blog', "SELECT blogstore.create_post(kit.u(2), 'after the failover', 'x', kit.p(503), kit.d(503))");
$standby->stop;
sql('Standbys and failover', 1);
symlink $standby->data_dir, "$place/primary" or die "$place/primary: $!";
my ($socket, $port) = ($node->host, $node->port);
run_shell($place, adapted('bash', 'After a promotion') =~ s{host=standby\.example port=5432}{host=$socket port=$port}gr, %path);
$standby->append_conf('postgresql.conf', 'port = ' . $standby->port . "\n" . standby_of($node));
$standby->start;
$node->safe_psql('blog', "SELECT blogstore.create_post(kit.u(2), 'rewound', 'x', kit.p(504), kit.d(504)); SELECT kit.views_follow()");
$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
is($standby->safe_psql('blog', 'SELECT pg_is_in_recovery(); SELECT title FROM blogstore.list_feed(2)'),
	"t\nrewound\non the new primary", 'rewound: a standby without its own changes');
wait_synced($node, $standby);
is($standby->safe_psql('blog', $leftover), '', '... and without slots of its own');
$standby->stop;
$node->safe_psql('blog', "SELECT pg_drop_replication_slot('standby')");

# ---- Upgrades. Test 022 runs pg_upgrade.

like(sql('Upgrade blogstore'), qr/^[0-9]+\.[0-9]+\.[0-9]+$/m, 'the version of the library');
is(sql('Upgrade PostgreSQL', 1), 'blog', 'the databases with a slot');
sql('Upgrade PostgreSQL', 2);
is(sql('Upgrade PostgreSQL', 1), '', '... without their slots');
is(sql('Upgrade PostgreSQL', 3) =~ s/^\n//r, 't', '... and after the upgrade');

# ---- A publication

# The document says that a filter alone breaks requests.
$node->safe_psql('blog', "CREATE PUBLICATION broken FOR TABLE blogstore.posts WHERE (type = 'post') WITH (publish_via_partition_root)");
like(sqlstate($node, 'blog', "edit_post(kit.p(110), 'x')"), qr/^42P10/, 'a filter alone has requests refused');
$node->safe_psql('blog', 'DROP PUBLICATION broken');
sql('Publications and change data capture', 1);
$node->safe_psql('postgres', 'CREATE DATABASE subscriber');
# A subscription to a database of the same server needs a slot beforehand.
$node->safe_psql('blog', "SELECT pg_create_logical_replication_slot('posts_only', 'pgoutput')");
$node->safe_psql('subscriber', adapted('sql', 'Publications and change data capture', 2) =~ s/(PUBLICATION posts_only);/$1 WITH (create_slot = false);/r);
$node->wait_for_subscription_sync($node, 'posts_only', 'subscriber');
$node->safe_psql('blog', q{
SELECT blogstore.create_post(kit.u(3), 'published', 'x', kit.p(600), kit.d(600));
SELECT blogstore.edit_post(kit.p(110), 'edited');
SELECT blogstore.create_comment(kit.p(110), kit.u(3), 'x');
SELECT blogstore.delete_post(kit.p(111));
SELECT blogstore.edit_user(kit.u(3), 'renamed');
SELECT kit.views_follow();
});
$node->wait_for_catchup('posts_only');
my $posts = "SELECT id, user_username, title, content FROM blogstore.posts WHERE type = 'post' ORDER BY id";
ok($node->safe_psql('blog', $posts) eq $node->safe_psql('subscriber', $posts), 'the subscriber has the posts');
is($node->safe_psql('subscriber', "SELECT DISTINCT type FROM blogstore.posts"), 'post', '... and nothing else');
check_store($node, 'blog', 'published');
$node->safe_psql('subscriber', 'DROP SUBSCRIPTION posts_only');
$node->safe_psql('blog', 'DROP PUBLICATION posts_only');

# Rows that come by replication are counted by repair().
$node->safe_psql('blog', q{
SET session_replication_role = replica;
INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date) SELECT kit.u(9), 'like', kit.p(112), kit.u(9), username, kit.d(700) FROM blogstore.get_user(kit.u(9))
});
my $likes = 'SELECT like_count FROM blogstore.get_post(kit.p(112))';
my $before = $node->safe_psql('blog', $likes);
$node->safe_psql('blog', 'SELECT blogstore.repair()');
is($node->safe_psql('blog', $likes), $before + 1, 'what has come by replication is counted by repair()');
check_store($node, 'blog', 'repaired');

# ---- Removal

sql('Removing blogstore', 1);
$node->safe_psql('blog', 'SELECT blogstore.start_worker()');
check_store($node, 'blog', 'removed for a while');
$node->safe_psql('postgres', 'CREATE DATABASE second');
create_store($node, 'second');
$node->safe_psql('blog', 'CREATE SCHEMA api');
sql('Removing blogstore', 2);
wait_until($node, 'postgres', "SELECT count(*) = 0 FROM pg_replication_slots WHERE database = 'blog'");
is($node->safe_psql('blog', "SELECT count(*) FROM pg_namespace WHERE nspname IN ('api', 'blogstore')"), '0', 'nothing is left in the database');
like(sql('Removing blogstore', 3, dbname => 'postgres'), qr/^second\|blogstore_[0-9]+\|t$/, 'the databases with a worker');
$node->safe_psql('second', 'SELECT blogstore.stop_worker(drop_slot => true)');
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->start;
is(sql('Removing blogstore', 4, dbname => 'second'), '', 'no slot is left');
$node->stop;
$node->append_conf('postgresql.conf', "sync_replication_slots = off\n") if $version >= 17;
$node->append_conf('postgresql.conf', 'wal_level = ' . (decoding_level($node) eq 'replica' ? "minimal\nmax_wal_senders = 0\narchive_mode = off" : 'replica') . "\n");
$node->start;
is($node->safe_psql('second', 'SELECT count(*) FROM blogstore.posts'), '0', 'the tables stay, with a lower wal_level');
$node->stop;

# Test 094 runs the blocks about Prometheus.
is(join(', ', blocks_not_run()), 'bash: Prometheus, yaml: Prometheus', 'each block has run');

done_testing();
