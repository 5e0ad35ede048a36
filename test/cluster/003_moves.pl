
# Shards move between nodes, to a new node and back, beside clients that like
# and comment from the coordinator and each node. No client gets an error,
# nothing acknowledged is lost or done twice, counts stay exact, and the views
# are right afterwards.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 200;
# The number of users of each client. They like each post, and then once more.
my $LIKERS = 40;
my $CHUNK = 100;

my $cluster = new_cluster('moves');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 10 + 3 * $LIKERS) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 10), 'title ' || n, repeat('content ' || n || ' ', 50), kit.p(n), kit.d(n)))
FROM generate_series(1, $POSTS) AS n;
});
views_right($cluster, 'filled');

# ---- Clients

my $base = $PostgreSQL::Test::Utils::tmp_check;
my $stop = "$base/moves_stop_$$";

# Start a client that likes and comments, and prints what was acknowledged. It
# works in chunks, each in a new session, until it is stopped.
sub start_chunks
{
	my ($member, $n) = @_;
	my $name = 'chunks_' . $member->name;
	my $script = '';

	for my $i (0 .. $CHUNK - 1)
	{
		my $like = "(:round * $CHUNK + $i)";
		my $comment = ($n + 1) * 1000000 + $i;

		$script .= "SELECT 'like', right(post_id::text, 12)::int, right(user_id::text, 12)::int FROM blogstore.create_like(kit.p(1 + $like % $POSTS), kit.u(11 + $n * $LIKERS + $like / $POSTS % $LIKERS));\n";
		$script .= "SELECT 'comment', right(id::text, 12)::int, 0 FROM blogstore.create_comment(kit.p(1 + (7 * $like) % $POSTS), kit.u(1 + $i % 10), 'acknowledged', kit.c($comment + :round * $CHUNK));\n"
		  if $i % 2 == 0;
		$script .= "BEGIN;\nSELECT FROM blogstore.create_comment(kit.p(1 + $like % $POSTS), kit.u(1), 'pair', kit.c($comment + :round * $CHUNK));\nSELECT FROM blogstore.create_comment(kit.p(1 + (3 * $like + 1) % $POSTS), kit.u(1), 'pair', kit.c($comment + :round * $CHUNK));\nCOMMIT;\nSELECT 'pair', $comment + :round * $CHUNK, 0;\n"
		  if $i % 10 == 1;
	}
	return start_rounds($member, $name, $script, $stop);
}

# Start pgbench with prepared statements, in sessions that last over all moves.
# Its rate leaves the processors to the moves.
# It counts its acknowledged comments.
sub start_bench
{
	my ($member, $n) = @_;
	my $name = 'bench_' . $member->name;
	my $client = { out => '', err => '', name => $name };

	append_to_file(
		"$base/$name.pgbench", qq{\\set post random(1, $POSTS)
\\set someone random(1, 10)
SELECT post_id FROM blogstore.create_comment(kit.p(:post), kit.u(:someone), 'bench $n');
SELECT post_id FROM blogstore.create_like(kit.p(:post), kit.u(:someone));
SELECT blogstore.delete_like(kit.p(:post), kit.u(:someone));
SELECT comment_count FROM blogstore.get_post(kit.p(:post));
SELECT count(*) FROM blogstore.list_post_comments(kit.p(:post));
});
	$client->{run} = IPC::Run::start(
		[
			$member->installed_command('pgbench'), '--no-vacuum', '--client=2', '--protocol=prepared',
			'--time=86400', '--rate=50', "--file=$base/$name.pgbench", $member->connstr('postgres')
		],
		'<', \undef,
		'>', \$client->{out},
		'2>', \$client->{err});
	return $client;
}

unlink $stop;
my @members = members($cluster);
my @chunks = map { start_chunks($members[$_], $_) } 0 .. $#members;
my @benches = map { start_bench($members[$_], $_) } 0 .. $#members;

# False once a check has failed. Later moves are then left out.
my $fine = 1;

# Check that all clients are still running without an error.
sub clients_go_on
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @ended = grep { !goes_on($_) } @chunks;

	for my $client (@benches)
	{
		push @ended, $client if !goes_on($client) || $client->{err} =~ /ERROR|aborted/;
	}
	is(join(' ', map { $_->{name} } @ended), '', "$name: all clients go on")
	  or diag join "\n", map { $_->{err} =~ /\n/ ? $_->{err} : -e $_->{err} ? slurp_file($_->{err}) : $_->{err} } @ended;
	return !@ended;
}

# Wait until each client of start_chunks() has printed more.
sub clients_told_more
{
	each_told_more($cluster, 1, @chunks) if $fine;
	return;
}

# ---- Moves

my $moves = 0;

sub move
{
	my ($shard, $from, $to, $mode) = @_;
	my $name = sprintf 'move %d, %s, from %s to %s', ++$moves, $mode, $from->name, $to->name;

	clients_told_more();
	move_shard($cluster, $shard, $from, $to, $mode);
	ok(scalar(grep { $_ == $shard } shards($cluster, $to)), "$name: the shard is on the other node");
	clients_told_more();
	return clients_go_on($name) && counts_right($cluster, $name);
}

# Without long tests two shards move, each in one mode to the other node and in
# the other mode back.
my @moving = long_tests() ? shards($cluster, $one) : (shards($cluster, $one))[ 0, 1 ];
my @modes = ('block_writes', 'force_logical');
$fine &&= move($moving[$_], $one, $two, $modes[ $_ % 2 ]) foreach 0 .. $#moving;
$fine &&= move($moving[$_], $two, $one, $modes[ 1 - $_ % 2 ]) foreach 0 .. $#moving;

# ---- A third node, and back to two

my $three = add_node($cluster);
$fine &&= clients_go_on('a node was added');
is(scalar shards($cluster, $three), 0, 'a node that was added has no shards');
if (long_tests())
{
	for my $mode (@modes)
	{
		$coordinator->safe_psql('postgres',
			"SET client_min_messages = error; SELECT rebalance_table_shards('blogstore.posts', shard_transfer_mode => '$mode')");
		cmp_ok(scalar shards($cluster, $three), '>', 2, "rebalanced, $mode: the third node has its part");
		$fine &&= clients_go_on("rebalanced, $mode");
		counts_right($cluster, "rebalanced, $mode");
		$coordinator->safe_psql('postgres', sprintf
			q{SET client_min_messages = error; SELECT citus_drain_node('%s', %d, shard_transfer_mode => '%s'); SELECT citus_set_node_property('%s', %d, 'shouldhaveshards', true)},
			$three->host, $three->port, $mode, $three->host, $three->port);
		is(scalar shards($cluster, $three), 0, "drained, $mode: the third node has no shards");
		$fine &&= clients_go_on("drained, $mode");
	}
}
else
{
	my ($first, $second) = ((shards($cluster, $one))[0], (shards($cluster, $two))[0]);

	$fine &&= move($first, $one, $three, 'block_writes');
	$fine &&= move($second, $two, $three, 'force_logical');
	$fine &&= move($first, $three, $one, 'force_logical');
	$fine &&= move($second, $three, $two, 'block_writes');
}
# ---- A shard is split into two, one on each node

if ($fine)
{
	my $shard = (shards($cluster, $one))[0];

	clients_told_more();
	$coordinator->safe_psql('postgres', sprintf q{
SET client_min_messages = error;
SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
	ARRAY(SELECT nodeid FROM pg_dist_node WHERE nodeport IN (%d, %d) ORDER BY nodeid), 'block_writes')
FROM pg_dist_shard WHERE shardid = %d}, $one->port, $two->port, $shard);
	ok(!(grep { $_ == $shard } shards($cluster, $one)), 'a shard was split');
	clients_told_more();
	$fine &&= clients_go_on('a shard was split');
	counts_right($cluster, 'a shard was split');
}
# A node refuses a request for another shard than it knows. This happens while
# a split is committed on one node only, and a write to the old shard would be
# lost. The caller asks again.
{
	my $key = $coordinator->safe_psql('postgres', 'SELECT kit.p(1)');
	my $id = $coordinator->safe_psql('postgres', 'SELECT get_shard_id_for_distribution_column($$blogstore.posts$$, kit.p(1))');
	my $call = "SELECT serve_flag FROM blogstore.serve_flag('$key', 'delete_like', ARRAY['$key', '" . $coordinator->safe_psql('postgres', 'SELECT kit.u(999)') . "', NULL], false, %d)";

	is($coordinator->safe_psql('postgres', sprintf $call, $id + 1000000), '', 'a request for another shard is not served');
	is($coordinator->safe_psql('postgres', sprintf $call, $id), 'f', 'a request for the present shard is served');
}
ok($fine, 'all moves were made beside clients');
counts_right($cluster, 'under load');

# ---- What was acknowledged to clients

clients_told_more();
append_to_file($stop, '');
my %told = (like => [], comment => [], pair => []);
for my $client (@chunks)
{
	$client->{run}->finish;
	is($client->{run}->result(0), 0, "$client->{name}: no error");
	is(slurp_file($client->{err}), '', "$client->{name}: no message");
	for my $row (split /\n/, slurp_file($client->{out}))
	{
		my ($what, @key) = split /\|/, $row;

		push @{ $told{$what} }, $what eq 'like' ? "@key" : $key[0];
	}
}
for my $client (@benches)
{
	# The signal ends pgbench as at the end of its time: each client completes
	# its transaction.
	$client->{run}->signal('ALRM') if goes_on($client);
	$client->{run}->finish;
	is($client->{run}->result(0), 0, "$client->{name}: no error") or diag $client->{err};
	my ($done) = $client->{out} =~ /number of transactions actually processed: (\d+)/;
	my ($failed) = $client->{out} =~ /number of failed transactions: (\d+)/;
	my ($number) = grep { $benches[$_] == $client } 0 .. $#benches;
	is($failed // 'unknown', 0, "$client->{name}: no transaction failed");
	is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = 'bench $number'"),
		$done // 'unknown', "$client->{name}: each comment is there once");
	note "$client->{name}: $done transactions";
}
for my $what (sort keys %told)
{
	my $found = $coordinator->safe_psql('postgres', {
			like => q{SELECT right(post_id::text, 12)::int || ' ' || right(user_id::text, 12)::int FROM blogstore.posts WHERE type = 'like' AND user_id > kit.u(10)},
			comment => q{SELECT right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment' AND content = 'acknowledged'},
			pair => q{SELECT right(id::text, 12)::int FROM blogstore.posts WHERE type = 'comment' AND content = 'pair'}
		}->{$what});
	my (%there, %keys);
	$there{$_}++ foreach split /\n/, $found;
	$keys{$_} = 1 foreach @{ $told{$what} };
	my $each = $what eq 'pair' ? 2 : 1;

	note "$what: " . keys(%keys) . ' acknowledged';
	cmp_ok(scalar keys %keys, '>', 10, "$what: some were acknowledged");
	is(join(', ', grep { ($there{$_} // 0) != $each } sort keys %keys), '', "$what: each acknowledged one exists, once");
	is(scalar keys %there, scalar keys %keys, "$what: no others exist");
}
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE type = 'like' AND user_id <= kit.u(10)}), 0, 'likes taken back are gone');
wait_jobs($cluster, members($cluster));
views_right($cluster, 'after all moves');

# ---- A move without load: the views of what has moved, and requests for it
# from every member

my ($post) = posts_on($cluster, $one, 1, 1);
my $shard = $coordinator->safe_psql('postgres', "SELECT get_shard_id_for_distribution_column('blogstore.posts', kit.p($post))");
for my $way ([ $one, $two ], [ $two, $one ])
{
	my ($from, $to) = @$way;
	my $name = sprintf 'at rest, from %s to %s', $from->name, $to->name;

	move_shard($cluster, $shard, $from, $to, 'block_writes');
	same_everywhere($cluster, "SELECT host, port FROM blogstore.node_of(kit.p($post))", $to->host . '|' . $to->port, "$name: node_of() knows");
	for my $member (members($cluster))
	{
		is($member->safe_psql('postgres', "SELECT blogstore.delete_like(kit.p($post), kit.u(11)) IS NOT NULL, (blogstore.create_like(kit.p($post), kit.u(11))).user_username"),
			't|user 11', "$name: liked from " . $member->name);
	}
	views_right($cluster, $name);
}

done_testing();
