
# The recipes of docs/RECIPES.md, on a small store with known answers.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreDocument;
use BlogstoreTest;
use BlogstoreWorker qw(hold release);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

read_document('docs/RECIPES.md');
my $node = new_server('recipes');
$node->start;
$node->safe_psql('postgres', $_) foreach split /^--\n/m, q{
CREATE EXTENSION blogstore;
CREATE ROLE blog;
CREATE ROLE my_app;
SELECT blogstore.create_containers(4, owner => 'blog'), blogstore.grant_requests('my_app');
--
} . kit_file('ids') . q{
--
GRANT USAGE ON SCHEMA kit TO my_app;
};

# Run a block below a heading as the owner of the containers.
sub recipe
{
	my ($heading, $number, %variables) = @_;

	local $ENV{PGOPTIONS} = '-c role=blog';
	return run_block($node, 'postgres', '/tmp', $heading, $number, %variables);
}

# Run SQL as the application, which has no right on any table.
sub app
{
	my ($sql) = @_;

	local $ENV{PGOPTIONS} = '-c role=my_app -c enable_seqscan=off';
	return $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $sql");
}

# The SQLSTATE of an error that the application gets, or "none"
sub refused
{
	my ($sql) = @_;
	my $err;

	local $ENV{PGOPTIONS} = '-c role=my_app';
	$node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", stderr => \$err);
	return $err =~ /ERROR:  (\w{5})$/m ? $1 : 'none';
}

# How many of the indexes with matching names were scanned since the test
# began, as "n of m"
sub indexes_read
{
	my ($name) = @_;

	return $node->safe_psql('postgres',
		"SELECT pg_stat_force_next_flush(); SELECT count(*) FILTER (WHERE idx_scan > 0) || ' of ' || count(*) FROM pg_stat_user_indexes WHERE indexrelname ~ '$name'") =~ s/^\n//r;
}

sub titles
{
	my ($call) = @_;

	return app("SELECT coalesce(string_agg(title, ', ' ORDER BY n), '') FROM (SELECT title, row_number() OVER () AS n FROM $call) AS p");
}

# Returns the output of a program in Python that reads a text.
sub python
{
	my ($program, $text) = @_;
	my $out;

	IPC::Run::run [ '/usr/bin/python3', '-c', $program ], '<', \$text, '>', \$out or die "python3: $text";
	return $out =~ s/\n\z//r;
}

# ---- Five users and their posts: three of 2024, three of this week, one
# draft. 2,000 other posts make the planner use indexes.

run_block($node, 'postgres', '/tmp', 'Before you start', 1);
is(recipe('Before you start', 2), '', 'a function that lists leaves');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT leaf) FROM site.leaves('comment') AS leaf WHERE leaf::text ~ '_comment$'}), '4|4', 'lists them');
app(
	q{
SELECT blogstore.create_user('Ann', kit.u(1)), blogstore.create_user('Bob', kit.u(2)), blogstore.create_user('Cid', kit.u(3)),
	blogstore.create_user('Dora', kit.u(4)), blogstore.create_user('Eve', kit.u(5)),
	blogstore.create_user('Filler', kit.u(9));
SELECT blogstore.create_post(kit.u(1), 'Cats', 'Of animals.', kit.p(1), '2024-05-01 00:00+00', '{"tags": ["cats", "sql"]}'),
	blogstore.create_post(kit.u(2), 'Dogs', 'They chase cats.', kit.p(2), '2024-05-31 23:59:59+00', '{"tags": ["dogs"]}'),
	blogstore.create_post(kit.u(1), 'Cats again', 'Deep water.', kit.p(3), '2024-06-01 00:00+00', '{"tags": ["cats", "deep", "sql"]}'),
	blogstore.create_post(kit.u(1), 'Cats unfinished', 'A draft.', kit.p(4), '2024-06-02 00:00+00', '{"tags": ["cats", "sql"]}', true),
	blogstore.create_post(kit.u(3), 'Plain', 'Joins.', kit.p(5), now() - interval '3 days', '{"tags": ["sql"]}'),
	blogstore.create_post(kit.u(3), E'A <b> & "q"\x02', E'x < y\x0b', kit.p(6), now() - interval '2 days', '{"tags": "none"}'),
	blogstore.create_post(kit.u(4), 'Quiet', 'No tags.', kit.p(7), now() - interval '1 day');
SELECT count(blogstore.create_post(kit.u(9), 'Filler ' || n, repeat('Number ' || n || '. ', 20), kit.p(5000 + n), timestamptz '2024-04-01 00:00+00' + n * interval '1 second', jsonb_build_object('tags', ARRAY['filler ' || n])))
FROM generate_series(1, 2000) AS n;
SELECT blogstore.create_like(kit.p(post), kit.u(n)) FROM (VALUES (1, 5), (5, 2), (6, 3), (7, 2)) AS l (post, likes), generate_series(1, likes) AS n;
SELECT blogstore.create_comment(kit.p(7), kit.u(1), 'Yes.', kit.c(1));
});

$node->safe_psql('postgres', 'VACUUM ANALYZE');

# ---- Finding posts

is(recipe('Full-text search'), '', 'full-text search');
is(titles(q{site.search_posts('cat')}), 'Cats again, Cats, Dogs', 'finds words in other forms, those in titles first, and no draft');
is(titles(q{site.search_posts('cats -dogs')}), 'Cats again, Cats', 'without those that have another word');
is(titles(q{site.search_posts('"deep water"')}), 'Cats again', 'by a phrase');
is(titles(q{site.search_posts('cats', 1)}), 'Cats again', 'as many as are asked for');
is(titles(q{site.search_posts('unicorns')}), '', 'none if no post matches');
is(indexes_read('search_text'), '4 of 4', 'by its indexes');
app(q{SELECT blogstore.edit_post(kit.p(5), content => 'Unicorns.')});
is(titles(q{site.search_posts('unicorn')}), 'Plain', 'and what was edited at once');
is(app(q{SELECT octet_length(content) FROM blogstore.create_post(kit.u(2), repeat('日 ', 500),
	(SELECT string_agg(chr(19968 + n / 200) || chr(20000 + n % 200), ' ') FROM generate_series(1, 200000) AS n), kit.p(8))}), '1399999', 'a long text of different words can be posted');
app('SELECT blogstore.delete_post(kit.p(8))');

is(recipe('Posts by tag'), '', 'posts by tag');
is(titles(q{site.tagged_posts('cats')}), 'Cats again, Cats', 'the newest first, without drafts');
is(titles(q{site.tagged_posts('sql', 2)}), 'Plain, Cats again', 'a page');
is(titles(q{site.tagged_posts('sql', 2, '2024-06-01 00:00+00', kit.p(3))}), 'Cats', 'the next one');
is(titles(q{site.tagged_posts('none')}), 'A <b> & "q"' . "\x02", 'a text is one tag');
is(indexes_read('post_expr'), '4 of 4', 'by its indexes');

is(recipe('Tags with many posts'), '', 'tags with many posts');
my $tags = q{SELECT string_agg(tag || ' ' || right(post_id::text, 1), ', ' ORDER BY tag, post_id) FROM site.post_tag WHERE tag !~ 'filler'};
is($node->safe_psql('postgres', $tags), 'cats 1, cats 3, deep 3, dogs 2, none 6, sql 1, sql 3, sql 5', 'the tags of the posts that are there, without drafts');
is(titles(q{site.tag_page('sql', 2)}), 'Plain, Cats again', 'a page');
is(titles(q{site.tag_page('sql', 2, '2024-06-01 00:00+00', kit.p(3))}), 'Cats', 'the next one');
app(
	q{SELECT blogstore.edit_post(kit.p(2), properties => '{"tags": ["cats", "cats"]}'), blogstore.hide_post(kit.p(1)), blogstore.publish_post(kit.p(4));
SELECT blogstore.create_post(kit.u(5), 'New', 'By Eve.', kit.p(9), properties => '{"tags": ["new"]}'), blogstore.create_like(kit.p(9), kit.u(1))});
is($node->safe_psql('postgres', $tags), 'cats 2, cats 3, cats 4, deep 3, new 9, none 6, sql 3, sql 4, sql 5', 'what is edited, hidden, published and created');
is(app(q{SELECT like_count, like_count = (SELECT count(*) FROM blogstore.list_post_likes(kit.p(9))) FROM blogstore.get_post(kit.p(9))}), '1|t', 'and counts are as ever');
app(q{SELECT blogstore.delete_post(kit.p(9)); SELECT blogstore.hide_post(kit.p(4)), blogstore.hide_post(kit.p(1), false);
	SELECT blogstore.edit_post(kit.p(2), properties => '{"tags": ["dogs"]}')});
is($node->safe_psql('postgres', $tags), 'cats 1, cats 3, deep 3, dogs 2, none 6, sql 1, sql 3, sql 5', 'and deleted');

is(recipe('Related posts'), '', 'related posts');
is(titles('site.related_posts(kit.p(3))'), 'Cats, Plain', 'first what shares most tags, without the post itself and drafts');
is(titles('site.related_posts(kit.p(1), 1)'), 'Cats again', 'as many as are asked for');
is(titles('site.related_posts(kit.p(6))') . titles('site.related_posts(kit.p(7))') . titles('site.related_posts(kit.p(99))'), '', 'none of a post without tags, or of none');

is(recipe('Top posts of the week'), '', 'top posts of the week');
is(app('SELECT like_count, left(title, 5) FROM site.top_posts()'), "3|A <b>\n2|Quiet\n2|Plain", 'by likes, and then by comments; older ones are not among them');
is(titles(q{site.top_posts('2024-01-01', 2)}), 'Cats, A <b> & "q"' . "\x02", 'since another date');
is(indexes_read('^posts_p.*post_date'), '4 of 4', 'by the indexes of the store');
is(recipe('Top posts of the week', 2), '', 'kept in a list');
app('SELECT blogstore.create_like(kit.p(7), kit.u(n)) FROM generate_series(3, 5) AS n');
my $list = block('sql', 'Top posts of the week', 4);
is(app($list) =~ s/A <b>.*?\|/A|/r, "A|3\nQuiet|5\nPlain|2", 'in the order that it had, with counts of now');
is(recipe('Top posts of the week', 3), '', 'refreshed');
is(app($list) =~ s/A <b>.*?\|/A|/r, "Quiet|5\nA|3\nPlain|2", 'in the order that it has');

is(recipe('Posts that a user has liked'), '', 'posts that a user has liked');
app(q{SELECT blogstore.create_like(kit.p(3), kit.u(9), '2024-07-01'), blogstore.create_like(kit.p(1), kit.u(9), '2024-07-03'), blogstore.create_like(kit.p(2), kit.u(9), '2024-07-02')});
is(app('SELECT title, like_date FROM site.liked_posts(kit.u(9), 2)'), "Cats|2024-07-03 00:00:00+00\nDogs|2024-07-02 00:00:00+00", 'the last like first');
is(app('SELECT title FROM (SELECT like_date, like_id FROM site.liked_posts(kit.u(9), 2) OFFSET 1) AS l, LATERAL site.liked_posts(kit.u(9), 2, like_date, like_id)'), 'Cats again', 'the next page');
is(indexes_read('like_user_id_creation_date_id_idx'), '8 of 8', 'by its indexes');

# ---- Feeds and sitemaps

is(recipe('Atom and RSS'), '', 'Atom and RSS');
$node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')});
my $atom = app(q{SELECT site.atom('https://example.org', 'Ann & Co', 6)});
is(python(q{
import sys, xml.etree.ElementTree as x
feed = x.parse(sys.stdin).getroot(); a = "{http://www.w3.org/2005/Atom}"
print(feed.find(a + "title").text, feed.find(a + "id").text, feed.find(a + "updated").text == max(e.find(a + "updated").text for e in feed.iter(a + "entry")), sep="|")
for e in feed.iter(a + "entry"):
	print(e.find(a + "title").text, e.find(a + "id").text[-1], e.find(a + "author").find(a + "name").text, e.find(a + "link").get("href")[:26], e.find(a + "summary").text, sep="|")
}, $atom), <<'END' =~ s/\n\z//r, 'a feed that can be parsed, with texts as they were written');
Ann & Co|https://example.org/|True
Quiet|7|Dora|https://example.org/posts/|No tags.
A <b> & "q"|6|Cid|https://example.org/posts/|x < y
Plain|5|Cid|https://example.org/posts/|Unicorns.
Cats again|3|Ann|https://example.org/posts/|Deep water.
Dogs|2|Bob|https://example.org/posts/|They chase cats.
Cats|1|Ann|https://example.org/posts/|Of animals.
END
like($atom, qr{<published>2024-05-31T23:59:59Z</published>}, 'with dates in UTC');
is(python(q{
import sys, xml.etree.ElementTree as x
from email.utils import parsedate_to_datetime as date
items = list(x.parse(sys.stdin).getroot().iter("item"))
print(len(items), items[1].find("title").text, items[1].find("description").text, items[-1].find("pubDate").text, date(items[-1].find("pubDate").text).isoformat(), items[-1].find("link").text, sep="|")
}, app(q{SET lc_time = 'C'; SELECT site.rss('https://example.org', 'Ann & Co', 6)})),
	'6|A <b> & "q"|x < y|Wed, 01 May 2024 00:00:00 GMT|2024-05-01T00:00:00+00:00|https://example.org/posts/00000000-0000-7000-8001-000000000001', 'and the same in RSS');

is(recipe('Sitemap'), '', 'sitemap');
is(python(q{
import sys, xml.etree.ElementTree as x
for loc in x.parse(sys.stdin).getroot().iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc"):
	print(loc.text)
}, app(q{SELECT site.sitemap_index('https://example.org')})), $node->safe_psql('postgres', q{
SELECT 'https://example.org/sitemap-' || to_char(m, 'YYYY-MM') || '.xml' FROM generate_series(timestamp '2024-04-01', now() AT TIME ZONE 'UTC', '1 month') AS m}), 'has a file for each month');
sub sitemap
{
	my ($month) = @_;

	return python(q{
import sys, xml.etree.ElementTree as x
for url in x.parse(sys.stdin).getroot().iter("{http://www.sitemaps.org/schemas/sitemap/0.9}url"):
	print(url[0].text[:26], url[0].text[-1], url[1].text[:10])
}, app("SELECT site.sitemap('https://example.org', '$month')"));
}

is(sitemap('2024-05-01'), 'https://example.org/posts/ 1 2024-05-01
https://example.org/posts/ 2 ' . app(q{SELECT to_char(modification_date AT TIME ZONE 'UTC', 'YYYY-MM-DD') FROM blogstore.get_post(kit.p(2))}), 'with the posts of that month, and when they were edited last');
is(sitemap('2024-06-01'), 'https://example.org/posts/ 3 2024-06-01', 'without drafts');

# ---- Moderation

is(recipe('Held for approval'), '', 'held for approval');
app(
	q{
SELECT blogstore.create_comment(kit.p(1), kit.u(2), 'Fine.', kit.c(11), '2024-05-02', hidden => true),
	blogstore.create_comment(kit.p(1), kit.u(2), 'Buy this.', kit.c(12), '2024-05-03', hidden => true),
	blogstore.create_comment(kit.p(1), kit.u(3), 'Shown.', kit.c(13), '2024-05-01'),
	blogstore.create_post(kit.u(5), 'May I?', 'By Eve.', kit.p(10), '2024-05-04', '{"status": "pending"}', true);
});
my $held = q{SELECT right(comment_id::text, 2), title, username, content FROM site.held_comments()};
is(app($held), "11|Cats|Bob|Fine.\n12|Cats|Bob|Buy this.", 'the queue has the comments that are held, the oldest first');
is(titles('site.held_posts()'), 'May I?', 'and posts, without drafts');
is(indexes_read('(post|comment)_creation_date_id_idx'), '8 of 8', 'by its indexes');
{
	local $ENV{PGOPTIONS} = '-c role=my_app';
	is(run_block($node, 'postgres', '/tmp', 'Held for approval', 2,
			post => '00000000-0000-7000-8001-000000000001', approved => '00000000-0000-7000-8002-000000000011', refused => '00000000-0000-7000-8002-000000000012'),
		"00000000-0000-7000-8002-000000000011|f\nt", 'one is approved, one refused');
	is(run_block($node, 'postgres', '/tmp', 'Held for approval', 3, held => '00000000-0000-7000-8001-000000000010'), '00000000-0000-7000-8001-000000000010|f', 'the post is approved');
}
is(app($held) . titles('site.held_posts()'), '', 'and the queue is empty');
is(app('SELECT comment_count FROM blogstore.get_post(kit.p(1))'), '2', 'what was approved counts');

is(recipe('Reports'), '', 'reports');
app(
	q{
SELECT site.report_item(kit.p(1), NULL, kit.u(3), 'dull'), site.report_item(kit.p(1), kit.c(13), kit.u(1), 'spam');
SELECT site.report_item(kit.p(1), kit.c(13), kit.u(2), 'rude'), site.report_item(kit.p(1), kit.c(13), kit.u(2), 'rude again'),
	site.report_item(kit.p(5), NULL, kit.u(2), 'wrong'), site.report_item(kit.p(99), NULL, kit.u(2), 'gone'), site.report_item(kit.p(1), kit.c(99), kit.u(2), 'gone');
});
my $reported = 'SELECT right(post_id::text, 1), right(comment_id::text, 2), username, content, reports, reasons FROM site.reported_items()';
is(app($reported), "1|13|Cid|Shown.|2|{spam,rude}\n1||Ann|Of animals.|1|{dull}\n5||Cid|Unicorns.|1|{wrong}", 'the queue has what was reported and is there, once for each reader');
app('SELECT site.dismiss_reports(kit.p(1), NULL); SELECT blogstore.hide_post(kit.p(5)), blogstore.hide_comment(kit.p(1), kit.c(13))');
is(app($reported), '', 'what was dismissed or hidden is not in it');
app('SELECT blogstore.hide_post(kit.p(5), false), blogstore.hide_comment(kit.p(1), kit.c(13), false)');
is(app($reported) =~ tr/\n//, 1, 'what is shown again is');

is(recipe('Rate limits'), '', 'rate limits');
{
	local $ENV{PGOPTIONS} = '-c role=my_app';
	my $comment = sub { return run_block($node, 'postgres', '/tmp', 'Rate limits', 2, user => '00000000-0000-7000-8000-000000000004', post => '00000000-0000-7000-8001-000000000002') };
	is($comment->(), "\nNice.", "comment $_ of five") foreach 1 .. 5;
}
my $spend = q{SELECT site.spend(kit.u(4), 'comment', 5, '10 minutes')};
is(refused("$spend; SELECT blogstore.create_comment(kit.p(2), kit.u(4), 'Nice.')"), 'U0429', 'the sixth is refused');
is(app('SELECT comment_count FROM blogstore.get_post(kit.p(2))'), '5', 'and not written');
is(refused(q{SELECT site.spend(kit.u(4), 'post', 5, '10 minutes')}) . refused(q{SELECT site.spend(kit.u(3), 'comment', 5, '10 minutes')}), 'nonenone', 'other actions and users have their own');
$node->safe_psql('postgres', q{UPDATE site.rate SET period_start = period_start - interval '10 minutes'});
is(refused($spend), 'none', 'the next period begins');
is($node->safe_psql('postgres', q{SELECT used FROM site.rate WHERE user_id = kit.u(4) AND action = 'comment'}), '1', 'at one');

is(recipe('Names of one script'), '', 'names of one script');
is(refused(qq{SELECT blogstore.create_user('$_')}), '23514', "$_ mixes two") foreach 'cоpe', 'Αda';
is(refused(qq{SELECT blogstore.create_user('$_')}), 'none', "$_ does not") foreach 'соре', 'Éva 2', 'Νίκος', '日本';
is(refused(q{SELECT blogstore.edit_user(kit.u(9), 'Fillеr')}), '23514', 'nor is anybody renamed so');

# ---- The data of a person. Eve has more posts than delete_user() deletes at
# once.

app(
	q{
SELECT blogstore.edit_user(kit.u(5), properties => '{"site": "https://eve.example.org"}');
SELECT blogstore.create_post(kit.u(5), 'Bulk ' || n, 'zebra', kit.p(1000 + n), now() - interval '4 days', '{"tags": ["zebra", "sql"], "status": "pending"}', n = 1) FROM generate_series(1, 250) AS n;
SELECT blogstore.create_comment(kit.p(1002), kit.u(1), 'On a post of hers.', kit.c(20)), blogstore.create_comment(kit.p(2), kit.u(5), 'Hers.', kit.c(21), hidden => true),
	blogstore.create_comment(kit.p(2), kit.u(1), 'As Eve says.', kit.c(22)), blogstore.create_like(kit.p(2), kit.u(5));
SELECT blogstore.follow_user(kit.u(5), kit.u(1)), blogstore.follow_user(kit.u(5), kit.u(3)), blogstore.follow_user(kit.u(1), kit.u(5)), blogstore.follow_user(kit.u(2), kit.u(1)), blogstore.follow_user(kit.u(1), kit.u(3));
SELECT site.report_item(kit.p(2), NULL, kit.u(5), 'by Eve'), site.report_item(kit.p(1002), NULL, kit.u(1), 'on a post of hers'), site.report_item(kit.p(2), kit.c(21), kit.u(1), 'on a comment of hers'),
	site.spend(kit.u(5), 'post', 5, '10 minutes');
});
is(recipe(@$_), '', lc $_->[0]) foreach [q{Export of a person's data}], ['Erasure'], [ 'Erasure', 2 ], ['Leaving while posts stay'];
is(app(q{SELECT d ->> 'type', count(*) FROM site.export_person(kit.u(5)) AS d GROUP BY 1 ORDER BY 1}), "comment|1\nfollow|3\nlike|3\npost|251\nreport|1\nuser|1", 'all that is hers is exported');
is(app(q{SELECT count(*) FROM site.export_person(kit.u(5)) AS d WHERE d ->> 'type' IN ('comment', 'post') AND d @> '{"hidden": true}'}), '2', 'the export has hidden items, too');
is(app(q{SELECT d - 'creationDate' - 'modificationDate' FROM site.export_person(kit.u(5)) AS d WHERE d ->> 'type' = 'user'}),
	'{"id": "00000000-0000-7000-8000-000000000005", "site": "https://eve.example.org", "type": "user", "userId": "00000000-0000-7000-8000-000000000005", "username": "Eve"}', 'with what the site keeps of her');
is(app('SELECT count(*) FROM site.export_person(kit.u(99))'), '0', 'the export of an unknown user is empty');
isnt(app('SELECT count(*) FROM site.traces(kit.u(5)::text)'), '0', 'she has left traces');

# While the worker has not deleted the rest, none of her items is found.
my $worker = stop_worker($node, 'postgres');
is(app('SELECT site.erase_person(kit.u(5))'), 't', 'she is erased');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM blogstore.posts WHERE type = 'post' AND user_id = kit.u(5)}), '>', 0, 'some of her posts are in the table yet');
is(join('', map { titles($_) } q{site.search_posts('zebra')}, q{site.tagged_posts('zebra')}, q{site.tag_page('zebra')}, 'site.held_posts()'), '', 'but none is found');
is(app(q{SELECT count(*) FROM site.top_posts() WHERE title ~ 'Bulk'}) . titles(q{site.related_posts(kit.p(3))}), '0Cats, Plain', 'her posts are not in other lists either');
kill 'CONT', $worker;
$node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')});
wait_until($node, 'postgres', 'SELECT count(*) = 0 FROM blogstore.progress');
is(app('SELECT * FROM site.traces(kit.u(5)::text)'), '', 'nothing in any table has her id');
is(app(q{SELECT place::text ~ '_comment$', n FROM site.traces('eve')}), 't|1', 'her name is in the text of another alone');
is(app('SELECT site.erase_person(kit.u(5))'), 'f', 'a second call finds no user');
is(titles(q{site.related_posts(kit.p(3))}), 'Cats, Plain', 'others are found as before');

my $neutral = app('SELECT site.leave(kit.u(1))');
like($neutral, qr/^former user [0-9a-f]{12}$/, 'Ann leaves, under a neutral name');
$node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')});
is(app(q{SELECT * FROM site.traces('ann')}), '', 'nothing has her name');
is(app(q{SELECT username, properties FROM blogstore.get_user(kit.u(1))}), "$neutral|", 'the user has no properties');
is(app(q{SELECT string_agg(DISTINCT user_username, '') FROM (SELECT user_username FROM blogstore.list_user_posts(kit.u(1)) UNION ALL SELECT user_username FROM blogstore.list_user_comments(kit.u(1))) AS i}), $neutral, 'her posts and comments stay');
is(app('SELECT count(*) FROM blogstore.list_user_likes(kit.u(1))'), '0', 'her likes are gone');
is(app('SELECT count(*) FROM (SELECT FROM blogstore.list_following(kit.u(1)) UNION ALL SELECT FROM blogstore.list_followers(kit.u(1))) AS f'), '0', 'she follows nobody, and nobody follows her');
is(app(q{SELECT username FROM blogstore.create_user('Ann', kit.u(6))}), 'Ann', 'her old name is free');

# ---- Concurrent edits: the second session waits for the first

is(recipe($_), '', lc) foreach 'Merging properties', 'A check against lost edits';

sub edit_both
{
	my ($first, $second) = @_;
	my $psql = hold($node, 'postgres', $first);
	my $client = start_client($node, 'postgres', "\\set VERBOSITY sqlstate\n$second;\n", 'second');

	wait_until($node, 'postgres', q{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE application_name = 'second'});
	is(refused('SELECT blogstore.create_like(kit.p(2), kit.u(2)), blogstore.create_comment(kit.p(2), kit.u(2), $$Now.$$)'), 'none', 'likes and comments do not wait');
	release($psql);
	my ($rows, $err) = finish_client($client);
	return join "\n", @$rows, $err =~ /ERROR:  (\w+)/ ? $1 : ();
}

my $merge = sub { return "SELECT properties FROM site.merge_properties(kit.p(2), '$_[0]')" };
is(edit_both($merge->('{"a": 1, "b": {"c": 2}}'), $merge->('{"d": 3, "tags": null}')), '{"a": 1, "b": {"c": 2}, "d": 3}', 'two merges at once: no key is lost');
is(edit_both($merge->('{"e": 4}'), q{SELECT properties FROM blogstore.edit_post(kit.p(2), properties => '{"f": 5}')}), '{"f": 5}', 'edit_post() waits as well');
is(app($merge->('{"g": null}')), '{"f": 5}', 'to remove what is not there does nothing');
is(refused('SELECT site.merge_properties(kit.p(99), $${"a": 1}$$)'), '23503', 'a post has to be there');

my $edit = sub { return "SELECT content FROM site.edit_seen_post(kit.p(7), $_[0], NULL, '$_[1]')" };
my $seen = sub { return app(q{SELECT coalesce(quote_literal(modification_date::text), 'NULL') FROM blogstore.get_post(kit.p(7))}) };
is($seen->(), 'NULL', 'a post was never edited');
is(edit_both($edit->('NULL', 'first'), $edit->('NULL', 'second')), 'U0409', 'two edits at once: the second is refused');
is(app('SELECT content FROM blogstore.get_post(kit.p(7))'), 'first', 'and the first is there');
my $stale = $seen->();
is(app($edit->($stale, 'third')), 'third', 'whoever has seen the last edit may edit');
is(refused($edit->($stale, 'fourth')), 'U0409', 'whoever has seen an older one may not');
is(refused($edit->('NULL', 'fifth')), 'U0409', 'nor without one');
is(refused('SELECT site.edit_seen_post(kit.p(99), NULL, NULL, $$sixth$$)'), '23503', 'a post has to be there');

# ---- An index on a view, which is not allowed

$node->safe_psql('postgres', 'CREATE INDEX on_feed ON blogstore.feed (user_id)');
is(refused('SELECT blogstore.hide_post(kit.p(7))'), '55000', 'an index on the feed is refused');
$node->safe_psql('postgres', 'DROP INDEX blogstore.on_feed');
is(refused('SELECT blogstore.hide_post(kit.p(7))'), 'none', 'without the index the request works');
wait_until($node, 'postgres', q{SELECT state = 'running' FROM blogstore.stat_worker});

is_deeply([ blocks_not_run() ], [], 'all blocks of the document were run');
is($node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')}), 't', 'the views follow');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');
$node->stop;
done_testing();
