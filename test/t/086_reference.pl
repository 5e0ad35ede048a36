# docs/REFERENCE.md agrees with the catalog: each function, type, view and
# setting has one section that says what the catalog says. The examples of the
# page produce the results that it shows.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = "$FindBin::RealBin/../../docs";
my $page = slurp_file("$docs/REFERENCE.md");

my $node = new_server('reference');
# the setting of the examples of topics
$node->append_conf('postgresql.conf', "blogstore.topic_property = 'tags'");
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION blogstore;
CREATE ROLE site;
CREATE ROLE app;
});

sub rows
{
	my ($query) = @_;

	return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', $query);
}

# Convert a type's name from the catalog's form to that of the page.
sub short_type
{
	my ($type) = @_;

	$type =~ s/timestamp with time zone/timestamptz/;
	return $type;
}

# ---- The sections of the page, each with heading, text and blocks of code

my @sections;
while ($page =~ /^(#{1,4}) ([^\n]+)\n(.*?)(?=^#{1,4} |\z)/msg)
{
	my ($level, $heading, $text) = (length $1, $2, $3);

	# A line of a block of code can begin with #, too.
	if (@sections && (() = $sections[-1]{text} =~ /^```/mg) % 2)
	{
		$sections[-1]{text} .= "$1 $heading\n$text";
		next;
	}
	push @sections, { level => $level, heading => $heading, text => $text };
}
cmp_ok(scalar @sections, '>', 90, 'the page has sections');

# The rows of a section's table, found by the heading of its first column
sub table
{
	my ($section, $first) = @_;
	my @rows;

	return () if $section->{text} !~ /^\| $first \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)/m;
	foreach my $line (split /\n/, $1)
	{
		my @cells = map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, substr($line, 1);
		push @rows, \@cells;
	}
	return @rows;
}

# The names in a cell: `one`, `two`
sub names
{
	my ($cell) = @_;

	return $cell =~ /`([^`]+)`/g;
}

my %section;
foreach my $one (@sections)
{
	ok(!exists $section{ $one->{heading} }, "there is one section $one->{heading}");
	$section{ $one->{heading} } = $one;
}

# ---- Functions

my @functions = rows(q{
	SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc')
	FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
	JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE e.extname = 'blogstore' ORDER BY p.proname COLLATE "C"});
my %internal;
foreach my $table ($page =~ /^\| function \| purpose \|\n\|[-|]+\n((?:\|[^\n]*\n)+)/mg)
{
	while ($table =~ /^\| `(\w+)` \| (.*) \|$/mg)
	{
		ok(!exists $internal{$1}, "$1 has one line");
		$internal{$1} = $2;
	}
}
cmp_ok(scalar @functions, '>', 80, 'there are functions');
$node->safe_psql('postgres', 'CREATE SCHEMA documented');
foreach my $function (@functions)
{
	my ($name, $arguments, $result, $comment) = @$function;
	my $one = $section{$name};

	if (exists $internal{$name})
	{
		is($internal{$name}, $comment, "$name: its line is its comment");
		ok(!$one, "$name: it has no section");
		delete $internal{$name};
		next;
	}
	ok($one, "$name: it has a section") or next;
	my ($signature, $returns, $text) = $one->{text} =~ /^\n```\n\Q$name\E(\(.*?\))\nRETURNS (.*?)\n```\n\n(.*)/s;
	ok(defined $signature, "$name: it has a signature") or next;

	# Let the server parse the signature.
	$node->safe_psql('postgres',
		"SET check_function_bodies = off; SET search_path = blogstore; CREATE FUNCTION documented.$name$signature RETURNS $returns LANGUAGE plpgsql AS ''");
	my ($documented) = rows("SELECT pg_get_function_arguments(oid), pg_get_function_result(oid) FROM pg_proc WHERE oid = 'documented.$name'::regproc");
	is($documented->[0], $arguments, "$name: its arguments are those of the catalog");
	is($documented->[1], $result, "$name: its result is that of the catalog");

	my $first = $text =~ s/\s+/ /gr =~ s/`//gr =~ s/\[([^]]*)\]\([^)]*\)/$1/gr;
	is(substr($first, 0, length $comment), $comment, "$name: its text begins with its comment");

	my @in = map { $_->[0] } rows(qq{
		SELECT n FROM pg_proc, unnest(proargnames, coalesce(proargmodes, array_fill('i'::"char", ARRAY[pronargs]))) WITH ORDINALITY a (n, m, o)
		WHERE oid = 'blogstore.$name'::regproc AND m = 'i' ORDER BY o});
	is_deeply([ map { names($_->[0]) } table($one, 'argument') ], \@in, "$name: its arguments are explained") if $name !~ /^own_/;
	my @out = rows(qq{
		SELECT n, format_type(t, NULL) FROM pg_proc, unnest(proargnames, proargmodes, proallargtypes) WITH ORDINALITY a (n, m, t, o)
		WHERE oid = 'blogstore.$name'::regproc AND m = 'o' ORDER BY o});
	is_deeply([ map { [ names($_->[0]), $_->[1] ] } table($one, 'column') ], \@out, "$name: its columns are explained") if @out;

	like($text, qr/^(?:```sql|Example: )/m, "$name: it has an example");
}
is_deeply([ keys %internal ], [], 'no line is about a function that is not there');
my %is_function = map { ($_->[0] => 1) } @functions;
is_deeply([ map { $_->{heading} } grep { $_->{text} =~ /^\n```\n\w+\(/ && !$is_function{ $_->{heading} } } @sections ],
	[], 'no section is about a function that is not there');

# ---- Types and views

foreach my $relation (
	rows(q{
	SELECT c.relname, c.relkind, obj_description(coalesce(t.oid, c.oid), CASE c.relkind WHEN 'c' THEN 'pg_type' ELSE 'pg_class' END)
	FROM pg_class c LEFT JOIN pg_type t ON t.typrelid = c.oid AND c.relkind = 'c'
	WHERE relnamespace = 'blogstore'::regnamespace AND relkind IN ('c', 'v') ORDER BY c.relname COLLATE "C"}))
{
	my ($name, $kind, $comment) = @$relation;
	my $one = $section{$name};

	ok($one, "$name: it has a section") or next;
	is_deeply(
		[ map { [ names($_->[0]), $_->[1] ] } table($one, 'column') ],
		[ map { [ $_->[0], short_type($_->[1]) ] }
			  rows("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'blogstore.$name'::regclass AND attnum > 0 ORDER BY attnum") ],
		"$name: its columns are those of the catalog");
	my $first = $one->{text} =~ s/^\s+//r =~ s/\s+/ /gr;
	is(substr($first, 0, length $comment), $comment, "$name: its text begins with its comment");
}

# ---- Settings

my @settings = rows(q{
	SELECT name, format('Type %s, default %s%s, %schanged by %s.', CASE vartype WHEN 'bool' THEN 'boolean' ELSE vartype END,
		coalesce(nullif(boot_val, ''), 'empty'), ' ' || unit,
		CASE vartype WHEN 'integer' THEN format('range %s to %s, ', min_val, max_val)
			WHEN 'enum' THEN format('values %s, ', array_to_string(enumvals, ' and ')) END,
		CASE context WHEN 'sighup' THEN 'reload' WHEN 'user' THEN 'everybody'
			WHEN 'superuser' THEN 'superusers and roles that were granted SET on it' END), short_desc
	FROM pg_settings WHERE name LIKE 'blogstore.%' ORDER BY 1});
foreach my $setting (@settings)
{
	my ($name, $line, $comment) = @$setting;
	my $one = $section{$name};

	ok($one, "$name: it has a section") or next;
	my ($said, $text) = $one->{text} =~ /^\n([^\n]*)\n\n(.*)/s;
	is($said, $line, "$name: its type, default, range and context are the server's");
	my $first = $text =~ s/\s+/ /gr =~ s/`//gr =~ s/\[([^]]*)\]\([^)]*\)/$1/gr;
	is(substr($first, 0, length($comment) - 1), $comment =~ s/\.$//r, "$name: its text begins with its description");
}
my %is_setting = map { ($_->[0] => 1) } @settings;
is_deeply([ grep { /^blogstore\./ && !$is_setting{$_} } keys %section ], [], 'no section is about a setting that is not there');

# ---- Links: the table of contents links to each section, and each link leads
# to a section

sub anchor
{
	my ($heading) = @_;

	return lc($heading =~ s/[^\w\s-]//gr) =~ s/\s/-/gr;
}

my %anchor = map { (anchor($_->{heading}) => $_->{level}) } @sections;
my %listed = map { ($_ => 1) } $section{Contents}{text} =~ /\(#([^)]+)\)/g;
is_deeply([ grep { !$listed{$_} && $anchor{$_} =~ /[23]/ && $_ ne 'contents' } sort keys %anchor ], [], 'the table of contents lists each section');
is_deeply([ grep { !exists $anchor{$_} } $page =~ /\(#([^)]+)\)/g ], [], 'the links within the page lead to sections');
foreach my $link ($page =~ /\]\(([A-Z_]+\.md#[^)]+)\)/g)
{
	my ($file, $to) = split /#/, $link;

	ok((grep { anchor($_) eq $to } slurp_file("$docs/$file") =~ /^#+ ([^\n]+)$/mg), "$link: there is such a section");
}
foreach my $file (glob("$docs/*.md $docs/../*.md"))
{
	is_deeply([ grep { !exists $anchor{$_} } slurp_file($file) =~ /REFERENCE\.md#([^)]+)\)/g ], [], (split m{/}, $file)[-1] . ': its links to the page lead to sections');
}

# ---- Examples: each in a store with the items that the page describes

my @examples;
foreach my $one (@sections)
{
	my $number = 0;

	while ($one->{text} =~ /^```sql\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?/msg)
	{
		$number++;
		push @examples, { name => "$one->{heading}, example $number", text => $1, shown => $2 };
	}
}
cmp_ok(scalar @examples, '>', 60, 'the page has examples');

# Returns what psql shows for statements: exit status, output and errors.
sub shown
{
	my ($text) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ], '<', \$text, '>', \$out, '2>', \$err);
	return ($? >> 8, $out =~ s/[ \t]+$//mgr, $err);
}

my $users = q{
\set ann 00000000-0000-7000-8000-000000000001
\set bob 00000000-0000-7000-8000-000000000002
\set post 00000000-0000-7000-8001-000000000001
\set draft 00000000-0000-7000-8001-000000000002
\set comment 00000000-0000-7000-8002-000000000001
\set reply 00000000-0000-7000-8002-000000000002
\set date '2024-01-01 10:00:00+00'
SET TimeZone = 'UTC';
};
my $items = $users . q{
\o /dev/null
SELECT blogstore.start_worker();
SELECT blogstore.delete_user(:'ann'), blogstore.delete_user(:'bob');
SELECT blogstore.create_user('ann', :'ann', '2024-01-01'), blogstore.create_user('bob', :'bob', '2024-01-01');
SELECT blogstore.create_post(:'ann', 'Hello', 'My first post.', :'post', :'date'),
	blogstore.create_post(:'ann', 'Not yet', 'A draft.', :'draft', '2024-01-02 10:00:00+00', properties => '{"slug": "not-yet"}', hidden => true);
SELECT blogstore.create_comment(:'post', :'bob', 'Very nice.', :'comment', '2024-01-01 11:00:00+00');
SELECT blogstore.create_comment(:'post', :'ann', 'Thanks.', :'reply', '2024-01-01 12:00:00+00', parent_id => :'comment');
SELECT blogstore.create_like(:'post', :'ann', '2024-01-01 13:00:00+00');
SELECT blogstore.wait_for_views('10 min');
\o
};

# The example of create_containers() creates the containers, so it runs first.
my ($first) = grep { $_->{name} =~ /^create_containers/ } @examples;
foreach my $example ($first, grep { $_ != $first } @examples)
{
	my ($status, $out, $err) = shown(($example == $first ? $users : $items) . $example->{text});

	is($status, 0, $example->{name}) or diag $err;
	is($out =~ s/\n+\z/\n/r, $example->{shown}, "$example->{name}: what is shown") if defined $example->{shown};
}
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing after the examples');
is(scalar(logged($node, 0, qr/was terminated by signal/)), 0, 'no process has crashed');

$node->stop;
done_testing();
