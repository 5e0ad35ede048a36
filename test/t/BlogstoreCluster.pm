
=pod

=head1 NAME

BlogstoreCluster - where a cluster's shards are, and what blogstore on it has to be like, for
TAP tests; brings along BlogstoreMembers and BlogstoreTest

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

The node that has a post, by Citus's own metadata. The post is an expression of SQL.

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

The first n numbers of posts from a number on that lie on a node.

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

The ids of the shards of posts that a node has, without it of all.

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

# What the last move has left is dropped as soon as nobody has it open; Citus tries that once, and then
# at intervals, and refuses to move the shard back until it has succeeded
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

Move a shard of posts, with those that go with it, from one node to another: block_writes
keeps writers waiting, force_logical does so at the end only. Dies if that fails.

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

Start a client that runs commands again and again, as rounds, each in a session of its own, until a file is there or
one has failed. They have :round, from 0 on, and should print something. Returns the client, with the names of its
files in out and err.

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

Wait until each client of start_rounds() has printed so much more, or has ended.

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

Wait until a client backend waits for a lock on any member, whichever it is that Citus has a client in the
background wait at; false: the client has ended.

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

Wait until what every member has read so far shows in the views; returns whether it does.

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

# Posts as the items imply them, by plain SQL over all nodes: counted and summed by post,
# which each node does in one snapshot
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

Every post's counts, its counter's and all others' that are to be added up, are those of
the comments and likes that it has; nothing hangs on a post that is not there. It may
be asked beside clients, since each post is looked at in one snapshot.

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
		coalesce(sum(comment_count) FILTER (WHERE type IN ('post', 'delta')), 0) AS comment_count,
		count(*) FILTER (WHERE type = 'like') AS likes,
		coalesce(sum(like_count) FILTER (WHERE type IN ('post', 'delta')), 0) AS like_count
	FROM blogstore.posts GROUP BY post_id) c
WHERE posts <> 1 OR comments <> comment_count OR likes <> like_count
ORDER BY post_id LIMIT 10}),
		'',
		"$name: counts are exact");
}

=pod

=item same_everywhere(cluster, query, expected, name)

A query gives the same on every member; an error is what it gives, too.

=cut

sub same_everywhere
{
	my ($cluster, $query, $expected, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $member (members($cluster))
	{
		my ($status, $found, $err) = $member->psql('postgres', $query);

		$found = $err if $status;
		# of long answers the first difference says enough
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

The views follow, and then every member gives the feed and each user's posts as plain SQL over
the posts container does; counts are exact; verify() shows nothing.

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
