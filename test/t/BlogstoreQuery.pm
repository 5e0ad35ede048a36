
=pod

=head1 NAME

BlogstoreQuery - makes psql() and safe_psql() of PostgreSQL::Test::Cluster cheap

=head1 DESCRIPTION

The tests run tens of thousands of short queries. To start psql takes longer
than such a query does. So, if the Perl module DBD::Pg is installed, it runs
scripts of plain SQL. Each script still has a session of its own, and its
output is that of psql. psql runs all other scripts.

The environment variable BLOGSTORE_PSQL, if it is set, has psql run all scripts.

=cut

package BlogstoreQuery;

use strict;
use warnings;

use IO::Select;
use PostgreSQL::Test::Cluster;

# Split a script into statements as psql does. Returns nothing if it takes more
# than SQL to do so, or to run them.
sub statements
{
	my ($script) = @_;
	my @statements = ('');

	# Data after COPY, notifications, and semicolons within statements
	return if $script =~ /\bCOPY\b|\bLISTEN\b|\bBEGIN\s+ATOMIC\b|\bCREATE\s+(?:OR\s+REPLACE\s+)?RULE\b/i;
	while ($script =~ /\G('[^']*'|"[^"]*"|(\$(?:[A-Za-z_]\w*)?\$).*?\g{-1}|--[^\n]*|\/\*.*?\*\/|::|\w+|.)/sg)
	{
		my $token = $1;

		# Meta-commands, psql's variables, and strings with backslashes
		return if $token eq '\\' || $token eq ':' && $script =~ /\G[A-Z'"{]/ || $token =~ /^e$/i && $script =~ /\G'/;
		$token eq ';' ? push(@statements, '') : ($statements[-1] .= $token);
	}
	return grep { !/^(?:\s|--[^\n]*|\/\*.*?\*\/)*$/s } @statements;
}

# Run a statement. Returns the lines of its result. At an error, returns
# nothing and sets the error of the connection.
sub rows
{
	my ($db, $statement) = @_;
	my $query = $db->prepare($statement, { pg_direct => 1, pg_async => DBD::Pg::PG_ASYNC() });

	$query->execute or return;
	# A test's alarm can end this wait.
	IO::Select->new($db->{pg_socket})->can_read(1) until $db->pg_ready;
	$query->pg_result or return;
	return if !$query->{NUM_OF_FIELDS};
	my @type = @{ $query->{pg_type} };
	return map
	{
		my $row = $_;
		join '|', map { my $value = $row->[$_] // ''; $type[$_] eq 'bytea' && defined $row->[$_] ? '\\x' . unpack('H*', $value) : $value } 0 .. $#type;
	} @{ $query->fetchall_arrayref };
}

# The connection string for a call of psql(), and the verbosity of errors.
# Returns nothing if psql has to run the script.
sub target
{
	my ($node, $dbname, $params) = @_;
	my @extra = @{ $params->{extra_params} // [] };
	my %other = %$params;

	delete @other{qw(stdout stderr on_error_die on_error_stop extra_params)};
	return if %other || grep { defined $_ && ref $_ ne 'SCALAR' } @$params{qw(stdout stderr)};
	return $node->connstr($dbname) if !@extra;
	return $node->connstr($dbname) . " user=$extra[1]" if @extra == 2 && $extra[0] eq '-U' && $extra[1] =~ /^\w+$/;
	return;
}

# Run a script. Returns psql's exit status, its output and its messages, or
# nothing if psql has to run it.
sub run_script
{
	my ($node, $dbname, $script, $params) = @_;
	my $verbosity = $script =~ s/^\\set VERBOSITY (terse|default|verbose)\n// ? $1 : 'default';
	my @statements = statements($script);
	my $target = target($node, $dbname, $params);
	my (@out, $err);
	my $status = 0;

	return if !@statements || !defined $target;
	local %ENV = $node->_get_env();
	my $db = DBI->connect("dbi:Pg:$target", '', '',
		{ AutoCommit => 1, PrintError => 0, PrintWarn => 1, RaiseError => 0, pg_enable_utf8 => 0 })
	  or return;
	$db->{pg_bool_tf} = 1;
	$db->{pg_expand_array} = 0;
	$db->{pg_errorlevel} = { terse => 0, default => 1, verbose => 2 }->{$verbosity};
	local $SIG{__WARN__} = sub { $err .= "psql:<stdin>:1: $_[0]" };
	foreach my $statement (@statements)
	{
		push @out, rows($db, $statement);
		next if !$db->err;
		$err .= 'psql:<stdin>:1: ' . $db->errstr . "\n";
		if (!$db->ping)
		{
			$err .= "psql:<stdin>:1: error: connection to server was lost\n";
			$status = 2;
			last;
		}
		next if !($params->{on_error_stop} // 1);
		$status = 3;
		last;
	}
	$db->disconnect;
	chomp $err if defined $err;
	return ($status, join("\n", @out), $err // '');
}

sub psql
{
	my ($original, $node, $dbname, $sql, %params) = @_;
	my ($status, $out, $err) = run_script($node, $dbname, $sql, \%params);

	return $original->($node, $dbname, $sql, %params) if !defined $status;
	${ $params{stdout} } = $out if $params{stdout};
	${ $params{stderr} } = $err if $params{stderr};
	die "$err\nwhile running '$sql'" if $status && $params{on_error_die};
	return wantarray ? ($status, $out, $err) : $status;
}

if (!$ENV{BLOGSTORE_PSQL} && eval { require DBI; require DBD::Pg; 1 })
{
	my $original = \&PostgreSQL::Test::Cluster::psql;

	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::psql = sub { return psql($original, @_) };
}

1;
