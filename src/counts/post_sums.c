/*
 * post_sums.c
 *		The counts of many posts, in any order.
 *
 * The deltas of each partition are opened once, where post_add_up() opens them for
 * each post.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/xact.h"
#include "utils/memutils.h"

struct PostSums
{
	MemoryContext context;		/* where scans allocate (btgettuple() does) */
	Snapshot	snapshot;
	uint64		loads;			/* layout_loads(), by which numbers hold */
	int			n;				/* of partition numbers that there is room for */
	ItemScan  **deltas;			/* by partition; NULL: not opened yet */
};

/* Begin to add up, as a snapshot sees it. The transaction is READ COMMITTED. */
PostSums *
post_sums_begin(Snapshot snapshot)
{
	PostSums   *sums = palloc(sizeof(PostSums));

	Assert(!IsolationIsSerializable());
	sums->context = CurrentMemoryContext;
	sums->snapshot = snapshot;
	sums->loads = layout_loads();
	sums->n = 64;
	sums->deltas = palloc0(sizeof(ItemScan *) * sums->n);
	return sums;
}

/* Close all scans. */
static void
close_scans(PostSums *sums)
{
	for (int i = 0; i < sums->n; i++)
	{
		if (sums->deltas[i] != NULL)
			item_scan_end(sums->deltas[i]);
		sums->deltas[i] = NULL;
	}
}

/* Where the scan of a partition's deltas is to be found, or put. */
static ItemScan **
scan_of(PostSums *sums, int partition)
{
	int			n = sums->n;

	while (partition >= sums->n)
		sums->n *= 2;
	if (sums->n > n)
	{
		sums->deltas = repalloc(sums->deltas, sizeof(ItemScan *) * sums->n);
		memset(&sums->deltas[n], 0, sizeof(ItemScan *) * (sums->n - n));
	}
	return &sums->deltas[partition];
}

/*
 * The deltas of a post. Partitions that come meanwhile change the numbers of others:
 * then scans are begun anew.
 */
static ItemScan *
deltas_of(PostSums *sums, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, ITEM_DELTA, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	ItemScan  **scan;

	if (layout_loads() != sums->loads)
		close_scans(sums);
	sums->loads = layout_loads();
	scan = scan_of(sums, partition);

	if (*scan != NULL)
		item_scan_again(*scan, &key, 1);
	else
		*scan = item_scan_begin(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_DELTA,
			.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
			.snapshot = sums->snapshot
		});
	return *scan;
}

/* Add to a post's counts what its deltas say. */
void
post_sums_add(PostSums *sums, BlogItem *post)
{
	const pg_uuid_t *post_id = item_uuid(post, PROP_POST_ID);
	MemoryContext old;
	ItemScan   *scan;
	BlogItem	delta;

	if (!delta_possible(post_id))
		return;
	old = MemoryContextSwitchTo(sums->context);
	scan = deltas_of(sums, post_id);
	while (item_scan_next(scan, &delta))
		item_add_counts(post, item_count(&delta, PROP_COMMENT_COUNT),
						item_count(&delta, PROP_LIKE_COUNT));
	MemoryContextSwitchTo(old);
}

void
post_sums_end(PostSums *sums)
{
	close_scans(sums);
	pfree(sums->deltas);
	pfree(sums);
}
