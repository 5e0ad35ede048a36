# Requests work as usual while the owner inserts rows with the same keys.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;

use BlogstoreServer;
use BlogstoreTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('insert_races');
$node->start;
create_store($node, 'postgres');
fill_store($node, 'postgres', 20, 50);
$node->safe_psql('postgres', 'SELECT kit.views_follow()');

# Several clients insert the same likes in the same order, each in a
# transaction of its own.
my $pairs = 'FOR i IN 1..50 LOOP FOR j IN 10..20 LOOP';
my $each = 'COMMIT; END LOOP; END LOOP;';
my @race = (
	start_client($node, 'postgres', <<"SQL", 'owner'),
DO \$\$ BEGIN $pairs
	INSERT INTO blogstore.posts (id, type, post_id, user_id, user_username, creation_date)
	VALUES (blogstore.new_id(), 'like', kit.p(i), kit.u(j), 'by hand', now()) ON CONFLICT DO NOTHING;
$each END \$\$;
SQL
	map { start_client($node, 'postgres', <<"SQL", "request_$_") } 1 .. 3);
DO \$\$ BEGIN $pairs
	PERFORM blogstore.create_like(kit.p(i), kit.u(j));
$each END \$\$;
SQL
foreach my $client (@race)
{
	my (undef, $err) = finish_client($client);

	is($err, '', 'no client gets an error');
}
is( $node->safe_psql(
		'postgres', q{
SELECT count(*), count(DISTINCT (post_id, user_id)) FROM blogstore.posts
WHERE type = 'like' AND user_id IN (SELECT kit.u(j) FROM generate_series(10, 20) j)
}),
	'550|550',
	'one like remains of each pair');
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FROM generate_series(1, 50) i, blogstore.get_post(kit.p(i)) p
WHERE p.like_count <> (SELECT count(*) FROM blogstore.posts l
	WHERE l.type = 'like' AND l.post_id = kit.p(i) AND l.user_username <> 'by hand')
}),
	'0',
	'posts count the likes that were not made by hand');

$node->stop;
done_testing();
