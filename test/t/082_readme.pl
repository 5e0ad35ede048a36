# Every block of SQL in README.md, in its order, in a new database and in the
# database of the demonstration. The tables of README.md name all requests and
# all settings.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $readme = slurp_file("$root/README.md");
my @blocks = $readme =~ /^```sql\n(.*?)^```$/msg;

cmp_ok(scalar @blocks, '>=', 4, 'there are statements');
unlike($readme, qr/^\w*=[#>] /m, 'no prompts before them');

my $node = new_server('readme');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(fresh demo);
fill_as_demo('demo');

# The demonstration's server has none of the README's roles but blog. The
# blocks create that one too.
foreach my $dbname (qw(fresh demo))
{
	my $posts = $dbname eq 'demo' ? count_posts($dbname) : 0;
	my $text = join '', map { "\\echo block $_\n$blocks[$_]" } 0 .. $#blocks;
	my ($status, $shown, $message) = $node->psql($dbname, $text, on_error_stop => 1);

	is($status, 0, "$dbname: each block can be pasted") or diag "$shown\n$message";
	$message =~ s/^psql:<stdin>:\d+: NOTICE:  extension "blogstore" already exists, skipping\n?//m;
	is($message, '', "$dbname: without a warning");
	like($shown, qr/^Hello\|ada\|1\|1$/m, "$dbname: the like that is sent twice counts once");
	is(count_posts($dbname), $posts + 1, "$dbname: there is one post more than before");
	create_kit($node, $dbname);
	check_store($node, $dbname, $dbname);
	is($node->safe_psql($dbname, q{SELECT c.user_username, c.content FROM blogstore.posts AS p, blogstore.list_post_comments(p.post_id) AS c WHERE p.type = 'post' AND p.title = 'Hello'}),
		'Robert|Welcome!', "$dbname: the rename has reached the comment");
	$node->safe_psql($dbname, 'SELECT blogstore.revoke_requests(\'my_app\')');
}

is(names_below('README.md', 'The requests', '\w+'), $node->safe_psql('fresh', q{SELECT name FROM unnest(blogstore.request_names()) AS name ORDER BY name COLLATE "C"}),
	'the table of requests has all of them');
my $settings = $node->safe_psql('fresh', q{SELECT name FROM pg_settings WHERE name LIKE 'blogstore.%' ORDER BY name COLLATE "C"});
is(names_below('README.md', 'Configuration', 'blogstore\.\w+'), $settings, 'README.md has all settings');
is(names_below('docs/OPERATIONS.md', 'Settings', 'blogstore\.\w+'), $settings, 'docs/OPERATIONS.md has all settings');
foreach my $path ($readme =~ /\]\(([^):#]+)[^)]*\)/g, $readme =~ /src="([^"]+)"/g)
{
	ok(-e "$root/$path", "there is $path");
}
$node->stop;
done_testing();

# Create and fill a database like scripts/demo, with its files.
sub fill_as_demo
{
	my ($dbname) = @_;

	$node->safe_psql($dbname, q{CREATE EXTENSION blogstore; CREATE ROLE blog; SELECT blogstore.create_containers(owner => 'blog')});
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', 'users=20', '-v', 'today=2026-01-01 00:00:00+00',
		'-f', "$root/scripts/sql/dataset.sql", '-f', "$root/scripts/sql/demo_data.sql", $node->connstr($dbname) ], 'the demonstration has its data');
	$node->safe_psql($dbname, "CALL demo.load_$_(0, 1)") foreach qw(users posts reactions);
	return;
}

sub count_posts
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, q{SELECT count(*) FROM blogstore.posts WHERE type = 'post'});
}

# The names in the table below a heading of a file
sub names_below
{
	my ($file, $heading, $pattern) = @_;
	my ($section) = slurp_file("$root/$file") =~ /^## \Q$heading\E\n(.*?)^## /ms;

	return join "\n", sort map { /`($pattern)`/g } $section =~ /^\|(.*)\|$/mg;
}
