
# While commits come fast, the worker rests between its turns: they do not wake it, and it
# takes them together. Who waits for the views does not wait for the end of a rest, nor
# does who ends the worker or changes its settings.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('gather');
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

my $shown = 'SELECT EXISTS (SELECT FROM blogstore.feed f, public.last l WHERE f.post_id = l.post_id)';
my $pid = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'blogstore worker'";

sub delay
{
	my ($delay) = @_;

	$node->append_conf('postgresql.conf', "blogstore.view_refresh_delay = '$delay'\n");
	$node->reload;
	ok( $node->poll_query_until('postgres', "SELECT setting::int * interval '1 ms' = '$delay' FROM pg_settings WHERE name = 'blogstore.view_refresh_delay'"),
		"the delay is $delay");
	# the worker takes the setting over before it sleeps again
	is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')"), 't', 'and the worker has it');
	return;
}

# Does the worker sleep, though the last post does not show? Waits a little first, for one
# that has been woken.
sub asleep
{
	my ($worker) = @_;

	return $node->safe_psql('postgres',
		"SELECT pg_sleep(0.2); SELECT NOT ($shown) AND wait_event = 'Extension' AND state = 'idle' FROM pg_stat_activity WHERE pid = $worker") =~ /t$/;
}

# Write until the worker rests: posts are committed, and it sleeps without having seen them.
sub write_until_it_rests
{
	my $worker = $node->safe_psql('postgres', $pid);

	for (my $n = 0; $n < 100; $n++)
	{
		$node->safe_psql('postgres', 'SET synchronous_commit = off; CALL public.write(1000)');
		return 1 if asleep($worker) && asleep($worker);
	}
	return 0;
}

# ---- A rest without an end

delay('10 min');
ok(write_until_it_rests(), 'it rests while there are commits');
is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('5 min')"), 't', 'who waits wakes it');
is($node->safe_psql('postgres', $shown), 't', 'and sees the last post');

ok(write_until_it_rests(), 'it rests again');
is($node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 300000) FROM ($pid) w"), 't', 'a worker that rests ends when it is told to');
ok($node->poll_query_until('postgres', $shown), 'and the next one takes what had gathered');
check_store($node, 'postgres', 'after a rest that was cut short');

# ---- No rest

ok(write_until_it_rests(), 'it rests once more');
delay('0 s');
for my $n (1 .. 5)
{
	$node->safe_psql('postgres', 'SET synchronous_commit = off; CALL public.write(500)');
	ok($node->poll_query_until('postgres', $shown), 'without a delay the views follow by themselves');
}
check_store($node, 'postgres', 'at the end');

done_testing();
