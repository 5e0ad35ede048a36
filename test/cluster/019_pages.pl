
# Paging through lists that are spread over several nodes, or copied: items
# with equal dates, cursors without microseconds, and pages of one item. The
# pages have the whole list, and paging ends.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t";

use BlogstoreCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $cluster = new_cluster('pages');
my $coordinator = $cluster->{coordinator};

# Dates of whole milliseconds, each with several items, and dates that differ
# only in microseconds
$coordinator->safe_psql(
	'postgres', q{
CREATE INDEX ON blogstore.posts_like (user_id, creation_date, id);
CREATE INDEX ON blogstore.posts_comment_like (user_id, creation_date, id);
SELECT count(blogstore.create_user('user ' || n, kit.u(n), kit.d(n))) FROM generate_series(1, 5) AS n;
SELECT count(blogstore.create_post(kit.u(1 + n % 2), 'title ' || n, 'content', kit.p(n), kit.d(n % 7) + n % 3 * interval '1 microsecond')) FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_comment(kit.p(n), kit.u(3), 'comment', kit.c(n), kit.d(n % 7) + n % 3 * interval '1 microsecond')) FROM generate_series(1, 60) AS n;
SELECT count(blogstore.create_like(kit.p(n), kit.u(4), kit.d(n % 7) + n % 3 * interval '1 microsecond', CASE n % 2 WHEN 1 THEN kit.c(n) END)) FROM generate_series(1, 60) AS n;
});
# Returns the ids of a list that is read page by page. With cut, cursors lose
# their microseconds, as in clients with less exact dates.
create_kit_everywhere($cluster, q{
CREATE FUNCTION kit.pages(list text, size int, oldest boolean, cut boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	d timestamptz;
	i uuid;
	dates timestamptz[];
	ids uuid[];
	seen text := '';
BEGIN
	FOR page IN 1 .. 100 LOOP
		EXECUTE format('SELECT array_agg(creation_date), array_agg(id) FROM ' || list, size, quote_nullable(d), quote_nullable(i), oldest) INTO dates, ids;
		IF ids IS NULL THEN
			RETURN seen;
		END IF;
		seen := seen || array_to_string(ids, ' ') || ' ';
		d := dates[array_length(dates, 1)];
		i := ids[array_length(ids, 1)];
		IF cut THEN
			d := date_trunc('milliseconds', d);
		END IF;
	END LOOP;
	RETURN seen || 'and so on';
END $$;
});
ok(cluster_views_follow($cluster), 'the views follow');

my %lists = (
	'list_feed()' => 'blogstore.list_feed(%1$s, %2$s, %3$s, %4$L)',
	'list_user_posts()' => 'blogstore.list_user_posts(kit.u(1), %1$s, %2$s, %3$s, %4$L)',
	'list_user_comments()' => 'blogstore.list_user_comments(kit.u(3), %1$s, %2$s, %3$s, %4$L)',
	'list_user_likes()' => 'blogstore.list_user_likes(kit.u(4), %1$s, NULL, true, %2$s, %3$s, %4$L)');
for my $name (sort keys %lists)
{
	for my $oldest ('false', 'true')
	{
		my $whole = $coordinator->safe_psql('postgres',
			"SELECT kit.pages('$lists{$name}', 1000, $oldest, false)");

		is(scalar(split / /, $whole), $name eq 'list_user_posts()' ? 30 : 60, "$name: all items, oldest_first $oldest");
		same_everywhere($cluster, "SELECT kit.pages('$lists{$name}', s, $oldest, c) FROM unnest(ARRAY[1, 3, 7, 25]) AS s, unnest(ARRAY[false, true]) AS c",
			join("\n", ($whole) x 8), "$name: pages, oldest_first $oldest");
	}
}

done_testing();
