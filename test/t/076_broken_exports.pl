# Exports with items that cannot be imported, by the commands of
# docs/MOVING_IN.md. Each such item is listed with its key and the reason, and
# all others are imported. Also exports of old versions of Ghost.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreMoving;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $data = "$FindBin::RealBin/../moving";
my $directory = PostgreSQL::Test::Utils::tempdir('broken');
my $node = new_server('broken_exports');
$node->start;
create_store($node, 'postgres');

sub page
{
	return run_block($node, 'postgres', $directory, @_);
}

sub sql
{
	return $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $_[0]");
}

sub bring
{
	my ($name, $content) = @_;

	open my $file, '>:raw', "$directory/$name" or die "$name: $!";
	print $file $content;
	close $file;
	return;
}

page('Files');

# ---- WordPress: lines as of a dump that was cut, edited by hand, or written
# by another program

page($_) foreach 'Tables to load it into', 'What import() reads';
my $post = '"post_author": 1, "post_date": "2024-05-06 12:00:00", "post_date_gmt": "2024-05-06 10:00:00", "post_content": "c", "post_status": "publish", "protected": false';
my $comment = '"comment_post_id": 10, "comment_parent": 0, "user_id": 1, "comment_date": "2024-05-06 13:00:00", "comment_date_gmt": "2024-05-06 11:00:00", "comment_approved": "1"';
bring('wordpress.jsonl', slurp_file("$data/wordpress.jsonl") . <<"END");

{"table": "wp_posts", "id": 900, $post, "post_title": "nul \\u0000 \\\\u0000", "post_name": "nul"}
{"table": "wp_posts", "id": 901, $post, "post_title": "half \\ud83d"}
{"table": "wp_posts", "id": 902, $post, "post_title": "bytes \xff\xc3\xa4 \xe6\x97\xa5"}
{"table": "wp_posts", "id": 903, $post, "post_title": "raw nul \0"}
{"table": "wp_posts", $post, "post_title": "no id"}
{"table": "wp_posts", "id": null, $post, "post_title": "null id"}
{"table": "wp_posts", "id": "abc", $post, "post_title": "id of letters"}
{"table": "wp_posts", "id": 18446744073709551615, $post, "post_title": "id too large"}
{"table": "wp_posts", "id": 10, $post, "post_title": "id of another"}
{"table": "wp_posts", "id": 904, "post_author": 1, "post_date": "2019-02-30 10:00:00", "post_date_gmt": "2019-02-30 10:00:00", "post_title": "no such day", "post_content": "", "post_status": "publish"}
{"table": "wp_posts", "id": 905, "post_author": 1, "post_date": "Invalid date", "post_date_gmt": "0000-00-00 00:00:00", "post_title": "no date", "post_content": "", "post_status": "publish"}
{"table": "wp_posts", "id": 906, "post_author": 1, "post_date": "0000-00-00 00:00:00", "post_date_gmt": "0000-00-00 00:00:00", "post_title": "nought", "post_content": "", "post_status": "publish"}
{"table": "wp_posts", "id": 907, $post, "post_title": "good", "post_modified_gmt": "Invalid date"}
{"table": "wp_comments", "comment_id": 910, $comment, "comment_content": ""}
{"table": "wp_comments", "comment_id": 911, $comment, "comment_content": "\\udc00"}
{"table": "wp_comments", "comment_id": 912, $comment, "comment_content": "good"}
{"table": "wp_comments", $comment, "comment_content": "no id"}
{"table": "wp_users", "id": 920, "user_nicename": "dated", "display_name": "Dated", "user_registered": "Invalid date"}
{"table": "wp_users", "id": 921, "user_registered": "2024-01-01 00:00:00"}
{"table": "wp_users", "id": 922, "user_nicename": "", "display_name": "DATED", "user_registered": "2024-01-01 00:00:00"}
{"table": "wp_users", "user_nicename": "nobody", "display_name": "No id", "user_registered": ""}
{"table": "wp_terms", "post_id": 907, "taxonomy": "post_tag", "name": "bro\\u0000ken"}
{"table": "wp_links", "id": 1}
[1, 2]
{"table": "wp_posts", "id": 999, $post, "post_ti
END
is(page('From a dump'), '', 'WordPress: a file with broken lines is loaded');
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'all other items are imported');
user|10|9|0|1|0|{}
post|22|10|0|12|0|{}
comment|13|10|0|3|0|{}
like|0|0|0|0|0|
comment|comment_id must not be null|1
comment|content must not be empty|1
comment|has \u0000 or half of a surrogate pair|1
post|duplicate id|1
post|has \u0000 or half of a surrogate pair|4
post|invalid input syntax for type bigint: "abc"|1
post|post_date is no date: 0000-00-00 00:00:00|1
post|post_date is no date: 2019-02-30 10:00:00|1
post|post_date is no date: Invalid date|1
post|post_id must not be null|2
post|value "18446744073709551615" is out of range for type bigint|1
user|user_id must not be null|1
|has \u0000 or half of a surrogate pair|1
|is no JSON that can be stored: invalid input syntax for type json|1
|is no object|1
|is of no known table|1
END
is(sql(q{SELECT r.type, r.reason, p.id, r.item ->> 'title' FROM wordpress.rejects r
	LEFT JOIN wordpress.wp_posts p ON r.item ->> 'id' = blogstore.key_id('post', 'wp:' || p.id)::text AND p.post_title <> 'Hello'
	WHERE r.type = 'post' ORDER BY p.id, r.item ->> 'title'}), <<'END' =~ s/\n\z//r, 'rejected posts have their keys');
post|duplicate id|10|id of another
post|duplicate id|10|id of another
post|has \u0000 or half of a surrogate pair|900|nul � \u0000
post|has \u0000 or half of a surrogate pair|901|half �
post|has \u0000 or half of a surrogate pair|902|bytes � 日
post|has \u0000 or half of a surrogate pair|903|raw nul �
post|post_date is no date: 2019-02-30 10:00:00|904|no such day
post|post_date is no date: Invalid date|905|no date
post|post_date is no date: 0000-00-00 00:00:00|906|nought
post|invalid input syntax for type bigint: "abc"||id of letters
post|value "18446744073709551615" is out of range for type bigint||id too large
post|post_id must not be null||no id
post|post_id must not be null||null id
END
is(sql(q{SELECT r.type, r.reason, c.comment_id, r.item ->> 'content' FROM wordpress.rejects r
	LEFT JOIN wordpress.wp_comments c ON r.item ->> 'id' = blogstore.key_id('comment', 'wp:' || c.comment_id)::text
	WHERE r.type = 'comment' ORDER BY c.comment_id}), <<'END' =~ s/\n\z//r, 'rejected comments, too');
comment|content must not be empty|910|
comment|has \u0000 or half of a surrogate pair|911|�
comment|comment_id must not be null||no id
END
is(sql(q{SELECT reason, left(item::text, 60) FROM wordpress.rejects WHERE type IS NULL ORDER BY 1, 2}), <<'END' =~ s/\n\z//r, 'and lines that are no items');
has \u0000 or half of a surrogate pair|{"name": "bro�ken", "table": "wp_terms", "post_id": 907, "ta
is no JSON that can be stored: invalid input syntax for type json|{"line": "{\"table\": \"wp_posts\", \"id\": 999, \"post_auth
is no object|{"line": [1, 2], "reject_reason": "is no object"}
is of no known table|{"id": 1, "table": "wp_links"}
END
is(page('The import from WordPress'), <<'END' =~ s/\n\z//r, 'the same once more rejects the same');
user|10|0|9|1|0|{}
post|22|0|10|12|0|{}
comment|13|0|10|3|0|{}
like|0|0|0|0|0|
comment|comment_id must not be null|1
comment|content must not be empty|1
comment|has \u0000 or half of a surrogate pair|1
post|duplicate id|1
post|has \u0000 or half of a surrogate pair|4
post|invalid input syntax for type bigint: "abc"|1
post|post_date is no date: 0000-00-00 00:00:00|1
post|post_date is no date: 2019-02-30 10:00:00|1
post|post_date is no date: Invalid date|1
post|post_id must not be null|2
post|value "18446744073709551615" is out of range for type bigint|1
user|user_id must not be null|1
|has \u0000 or half of a surrogate pair|1
|is no JSON that can be stored: invalid input syntax for type json|1
|is no object|1
|is of no known table|1
END
page('What has gone');
is(page('Checks'), <<'END' =~ s/\n\z//r, 'checks tell what is missing');
t
post|900
post|901
post|902
post|903
post|904
post|905
post|906
10|14|5
END
is(sql(q{SELECT s.user_id, u.username FROM wordpress.users s, blogstore.get_user(blogstore.key_id('user', 'wp:' || s.user_id)) u WHERE s.user_id > 900 ORDER BY 1}), <<'END' =~ s/\n\z//r, 'users without a name, and with one that another has');
920|Dated (dated)
921|921
922|DATED (922)
END
sql('CREATE TABLE mended AS SELECT item FROM wordpress.rejects WHERE reason ~ $$u0000$$ AND type IS NOT NULL');
is(sql(q{SELECT type, imported, rejected FROM blogstore.import_documents('mended') WHERE read > 0}), "post|4|0\ncomment|1|0", 'what has U+FFFD in it can be taken');

# ---- Ghost

page($_) foreach 'Tables of the export', 'What import() reads of Ghost';
my $load = block('sh', 'Tables of the export');

sub load_ghost
{
	bring('ghost.json', $_[0]);
	run_shell($directory, $load);
	return page('Tables of the export', 2);
}

my $broken = <<'END';
{"db": [{"meta": {"version": "5.0.0"}, "data": {
"users": [
	{"id": "u1", "name": "Gwen", "slug": "gwen", "email": "g@example.org", "created_at": "Invalid date"},
	{"name": "No id", "slug": "no-id", "email": "n@example.org", "created_at": "2021-01-01T00:00:00.000Z"}
],
"tags": null,
"posts_tags": [null, {"post_id": "p1", "tag_id": "t1", "sort_order": "first"}],
"posts_authors": [{"post_id": "p1", "author_id": "u1", "sort_order": 0}, {"post_id": "p1", "author_id": "u1", "sort_order": null}, 7],
"posts": [
	{"id": "p1", "type": "post", "title": "good", "html": "<p>\\u0000 \ud83d\ude00</p>", "status": "published", "visibility": "public", "published_at": "2023-01-01T00:00:00.000Z", "updated_at": "Invalid date"},
	{"id": "p2", "type": "post", "title": "nought", "html": "", "status": "published", "visibility": "public", "published_at": "0000-00-00 00:00:00"},
	{"id": "p3", "type": "post", "title": "invalid", "html": "", "status": "published", "visibility": "public", "published_at": "Invalid date", "author_id": "u1"},
	{"id": "p4", "type": "post", "title": "negative", "html": "", "status": "published", "visibility": "public", "published_at": -1000, "author_id": "u1"},
	{"id": "p5", "type": "post", "title": "far back", "html": "", "status": "published", "visibility": "public", "published_at": -99999999999999999999, "author_id": "u1"},
	{"id": "p6", "type": "post", "title": "nul \u0000", "html": "", "status": "published", "visibility": "public", "published_at": "2023-01-01T00:00:00.000Z"},
	{"id": "p7", "type": "post", "title": "half \ud83d", "html": "", "status": "draft", "visibility": "public"},
	{"type": "post", "title": "no id", "html": "", "status": "draft", "visibility": "public"},
	{"id": null, "type": "post", "title": "null id", "html": "", "status": "draft", "visibility": "public"},
	{"id": "p1", "type": "post", "title": "good again", "html": "", "status": "published", "visibility": "public", "published_at": "2024-01-01T00:00:00.000Z"},
	{"id": "p8", "type": "post", "title": "digits", "html": "", "status": "draft", "visibility": "public", "n": 1e999999},
	{"id": "p9", "type": "page", "title": "a page", "html": "", "status": "draft", "visibility": "public"},
	null, "none"
],
"comments": [
	{"id": "c1", "post_id": "p1", "member_id": null, "html": "<p>no date</p>", "status": "published", "created_at": "Invalid date"},
	{"id": "c2", "post_id": "p1", "member_id": null, "html": "<p>good</p>", "status": "published", "created_at": "2023-01-02 00:00:00"},
	{"id": "c3", "post_id": "p1", "member_id": null, "html": null, "status": "published", "created_at": "2023-01-02 00:00:00"}
]
}}]}
END
is(load_ghost($broken), <<'END' =~ s/\n\z//r, 'Ghost: an export with broken items is loaded');
comments|3|0
posts|14|5
posts_authors|3|1
posts_tags|2|1
users|2|0
END
is(page('The import from Ghost'), <<'END' =~ s/\n\z//r, 'all other items are imported');
user|3|2|0|1|0|{}
post|13|2|0|11|0|{}
comment|3|1|0|2|0|{}
like|0|0|0|0|0|{}
comment|content must not be null|1
comment|created_at is no date: Invalid date|1
post|duplicate id|1
post|has \u0000 or half of a surrogate pair|2
post|is no JSON that can be stored: value overflows numeric format|1
post|is no object|2
post|post_id must not be null|2
post|published_at is no date: -99999999999999999999|1
post|published_at is no date: 0000-00-00 00:00:00|1
post|published_at is no date: Invalid date|1
user|user_id must not be null|1
END
is(sql(q{SELECT r.type, r.reason, i.id, coalesce(r.item ->> 'title', r.item ->> 'content', r.item ->> 'username') FROM ghost.rejects r
	LEFT JOIN (SELECT DISTINCT id FROM ghost.item) i ON r.item ->> 'id' = blogstore.key_id(r.type, 'ghost:' || i.id)::text ORDER BY 1, 3, 4}), <<'END' =~ s/\n\z//r, 'rejected posts have their keys');
comment|created_at is no date: Invalid date|c1|<p>no date</p>
comment|content must not be null|c3|
post|duplicate id|p1|good again
post|published_at is no date: 0000-00-00 00:00:00|p2|nought
post|published_at is no date: Invalid date|p3|invalid
post|published_at is no date: -99999999999999999999|p5|far back
post|has \u0000 or half of a surrogate pair|p6|nul �
post|has \u0000 or half of a surrogate pair|p7|half �
post|is no JSON that can be stored: value overflows numeric format|p8|(no title)
post|is no object||(no title)
post|is no object||(no title)
post|post_id must not be null||no id
post|post_id must not be null||null id
user|user_id must not be null||No id
END
is(moved_items($node, 'postgres', 'ghost', 'ghost:'), <<'END' =~ s/\n\z//r, 'users, posts and comments');
nobody|Anonymous|now|
u1|Gwen|now|{"slug": "gwen"}
p1|u1|good|"<p>\\u0000 😀</p>"|1|2023-01-01 00:00|||{"authors": ["gwen", "gwen"]}
p1|u1|good|"<p>\\u0000 😀</p>"|1|2023-01-01 00:00|||{"authors": ["gwen", "gwen"]}
p4|u1|negative|""|0|1969-12-31 23:59|||
c2|p1|nobody|"<p>good</p>"|2023-01-02 00:00||||
END

# Version 0, with dates as numbers, pages and author_id; version 1, with the
# data at the top level
is(load_ghost(<<'END'), <<'END2' =~ s/\n\z//r, 'an export of version 0 is loaded');
{"meta": {"exported_on": 1388318311015, "version": "003"}, "data": {
"users": [{"id": 1, "name": "Ann", "slug": "ann", "email": "ann@example.org", "image": "/content/images/ann.png", "created_at": 1388318240000}],
"tags": [{"id": 1, "name": "news", "slug": "news", "hidden": 0}, {"id": 2, "name": "#inside", "slug": "hash-inside", "hidden": 1}],
"posts_tags": [{"id": 1, "post_id": 1, "tag_id": 1}, {"id": 2, "post_id": 1, "tag_id": 2}],
"posts": [
	{"id": 1, "uuid": "x", "title": "First", "slug": "first", "markdown": "First.", "html": "<p>First.</p>", "image": "/content/images/a.png", "featured": 0, "page": 0, "status": "published", "language": "en_US", "author_id": 1, "created_at": 1388318240000, "updated_at": 1388318241000, "published_at": 1388318240000},
	{"id": 2, "title": "About", "slug": "about", "html": "<p>About.</p>", "page": 1, "status": "published", "author_id": 1, "published_at": 1388318240000},
	{"id": 3, "title": "Draft", "slug": "draft", "html": "<p>Draft.</p>", "page": false, "status": "draft", "author_id": 1, "published_at": null},
	{"id": 4, "title": "Of nobody", "slug": "of-nobody", "html": "<p>Of nobody.</p>", "page": "0", "status": "published", "author_id": 9, "created_at": "2014-01-02 00:00:00", "published_at": null},
	{"id": 5, "title": "Before 1970", "slug": "before", "html": "<p>Before.</p>", "status": "published", "author_id": 1, "published_at": -86400000}
]}}
END
posts|5|0
posts_tags|2|0
tags|2|0
users|1|0
END2
is(page('The import from Ghost'), <<'END' =~ s/\n\z//r, 'and moves in');
user|2|1|1|0|0|{}
post|4|4|0|0|0|{}
comment|0|0|0|0|0|{}
like|0|0|0|0|0|{}
END
is(moved_items($node, 'postgres', 'ghost', 'ghost:'), <<'END' =~ s/\n\z//r, 'its users and posts');
1|Ann|2013-12-29 11:57|{"slug": "ann", "image": "/content/images/ann.png"}
nobody|Anonymous|now|
1|1|First|"<p>First.</p>"|0|2013-12-29 11:57||2013-12-29 11:57|{"slug": "first", "tags": ["news"], "image": "/content/images/a.png"}
3|1|Draft|"<p>Draft.</p>"|0|now|hidden||{"slug": "draft", "status": "draft"}
4|nobody|Of nobody|"<p>Of nobody.</p>"|0|2014-01-02 00:00|||{"slug": "of-nobody"}
5|1|Before 1970|"<p>Before.</p>"|0|1969-12-31 00:00|||{"slug": "before"}
END
$node->stop;
done_testing();
