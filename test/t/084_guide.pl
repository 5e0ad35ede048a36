
# The code of docs/GUIDE.md. Its SQL, in one session of psql from beginning to
# end, shows what the guide shows. Its Python and JavaScript do what the guide
# says.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreDocument;
use BlogstoreTest;
use File::Copy;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $guide = "$FindBin::RealBin/../guide";
my $directory = PostgreSQL::Test::Utils::tempdir('guide');
read_document('docs/GUIDE.md');
my $node = new_server('guide');
$node->append_conf('postgresql.conf', 'blogstore.notify = on');
$node->start;

# ---- SQL

my %shown;
foreach my $block (run_document($node, 'postgres'))
{
	my $name = "$block->{heading}, $block->{number}";

	$shown{$name} = $block->{shown};
	if (defined $block->{expected})
	{
		like($block->{shown}, qr/$block->{expected}/, $name);
	}
	else
	{
		unlike($block->{shown}, qr/^ERROR/m, $name);
	}
}

# ---- Programs

my %environment = (PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PGUSER => 'my_app', PGTZ => 'UTC', PYTHONDONTWRITEBYTECODE => 1);

# Run a program. Returns its output.
sub printed
{
	my (@command) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run \@command, '<', \undef, '>', \$out, '2>', \$err, init => sub { @ENV{ keys %environment } = values %environment }
	  or diag $err;
	return $out;
}

# Returns whether a program succeeds.
sub runs
{
	my ($err) = ('');

	return eval { IPC::Run::run [@_], '<', \undef, '>', \my $out, '2>', \$err };
}

# Append code blocks below a heading of the guide to a file.
sub save
{
	my ($name, $language, $heading, @numbers) = @_;

	append_to_file("$directory/$name", join "\n\n", map { block($language, $heading, $_) } @numbers);
	return;
}

my $driver = sub {
	my ($name) = @_;

	return <<"END";
the same post: @{[ $name eq 'Python' ? 'True True' : 'true true' ]}
types: @{[ $name eq 'Python' ? 'str datetime int dict' : 'String Date Number Object' ]}
all comments: 100 @{[ $name eq 'Python' ? 'True' : 'true' ]}
all comments: 125 @{[ $name eq 'Python' ? 'True' : 'true' ]}
all comments: 250 @{[ $name eq 'Python' ? 'True' : 'true' ]}
the feed: @{[ $name eq 'Python' ? 'True 4 True' : 'true 4 true' ]}
a name that is taken: 409 username_unique
no title: 400 not_empty
a user who is not there: 404 user_exists
a hidden post: 409 post_shown
another in the way: First 2
a lost connection: First 2
another error: 22012 1
always in the way: 40001 @{[ $name eq 'Python' ? 3 : 2 ]}
END
};

$environment{PYTHONPATH} = join ':', $directory, $ENV{PYTHONPATH} || ();
save('store.py', 'python', 'Python', 1 .. 4);
is(printed('/usr/bin/python3', "$guide/with_psycopg2.py"), $driver->('Python'), 'Python: rows, pages, errors and repetitions');

save('django_posts.py', 'python', 'Django and SQLAlchemy', 1);
save('sqlalchemy_posts.py', 'python', 'Django and SQLAlchemy', 2);
foreach my $name (qw(Django SQLAlchemy))
{
	my $module = lc $name;

  SKIP:
	{
		skip "there is no $name", 1 if !runs('/usr/bin/python3', '-c', "import $module");
		is(printed('/usr/bin/python3', "$guide/with_$module.py"), <<"END", "$name: pages, values and errors");
$name 5, $name 4, $name 3, $name 2, $name 1
True Ann of $name 0 {'n': 1}
23505
END
	}
}

save('store.mjs', 'js', 'JavaScript', 1, 2);
save('hints.mjs', 'js', 'Pages that update themselves', 1);
copy("$guide/$_.mjs", $directory) or die $! foreach qw(with_node_postgres with_hints);
SKIP:
{
	# The package pg: Debian's, one that NODE_PATH names, or one from npm
	skip 'there is no node', 2 if !runs('node', '--version');
	my ($modules) = grep { -d "$_/pg" } split(/:/, $ENV{NODE_PATH} // ''), '/usr/share/nodejs';

	if ($modules)
	{
		symlink $modules, "$directory/node_modules" or die $!;
	}
	else
	{
		skip 'there is no package pg', 2
		  if !runs('npm', 'install', '--prefix', $directory, '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', 'pg');
	}
	is(printed('node', "$directory/with_node_postgres.mjs"), $driver->('JavaScript') . <<'END', 'JavaScript: rows, pages, errors and repetitions');
lost while it was idle in a transaction: true true
and on with another: First
END
	is(printed('node', "$directory/with_hints.mjs"), <<'END', 'JavaScript: hints, lost connections and odd payloads');
listening
a new post: true true
a lost connection: all
a hint behind it: true
rubbish: all
no object: all
no lists: true
END
}

is_deeply([ blocks_not_run() ], [], 'all blocks of the guide were run');
is($node->safe_psql('postgres', q{SELECT blogstore.wait_for_views('10 min')}), 't', 'the views follow');
is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', 'verify() shows nothing');
$node->stop;
done_testing();
