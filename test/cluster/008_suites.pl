
# Suites of pg_regress and pgTAP pass on a cluster, from the coordinator and
# from a node, with the same files and the same expected output. Suites about a
# single server are left out.
#
# They find a store with the helpers that install.sql creates on a single
# server (here from test/kit/cluster.sql), and create their own objects on the
# member where they run, without propagation by Citus. Suites that page through
# long lists ask all nodes for each page, so they belong to the long tests.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreMembers;
use BlogstoreTest;
use PostgreSQL::Test::Utils;
use Test::More;

# ---- Which suites run

my @regress = qw(users posts comments properties likes user_lists counts idempotency documents bad_input errors extremes read_only deletions);
my @regress_long = qw(paging);

# Why the other suites do not run here
my %regress_left_out = (
	install => 'the install script, and the partitions of one machine',
	reinstall => 'drops the extension, which a cluster has on all nodes',
	maintenance => 'VACUUM FULL, CLUSTER, REINDEX and ALTER TABLE of leaves by their names',
	manual => 'the list of functions and of the partitions of one machine',
	operation => 'the worker and the slot of one server; repair()',
	invalid => 'rows broken by hand in the tables of one machine; repair()',
	verify_repair => 'rows broken by hand in the tables of one machine; repair()',
	triggers => 'triggers, which Citus takes on no distributed table',
	indexes => 'the indexes of leaves by their names',
	custom_scan => 'plans of queries that read here',
	cursors => 'descents of indexes, which this server counts',
	counters => 'where counts are written: versions of rows (xmin, ctid), and updates counted by this server',
	views => 'the tables feed and users, which a cluster has each node its part of',
	topics => 'the table topics, which each node has for its own posts; settings and EXPLAIN of one server',
	follows => 'rows changed by hand in the tables of one machine; import() of its tables; EXPLAIN',
	home_feed => 'EXPLAIN, and a worker that is stopped on one server',
	feed => 'the table feed, which each node has for its own posts',
	hidden => 'the table feed, which each node has for its own posts',
	scheduled => 'the table publish_queue, which each node has for its own posts; import and export of documents',
	renames => 'the table feed, and users in the table users, who are in user_items',
	one_machine => 'what a cluster has otherwise: leaves by their names, and calls for clusters alone',
	username_keys => 'rows and keys of users changed in the tables of one machine by hand',
	limits => 'users and names changed in the tables of one machine by hand',
	replies => 'import and export of documents; descents of indexes counted by this server',
	reply_counts => 'import and export of documents; descents of indexes counted by this server',
	comment_likes => 'indexes of leaves by their names; rows broken by hand; descents of indexes counted by this server',
	pages => 'leaves by their names, which are looked into and detached',
	key_id => 'databases of other encodings, which Citus does not make on other nodes',
	import => 'import() of files and tables of one server',
	import_keys => 'import() of files and tables of one server',
	import_names => 'import() of files and tables of one server',
	import_properties => 'import() of files and tables of one server',
	import_texts => 'import() of files and tables of one server',
	import_comment_likes => 'import() of files and tables of one server',
	privileges => 'roles and rights of one server',
	doors => 'rights on functions, which are each server\'s',
	as_caller => 'rights on functions, which are each server\'s',
	row_types => 'types of rows that other tables have, on one server',
	stats => 'what this server has counted',
	error_classes => 'what this server has counted');

my @pgtap = qw(01_functions 02_types 04_requests);
my %pgtap_left_out = (
	'00_setup' => 'makes the store: on the coordinator alone',
	'03_containers' => 'the partitions of one machine, their constraints and triggers',
	'05_invariants' => 'users in the table users, who are in user_items');

# Check that each suite is in one of the lists.
sub check_lists
{
	my ($kind, $there, @named) = @_;
	my %count;

	$count{$_}++ foreach @named;
	is_deeply([ sort keys %count ], [ sort @$there ], "$kind: each suite is in the lists");
	is_deeply([ grep { $count{$_} > 1 } keys %count ], [], "$kind: each suite is in one list only");
	return;
}

my ($suites) = slurp_file("$FindBin::RealBin/../../Makefile") =~ /^REGRESS = ((?:.*\\\n)*.*)$/m;
check_lists('pg_regress', [ grep { $_ ne '\\' } split ' ', $suites ], @regress, @regress_long, keys %regress_left_out);
check_lists('pgTAP', [ map { m{([^/]+)\.sql$} } glob "$FindBin::RealBin/../pgtap/*.sql" ], @pgtap, keys %pgtap_left_out);

# ---- pgTAP

# Run a file of test/pgtap on a member.
sub run_pgtap
{
	my ($member, $file) = @_;
	my ($out, $err);

	{
		local $ENV{PGOPTIONS} = '-c citus.enable_ddl_propagation=off';
		IPC::Run::run(
			[
				$member->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-f', "$FindBin::RealBin/../pgtap/$file.sql", '-d', $member->connstr('postgres')
			],
			'<', \undef, '>', \$out, '2>', \$err);
	}
	my ($planned) = $out =~ /^1\.\.(\d+)$/m;
	my @ok = $out =~ /^ok \d+/mg;
	my @not_ok = $out =~ /^(not ok .*(?:\n#.*)*)/mg;

	ok(defined $planned && @ok == $planned && !@not_ok && $? == 0, $member->name . ": pgTAP, $file")
	  or diag join "\n", sprintf('%d of %s passed', scalar @ok, $planned // 'none'), @not_ok, $err;
	return;
}

my $cluster = new_cluster('suites', containers => 0);
my ($coordinator, $node) = members($cluster);
my ($sharedir) = run_command([ "$cluster->{path}/bin/pg_config", '--sharedir' ]);
-e "$sharedir/extension/pgtap.control"
  or die "pgTAP is not installed in $sharedir/extension, where scripts/check copies it to";

on_each($cluster, 'SET citus.enable_ddl_propagation = off; SET client_min_messages = error; CREATE EXTENSION pgtap');
run_pgtap($coordinator, '00_setup');
create_kit_everywhere($cluster, 'SET client_min_messages = error; DROP SCHEMA IF EXISTS kit CASCADE; ' . kit_file('ids'));
foreach my $member ($coordinator, $node)
{
	run_pgtap($member, $_) foreach @pgtap;
}

# ---- pg_regress

# Run suites on a member, one after the other.
sub run_regress
{
	my ($member, @names) = @_;
	my $tests = "$FindBin::RealBin/..";
	my $results = "$PostgreSQL::Test::Utils::tmp_check/suites_" . $member->name;
	my ($out, $err) = ('', '');

	mkdir $results;
	symlink "$tests/../expected", "$results/expected" or -e "$results/expected" or die "symlink: $!";
	local $ENV{PGOPTIONS} = '-c citus.enable_ddl_propagation=off';
	IPC::Run::run(
		[
			$ENV{PG_REGRESS}, '--use-existing', '--dbname=postgres', "--bindir=$cluster->{path}/bin",
			"--inputdir=$tests", "--outputdir=$results", '--encoding=UTF8',
			'--host=' . $member->host, '--port=' . $member->port, @names
		],
		'<', \undef, '>', \$out, '2>', \$err);
	my $diffs = -s "$results/regression.diffs" ? slurp_file("$results/regression.diffs") : '';

	# PostgreSQL 15 prints "test name ... ok", later versions "ok 1 - name".
	my $failed = 0;
	foreach my $name (@names)
	{
		ok($out =~ /^test \Q$name\E +\.\.\. ok\b|^ok +\d+ +[-+] \Q$name\E\b/m, $member->name . ": pg_regress, $name") or $failed++;
	}
	diag "$out$err" . substr $diffs, 0, 20000 if $failed;
	return;
}

create_kit_everywhere($cluster, 'DROP VIEW IF EXISTS kit.posts, kit.implied; SET client_min_messages = error; DROP SCHEMA kit CASCADE; '
	  . kit_file('ids') . kit_file('cluster') . 'GRANT USAGE ON SCHEMA kit TO PUBLIC');
run_regress($_, @regress, long_tests() ? @regress_long : ()) foreach $coordinator, $node;

# ---- A transaction's own writes, and users who are being deleted

$coordinator->safe_psql('postgres', q{
SELECT blogstore.create_user('many items', kit.u(800001));
SELECT blogstore.create_post(kit.u(800001), 'title', 'content', kit.p(800000 + n)),
	blogstore.create_comment(kit.p(800000 + n), kit.u(800001), 'content', kit.c(800000 + n))
FROM generate_series(1, 24) n});

# An SQL query that could use several connections to a node sees what requests
# have written in the same transaction, and so do lists after it.
foreach my $member (members($cluster))
{
	is($member->safe_psql('postgres', q{
BEGIN;
SET LOCAL citus.force_max_query_parallelization = on;
SELECT blogstore.delete_user(kit.u(800001));
SELECT count(*) FROM blogstore.posts WHERE user_id = kit.u(800001);
SELECT count(*) FROM blogstore.list_user_comments(kit.u(800001), NULL, include_hidden => true);
ROLLBACK;
SELECT count(*) FROM blogstore.list_user_comments(kit.u(800001), NULL, include_hidden => true)}), "t\n0\n0\n24", $member->name . ': a transaction shows what it has written');
}

# A user is created with the id of one whose items are still being deleted, on
# nodes that have the user and on others.
$_->safe_psql('postgres', 'SELECT blogstore.stop_worker()') foreach nodes($cluster);
is($coordinator->safe_psql('postgres', q{SELECT blogstore.delete_user(kit.u(800001));
SELECT username FROM blogstore.create_user('anew', kit.u(800001));
SELECT count(*) FROM blogstore.list_user_posts(kit.u(800001))}), "t\nanew\n0", 'a user is made anew with the id of one who is being deleted');
$_->safe_psql('postgres', 'SELECT blogstore.start_worker()') foreach nodes($cluster);
wait_jobs($cluster, members($cluster));
is($coordinator->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'and nothing is left');

# ---- Views that show the whole cluster, from each member

foreach my $member (members($cluster))
{
	my $name = $member->name;

	# A member that has not heard of another one for some time catches up
	# first.
	ok($member->poll_query_until('postgres', q{SELECT count(*), count(DISTINCT node), string_agg(DISTINCT state, ','), count(node_error) FROM blogstore.cluster_stat_worker}, '3|3|running|0'),
		"$name: the workers of all members run");
	is($member->safe_psql('postgres', q{SELECT w.pid = c.pid AND w.slot = c.slot AND w.started_at = c.started_at
FROM blogstore.stat_worker w, blogstore.cluster_stat_worker c, pg_dist_node n, pg_dist_local_group g WHERE n.groupid = g.groupid AND n.nodeid = c.node AND (c.host, c.port) = (n.nodename, n.nodeport)}),
		't', "$name: its own worker is as stat_worker has it");
}

on_each($cluster, 'SELECT blogstore.reset_request_stats()');
my ($post) = posts_on($cluster, $node, 900001, 1);
$node->safe_psql('postgres', "SELECT blogstore.create_user('somebody', kit.u(900001)); SELECT blogstore.create_post(kit.u(900001), 'title', 'content', kit.p($post))");
$coordinator->safe_psql('postgres', "SELECT blogstore.get_post(kit.p($post)) FROM generate_series(1, 3)");
is(error_of($coordinator, "SELECT blogstore.create_like(kit.p($post), kit.u(900002))"), '23503', 'a request of the coordinator fails on a node');
my $group = $node->safe_psql('postgres', 'SELECT groupid FROM pg_dist_local_group');
foreach my $member (members($cluster))
{
	is($member->safe_psql('postgres', q{SELECT string_agg(concat_ws(':', n.groupid, s.calls, s.rows), ' ' ORDER BY n.groupid)
FROM blogstore.cluster_stat_requests s JOIN pg_dist_node n ON n.nodeid = s.node WHERE s.function = 'get_post' AND s.calls > 0}),
		"0:3:3 $group:3:3", $member->name . ': requests are counted where they are called and where they are served');
	is($member->safe_psql('postgres', q{SELECT string_agg(concat_ws(':', n.groupid, s.calls, s.caller_errors, s.server_errors), ' ' ORDER BY n.groupid)
FROM blogstore.cluster_stat_requests s JOIN pg_dist_node n ON n.nodeid = s.node WHERE s.function = 'create_like' AND s.caller_errors + s.server_errors > 0}),
		"0:0:1:0 $group:0:1:0", $member->name . ': so are errors');
	is($member->safe_psql('postgres', q{SELECT count(*), bool_and(p50_time <= p95_time AND p95_time <= p99_time AND p99_time <= max_time)
FROM blogstore.cluster_stat_requests WHERE function = 'get_post' AND calls > 0}),
		'2|t', $member->name . ': there are percentiles of each member');
	is($member->safe_psql('postgres', 'SELECT count(*) = (SELECT 3 * count(*) FROM blogstore.stat_requests) FROM blogstore.cluster_stat_requests'),
		't', $member->name . ': each member tells of each request');
}

# A job of a node that cannot go on because its worker is stopped
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
wait_until($node, 'postgres', 'SELECT state FROM blogstore.stat_worker', 'stopped');
$coordinator->safe_psql('postgres', q{SELECT blogstore.delete_user(kit.u(900001))});
foreach my $member (members($cluster))
{
	my $port = $node->port;

	wait_until($member, 'postgres', "SELECT string_agg(DISTINCT kind, ',') FROM blogstore.cluster_progress WHERE port = $port", 'deletion');
	ok(1, $member->name . ': the job of a node is seen');
	# The other workers may be catching up, because the stopped one does not
	# maintain its part of their views.
	is($member->safe_psql('postgres', "SELECT string_agg(state, ',') FILTER (WHERE port = $port), count(*) FILTER (WHERE state IN ('running', 'catching up')), count(node_error) FROM blogstore.cluster_stat_worker"),
		'stopped|2|0', $member->name . ': and that its worker is stopped');
}
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_jobs($cluster, members($cluster));

# The SQLSTATE of a script's error
sub error_of
{
	my ($member, $sql) = @_;
	my $err = '';

	$member->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", stderr => \$err);
	return ($err =~ /ERROR:  (\w{5})/)[0];
}

# A role that may read the views of one server may read those of the cluster.
# No other role may.
here_role($_) foreach members($cluster);

sub here_role
{
	my ($member) = @_;

	$member->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; CREATE ROLE watcher LOGIN; GRANT USAGE ON SCHEMA blogstore TO watcher; CREATE ROLE anybody LOGIN');
	return;
}
$coordinator->safe_psql('postgres', 'SET citus.enable_ddl_propagation = off; GRANT pg_monitor TO watcher; GRANT USAGE ON SCHEMA blogstore TO anybody');
foreach my $view (qw(cluster_stat_worker cluster_stat_requests cluster_progress))
{
	is($coordinator->safe_psql('postgres', "SET ROLE watcher; SELECT count(node_error) FROM blogstore.$view"), '0', "$view: for pg_monitor");
	is(error_of($coordinator, "SET ROLE anybody; SELECT * FROM blogstore.$view"), '42501', "$view: for nobody else");
}
is(error_of($coordinator, "SELECT * FROM blogstore.get_cluster_status('passwords')"), '22023', 'nothing else can be asked for');
# The function uses the operators of pg_catalog, not those in the caller's
# search_path.
is($coordinator->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; CREATE SCHEMA trap; GRANT ALL ON SCHEMA trap TO watcher; SET ROLE watcher;
CREATE FUNCTION trap.equal(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called by %', current_user; END $$;
CREATE OPERATOR trap.= (FUNCTION = trap.equal, LEFTARG = integer, RIGHTARG = integer);
SET search_path = trap, pg_catalog; SELECT count(*) FROM blogstore.get_cluster_status('worker')}), '3', 'the caller has nothing run by the owner');

# A node that is down is reported, and the rows of the others are shown.
$node->stop('immediate');
is($coordinator->safe_psql('postgres', q{SELECT port, node_error ~ 'connect', state FROM blogstore.cluster_stat_worker WHERE node_error IS NOT NULL}),
	$node->port . '|t|', 'a node is down: the view says so');
is($coordinator->safe_psql('postgres', q{SELECT count(state) FROM blogstore.cluster_stat_worker}), '2', 'a node is down: the others tell of theirs');
is($coordinator->safe_psql('postgres', q{SELECT port, node_error ~ 'connect', kind FROM blogstore.cluster_progress WHERE node_error IS NOT NULL}),
	$node->port . '|t|', 'a node is down: so does cluster_progress');
is($coordinator->safe_psql('postgres', q{SELECT count(DISTINCT node) FILTER (WHERE calls IS NOT NULL), count(node_error) FROM blogstore.cluster_stat_requests}),
	'2|1', 'a node is down: and cluster_stat_requests');
start_member($cluster, $node);
is($coordinator->safe_psql('postgres', q{SELECT count(node_error) FROM blogstore.cluster_stat_worker}), '0', 'it is back');

done_testing();
