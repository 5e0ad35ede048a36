
# While commits come fast, the worker rests between its turns: they do not wake it, and it
# takes them together, those of prepared transactions, too. Who waits for the views does
# not wait for the end of a rest.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('gather');
# the worker says whether it has rested
$node->append_conf('postgresql.conf', "log_min_messages = debug2\nblogstore.view_refresh_delay = '1s'\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(5, 10)');
check_store($node, 'postgres', 'filled');

# posts with a commit each, and the last of them
$node->safe_psql(
	'postgres', q{
	CREATE TABLE public.last (post_id uuid);
	INSERT INTO public.last VALUES (NULL);
	CREATE PROCEDURE public.write(posts integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN 1 .. posts LOOP
			UPDATE public.last SET post_id = (blogstore.create_post(kit.u(1), 'title', 'content')).post_id;
			COMMIT;
		END LOOP;
	END $$;
});

my $fast = 'SET synchronous_commit = off;';
my $shown = 'SELECT EXISTS (SELECT FROM blogstore.feed f, public.last l WHERE f.post_id = l.post_id)';

sub rests
{
	my ($which) = @_;

	return scalar(() = slurp_file($node->logfile) =~ /blogstore worker \Q$which\E/g);
}

# ---- Commits of prepared transactions are told as others are

# The first that make the site busy, and nothing else commits meanwhile. A machine so busy that
# it is no busy site tries again.
my $prepared = join '', map { "BEGIN; SELECT blogstore.create_post(kit.u(1), 'title', 'content'); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p';\n" } 1 .. 2000;
is(rests('has rested'), 0, 'it has not rested yet');
for (1 .. 100)
{
	$node->safe_psql('postgres', $prepared);
	last if rests('has rested') > 0;
}
cmp_ok(rests('has rested'), '>', 0, 'it rests between them');
check_store($node, 'postgres', 'after prepared transactions');

# ---- Commits do not wake it

# By the server's clock: turns that write views in some seconds, of which each but the first few and those
# that somebody waits for follow a rest of a second. A machine so busy that it is no busy site tries again.
my $few = "SELECT batches, extract(epoch FROM clock_timestamp()) FROM blogstore.stat_worker";
my ($written, $turns, $seconds) = (0, 0, 0);
my $earlier = rests('has rested');
for (1 .. 100)
{
	my ($before, $start) = split /\|/, $node->safe_psql('postgres', $few);
	$node->safe_psql('postgres', "$fast CALL public.write(4000)");
	my ($after, $end) = split /\|/, $node->safe_psql('postgres', $few);

	($written, $turns, $seconds) = (4000, $after - $before, $end - $start);
	last if $turns <= 3 + $seconds && rests('has rested') > $earlier;
}
cmp_ok($turns, '<=', 3 + $seconds, "$written commits are taken in no more turns than there are rests");
cmp_ok(rests('has rested'), '>', $earlier, 'it has rested');
ok($node->poll_query_until('postgres', $shown), 'the last one shows by itself');
check_store($node, 'postgres', 'after rests');

# ---- Who waits wakes it

# a commit may wake it just when a rest begins: that is one in many
my $woken = rests('was woken from its rest');
my $waits = 0;
while ($waits < 100 && rests('was woken from its rest') < $woken + 10)
{
	$waits++;
	is( $node->safe_psql('postgres', "$fast CALL public.write(1000); SELECT blogstore.wait_for_views('5 min'); $shown"),
		"t\nt", 'waited, and the last post shows');
}
cmp_ok(rests('was woken from its rest'), '>=', $woken + 10, "$waits waits have ended rests");

# ---- Not at all

$node->append_conf('postgresql.conf', "blogstore.view_refresh_delay = 0\n");
$node->reload;
ok($node->poll_query_until('postgres', "SELECT setting = '0' FROM pg_settings WHERE name = 'blogstore.view_refresh_delay'"), 'no delay');
# the worker takes the setting over before it answers
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')"), 't', 'waited');
my $rested = rests('has rested') + rests('was woken from its rest');
$node->safe_psql('postgres', "$fast CALL public.write(4000)");
ok($node->poll_query_until('postgres', $shown), 'the last one shows');
is(rests('has rested') + rests('was woken from its rest'), $rested, 'it rests no more');
check_store($node, 'postgres', 'at the end');

done_testing();
