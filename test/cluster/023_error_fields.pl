
# A program gets the fields of an error whichever node serves its request: from
# the coordinator and from each node, for posts of each, and through wrappers,
# subtransactions and blocks. Texts of a caller cannot be taken for such
# fields.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('error_fields');
my ($coordinator, $one, $two) = members($cluster);

create_kit_everywhere($cluster, kit_file('errors'));
$coordinator->safe_psql(
	'postgres', q{
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 4) AS n;
});
my %posts;
foreach my $node ($one, $two)
{
	my ($shown, $hidden, $missing) = posts_on($cluster, $node, 1, 3);

	$posts{ $node->name } = [ $shown, $hidden, $missing ];
	$coordinator->safe_psql(
		'postgres', qq{
SELECT blogstore.create_post(kit.u(1), 'title', 'content', kit.p($shown), kit.d(1)), blogstore.create_post(kit.u(1), 'draft', 'content', kit.p($hidden), kit.d(2), hidden => true);
SELECT blogstore.create_comment(kit.p($shown), kit.u(1), 'comment', kit.c(1), kit.d(3)), blogstore.create_comment(kit.p($shown), kit.u(1), 'hidden', kit.c(2), kit.d(4), hidden => true);
});
}

# The fields of the error that a statement raises on a member
sub raised
{
	my ($member, $statement, $before) = @_;

	$statement =~ s/'/''/g;
	return (split /\n/, $member->safe_psql('postgres', ($before // '') . "SELECT kit.raised('$statement')"))[-1];
}

# S is a post, H a hidden post, and M a post that does not exist.
my %calls = (
	q{create_user(NULL)} => '22004||username|not_null',
	q{create_user('USER 1')} => '23505|users|username|username_unique',
	q{create_user('other', kit.u(1))} => '23505|users|user_id|user_id_unique',
	q{edit_user(kit.u(99), 'x')} => '23503|users|user_id|user_exists',
	q{create_post(kit.u(1), 'other', 'content', S)} => '23505|posts|post_id|post_id_unique',
	q{create_post(kit.u(99), 'other', 'content', M)} => '23503|users|user_id|user_exists',
	q{create_post(kit.u(1), '', 'content', M)} => '22023||title|not_empty',
	q{create_post(kit.u(1), 'x', 'x', M, properties => '[]')} => '22023||properties|object',
	q{edit_post(M, 'x')} => '23503|posts|post_id|post_exists',
	q{create_comment(M, kit.u(1), 'x')} => '23503|posts|post_id|post_exists',
	q{create_comment(S, kit.u(99), 'x')} => '23503|users|user_id|user_exists',
	q{create_comment(S, kit.u(1), 'x', kit.c(1))} => '23505|posts|comment_id|comment_id_unique',
	q{create_comment(S, kit.u(1), 'x', parent_id => kit.c(99))} => '23503|posts|parent_id|comment_exists',
	q{create_comment(S, kit.u(1), 'x', parent_id => kit.c(2))} => '23514|posts|parent_id|comment_shown',
	q{create_comment(H, kit.u(2), 'x')} => '23514|posts|post_id|post_shown',
	q{create_comment(S, kit.u(1), NULL)} => '22004||content|not_null',
	q{create_like(H, kit.u(2))} => '23514|posts|post_id|post_shown',
	q{create_like(M, kit.u(2))} => '23503|posts|post_id|post_exists',
	q{edit_comment(S, kit.c(99), 'x')} => '23503|posts|comment_id|comment_exists',
	q{follow_user(kit.u(1), kit.u(1))} => '22023||followed_id|not_oneself',
	q{follow_user(kit.u(2), kit.u(2))} => '22023||followed_id|not_oneself',
	q{follow_user(kit.u(1), kit.u(99))} => '23503|users|followed_id|user_exists',
	q{follow_user(kit.u(2), kit.u(99))} => '23503|users|followed_id|user_exists',
	q{follow_user(kit.u(98), kit.u(1))} => '23503|users|user_id|user_exists',
	q{follow_user(kit.u(99), kit.u(1))} => '23503|users|user_id|user_exists',
	q{follow_user(NULL, kit.u(1))} => '22004||user_id|not_null',
	q{unfollow_user(kit.u(1), NULL)} => '22004||followed_id|not_null',
	q{get_follows(kit.u(1), NULL)} => '22004||followed_ids|not_null',
	q{list_following(kit.u(1), 0)} => '22023||page_size|range',
	q{list_followers(kit.u(1), before_date => kit.d(1))} => '22023||before_id|together',
	q{list_home_feed(kit.u(1), -1)} => '22023||page_size|range',
	q{list_topics()} => '55000|||topics',
	q{list_topic_posts('a')} => '55000|||topics',
	q{list_topic_posts(NULL)} => '22004||topic|not_null',
	q{list_topics(after_topic => repeat('x', 5000))} => '22023||after_topic|max_length',
	q{list_post_comments(S, 0)} => '22023||page_size|range',
	q{list_user_posts(kit.u(1), before_date => kit.d(1))} => '22023||before_id|together',
	q{list_user_likes(kit.u(1), after_post_id => S, by_date => true)} => '22023||after_post_id|order',
	q{get_posts(NULL)} => '22004||post_ids|not_null',
	q{own_create_like(kit.u(2), H, kit.u(2))} => '23503|posts|post_id|post_exists',
	q{own_create_comment(kit.u(2), H, kit.u(2), 'x')} => '23503|posts|post_id|post_exists',
	q{own_edit_post(kit.u(2), S, 'x')} => '42501|posts|user_id|own_item');

foreach my $member ($coordinator, $one, $two)
{
	foreach my $of ($one, $two)
	{
		my ($shown, $hidden, $missing) = map { "kit.p($_)" } @{ $posts{ $of->name } };
		my %expected = map { (s/\bS\b/$shown/gr =~ s/\bH\b/$hidden/gr =~ s/\bM\b/$missing/gr) => $calls{$_} } keys %calls;
		my $name = $member->name . ', a post on ' . $of->name;

		is_deeply({ map { $_ => raised($member, "SELECT blogstore.$_") } keys %expected }, \%expected, "$name: a call");
		is_deeply({ map { $_ => raised($member, "SELECT * FROM blogstore.$_") } keys %expected }, \%expected, "$name: a call in FROM");
		# Message, hint and SQLSTATE are those of one server.
		my (undef, undef, $err) = $member->psql('postgres', "\\set VERBOSITY verbose\nSELECT blogstore.create_like($hidden, kit.u(2))");
		like($err, qr/^(?:psql:<stdin>:\d+: )?ERROR:  23514: post \S+ is hidden\nHINT:  Nobody can comment on it or like it before it is shown, by blogstore.publish_post\(\) or hide_post\(..., hidden => false\)\.\n(?!HINT)/m,
			"$name: the hint is whole");
		unlike($err, qr/Fields:/, "$name: and has nothing else");
		like($err, qr/^SCHEMA NAME:  blogstore\n(?:psql:<stdin>:\d+: )?TABLE NAME:  posts\n(?:psql:<stdin>:\d+: )?COLUMN NAME:  post_id\n(?:psql:<stdin>:\d+: )?CONSTRAINT NAME:  post_shown$/m, "$name: psql shows the fields");
	}
}

# Within blocks, and within functions that run as their owner, after other
# writes
my ($shown, $hidden) = map { "kit.p($_)" } @{ $posts{ $two->name } };
my ($other) = map { "kit.p($_)" } @{ $posts{ $one->name } };
create_kit_everywhere($cluster, q{SET citus.enable_ddl_propagation = off;
CREATE FUNCTION kit.both(first uuid, second uuid) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	PERFORM blogstore.create_like(first, kit.u(3));
	BEGIN
		PERFORM blogstore.create_like(second, kit.u(99));
	EXCEPTION WHEN unique_violation THEN
		RETURN 'not this';
	END;
	RETURN 'both';
END $$});
foreach my $member ($coordinator, $one, $two)
{
	my $name = $member->name;

	is(raised($member, "SELECT kit.both($other, $shown)"), '23503|users|user_id|user_exists', "$name: a block within a function");
	is($member->safe_psql('postgres', qq{BEGIN; SAVEPOINT s; SELECT kit.raised('SELECT blogstore.create_like($hidden, kit.u(2))');
ROLLBACK TO s; SELECT kit.raised('SELECT blogstore.create_like($hidden, kit.u(2))'); SELECT (blogstore.create_like($shown, kit.u(2))).type; ROLLBACK}),
		"23514|posts|post_id|post_shown\n23514|posts|post_id|post_shown\nlike", "$name: savepoints, and the transaction goes on");
	# A text that looks like the message by which a node reports fields to
	# another
	my $text = qq{E'\\nFields:\\tevil\\tevil\\tevil\\tevil'};
	is(raised($member, "SELECT blogstore.create_comment($hidden, kit.u(2), $text)"), '23514|posts|post_id|post_shown', "$name: a content that looks like fields");
	is(raised($member, "SELECT blogstore.create_comment($shown, kit.u(2), $text, kit.c(1))"), '23505|posts|comment_id|comment_id_unique', "$name: the same, of a comment that is there");
	is(raised($member, "SELECT blogstore.create_post(kit.u(1), $text, '', kit.p(1), creation_date => 'infinity')"), '22023||creation_date|finite', "$name: a title that looks like fields");
}

# A parallel worker cannot ask another node.
is(raised($one, "SELECT blogstore.get_post('" . $one->safe_psql('postgres', "SELECT $shown") . "')",
		q{SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query'); }), '0A000|||leader', 'a parallel worker');

# Wrappers on a node
foreach my $member ($coordinator, $one)
{
	$member->safe_psql('postgres', q{SET citus.enable_ddl_propagation = off; CREATE ROLE app LOGIN; SELECT blogstore.grant_requests('app'); GRANT USAGE ON SCHEMA kit TO app;
SELECT blogstore.create_api('api', 'app')});
	is(raised($member, "SELECT api.create_like($hidden, kit.u(2))", 'SET ROLE app; '), '23514|posts|post_id|post_shown', $member->name . ': a wrapper');
	is(raised($member, "SELECT * FROM api.create_comment($shown, kit.u(1), 'x', parent_id => kit.c(99))", 'SET ROLE app; '), '23503|posts|parent_id|comment_exists', $member->name . ': a wrapper in FROM');
}

done_testing();
