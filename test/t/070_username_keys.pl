# Usernames are compared by keys, which depend neither on the locale nor on the
# server. They are the same in each database, and after a restore into one with
# another locale or encoding, and follow Unicode's own files.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Two forms of each name. By the rules of some locales many of them would be
# different names.
my @names = (
	[ '\00c9va', '\00e9VA' ],
	[ '\039d\03af\03ba\03bf\03c2', '\039d\038a\039a\039f\03a3' ],
	[ 'caf\00e9', 'CAFE\0301' ],
	[ 'Stra\00dfe', 'STRASSE' ],
	[ '\0130zmir', 'i\0307zmir' ],
	[ 'Imam', 'imam' ],
	[ '\0131rmak', '\0131RMAK' ],
	[ 'ad\200bmin', 'Admin' ],
	[ '\13a0', '\ab70' ],
	[ '\+01e900', '\+01e922' ],
	[ '\d55c', '\1112\1161\11ab' ],
	[ '\ff21\2163', 'aiv' ]);

my $node = new_server('names');
# Each database needs a worker and a slot.
$node->append_conf('postgresql.conf', "max_worker_processes = 32\nmax_replication_slots = 32\n");
$node->start;

my %locale = (
	c => q{LC_COLLATE 'C' LC_CTYPE 'C'},
	c_utf8 => q{LOCALE 'C.UTF-8'},
	en => q{LOCALE 'en_US.UTF-8'},
	tr => q{LOCALE 'tr_TR.UTF-8'},
	icu => q{LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C.UTF-8'});

# Create a database. Returns false if this system does not have its locale.
sub create_database
{
	my ($name, $options) = @_;
	my $code = $node->psql('postgres', "CREATE DATABASE $name TEMPLATE template0 $options");

	return $code == 0;
}

my @there = grep { create_database($_, "ENCODING 'UTF8' $locale{$_}") } sort keys %locale;
note "locales: @there";
is(scalar(grep { /^c(_utf8)?$/ } @there), 2, 'the locales C and C.UTF-8 are there');

my %keys;
foreach my $dbname (@there)
{
	create_store($node, $dbname);
	my $n = 0;
	my (@outcomes, @found);
	foreach my $name (@names)
	{
		my ($a, $b) = @$name;
		$n++;
		push @outcomes, $node->safe_psql($dbname, qq{
SELECT kit.try(format('blogstore.create_user(%L, %L)', U&'$a', kit.u($n)));
SELECT kit.try(format('blogstore.create_user(%L)', U&'$b'));});
		push @found, $node->safe_psql($dbname,
			qq{SELECT user_id = kit.u($n) FROM blogstore.get_user_by_name(U&'$b')});
	}
	is_deeply(\@outcomes, [ map { "ok\n23505, hint" } @names ], "$dbname: the second name is taken");
	is_deeply(\@found, [ map { 't' } @names ], "$dbname: each user is found by both names");
	$keys{$dbname} = $node->safe_psql($dbname, 'SELECT username_key, user_id FROM blogstore.usernames ORDER BY 2');
	is($keys{$dbname}, $keys{ $there[0] }, "$dbname: the keys are those of $there[0]");
	check_store($node, $dbname, $dbname);
}

# In a database restored with another locale, users are found by their names,
# and nobody can take these.
my $base = $PostgreSQL::Test::Utils::tmp_check;

sub restored
{
	my ($from, $to, $options) = @_;

	create_database($to, $options) or die "could not create $to";
	command_ok([ 'pg_dump', '-Fp', '-f', "$base/$from.sql", '-d', $node->connstr($from) ], "$from: dump");
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$base/$from.sql", '-d', $node->connstr($to) ],
		"$from: restore into $to");
	return;
}

foreach my $dbname (@there)
{
	my $from = $dbname eq 'c' ? 'c_utf8' : 'c';
	my $to = "${from}_in_$dbname";

	restored($from, $to, "ENCODING 'UTF8' $locale{$dbname}");
	my $n = 0;
	my @answers;
	foreach my $name (@names)
	{
		my ($a, $b) = @$name;
		$n++;
		push @answers, $node->safe_psql($to, qq{
SELECT user_id = kit.u($n) FROM blogstore.get_user_by_name(U&'$a');
SELECT user_id = kit.u($n) FROM blogstore.get_user_by_name(U&'$b');
SELECT kit.try(format('blogstore.create_user(%L)', U&'$b'));});
	}
	is_deeply(\@answers, [ map { "t\nt\n23505, hint" } @names ], "$to: users are found by their names, which are taken");
	check_store($node, $to, $to);
}

# LATIN1: keys follow Unicode as far as LATIN1 has the characters. U+00B5, the
# micro sign, folds to a Greek letter, which LATIN1 lacks.
create_database('latin1', q{ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'}) or die;
create_store($node, 'latin1');
is( $node->safe_psql('latin1', q{
SELECT kit.try(format('blogstore.create_user(%L, %L)', a, kit.u(n))), kit.try(format('blogstore.create_user(%L)', b))
FROM (VALUES (1, U&'\00c9va', U&'\00e9VA'), (2, U&'Stra\00dfe', 'STRASSE'), (3, U&'10\00b5m', U&'10\00b5M'),
	(4, U&'Mary\00a0Ann', 'mary ann'), (5, U&'so\00adft', 'SOFT'), (6, U&'x\00b2', 'X2'), (7, U&'\00bd \00be', U&'\00bd  \00be'),
	(8, U&'\00a0trimmed ', U&'Trimmed\00a0')) v (n, a, b) ORDER BY n}),
	join("\n", map { 'ok|23505, hint' } 1 .. 8), 'LATIN1: two forms of one name');
is( $node->safe_psql('latin1', q{
SELECT user_id = kit.u(n), username = name FROM (VALUES (1, U&'\00c9va'), (3, U&'10\00b5m'), (7, U&'\00bd \00be'), (8, 'trimmed')) v (n, name),
	LATERAL blogstore.get_user_by_name(name) ORDER BY n}), join("\n", map { 't|t' } 1 .. 4), 'LATIN1: users are found by the first form');
is( $node->safe_psql('latin1', q{
SELECT outcome, count(*) FROM generate_series(1, 159) n, LATERAL kit.try(format('blogstore.create_user(%L)', 'a' || chr(n) || 'b')) AS outcome
WHERE n < 32 OR n > 126 GROUP BY 1}), '22023, hint|64', 'LATIN1: controls are refused');
is($node->safe_psql('latin1', q{SELECT kit.try(format('blogstore.create_user(%L)', U&'\00ad')), kit.try(format('blogstore.create_user(%L)', U&'\00a0'))}),
	'22023, hint|22023, hint', 'LATIN1: names that show nothing are refused');
check_store($node, 'latin1', 'latin1');
# The other encoding has characters that LATIN1 lacks. repair() gives such
# names the right keys.
restored('latin1', 'latin1_in_c', q{ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'});
is($node->safe_psql('latin1_in_c', q{SELECT user_id = kit.u(1) FROM blogstore.get_user_by_name(U&'e\0301va')}),
	't', 'LATIN1 restored in UTF-8: a user is found');
is($node->safe_psql('latin1_in_c', 'SELECT DISTINCT problem, user_id IN (kit.u(3), kit.u(7)) FROM blogstore.verify()'),
	'registry|t', '... verify() shows the keys that LATIN1 lacks');
is($node->safe_psql('latin1_in_c', 'SELECT blogstore.repair()'), '4', '... repair() corrects them');
is($node->safe_psql('latin1_in_c', q{SELECT user_id = kit.u(3) FROM blogstore.get_user_by_name(U&'10\03bcm')}),
	't', '... and the user is found by the Greek letter');
check_store($node, 'latin1_in_c', 'LATIN1 restored in UTF-8');

# EUC_JP, an encoding with several bytes for a character
create_database('euc_jp', q{ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C'}) or die;
create_store($node, 'euc_jp');
is( $node->safe_psql('euc_jp', q{
SELECT kit.try(format('blogstore.create_user(%L)', a)), kit.try(format('blogstore.create_user(%L)', b))
FROM (VALUES (1, U&'\ff21nn', 'aNN'), (2, U&'\30ac', U&'\ff76\ff9e'), (3, U&'\3000\65e5\672c\3000', U&'\65e5\672c'), (4, U&'\0416', U&'\0436')) v (n, a, b) ORDER BY n}),
	join("\n", map { 'ok|23505, hint' } 1 .. 4), 'EUC_JP: two forms of one name');
check_store($node, 'euc_jp', 'euc_jp');

# SQL_ASCII: bytes that are not ASCII are compared as they are
create_database('ascii', q{ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'}) or die;
create_store($node, 'ascii');
is( $node->safe_psql('ascii', q{
SELECT kit.try(format('blogstore.create_user(%L)', a)), kit.try(format('blogstore.create_user(%L)', b))
FROM (VALUES (1, 'Ann', 'aNN'), (2, E'\xc3\x89va', E'\xc3\x89VA'), (3, ' two  words ', 'Two Words'), (4, E'\xe9', E' \xe9')) v (n, a, b) ORDER BY n}),
	join("\n", map { 'ok|23505, hint' } 1 .. 4), 'SQL_ASCII: two forms of one name');
is($node->safe_psql('ascii', q{SELECT kit.try(format('blogstore.create_user(%L)', E'\xc3\xa9va')), kit.try(format('blogstore.create_user(%L)', E'\xc9'))}),
	'ok|ok', 'SQL_ASCII: other bytes are other names');
is( $node->safe_psql('ascii', q{
SELECT outcome, count(*) FROM generate_series(1, 127) n, LATERAL kit.try(format('blogstore.create_user(%L)', 'a' || chr(n) || 'b')) AS outcome
WHERE n < 32 OR n > 126 GROUP BY 1}), '22023, hint|32', 'SQL_ASCII: controls are refused');
check_store($node, 'ascii', 'ascii');

# Compare the keys with Unicode's own file: a name for each code point, which
# has the code point after a letter, and a number that makes it unique.
SKIP:
{
	my $file = '/usr/share/unicode/DerivedNormalizationProps.txt';

	skip 'the package unicode-data is not installed', 4 unless -f $file;
	my (@values, %mapped);
	foreach my $line (split /\n/, slurp_file($file))
	{
		next unless $line =~ /^([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*NFKC_CF;\s*([0-9A-F ]*?)\s*#/;
		my ($first, $last, $to) = (hex $1, hex($2 // $1), join ',', map { hex } split ' ', $3);
		foreach my $n ($first .. $last)
		{
			$mapped{$n} = 1;
			push @values, "$n\t{$to}\n" if $n < 0xe0000 || $n > 0xe0fff || $n % 16 == 0;
		}
	}
	# Code points that do not change, without ideographs and Hangul
	foreach my $n (0x20 .. 0x33ff, 0xa000 .. 0xabff, 0xf900 .. 0xffff, 0x10000 .. 0x18cff, 0x1b000 .. 0x1ffff)
	{
		push @values, "$n\t{$n}\n" unless $mapped{$n};
	}
	PostgreSQL::Test::Utils::append_to_file("$base/code_points", join '', @values);
	create_database('every', q{ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'}) or die;
	create_store($node, 'every');
	$node->safe_psql('every', qq{
CREATE TABLE kit.code_point (n int PRIMARY KEY, folded int[]);
COPY kit.code_point FROM '$base/code_points';
CREATE TABLE kit.named AS SELECT n, folded, kit.try(format('blogstore.create_user(%L, %L)', n || ' x' || chr(n), kit.u(n))) AS outcome FROM kit.code_point;
});
	my $white = 'n = 5760 OR n = 160 OR n BETWEEN 8192 AND 8202 OR n IN (32, 8239, 8287, 12288)';
	is( $node->safe_psql('every', 'SELECT DISTINCT outcome FROM kit.named ORDER BY 1'),
		"22023, hint\nok", 'each code point is accepted, or refused with 22023');
	is( $node->safe_psql('every', qq{
SELECT to_hex(n), r.username_key FROM kit.named
JOIN blogstore.usernames r ON r.user_id = kit.u(n),
LATERAL (SELECT string_agg(chr(CASE WHEN $white THEN 32 ELSE c END), '' ORDER BY i) AS text FROM unnest(folded) WITH ORDINALITY AS f (c, i)) AS f
WHERE outcome = 'ok' AND r.username_key IS DISTINCT FROM n || ' ' || rtrim(normalize('x' || coalesce(text, ''), NFC), ' ')}),
		'', 'keys are those of Unicode');
	is( $node->safe_psql('every', q{
SELECT count(*) FROM kit.named LEFT JOIN blogstore.usernames r ON r.user_id = kit.u(n)
WHERE outcome = 'ok' AND (SELECT g.user_id FROM blogstore.get_user_by_name(r.username_key) g) IS DISTINCT FROM kit.u(n)}),
		'0', 'the key of a key is that key');
	check_store($node, 'every', 'every code point');
}

# Names of random code points that Unicode decomposes, reorders, folds, joins
# or removes. The composed and the decomposed form are the same name, and the
# key of a key is that key.
create_database('random', q{ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'}) or die;
create_store($node, 'random');
$node->safe_psql('random', q{
CREATE TABLE kit.point AS SELECT n FROM unnest(ARRAY[32, 73, 105, 160, 168, 173, 175, 180, 184, 223, 304, 305, 383, 776, 803, 837, 847, 902, 912, 931,
	962, 1415, 5024, 5112, 4352, 4449, 4520, 5760, 6069, 7304, 7838, 8060, 8115, 8116, 8119, 8151, 8203, 8205, 8486, 8490, 8491, 10240, 12441, 12593, 12643,
	12644, 13078, 43888, 44032, 44033, 64259, 65018, 65438, 65440, 66560, 119134, 120120, 125184]) AS n
UNION ALL SELECT generate_series(768, 837) UNION ALL SELECT generate_series(7936, 8190);
CREATE TABLE kit.random AS SELECT g, kit.try(format('blogstore.create_user(%L, %L)', name, kit.u(g))) AS outcome, name
FROM generate_series(1, 3000) AS g, LATERAL (SELECT string_agg(chr(n), '' ORDER BY md5(n || ':' || g)) AS name
	FROM (SELECT n FROM kit.point ORDER BY md5(g || ' ' || n) LIMIT 1 + g % 6) AS p) AS q;});
is($node->safe_psql('random', q{SELECT outcome FROM kit.random GROUP BY 1 ORDER BY 1}), "22023, hint\n23505, hint\nok", 'random names');
is( $node->safe_psql('random', q{
SELECT form, encode(convert_to(name, 'UTF8'), 'hex') FROM kit.random, LATERAL (VALUES ('NFC', normalize(name, NFC)), ('NFD', normalize(name, NFD))) v (form, same)
WHERE outcome = 'ok' AND (SELECT g.user_id FROM blogstore.get_user_by_name(same) g) IS DISTINCT FROM kit.u(random.g)}),
	'', 'random names, composed or decomposed, are the same');
is( $node->safe_psql('random', q{
SELECT encode(convert_to(username_key, 'UTF8'), 'hex') FROM blogstore.usernames r
WHERE (SELECT g.user_id FROM blogstore.get_user_by_name(username_key) g) IS DISTINCT FROM r.user_id}),
	'', 'the keys of their keys are those keys');
check_store($node, 'random', 'random names');

done_testing();
