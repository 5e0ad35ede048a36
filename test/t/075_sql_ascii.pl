
# A database with the encoding SQL_ASCII stores any bytes. If they are valid
# UTF-8, as most clients send, blogstore never cuts a text within a character.
# If not, each byte counts as a character.

use strict;
use warnings;
use Encode;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('sql_ascii');
$node->start;
$node->safe_psql('postgres', q{CREATE DATABASE plain TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'});
create_store($node, 'plain');
$node->safe_psql('plain', 'SELECT kit.fill(1, 0)');

# Characters of one to four bytes, at all positions relative to the cut. They
# are sent in hexadecimal, so that no client converts them.
my @character = map { encode('UTF-8', $_) } 'x', "\x{e9}", "\x{20ac}", "\x{1f600}";
my %content;
my $n = 0;
foreach my $width (1 .. 3)
{
	foreach my $before (0 .. 3)
	{
		$content{ ++$n } = 'x' x $before . $character[$width] x 400;
	}
}
$content{ ++$n } = join('', @character) x 200;
$content{ ++$n } = "\xe9\xe8 " x 300;    # Latin-1
$content{ ++$n } = "\xf0\x9f" x 300;     # halves of characters
# a text that is stored out of line
$content{ ++$n } = '<p>' . join('</p><p>', ($character[3]) x 40000) . '</p>';
foreach my $post (sort { $a <=> $b } keys %content)
{
	$node->safe_psql('plain', sprintf(q{SELECT blogstore.create_post(kit.u(1), 'title %d', convert_from(decode('%s', 'hex'), 'SQL_ASCII'), kit.p(%d), kit.d(%d))}, $post, unpack('H*', $content{$post}), $post, $post));
}

# Returns the content that a list shows of each post, in bytes.
sub shown
{
	my ($from) = @_;

	return map { my ($post, $hex) = split /\|/; ($post => pack('H*', $hex // '')) } split /\n/,
	  $node->safe_psql('plain', qq{SELECT right(post_id::text, 3)::int, encode(convert_to(content, 'SQL_ASCII'), 'hex') FROM $from});
}

# Returns the first 200 characters, or bytes if the text is not UTF-8.
sub cut
{
	my ($bytes) = @_;
	my $utf8 = eval { decode('UTF-8', my $copy = $bytes, Encode::FB_CROAK) };

	return defined $utf8 ? encode('UTF-8', substr($utf8, 0, 200)) : substr($bytes, 0, 200);
}

my $verify = 'SELECT * FROM blogstore.verify()';
is($node->safe_psql('plain', 'SELECT kit.views_follow()'), 't', 'the views follow');
my %wanted = map { $_ => cut($content{$_}) } keys %content;
foreach my $list ('blogstore.feed', 'blogstore.list_feed()', 'blogstore.list_user_posts(kit.u(1), NULL)', q{blogstore.users WHERE type = 'post'})
{
	my %shown = shown($list);

	is_deeply([ map { unpack 'H*', $shown{$_} } sort keys %wanted ], [ map { unpack 'H*', $wanted{$_} } sort keys %wanted ], "$list: 200 characters");
}
is($node->safe_psql('plain', $verify), '', 'verify() shows nothing');

# The same for texts in HTML
set_and_reload($node, 'blogstore.short_form_format', 'text');
wait_until($node, 'plain', q{SELECT ready AND short_form <> 0 FROM blogstore.view_state});
my %text = shown('blogstore.list_feed()');
is_deeply([ grep { !defined eval { decode('UTF-8', my $copy = $text{$_}, Encode::FB_CROAK) } } 1 .. 13, 16 ], [], 'the text in HTML ends with a whole character');
is(length decode('UTF-8', $text{13}), 200, 'and has 200');
is($text{16}, join(' ', ($character[3]) x 100), 'also of one that is stored out of line');
is(unpack('H*', $text{14}), unpack('H*', substr("\xe9\xe8 " x 300, 0, 200)), 'Latin-1 is cut after 200 bytes');
is($node->safe_psql('plain', 'SELECT kit.views_follow()'), 't', 'the views follow');
is($node->safe_psql('plain', $verify), '', 'verify() shows nothing');

$node->stop;
done_testing();
