
# While commits follow each other fast, the worker rests between its batches.
# Commits, of prepared transactions too, do not wake it, and it takes them
# together. A session that waits for the views does not wait until a rest ends.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('gather');
# The worker logs its rests at this level.
$node->append_conf('postgresql.conf', "log_min_messages = debug2\nblogstore.view_refresh_delay = '1s'\n");
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(5, 10)');
check_store($node, 'postgres', 'filled');

# A procedure that writes posts, commits each, and stores the id of the last
# one
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

# ---- Commits of prepared transactions count as commits

# These commits are the first fast ones, and no other session commits. On a
# slow machine the commits may not be fast enough, so try again.
my $prepared = join '', map { "BEGIN; SELECT blogstore.create_post(kit.u(1), 'title', 'content'); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p';\n" } 1 .. 2000;
is(rests('has rested'), 0, 'the worker has not rested yet');
for (1 .. 100)
{
	$node->safe_psql('postgres', $prepared);
	last if rests('has rested') > 0;
}
cmp_ok(rests('has rested'), '>', 0, 'the worker rests between prepared transactions');
check_store($node, 'postgres', 'after prepared transactions');

# ---- Commits do not wake the worker

# Count the batches that wrote views in some seconds, by the server's clock.
# All but the first few, and those for which a session waits, follow a rest of
# a second. Try again if the machine was too slow for that.
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
cmp_ok($turns, '<=', 3 + $seconds, "$written commits are taken in no more batches than there are rests");
cmp_ok(rests('has rested'), '>', $earlier, 'the worker has rested');
ok($node->poll_query_until('postgres', $shown), 'the last post is shown without a wait');
check_store($node, 'postgres', 'after rests');

# ---- A session that waits wakes the worker

# A commit may wake the worker when a rest has just begun. That happens once in
# many rests.
my $woken = rests('was woken from its rest');
my $waits = 0;
while ($waits < 100 && rests('was woken from its rest') < $woken + 10)
{
	$waits++;
	is( $node->safe_psql('postgres', "$fast CALL public.write(1000); SELECT blogstore.wait_for_views('5 min'); $shown"),
		"t\nt", 'waited, and the last post shows');
}
cmp_ok(rests('was woken from its rest'), '>=', $woken + 10, "$waits waits have ended rests");

# ---- No rest with a delay of zero

$node->append_conf('postgresql.conf', "blogstore.view_refresh_delay = 0\n");
$node->reload;
ok($node->poll_query_until('postgres', "SELECT setting = '0' FROM pg_settings WHERE name = 'blogstore.view_refresh_delay'"), 'no delay');
# The worker uses the new setting before it answers.
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')"), 't', 'waited');
my $rested = rests('has rested') + rests('was woken from its rest');
$node->safe_psql('postgres', "$fast CALL public.write(4000)");
ok($node->poll_query_until('postgres', $shown), 'the last one shows');
is(rests('has rested') + rests('was woken from its rest'), $rested, 'the worker does not rest any more');
check_store($node, 'postgres', 'at the end');

done_testing();
