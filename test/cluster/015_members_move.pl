
# Users and their posts are created, renamed and deleted while shards move. No
# client gets an error, no item keeps an old name of its author, and nothing is
# left of a deleted user, neither on the old nodes of the shards nor on the new
# ones.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $POSTS = 100;
my $STAY = 10;      # users who are renamed and not deleted

my $cluster = new_cluster('members_move');
my $coordinator = $cluster->{coordinator};
my ($one, $two) = nodes($cluster);

$coordinator->safe_psql(
	'postgres', qq{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, $STAY) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % $STAY), 'title ' || n, 'content ' || n, kit.p(n), kit.d(n))) FROM generate_series(1, $POSTS) AS n});
views_right($cluster, 'filled');

# ---- Clients

my $base = $PostgreSQL::Test::Utils::tmp_check;
my $stop = "$base/members_move_stop_$$";

# Start a client. In each round a user is created, writes, is renamed, writes
# again and is deleted, and one of the lasting users is renamed. A round prints
# its number.
sub start_members
{
	my ($member, $n) = @_;
	my $user = 'kit.u(100000 * ' . ($n + 1) . ' + :round)';
	my $id = '(1000000 * ' . ($n + 1) . ' + 100 * :round)';
	my $some = "(:round * 17 + n * 7) % $POSTS + 1";

	return start_rounds($member, 'rounds_' . $member->name, qq{
SELECT FROM blogstore.create_user('comer $n ' || :round, $user);
SELECT FROM blogstore.create_post($user, 'of who goes', 'content', kit.p($id));
SELECT count(blogstore.create_comment(kit.p($some), $user, 'of who goes', kit.c($id + n))) FROM generate_series(1, 10) AS n \\g /dev/null
SELECT count(blogstore.create_like(kit.p($some), $user)) FROM generate_series(1, 10) AS n \\g /dev/null
SELECT FROM blogstore.edit_user($user, 'renamed $n ' || :round);
SELECT FROM blogstore.create_comment(kit.p($id), $user, 'of who goes', kit.c($id + 11));
SELECT count(blogstore.create_comment(kit.p($some), kit.u(1 + ($n + 3 * n) % $STAY), 'stays', kit.c($id + 20 + n))) FROM generate_series(1, 5) AS n \\g /dev/null
SELECT FROM blogstore.edit_user(kit.u(1 + (3 * :round + $n) % $STAY), 'user $n ' || :round);
SELECT blogstore.delete_user($user) \\g /dev/null
SELECT :round;
}, $stop);
}

unlink $stop;
my @members = members($cluster);
my @clients = map { start_members($members[$_], $_) } 0 .. $#members;

# Another client rebuilds all views again and again.
push @clients, start_rounds($coordinator, 'rebuilds', q{
SELECT blogstore.rebuild_views() \\g /dev/null
SELECT pg_sleep(0.5) \\g /dev/null
SELECT 'asked';
}, $stop);

# Wait until each client has begun and ended a round.
sub rounds_go_on
{
	my ($name) = @_;

	each_told_more($cluster, 4, @clients);
	my @ended = grep { !goes_on($_) } @clients;
	is(join(' ', map { $_->{name} . ': ' . slurp_file($_->{err}) } @ended), '', "$name: all clients go on");
	return !@ended;
}

# ---- Moves

my $fine = rounds_go_on('before');
my @modes = ('block_writes', 'force_logical');
my @moving = (shards($cluster, $one))[ 0 .. (long_tests() ? 3 : 1) ];

for my $way ([ $one, $two ], [ $two, $one ])
{
	for my $n (0 .. $#moving)
	{
		my $mode = $modes[ ($n + ($way->[0] == $one)) % 2 ];

		next if !$fine;
		move_shard($cluster, $moving[$n], @$way, $mode);
		$fine &&= rounds_go_on("$mode, from " . $way->[0]->name);
	}
}
ok($fine, 'all moves were made beside clients');
append_to_file($stop, '');
for my $client (@clients)
{
	$client->{run}->finish;
	is($client->{run}->result(0), 0, "$client->{name}: no error");
	is(slurp_file($client->{err}), '', "$client->{name}: no message");
	note "$client->{name}: " . (split /\n/, slurp_file($client->{out})) . ' rounds';
}

# ---- The result

wait_jobs($cluster, members($cluster));
views_right($cluster, 'after all moves');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM blogstore.user_items'), $STAY, 'deleted users are gone');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type <> 'delta' AND user_id > kit.u($STAY)"), 0, '... with all items');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type <> 'delta' AND post_id > kit.p($POSTS)"), 0, '... and what was on their posts');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.users WHERE type = 'post' AND user_id > kit.u($STAY)"), 0, '... and their copies');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM blogstore.usernames'), $STAY, '... and names');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM blogstore.posts AS p JOIN blogstore.user_items AS u USING (user_id) WHERE p.user_username <> u.username'),
	0, 'items have the present names of their authors');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.users AS p JOIN blogstore.user_items AS u USING (user_id) WHERE p.type = 'post' AND p.user_username <> u.username"),
	0, 'so have copies');
cmp_ok($coordinator->safe_psql('postgres', "SELECT count(*) FROM blogstore.posts WHERE type = 'comment' AND content = 'stays'"), '>', 10, 'there are items of those who stay');

# ---- The shard with the copies of an author's posts moves to the node that
# has the posts, while these are being deleted. The worker there repeatedly
# waits for the shard's lock, and then has to see what has arrived.

my $home = $moving[0];

for my $way ([ $one, $two ], [ $two, $one ], [ $one, $two ], [ $two, $one ])
{
	my ($from, $to) = @$way;
	my $author = $coordinator->safe_psql('postgres', qq{SELECT min(n) FROM generate_series(200, 1000) AS n
WHERE (SELECT shardminvalue FROM pg_dist_shard WHERE shardid = get_shard_id_for_distribution_column('blogstore.users', kit.u(n))) =
	(SELECT shardminvalue FROM pg_dist_shard WHERE shardid = $home)});
	my @posts = posts_on($cluster, $to, 5000, 60);
	my @hidden = posts_on($cluster, $from, 20000, 60);

	$coordinator->safe_psql('postgres', "SELECT blogstore.create_user('home', kit.u($author)) WHERE NOT EXISTS (SELECT FROM blogstore.get_user(kit.u($author)))");
	$coordinator->safe_psql('postgres', join ";\n", map { "SELECT FROM blogstore.create_post(kit.u($author), 'to go', 'content', kit.p($_))" } @posts, @hidden);
	wait_jobs($cluster, members($cluster));
	my $client = start_client($to, 'postgres', join('', map { "SELECT blogstore.delete_post(kit.p($_)), pg_sleep(0.02);\n" } @posts), 'deletes_' . $to->name);
	my $hides = start_client($from, 'postgres', join('', map { "SELECT FROM blogstore.hide_post(kit.p($_)); SELECT pg_sleep(0.02);\n" } @hidden), 'hides_' . $from->name);
	wait_until($to, 'postgres', "SELECT count(*) < 60 FROM blogstore.get_posts(ARRAY(SELECT kit.p(n) FROM unnest(ARRAY[@{[ join ', ', @posts ]}]) AS n))");
	move_shard($cluster, $home, $from, $to, 'block_writes');
	my (undef, $err) = finish_client($client);
	is($err, '', 'posts are deleted while their author moves to ' . $to->name);
	(undef, $err) = finish_client($hides);
	is($err, '', '... and others are hidden where the author was');
	wait_jobs($cluster, members($cluster));
	is($coordinator->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE hidden) FROM blogstore.users WHERE user_id = kit.u($author)"), '60|60',
		'... no copy is left of the former, and the others are hidden');
	$coordinator->safe_psql('postgres', "SELECT count(blogstore.delete_post(post_id)) FROM blogstore.list_user_posts(kit.u($author), NULL, include_hidden => true)");
}

done_testing();
