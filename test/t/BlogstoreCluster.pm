
=pod

=head1 NAME

BlogstoreCluster - the shards of a cluster, and checks of blogstore on it, for
TAP tests. Brings along BlogstoreMembers and BlogstoreTest.

=cut

package BlogstoreCluster;

use strict;
use warnings;

use BlogstoreMembers;
use BlogstoreTest;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = (
	@BlogstoreTest::EXPORT, @BlogstoreMembers::EXPORT, qw(
  home_of posts_on shards move_shard
  start_rounds each_told_more waits_for_lock cluster_views_follow counts_right same_everywhere views_right
));

=pod

=head1 SHARDS

=over

=item home_of(cluster, post)

The node that has a post, by Citus's metadata. The post is an SQL expression.

=cut

sub home_of
{
	my ($cluster, $post) = @_;
	my $port = $cluster->{coordinator}->safe_psql(
		'postgres', qq{
SELECT n.nodeport FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
WHERE p.shardid = get_shard_id_for_distribution_column('blogstore.posts', $post)});

	return (grep { $_->port == $port } members($cluster))[0];
}

=pod

=item posts_on(cluster, node, from, n)

The numbers of the first n posts on a node, counted from a given number on.

=cut

sub posts_on
{
	my ($cluster, $node, $from, $n) = @_;
	my $port = $node->port;

	return split /\n/, $cluster->{coordinator}->safe_psql(
		'postgres', qq{
SELECT i FROM generate_series($from, $from + 100 * $n) i
JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('blogstore.posts', kit.p(i))
JOIN pg_dist_node n USING (groupid)
WHERE n.nodeport = $port ORDER BY i LIMIT $n});
}

=pod

=item shards(cluster, node)

The ids of the shards of posts, on one node or on all.

=cut

sub shards
{
	my ($cluster, $node) = @_;
	my $there = defined $node ? 'AND n.nodeport = ' . $node->port : '';

	return split /\n/, $cluster->{coordinator}->safe_psql(
		'postgres', qq{
SELECT s.shardid FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
WHERE s.logicalrelid = 'blogstore.posts'::regclass $there ORDER BY s.shardid});
}

# Drop what the last move of a shard has left. Citus can do so when no session
# has it open. It tries once and then at intervals, and refuses to move the
# shard back before that.
sub clean_up_moves
{
	my ($cluster) = @_;
	my $coordinator = $cluster->{coordinator};

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $coordinator->safe_psql('postgres', 'SELECT count(*) FROM pg_dist_cleanup') == 0;
		$coordinator->safe_psql('postgres', 'SET client_min_messages = error; CALL citus_cleanup_orphaned_resources()');
		select(undef, undef, undef, 0.1);
	}
	give_up($cluster, 'what a move has left is not cleaned up');
}

=pod

=item move_shard(cluster, shard, from, to, mode)

Move a shard of posts, and the shards colocated with it, from one node to
another. With the mode block_writes writers wait the whole time, with
force_logical only at the end. Dies if the move fails.

=cut

sub move_shard
{
	my ($cluster, $shard, $from, $to, $mode) = @_;
	my $timed_out;

	clean_up_moves($cluster);
	$cluster->{coordinator}->psql(
		'postgres', sprintf(q{
SET client_min_messages = error;
SELECT citus_move_shard_placement(%d, '%s', %d, '%s', %d, shard_transfer_mode => '%s')},
			$shard, $from->host, $from->port, $to->host, $to->port, $mode),
		on_error_die => 1,
		timeout => $PostgreSQL::Test::Utils::timeout_default,
		timed_out => \$timed_out);
	give_up($cluster, 'a move does not come to its end') if $timed_out;
	return;
}

=pod

=back

=head1 CHECKS

=over

=item start_rounds(member, name, sql, stop)

Start a client that runs a script again and again, each time in a new session,
until the file stop exists or the script fails. The psql variable :round counts
the rounds, from 0. The script should print something. Returns the client, with
the names of its files in out and err.

=cut

sub start_rounds
{
	my ($member, $name, $sql, $stop) = @_;
	my $base = "$PostgreSQL::Test::Utils::tmp_check/$name";
	my $client = { out => "$base.out", err => "$base.err", name => $name };

	append_to_file("$base.sql", $sql);
	$client->{run} = IPC::Run::start(
		[
			'bash', '-c', 'n=0
			while [ ! -e "$1" ]; do
				"$2" -XAtq -v ON_ERROR_STOP=1 -v round=$n -d "$3" -f "$4" || exit 1
				n=$((n + 1))
			done', 'bash', $stop, $member->installed_command('psql'), $member->connstr('postgres'), "$base.sql"
		],
		'<', \undef,
		'>', $client->{out},
		'2>', $client->{err});
	return $client;
}

=pod

=item each_told_more(cluster, bytes, client...)

Wait until each client of start_rounds() has printed that many more bytes, or
has ended.

=cut

sub each_told_more
{
	my ($cluster, $bytes, @clients) = @_;
	my %size = map { $_->{name} => -s $_->{out} || 0 } @clients;
	my @waiting;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		@waiting = grep { (-s $_->{out} || 0) < $size{ $_->{name} } + $bytes && goes_on($_) } @clients;
		return if !@waiting;
		select(undef, undef, undef, 0.1);
	}
	return give_up($cluster, join(', ', map { $_->{name} } @waiting) . ' got no answer');
}

=pod

=item waits_for_lock(cluster, client)

Wait until a client backend on any member waits for a lock. (Citus decides on
which member the given client waits.) Returns false if the client has ended
instead.

=cut

sub waits_for_lock
{
	my ($cluster, $client) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if grep { $_ eq 't' } on_each($cluster,
			q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'});
		last if !goes_on($client);
		select(undef, undef, undef, 0.1);
	}
	return goes_on($client);
}

=pod

=item cluster_views_follow(cluster)

Wait until the views show everything that each member can read now. Returns
whether they do.

=cut

sub cluster_views_follow
{
	my ($cluster) = @_;

	foreach my $member (members($cluster))
	{
		next if wait_views($member);
		diag $member->name . ": the views do not follow:\n" . who_waits($cluster);
		return 0;
	}
	return 1;
}

# Posts with counted comments and likes, by plain SQL over all nodes. Each node
# groups its items by post in one snapshot.
my $IMPLIED = q{
SELECT p.id, p.user_id, p.user_username, p.title, left(p.content, 200) AS content,
	c.comments AS comment_count, c.likes AS like_count, p.creation_date
FROM blogstore.posts p
JOIN (SELECT post_id, count(*) FILTER (WHERE type = 'comment' AND hidden IS NOT TRUE) AS comments,
		count(*) FILTER (WHERE type = 'like') AS likes
	FROM blogstore.posts GROUP BY post_id) c ON c.post_id = p.post_id
WHERE p.type = 'post' AND p.hidden IS NOT TRUE};
my $COLUMNS = 'id, user_id, user_username, title, content, comment_count, like_count, creation_date';

=pod

=item counts_right(cluster, name)

Check that the counts of every post, those of its counter and of the deltas to
be added, are equal to the number of its comments and likes, and that no item
belongs to a missing post. The query reads each post in one snapshot, so the
check works beside clients.

=cut

sub counts_right
{
	my ($cluster, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(
		$cluster->{coordinator}->safe_psql(
			'postgres', q{
SELECT * FROM (
	SELECT post_id, count(*) FILTER (WHERE type = 'post') AS posts,
		count(*) FILTER (WHERE type = 'comment' AND hidden IS NOT TRUE) AS comments,
		coalesce(sum(comment_count) FILTER (WHERE type = 'post' OR item_id = post_id), 0) AS comment_count,
		count(*) FILTER (WHERE type = 'like') AS likes,
		coalesce(sum(like_count) FILTER (WHERE type = 'post' OR item_id = post_id), 0) AS like_count
	FROM blogstore.posts GROUP BY post_id) c
WHERE posts <> 1 OR comments <> comment_count OR likes <> like_count
ORDER BY post_id LIMIT 10}),
		'',
		"$name: counts are exact");
}

=pod

=item same_everywhere(cluster, query, expected, name)

Check that a query returns the expected rows, or the expected error, on every
member.

=cut

sub same_everywhere
{
	my ($cluster, $query, $expected, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $member (members($cluster))
	{
		my ($status, $found, $err) = $member->psql('postgres', $query);

		$found = $err if $status;
		# Show the first difference only; answers may be long.
		next if ok($found eq $expected, "$name, asked of " . $member->name);
		my ($got, $wanted) = map { [ split /\n/ ] } $found, $expected;
		my ($n) = grep { ($got->[$_] // 'no row') ne ($wanted->[$_] // 'no row') } 0 .. @$got + @$wanted;
		diag sprintf "%d rows, expected %d; row %d:\n%.300s\nexpected:\n%.300s", scalar @$got, scalar @$wanted, $n + 1,
		  $got->[$n] // 'no row', $wanted->[$n] // 'no row';
	}
	return;
}

=pod

=item views_right(cluster, name)

Wait for the views. Then check that every member returns the feed and each
user's posts like plain SQL over the posts container, that counts are exact,
and that verify() shows nothing.

=cut

sub views_right
{
	my ($cluster, $name) = @_;
	my $asked = $cluster->{coordinator};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(cluster_views_follow($cluster), "$name: the views follow");
	counts_right($cluster, $name);
	same_everywhere($cluster, "SELECT $COLUMNS FROM blogstore.list_feed(100)",
		$asked->safe_psql('postgres', "SELECT $COLUMNS FROM ($IMPLIED) i ORDER BY creation_date DESC, id DESC LIMIT 100"),
		"$name: list_feed() shows the newest posts");
	my $authors = join ', ', map { "'$_'" } split /\n/, $asked->safe_psql('postgres',
		q{SELECT DISTINCT user_id FROM blogstore.posts WHERE type = 'post' ORDER BY user_id});
	same_everywhere($cluster,
		"SELECT p.* FROM unnest(ARRAY[$authors]::uuid[]) u, LATERAL (SELECT $COLUMNS FROM blogstore.list_user_posts(u, NULL)) p",
		$asked->safe_psql('postgres', "SELECT $COLUMNS FROM ($IMPLIED) i ORDER BY user_id, creation_date DESC, id DESC"),
		"$name: list_user_posts() shows each author's");
	same_everywhere($cluster, 'SELECT * FROM blogstore.verify()', '', "$name: verify() shows nothing");
	return;
}

=pod

=back

=cut

1;
