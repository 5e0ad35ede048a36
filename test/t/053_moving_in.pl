# The commands of docs/MOVING_IN.md. Small sites move in from WordPress's dump,
# Ghost's export, Discourse's tables, documents of Cosmos DB and tables of
# another site. They catch up with changes, keep their addresses, and move out
# again.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreMoving;
use BlogstoreTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $data = "$FindBin::RealBin/../moving";
my $directory = PostgreSQL::Test::Utils::tempdir('moving');
my $node = new_server('moving_in');
$node->append_conf('postgresql.conf', block('conf', 'Roles and settings'));
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION blogstore;
CREATE ROLE blog;
SELECT blogstore.create_containers(4, owner => 'blog'), blogstore.grant_requests('blog');
GRANT CREATE ON SCHEMA blogstore TO blog;
GRANT EXECUTE ON FUNCTION blogstore.key_id, blogstore.import, blogstore.import_documents, blogstore.export_documents,
	blogstore.verify, blogstore.wait_for_views TO blog;
GRANT CREATE, TEMPORARY ON DATABASE postgres TO blog;
});

sub sql
{
	return $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $_[0]");
}

# Run a block of the page as the containers' owner, a role that is no superuser
# and cannot log in.
sub page
{
	local $ENV{PGOPTIONS} = '-c role=blog';
	return run_block($node, 'postgres', $directory, @_);
}

# The topics, and the titles of the posts of some of them
sub topics
{
	my (@topics) = @_;

	return sql(join ';', q{SELECT blogstore.wait_for_views('10 min')}, q{SELECT string_agg(topic || ' ' || post_count, ', ') FROM blogstore.list_topics()},
		map { "SELECT string_agg(title, ', ') FROM blogstore.list_topic_posts('$_')" } @topics) =~ s/^t\n//r;
}

sub bring_sql
{
	my ($file) = @_;

	local $ENV{PGOPTIONS} = '-c role=blog';
	sql(slurp_file("$data/$file"));
	return;
}

sub bring
{
	my ($file, $name) = @_;

	copy("$data/$file", "$directory/$name") or die "$file: $!";
	return;
}

# Check that SQL fails because a key exists, or with another SQLSTATE.
sub refused
{
	my ($sql, $name, $sqlstate) = @_;
	my $err;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", stderr => \$err);
	$sqlstate //= '23505';
	like($err, qr/ERROR:  $sqlstate$/, $name);
	return;
}

# ---- From WordPress: the dump that 054_wordpress.pl has compared with a real
# one

is(page('Files'), '', 'functions for files');
is(page('Tables to load it into'), '', 'tables of WordPress');
bring('wordpress.jsonl', 'wordpress.jsonl');
is(page('From a dump'), '', 'a dump is loaded');
is(page('What import() reads'), '', 'views on it');
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'WordPress moves in, and nothing is rejected');
user|6|6|0|0|0|{}
post|9|9|0|0|0|{}
comment|9|9|0|0|0|{}
like|0|0|0|0|0|
END
is(moved_items($node, 'postgres', 'wordpress', 'wp:'), <<'END' =~ s/\n\z//r, 'users, posts and comments of WordPress');
0|Guest|now|
1|Ann Öberg|2018-01-02 03:04|{"url": "https://ann.example.org", "slug": "ann"}
2|Bob (bob)|2018-02-02 00:00|{"slug": "bob"}
3|bob (bob-2)|2018-03-02 00:00|{"slug": "bob-2"}
4|nameless|2018-04-02 00:00|{"slug": "nameless"}
5|日本 & 😀|now|{"slug": "%e6%97%a5%e6%9c%ac"}
10|1|Hello & welcome 😀|"<!-- wp:paragraph -->\n<p class=\"lead\">Li"|4|2024-05-06 10:00||2024-05-07 08:00|{"slug": "hello", "tags": ["Käse 🧀", "first"], "excerpt": "In short.", "categories": ["Letters & more"]}
11|2|Brought along from elsewhere|"No blocks.\n\nJust lines."|2|2019-07-01 12:00|||{"slug": "brought-along", "categories": ["Uncategorized"]}
12|1|A draft|"Not yet."|0|now|hidden||{"status": "draft"}
13|2|To be looked at|"By Ann."|0|now|hidden||{"slug": "hello", "status": "pending"}
14|1|For ourselves|"Private."|1|2024-06-03 08:00|hidden||{"slug": "for-ourselves", "status": "private"}
15|1|In twenty years|"Scheduled."|0|now|hidden||{"slug": "later"}
16|3|Behind a password|"Secret."|0|2024-01-15 23:00|hidden||{"slug": "behind", "status": "protected"}
23|0|(no title)|""|0|2020-01-01 00:00|||{"slug": "untitled"}
24|5|日本|"A single word."|1|2021-02-03 04:05|||{"slug": "%e6%97%a5%e6%9c%ac-2"}
100|10|0|"First!\r\n\r\n😀 <b>bold</b>"|2024-05-06 11:00||||{"url": "https://tom.example.org", "author": "Tom & Jerry"}
101|10|1|"Thanks."|2024-05-06 12:00|100|||
102|10|0|"May I?"|2024-05-06 13:00|101|hidden||{"author": "Zoë"}
105|10|2|"I bought it."|2024-05-06 13:30||||
107|10|3|"Of an old version."|2024-05-06 13:50||||
109|11|0|"I was here."|2019-07-02 12:00||||{"author": "Gone"}
110|11|2|"In reply to another post."|2019-07-03 12:00||||
111|14|1|"Only for us."|2024-06-03 08:30||||
112|24|0|"Nobody."|2021-02-04 04:00||||
END
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'the same once more changes nothing');
user|6|0|6|0|0|{}
post|9|0|9|0|0|{}
comment|9|0|9|0|0|{}
like|0|0|0|0|0|
END
is(page('What has gone'), '', 'nothing has gone');
is(page('Checks'), 't', 'and nothing is missing');
is(topics('Käse 🧀', 'FIRST'), "first 1, käse 🧀 1\nHello & welcome 😀\nHello & welcome 😀", 'its tags are topics');
is(sql('SELECT string_agg(title, $$, $$) FROM blogstore.list_feed()'),
	'Hello & welcome 😀, 日本, (no title), Brought along from elsewhere', 'the feed has what is published');
is(sql(q{SELECT properties FROM blogstore.list_feed(1)}), '{"slug": "hello", "tags": ["Käse 🧀", "first"]}', 'with the properties that are set');
is(sql(q{SELECT content !~ $$[<>]$$, content <> $$$$ FROM blogstore.list_feed(1)}), q{t|t}, q{and the text without its tags});
is(sql(q{SELECT count(*) FROM blogstore.export_documents() d WHERE d::text ~ 'secret|192\.0\.2|@example'}), '0',
	'no password hash, address of e-mail or of the network came along');

# ---- Slugs

is(page('Slugs and old addresses'), <<'END' =~ s/\n\z//r, 'a post whose slug is its id');
5759cfb8-6c51-8b34-8795-0f50d28514ca|{"slug": "about-slugs"}
About slugs
END
my $about = block('sql', 'Slugs and old addresses');
is(sql(q{SELECT count(*) FROM blogstore.get_post(blogstore.key_id('post', 'about-slugs'))}), '0', 'the example is rolled back');
$about =~ s/^(?:BEGIN|ROLLBACK);//mg;
refused($about . ($about =~ s/They are/Another/r), 'a second one is none');
is(page('Slugs and old addresses', 2), '', 'a table of slugs');
is(page('Addresses of WordPress and Ghost'), '', 'with those of WordPress');
is(page('Slugs and old addresses', 3), 'Hello & welcome 😀|hello|f|f', 'finds a post by its slug, not the draft of that slug');
my $hello = "blogstore.key_id('post', 'wp:10')";
is(sql("SELECT (site.change_slug($hello, 'hi')).properties ->> 'slug'"), 'hi', 'a post gets another slug');
is(page('Slugs and old addresses', 3), 'Hello & welcome 😀|hi|t|f', 'and is found by the old one');
refused("SELECT site.change_slug($hello, 'behind')", 'a slug that is taken is none');
is(sql("SELECT (site.change_slug($hello, 'hello')).properties ->> 'slug'"), 'hello', 'a post can have its old slug again');
is(page('Slugs and old addresses', 3), 'Hello & welcome 😀|hello|f|f', 'which is the present one then');
is(sql("SELECT (site.change_slug($hello, 'hi')).properties ->> 'slug'"), 'hi', 'and the other one again');
refused("SELECT site.change_slug(blogstore.key_id('post', 'none'), 'none')", 'a post that is not there has no slug', '23503');
is(sql("SELECT count(*) FROM site.slug WHERE slug = 'none'"), '0', 'in the table neither');

# ---- Changes in WordPress after the import

bring('wordpress_changed.jsonl', 'wordpress.jsonl');
page('From a dump');
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'the store catches up');
user|7|1|4|0|2|{}
post|9|1|2|0|6|{}
comment|8|2|4|0|2|{}
like|0|0|0|0|0|
END
is(page('What has gone'), "11|Brought along from elsewhere\n100|First!\r\n\r\n😀 <b>bold</b>", 'what has gone is hidden');
is(page('Checks'), 't', 'nothing is missing');
is(moved_items($node, 'postgres', 'wordpress', 'wp:'), <<'END' =~ s/\n\z//r, 'users, posts and comments as they are now');
0|Guest|now|
1|Ann Öberg|2018-01-02 03:04|{"url": "https://ann.example.org", "slug": "ann"}
2|Robert|2018-02-02 00:00|{"slug": "bob"}
3|bob|2018-03-02 00:00|{"slug": "bob-2"}
4|nameless|2018-04-02 00:00|{"slug": "nameless"}
5|日本 & 😀|now|{"slug": "%e6%97%a5%e6%9c%ac"}
6|Eve|2024-07-01 00:00|{"slug": "eve"}
10|1|Hello again|"<p>Hello again.</p>"|4|2024-05-06 10:00||2024-07-02 08:00|{"slug": "hello-again", "tags": ["Käse 🧀"], "excerpt": "In short.", "categories": ["Letters & more"]}
12|1|A draft|"Not yet."|0|2024-07-03 08:00||now|{"slug": "a-draft"}
13|2|To be looked at|"By Ann."|0|now|hidden||{"slug": "hello", "status": "pending"}
14|1|For ourselves|"Private."|1|2024-06-03 08:00||now|{"slug": "for-ourselves"}
15|1|In twenty years|"Scheduled."|0|now|hidden||{"slug": "later"}
16|3|Behind a password|"Secret."|0|2024-01-15 23:00||now|{"slug": "behind"}
23|0|(no title)|""|0|2020-01-01 00:00|||{"slug": "untitled"}
24|5|日本|"A single word."|1|2021-02-03 04:05|hidden|now|{"slug": "%e6%97%a5%e6%9c%ac-2", "status": "draft"}
30|6|New|"By Eve."|2|2024-07-04 08:00|||{"slug": "new"}
101|10|1|"Thanks."|2024-05-06 12:00|gone|||
102|10|0|"May I?"|2024-05-06 13:00|101|||{"author": "Zoë"}
105|10|2|"I bought it."|2024-05-06 13:30||||
107|10|3|"Of an old version; mended."|2024-05-06 13:50|||now|
111|14|1|"Only for us."|2024-06-03 08:30||||
112|24|0|"Nobody."|2021-02-04 04:00||||
120|30|1|"Welcome, Eve."|2024-07-04 09:00||||
121|30|6|"Thank you."|2024-07-04 10:00|120|||
END
is(page('What has gone'), '', 'nothing else has gone');
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'the same once more changes nothing');
user|7|0|7|0|0|{}
post|9|0|9|0|0|{}
comment|8|0|8|0|0|{}
like|0|0|0|0|0|
END
is(page('Addresses of WordPress and Ghost'), '', 'its slugs once more');
is(page('Slugs and old addresses', 3), 'Hello again|hello-again|t|f', 'old addresses lead to new ones');
is(page('Posts by their properties'), '', 'indexes of the site');
is(sql(q{SELECT DISTINCT regexp_replace(tablename, '_p\d+', '') FROM pg_indexes WHERE indexdef ~ $$'(tags|slug)'$$ AND schemaname = 'blogstore' ORDER BY 1}),
	"posts_post\nusers_user", 'on the leaves of posts and users alone');
is(page('Posts by their properties', 2), "5cec6e40-e829-86c5-82e6-76482e50fea0|Ann Öberg", 'find users by their slugs');

# ---- Changes that an import does not take over, and how to take them over

sql(q{UPDATE wordpress.wp_posts SET post_author = 2, post_title = 'Given away' WHERE id = 30;
UPDATE wordpress.wp_posts SET post_date_gmt = '2024-05-05 10:00:00' WHERE id = 10});
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'another author, another date');
user|7|0|7|0|0|{}
post|9|0|7|2|0|{}
comment|8|0|8|0|0|{}
like|0|0|0|0|0|
post|id taken by another author|1
post|id taken with another creation_date|1
END
sql("SELECT blogstore.hide_post($hello), blogstore.delete_post(blogstore.key_id('post', 'wp:30'))");
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'are taken over once the posts are hidden, or deleted');
user|7|0|7|0|0|{}
post|9|1|7|0|1|{}
comment|8|2|6|0|0|{}
like|0|0|0|0|0|
END
is(sql(q{SELECT p.title, p.user_username, p.comment_count, p.creation_date FROM blogstore.get_posts(ARRAY[blogstore.key_id('post', 'wp:30'), blogstore.key_id('post', 'wp:10')]) p}),
	"Given away|Robert|2|2024-07-04 08:00:00+00\nHello again|Ann Öberg|4|2024-05-05 10:00:00+00", 'with author, comments, date');

# ---- Scheduled posts

is(page('What was scheduled'), 'bf61ebad-91ff-87a9-ab6b-bdb105edd023|In twenty years|2054-01-01 00:00:00+00', 'it is scheduled in the store');
sql(q{UPDATE wordpress.wp_posts SET post_date_gmt = '2024-09-01 10:00:00' WHERE id = 15});
page('The import from WordPress');
is(page('What was scheduled'), '', 'what is due is published');
is(sql(q{SELECT title, creation_date, hidden, publish_date, properties FROM blogstore.get_post(blogstore.key_id('post', 'wp:15'))}),
	'In twenty years|2024-09-01 10:00:00+00|f||{"slug": "later"}', 'with its date');

# ---- From Ghost

is(page('Tables of the export'), '', 'a table for a Ghost export');
bring('ghost.json', 'ghost.json');
run_shell($directory, block('sh', 'Tables of the export'));
is(page('Tables of the export', 2), <<'END' =~ s/\n\z//r, 'an export is loaded');
comment_likes|6|0
comments|5|0
members|3|0
posts|7|0
posts_authors|7|0
posts_tags|3|0
tags|3|0
users|3|0
END
is(sql(q{SELECT count(*) FROM ghost.item WHERE item::text ~ 'secret'}), '0', 'without password hashes');
is(page('What import() reads of Ghost'), '', 'views on it');
is(page('The import from Ghost'), <<'END' =~ s/\n\z//r, 'Ghost moves in, and nothing is rejected');
user|6|6|0|0|0|{}
post|6|6|0|0|0|{}
comment|4|4|0|0|0|{}
like|0|0|0|0|0|{}
comment_like|3|3|0|0|0|
END
is( sql(q{SELECT c.comment_id, l.user_username, l.creation_date FROM ghost.comments c,
	blogstore.list_comment_likes(blogstore.key_id('post', 'ghost:' || c.post_id), blogstore.key_id('comment', 'ghost:' || c.comment_id)) l ORDER BY 1, 3}), <<'END' =~ s/\n\z//r, 'likes of its comments');
640000000000000000000001|Gwen Größe|2023-01-03 10:30:00+00
640000000000000000000001|Mia 🐈|2023-01-03 10:31:00+00
640000000000000000000003|Mia 🐈|2023-01-03 13:30:00+00
END
is(moved_items($node, 'postgres', 'ghost', 'ghost:'), <<'END' =~ s/\n\z//r, 'users, posts and comments of Ghost');
5f0000000000000000000001|Gwen Größe|2021-01-01 10:00|{"bio": "Writes. 😀", "slug": "gwen", "image": "/content/images/gwen.jpg"}
5f0000000000000000000002|Hugo (hugo)|2021-01-02 10:00|{"url": "https://hugo.example.org", "slug": "hugo"}
5f0000000000000000000003|hugo (hugo-2)|2021-01-02 10:00|{"slug": "hugo-2"}
6a0000000000000000000002|Mia 🐈|2022-01-02 10:00|
6a0000000000000000000003|Anonymous (00000003)|2022-01-03 10:00|
nobody|Anonymous (nobody)|now|
600000000000000000000001|5f0000000000000000000001|Öffentlich & "quoted"|"<p>Line one\nback\\slash &amp; <a href=\"/o"|3|2023-01-02 10:00||2023-01-05 10:00|{"slug": "oeffentlich", "tags": ["Zebra", "Äpfel 🍎"], "image": "/content/images/2023/01/a.png", "authors": ["gwen", "hugo"], "excerpt": "Short.", "featured": true}
600000000000000000000002|5f0000000000000000000002|Draft|""|0|now|hidden||{"slug": "draft", "status": "draft"}
600000000000000000000003|5f0000000000000000000003|Scheduled|"<p>Soon.</p>"|0|now|hidden||{"slug": "scheduled"}
600000000000000000000004|5f0000000000000000000001|For members|"<p>Paid.</p>"|0|2023-02-03 10:00|hidden||{"slug": "for-members", "visibility": "paid"}
600000000000000000000005|5f0000000000000000000001|By e-mail only|"<p>Mail.</p>"|0|2023-02-04 10:00|hidden||{"slug": "by-e-mail-only", "status": "sent"}
600000000000000000000007|nobody|Of SQLite|"<p>Old.</p>"|0|2014-05-13 16:53|||{"slug": "of-sqlite"}
640000000000000000000001|600000000000000000000001|6a0000000000000000000002|"<p>Nice. 😀</p>"|2023-01-03 10:00|||2023-01-03 11:00|
640000000000000000000002|600000000000000000000001|5f0000000000000000000001|"<p>Thanks.</p>"|2023-01-03 12:00|640000000000000000000001|||
640000000000000000000003|600000000000000000000001|6a0000000000000000000003|"<p>Rude.</p>"|2023-01-03 13:00|640000000000000000000002|hidden||
640000000000000000000005|600000000000000000000001|nobody|"<p>I am gone.</p>"|2023-01-03 15:00||||
END
is(topics('zebra', 'Äpfel 🍎'), "käse 🧀 1, zebra 1, äpfel 🍎 1\n" . join("\n", ('Öffentlich & "quoted"') x 2), 'its tags are topics');
is(sql(q{SELECT p.title, p.hidden, p.publish_date, q.publish_date FROM blogstore.publish_queue AS q, blogstore.get_post(q.post_id) AS p WHERE p.hidden}),
	'Scheduled|t|2053-01-01 00:00:00+00|2053-01-01 00:00:00+00', 'its scheduled post will be published at its date');
is(page('Addresses of WordPress and Ghost', 2), '', 'its slugs');
is(sql(q{SELECT title FROM site.slug s, blogstore.get_post(s.post_id) WHERE slug = 'oeffentlich'}), 'Öffentlich & "quoted"', 'find its posts');

# ---- From Discourse, and from tables of another site

$node->safe_psql('postgres', 'CREATE DATABASE discourse');
$node->safe_psql('discourse', slurp_file("$data/discourse.sql"));
is(page('Tables of Discourse'), '', 'tables for Discourse');
run_shell($directory, block('sh', 'Tables of Discourse'), PGHOST => $node->host, PGPORT => $node->port);
is(page('Tables of Discourse', 2), '', 'its files are loaded');
is(page('What import() reads of Discourse'), '', 'views on them');
is(page('The import from Discourse'), <<'END' =~ s/\n\z//r, 'Discourse moves in');
user|3|3|0|0|0|{}
post|8|7|0|1|0|{}
comment|7|6|0|1|0|{}
like|1|1|0|0|0|{}
comment_like|4|4|0|0|0|
comment|unknown post|1
post|the topic has no first post|1
END

is(sql(q{SELECT p.title, p.user_username, p.like_count, p.creation_date, p.hidden, p.properties FROM discourse.topics t,
	blogstore.get_post(blogstore.key_id('post', 'discourse:' || t.id)) p ORDER BY t.id}), <<'END' =~ s/\n\z//r, 'topics are posts, with slugs and tags');
Which cheese?|dora|1|2020-02-01 10:00:00+00|f|{"slug": "which-cheese", "tags": ["food", "milk"]}
Unlisted|emil|0|2020-02-02 10:00:00+00|t|{"slug": "unlisted"}
Among staff|dora|0|2020-02-05 10:00:00+00|t|{"slug": "among-staff"}
Of a category that is gone|dora|0|2020-02-05 11:00:00+00|t|{"slug": "of-no-category"}
Flagged at once|emil|0|2020-02-05 12:00:00+00|t|{"slug": "flagged"}
Taken back|emil|0|2020-02-05 13:00:00+00|t|{"slug": "taken-back"}
Read this|system|0|2020-02-05 15:00:00+00|f|{"slug": "read-this"}
END
is(topics('food', 'milk'), "food 1, käse 🧀 1, milk 1, zebra 1, äpfel 🍎 1\nWhich cheese?\nWhich cheese?", 'and their tags are topics');
is(sql(q{SELECT p.id, c.user_username, c.content, c.hidden, parent.id, c.like_count FROM discourse.posts p
	CROSS JOIN LATERAL blogstore.list_post_comments(blogstore.key_id('post', 'discourse:' || p.topic_id), NULL, include_hidden => true) c
	LEFT JOIN discourse.posts parent ON c.parent_id = blogstore.key_id('comment', 'discourse:' || parent.id)
	WHERE c.id = blogstore.key_id('comment', 'discourse:' || p.id) ORDER BY p.id}), <<'END' =~ s/\n\z//r, 'their posts are comments');
71|emil|<p>Gouda.</p>|f||1
72|dora|<p>Why?</p>|f|71|2
73|emil|<p>Flagged.</p>|t||1
76|system|<p>Nobody.</p>|f||0
111|dora|<p>More keys.</p>|f||0
131|dora|<p>Looked at.</p>|f||0
END
is(page('The import from Discourse'), <<'END' =~ s/\n\z//r, 'the same once more changes nothing');
user|3|0|3|0|0|{}
post|8|0|7|1|0|{}
comment|7|0|6|1|0|{}
like|1|0|1|0|0|{}
comment_like|4|0|4|0|0|
comment|unknown post|1
post|the topic has no first post|1
END
bring_sql('own.sql');
is(page('From tables of your own'), <<'END' =~ s/\n\z//r, 'a site of its own moves in');
user|2|2|0|0|0|{}
post|2|2|0|0|0|{}
comment|2|2|0|0|0|{}
like|1|1|0|0|0|{}
comment_like|1|1|0|0|0|
follow|1|1|0|0|0|{}
END


is(sql(q{SELECT p.title, p.user_username, p.comment_count, p.like_count, p.hidden, p.properties FROM old.article a, blogstore.get_post(a.id) p ORDER BY a.id}), <<'END' =~ s/\n\z//r, 'its ids stay as they are');
One|Olga|2|1|f|{"slug": "one", "topics": ["a", "b"]}
Two|Olga|0|0|t|
END
is(sql(q{SELECT content, parent_id = blogstore.key_id('comment', 'old:1'), like_count FROM blogstore.list_post_comments('b0000000-0000-4000-8000-000000000001')}), <<'END' =~ s/\n\z//r, 'beside comments of numbers');
Thanks.|t|0
Good.||1
END
is(sql(q{SELECT user_username, followed_username, creation_date FROM blogstore.list_followers('a0000000-0000-4000-8000-000000000001')}), 'Paul|Olga|2016-01-05 00:00:00+00', 'and who follows whom');

# ---- From Azure Cosmos DB: the document's example, then other documents

my $files = 'Files of Cosmos DB';
$node->safe_psql('postgres', 'CREATE DATABASE cosmos');
create_store($node, 'cosmos');

# Run a block of the document in the database for Cosmos DB's documents.
sub cosmos
{
	return run_block($node, 'cosmos', $directory, @_);
}

# Load documents from two files in the form that the export tool writes.
sub cosmos_has
{
	my ($users, $posts) = @_;

	unlink "$directory/users.json", "$directory/posts.json";
	append_to_file("$directory/users.json", $users);
	append_to_file("$directory/posts.json", $posts);
	run_shell($directory, block('sh', $files));
	cosmos($files, 2);
	return;
}

is(sql("SELECT o #>> '{SourceSettings,Container}', o #>> '{SinkSettings,FilePath}' FROM (SELECT jsonb_path_query(\$json\$" . block('json', $files) . "\$json\$, '\$.Operations[*]') AS o) AS operations"),
	"users|users.json\nposts|posts.json", 'settings of the tool');
cosmos('Files');
is(cosmos($files), '', 'tables for Cosmos DB');
my ($users, $posts) = map { block('json', $files, $_) } 2, 3;
cosmos_has($users, $posts);
is(cosmos('The import from Cosmos DB'), <<'END' =~ s/\n\z//r, 'Cosmos DB moves in');
user|2|2|0|0
post|1|1|0|0
comment|1|1|0|0
like|1|1|0|0
END
is( $node->safe_psql(
		'cosmos', q{
SELECT * FROM blogstore.wait_for_views();
SELECT document FROM blogstore.export_documents() AS e RIGHT JOIN (SELECT document::jsonb FROM cosmos.document) AS d ON e ->> 'id' = document ->> 'id'
WHERE e - 'creationDate' - CASE e ->> 'type' WHEN 'comment' THEN '{likeCount,replyCount}'::text[] ELSE '{}' END IS DISTINCT FROM document - 'creationDate' OR (e ->> 'creationDate')::timestamptz <> (document ->> 'creationDate')::timestamptz}),
	't', 'and is exported with all that the documents had');

my ($ada, $post) = map { "c0000000-0000-4000-8000-0000000000$_" } '01', '11';
my $later = $posts =~ s/My first post\./Edited./r =~ s/\]\n\z//r . <<"END";
,{"id":"c0000000-0000-4000-8000-000000000032","type":"like","postId":"$post","userId":"$ada","dateCreated":"2024-05-02T12:00:00Z"},
{"id":"c0000000-0000-4000-8000-000000000033","type":"like","postId":"$post","userId":"$ada","dateCreated":"2024-05-03T12:00:00Z"},
{"id":"c0000000-0000-4000-8000-000000000034","type":"comment_like","postId":"$post","commentId":"c0000000-0000-4000-8000-000000000021","userId":"$ada","creationDate":"2024-05-03T13:00:00Z"},
{"id":"c0000000-0000-4000-8000-000000000036","type":"comment_like","postId":"$post","userId":"$ada","creationDate":"2024-05-03T13:00:00Z"},
{"id":"c0000000-0000-4000-8000-000000000035","type":"like","postId":"$post","commentId":"c0000000-0000-4000-8000-000000000022","userId":"$ada","creationDate":"2024-05-03T13:00:00Z"},
{"id":"c0000000-0000-4000-8000-000000000022","type":"comment","postId":"$post","userId":"c0000000-0000-4000-8000-000000000003","content":"Caf\\u00e9?","dateCreated":"2024-05-02T13:00:00Z","mood":"good"},
{"id":"c0000000-0000-4000-8000-000000000023","type":"comment","postId":"$post","userId":"$ada","content":"nul \\u0000","creationDate":"2024-05-02T14:00:00Z"},
{"id":"hello-2","type":"post","postId":"hello-2","userId":"$ada","title":"Of a slug","content":"Text","creationDate":"2024-05-02T15:00:00Z"},
{"id":"cy","type":"unique_username","userId":"unique_username"}]
END
cosmos_has($users =~ s/\]\n\z/,{"id":"c0000000-0000-4000-8000-000000000003","username":"cy"}]\n/r, $later);
is(cosmos('The import from Cosmos DB'), <<'END' =~ s/\n\z//r, 'what is new comes in, and what was edited is rejected');
user|3|1|2|0
post|2|0|0|2
comment|3|1|1|1
like|3|1|1|1
comment_like|3|2|0|1
|1|0|0|1
comment|the document has \u0000 or half of a surrogate pair|1
comment_like|comment_id must not be null|1
like|liked already|1
post|id is no uuid|1
post|id taken|1
|unknown type|1
END
is($node->safe_psql('cosmos', q{SET TimeZone = 'UTC'; SELECT user_username, content, creation_date, properties FROM blogstore.list_post_comments('c0000000-0000-4000-8000-000000000011', 1)}),
	'cy|Café?|2024-05-02 13:00:00+00|{"mood": "good"}', 'with a user without a type, and a date of another name');

# With views that cast ids, UUIDs stay, and a text that is no UUID fails the
# import.
$node->safe_psql('cosmos', block('sql', 'Other ids, and edits') =~ s/item ->> ('(?:id|postId|commentId|userId)') AS/(item ->> $1)::uuid AS/gr);
like((eval { cosmos('Other ids, and edits', 2) } // $@), qr/invalid input syntax for type uuid: "hello-2"/, 'views that cast ids: another id fails the import');
$node->safe_psql('cosmos', q{DELETE FROM cosmos.document WHERE document ~ 'hello-2'});
is(cosmos('Other ids, and edits', 2), <<'END' =~ s/\n\z//r, 'without it the store takes over edits');
user|3|0|3|0|0|{}
post|1|0|0|0|1|{}
comment|3|0|2|1|0|{}
like|4|0|2|2|0|{}
comment_like|2|0|2|0|0|
comment|has \u0000 or half of a surrogate pair|1
like|comment_id must not be null|1
like|liked already|1
|unknown type|1
END
is($node->safe_psql('cosmos', q{SELECT content, comment_count, like_count, properties FROM blogstore.get_post('c0000000-0000-4000-8000-000000000011')}), 'Edited.|2|2|{"tags": ["first"]}', 'and has them');

$node->safe_psql('postgres', 'CREATE DATABASE cosmos_keys');
create_store($node, 'cosmos_keys');
foreach my $block ([ 'Files', 1 ], [ $files, 1 ], [ $files, 2 ], [ 'Other ids, and edits', 1 ])
{
	run_block($node, 'cosmos_keys', $directory, @$block);
}
is(run_block($node, 'cosmos_keys', $directory, 'Other ids, and edits', 2), <<'END' =~ s/\n\z//r, 'ids of any kind');
user|3|3|0|0|0|{}
post|2|2|0|0|0|{}
comment|3|2|0|1|0|{}
like|4|2|0|2|0|{}
comment_like|2|2|0|0|0|
comment|has \u0000 or half of a surrogate pair|1
like|comment_id must not be null|1
like|liked already|1
|unknown type|1
END
is( $node->safe_psql(
		'cosmos_keys', q{SELECT p.title, p.user_username, p.comment_count, p.like_count, p.properties
FROM cosmos.posts AS s, LATERAL blogstore.get_post(blogstore.key_id('post', 'cosmos:' || s.post_id)) AS p ORDER BY p.creation_date}),
	qq{Hello|ada|2|2|{"tags": ["first"]}\nOf a slug|ada|0|0|}, 'become ids by key_id()');

# ---- Moving out

is(page('Passwords'), '', 'accounts');
run_shell($directory, block('sh', 'Moving out'), PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres');
is(page('Moving out'), '', 'moving out into tables');
is( sql('SELECT (SELECT count(*) FROM out.users), count(*), sum("commentCount"), (SELECT count(*) FROM out.comments WHERE hidden IS NOT TRUE), sum("likeCount"), (SELECT count(*) FROM out.likes WHERE "commentId" IS NULL), (SELECT sum("likeCount") FROM out.comments), (SELECT count("commentId") FROM out.likes) FROM out.posts'),
	'18|26|20|20|2|2|8|8', 'the tables have all items');
$node->safe_psql('postgres', 'CREATE DATABASE other');
create_store($node, 'other');
run_block($node, 'other', $directory, 'Files');
is(run_block($node, 'other', $directory, 'Moving out', 2), <<'END' =~ s/\n\z//r, 'and into another store');
user|18|18|0|0
post|26|26|0|0
comment|23|23|0|0
like|2|2|0|0
comment_like|8|8|0|0
follow|1|1|0|0
END
my $documents = 'SELECT d FROM blogstore.export_documents() d ORDER BY d';
is($node->safe_psql('other', $documents), sql($documents), 'the other store exports the same');

is_deeply([ blocks_not_run() ], [ 'sh: From a dump', 'sql: By mysql_fdw', 'sql: By mysql_fdw', 'sh: By mysql_fdw', 'sql: By mysql_fdw', 'sh: From blogstore 0.3', 'sql: From blogstore 0.3', 'sh: From blogstore 0.3', 'sql: From blogstore 0.3' ],
	'054_wordpress.pl and 064_from_0_3.pl run the other blocks of the page');
foreach my $dbname (qw(postgres cosmos cosmos_keys other))
{
	is($node->safe_psql($dbname, q{SELECT blogstore.wait_for_views('10 min')}), 't', "$dbname: the views follow");
	is($node->safe_psql($dbname, 'SELECT * FROM blogstore.verify()'), '', "$dbname: verify() shows nothing");
}
$node->stop;
done_testing();
