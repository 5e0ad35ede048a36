# With blogstore.short_form_format = 'text', the short form of a post is a part
# of the text in its HTML. This holds for copies, the feed, lists read from
# posts, imports and rebuilds, and in every encoding. verify() and repair() use
# the setting, too.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('short_form_text');
$node->append_conf('postgresql.conf', "blogstore.short_form_length = 20\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(3, 0)');

# A content, its text of at most 20 characters, and what the case is about
my @cases = (
	[ q{'nothing to do'}, q{'nothing to do'}, 'plain text' ],
	[ q{'twenty characters of plain text'}, q{'twenty characters of'}, 'plain text that is cut' ],
	[ q{'nineteen characters and a blank'}, q{'nineteen characters'}, 'a blank at the cut' ],
	[ q{repeat('x', 5000)}, q{repeat('x', 20)}, 'a long word' ],
	[ q{E'two\n\nlines,\ttab'}, q{'two lines, tab'}, 'white space' ],
	[ q{'<p>Fish &amp; <b>chips</b></p><script>x()</script><p>caf&eacute;'}, q{'Fish & chips café'}, 'tags and references' ],
	[ q{'&lt;script&gt;alert(1)&lt;/script&gt;'}, q{'<script>alert(1)</sc'}, 'what looks like a tag then is text' ],
	[ q{'1234567890123456789&hearts;&hearts;'}, q{'1234567890123456789♥'}, 'a reference is one character' ],
	[ q{'12345678901234567 <b>é日</b>本'}, q{'12345678901234567 é日'}, 'characters of some bytes' ],
	[ q{'<p'}, q{''}, 'nothing but half a tag' ],
	[ q{''}, q{''}, 'nothing' ],
	[ q{'a' || repeat('<!-- no text -->', 1000) || 'b'}, q{'ab'}, 'text far behind' ],
	[ q{'<img src="' || repeat('film', 100000) || '">the end'}, q{'the end'}, 'text behind a long attribute' ],
	[ q{(SELECT string_agg('<i id="' || md5(n::text) || '">', '') FROM generate_series(1, 20000) n) || 'deep'}, q{'deep'}, 'the same, stored in pieces' ],
	[ q{'seen<img src="' || repeat('film', 400000) || '">not looked at'}, q{'seen'}, 'text behind a megabyte is not looked for' ],
	[ q{repeat('<', 2000000)}, q{repeat('<', 20)}, 'a long piece of nothing' ],
	[ q{'&#0;&#xD800;&#x110000;&#' || repeat('9', 100000) || ';'}, q{repeat(chr(65533), 4)}, 'numbers of no character' ]
);

$node->safe_psql('postgres', 'CREATE TABLE cases (n int PRIMARY KEY, content text, wanted text, raw text GENERATED ALWAYS AS (left(content, 20)) STORED)');
$node->safe_psql('postgres', join(';', map { "INSERT INTO cases VALUES ($_, $cases[$_ - 1][0], $cases[$_ - 1][1])" } 1 .. @cases));
$node->safe_psql('postgres', 'SELECT count(blogstore.create_post(kit.u(1 + n % 3), n::text, content, kit.p(n), kit.d(n))) FROM cases');

# Everything that shows posts in short form
my @views = (
	[ 'copies' => q{SELECT post_id, content FROM blogstore.users WHERE type = 'post'} ],
	[ 'the feed' => 'SELECT post_id, content FROM blogstore.feed' ],
	[ 'list_feed()' => 'SELECT post_id, content FROM blogstore.list_feed(NULL)' ],
	[ 'list_user_posts()' => 'SELECT l.post_id, l.content FROM generate_series(1, 3) n, blogstore.list_user_posts(kit.u(n), NULL) l' ]
);

# Check that some of these show what a column of cases has.
sub shown
{
	my ($column, $name, @shown) = @_;
	my %by_n = map { $_ => $cases[ $_ - 1 ][2] } 1 .. @cases;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $view (@shown)
	{
		my $wrong = $node->safe_psql('postgres',
			"SELECT n FROM cases FULL JOIN ($view->[1]) AS v ON v.post_id = kit.p(n) WHERE v.content IS DISTINCT FROM $column ORDER BY n");

		is(join('; ', map { $by_n{$_} // "post $_" } split(/\n/, $wrong)), '', "$name: $view->[0]");
	}
	is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "$name: verify() shows nothing");
	return;
}

sub views_have
{
	my ($column, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', "$name: the views follow");
	shown($column, $name, @views);
	return;
}

my $before;
my $stamp = 'SELECT short_form FROM blogstore.view_state';

views_have('raw', 'raw');
is($node->safe_psql('postgres', $stamp), '0', 'the default settings are stored as 0');

# ---- A change of the setting causes a rebuild, which the log and progress
# show

my $log = log_end($node);
close_gate($node, 'postgres', 'rebuild', q{SELECT FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1) FOR KEY SHARE});
set_and_reload($node, 'blogstore.short_form_format', 'text');
wait_logged($node, $log, qr/blogstore worker rebuilds the views of database "postgres"/);
wait_until($node, 'postgres', q{SELECT count(*) = 1 FROM blogstore.progress WHERE kind = 'rebuild'});
ok(1, 'progress shows the rebuild');
shown('wanted', 'while it is under way', @views[ 2, 3 ]);
open_gate($node, 'postgres', 'rebuild');
views_have('wanted', 'text');
isnt($node->safe_psql('postgres', $stamp), '0', 'the settings of the views are stored');
is($node->safe_psql('postgres', 'SELECT count(*) FROM cases, LATERAL blogstore.get_post(kit.p(n)) p WHERE p.content IS DISTINCT FROM cases.content'),
	'0', 'get_post() gives the content as it is');

# ---- Commands, a rebuild by hand, an import

$node->safe_psql('postgres', q{UPDATE cases SET content = '<h1>Edit</h1>ed', wanted = 'Edit ed' WHERE n = 2; SELECT blogstore.edit_post(kit.p(2), content => '<h1>Edit</h1>ed')});
$node->safe_psql('postgres', 'SELECT blogstore.create_like(kit.p(6), kit.u(1), kit.d(1))');
views_have('wanted', 'an edit and a like');
$node->safe_psql('postgres', 'SELECT blogstore.rebuild_views()');
views_have('wanted', 'rebuild_views()');
my $n = @cases + 1;
push @cases, [ '', '', 'imported' ];
$node->safe_psql('postgres', qq{INSERT INTO cases VALUES ($n, '<p>Imp&ouml;rt</p><p>ed', 'Impört ed');
	CREATE TABLE posts AS SELECT kit.p($n) AS post_id, kit.u(1) AS user_id, 'imported' AS title, content, kit.d($n) AS creation_date FROM cases WHERE n = $n});
is($node->safe_psql('postgres', q{SELECT imported FROM blogstore.import(posts => 'posts') WHERE type = 'post'}), '1', 'a post is imported');
views_have('wanted', 'an import');

# ---- verify() finds a wrong copy, also if the short forms do not fit in
# memory

$node->safe_psql('postgres', 'SELECT count(blogstore.create_post(kit.u(1), n::text, repeat(n::text || chr(9), 200))) FROM generate_series(1, 3000) n');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'more posts');
my $session = hold_worker($node, 'postgres');
# The worker ignores this change, because it carries the worker's own
# replication origin.
$node->safe_psql('postgres', q{SELECT pg_replication_origin_session_setup('blogstore_worker'); UPDATE blogstore.users SET content = 'raw <b>' WHERE type = 'post' AND post_id = kit.p(2)});
my ($found, $warnings);
$node->psql('postgres', q{SET work_mem = '64kB'; SELECT container, problem, id = kit.p(2), expected ~ 'Edit ed', actual ~ 'raw <b>' FROM blogstore.verify()},
	stdout => \$found, stderr => \$warnings);
is($found, 'users|stale copy|t|t|t', 'verify() finds the wrong copy');
is($warnings, '', 'and leaves no temporary file open');
is($node->safe_psql('postgres', q{CREATE TABLE public.short_forms (leaf oid, place tid, short text); SET search_path = public; SELECT count(*) FROM blogstore.verify()}),
	'1', 'a table of the same name does not disturb verify()');
$session->query_safe('ROLLBACK');
$session->quit;
is($node->safe_psql('postgres', 'SELECT blogstore.repair()'), '1', 'repair() mends it');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', 'the views follow');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');
$node->safe_psql('postgres', 'SELECT count(blogstore.delete_post(post_id)) FROM blogstore.posts WHERE type = $$post$$ AND creation_date > kit.d(1000)');

# ---- Without a worker, lists follow the setting; a worker that starts applies
# it to the views

$before = $node->safe_psql('postgres', $stamp);
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
shown('wanted', 'no worker', @views[ 2, 3 ]);
set_and_reload($node, 'blogstore.short_form_format', 'raw');
shown('raw', 'no worker, raw again', @views[ 2, 3 ]);
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
wait_until($node, 'postgres', 'SELECT short_form = 0 FROM blogstore.view_state');
views_have('raw', 'raw again');

# ---- The two settings of the short form

set_and_reload($node, 'blogstore.short_form_format', 'text');
wait_until($node, 'postgres', "SELECT short_form = $before FROM blogstore.view_state");
$node->append_conf('postgresql.conf', "blogstore.short_form_properties = 'slug'\n");
$node->reload;
wait_until($node, 'postgres', "SELECT short_form NOT IN (0, $before) FROM blogstore.view_state");
views_have('wanted', 'some properties');
$before = $node->safe_psql('postgres', "SELECT xmin FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(6)");
$node->restart;
views_have('wanted', 'restarted');
is($node->safe_psql('postgres', "SELECT xmin FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(6)"), $before, 'a restart causes no rebuild');
$log = log_end($node);
$node->append_conf('postgresql.conf', "blogstore.short_form_format = 'html'\n");
$node->reload;
wait_logged($node, $log, qr/invalid value for parameter "blogstore.short_form_format"/);
ok(1, 'an unknown format is refused');
$node->append_conf('postgresql.conf', "blogstore.short_form_format = 'text'\n");

# ---- Other encodings: characters that they lack are replaced, and no
# character is cut in half

# The encoding; the content in bytes, its text, and the text of $references;
# the length in characters of the short form of 1,000 such contents. A blank at
# the end is left out.
my $references = '&eacute;&ndash;&#x65E5;&hellip;&#x1F600;&shy;&rsquo;&ensp;.';
my @encodings = (
	[ 'LATIN1', 'e93c623ea0e920e9', 'e9a0e920e9', 'e92d3f2e2e2e3fad27202e', 19 ],
	[ 'WIN1252', '80203c703ee9', '8020e9', 'e9963f853fad92202e', 20 ],
	[ 'EUC_JP', 'c6fc3c623ecbdc', 'c6fccbdc', '8fabb12dc6fca1c43fa1c7202e', 20 ],
	[ 'SQL_ASCII', 'ff80c320203c623ec3', 'ff80c320c3', '3f2d3f2e2e2e3f27202e', 19 ]
);
# PostgreSQL 19 has this encoding no longer.
push @encodings, [ 'MULE_INTERNAL', '81e93c623e81e9', '81e981e9', '3f2d3f2e2e2e3f27202e', 20 ]
  if $node->pg_version->major < 19;

foreach my $case (@encodings)
{
	my ($encoding, $content, $text, $referred, $length) = @$case;
	my $dbname = lc($encoding);

	$node->safe_psql('postgres', "CREATE DATABASE $dbname TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc");
	create_store($node, $dbname);
	$node->safe_psql($dbname, 'SELECT kit.fill(1, 0)');
	$node->safe_psql($dbname, qq{SELECT blogstore.create_post(kit.u(1), 'content', convert_from('\\x$content', '$encoding'), kit.p(1));
		SELECT blogstore.create_post(kit.u(1), 'references', '$references', kit.p(2));
		SELECT blogstore.create_post(kit.u(1), 'many', '<b>x</b>' || repeat(convert_from('\\x$content', '$encoding'), 1000), kit.p(3))});
	is($node->safe_psql($dbname, "SELECT blogstore.wait_for_views('10 min')"), 't', "$encoding: the views follow");
	foreach my $view ("blogstore.users WHERE type = 'post'", 'blogstore.list_feed()')
	{
		is($node->safe_psql($dbname, "SELECT encode(convert_to(content, '$encoding'), 'hex') FROM $view" . ($view =~ /WHERE/ ? ' AND' : ' WHERE') . ' post_id IN (kit.p(1), kit.p(2)) ORDER BY post_id'),
			"$text\n$referred", "$encoding: $view");
	}
	is($node->safe_psql($dbname, q{SELECT length(content) FROM blogstore.feed WHERE post_id = kit.p(3)}), $length, "$encoding: no character is cut in half");
	is($node->safe_psql($dbname, 'SELECT * FROM blogstore.verify()'), '', "$encoding: verify() shows nothing");
}

$node->stop;
done_testing();
