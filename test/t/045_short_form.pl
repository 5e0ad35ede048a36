# Copies and the feed have those properties of posts that
# blogstore.short_form_properties names. A change of the setting causes a
# rebuild of the views, also if no worker ran at the time. A restart without a
# change causes none.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('short_form');
$node->start;
create_store($node, 'postgres');
$node->safe_psql('postgres', 'SELECT kit.fill(3, 120)');
$node->safe_psql('postgres',
	q{SELECT blogstore.edit_post(kit.p(n), properties => jsonb_build_object('slug', 'post-' || n, 'tags', jsonb_build_array(n), 'Case, and comma', n)) FROM generate_series(1, 120, 3) n});

# Check that the views have those properties that an expression over posts
# gives.
sub views_have
{
	my ($wanted, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', "SELECT blogstore.wait_for_views('10 min')"), 't', "$name: the views follow");
	foreach my $view (q{blogstore.users WHERE type = 'post'}, 'blogstore.feed', 'blogstore.list_feed(NULL)', 'blogstore.list_user_posts(kit.u(2), NULL)')
	{
		my $ids = "SELECT post_id FROM $view";
		my ($table, $where) = $view =~ /^(\S+(?:\(.*\))?)( WHERE .*)?$/;

		is( $node->safe_psql('postgres', "SELECT post_id, properties FROM $view ORDER BY post_id"),
			$node->safe_psql('postgres', "SELECT post_id, $wanted FROM blogstore.posts WHERE type = 'post' AND post_id IN ($ids) ORDER BY post_id"),
			"$name: $view");
	}
	is($node->safe_psql('postgres', 'SELECT * FROM blogstore.verify()'), '', "$name: verify() shows nothing");
	return;
}

my $stamp = 'SELECT short_form FROM blogstore.view_state';

# Wait until the worker has begun a rebuild for the new setting: it stores the
# new value first.
sub await_other_stamp
{
	my ($before) = @_;

	wait_until($node, 'postgres', "SELECT short_form <> $before FROM blogstore.view_state");
	return;
}

views_have('properties', 'all');
is($node->safe_psql('postgres', $stamp), '0', 'the default settings are stored as 0');

set_and_reload($node, 'blogstore.short_form_properties', 'slug, "Case, and comma", none');
await_other_stamp(0);
my $some = q{(SELECT jsonb_object_agg(key, value) FROM jsonb_each(properties) WHERE key IN ('slug', 'Case, and comma'))};
views_have($some, 'some');
is($node->safe_psql('postgres', "SELECT properties FROM blogstore.get_post(kit.p(1))"),
	'{"slug": "post-1", "tags": [1], "Case, and comma": 1}', 'get_post() gives all');
$node->safe_psql('postgres', q{SELECT blogstore.edit_post(kit.p(120), properties => '{"slug": "new", "x": 1}')});
views_have($some, 'an edit');

# The setting changes while the worker is stopped.
my $before = $node->safe_psql('postgres', $stamp);
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
set_and_reload($node, 'blogstore.short_form_properties', '');
is($node->safe_psql('postgres', 'SELECT count(properties) FROM blogstore.list_feed(NULL)'), '0', 'without a worker, lists follow the setting at once');
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
await_other_stamp($before);
views_have('NULL::jsonb', 'none');

# A restart causes no rebuild.
$before = $node->safe_psql('postgres', "SELECT xmin FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)");
$node->restart;
views_have('NULL::jsonb', 'restarted');
is($node->safe_psql('postgres', "SELECT xmin FROM blogstore.users WHERE type = 'post' AND post_id = kit.p(1)"), $before, 'a restart causes no rebuild');

# The worker corrects a copy with other properties.
$node->safe_psql('postgres', 'SELECT blogstore.stop_worker()');
$node->safe_psql('postgres', q{UPDATE blogstore.users SET properties = '{"x": 2}' WHERE type = 'post' AND post_id = kit.p(2)});
$node->safe_psql('postgres', 'SELECT blogstore.start_worker()');
views_have('NULL::jsonb', 'a copy written by hand');

# A value that is no list is refused.
$before = log_end($node);
$node->append_conf('postgresql.conf', "blogstore.short_form_properties = 'a, '\n");
$node->reload;
wait_logged($node, $before, qr/invalid value for parameter "blogstore.short_form_properties"/);
ok(1, 'a value that is no list is refused');

$node->stop;
done_testing();
