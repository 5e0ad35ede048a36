/*
 * counter_sweep.c
 *		Posts that have no counter get one, a chunk at a time.
 *
 * Containers of an older version, and posts that were loaded past blogstore, have no
 * counters. They count all the same: who counts leaves a stripe, and folding it makes
 * the counter (fold_deltas.c). A sweep makes the counters of all posts of a partition,
 * whoever likes them or not. A new counter says nothing, so no snapshot sees a
 * difference.
 *
 * Posts and deltas of a partition are read side by side in the order of posts' ids, in
 * which a post's counter comes before its other deltas. Posts that have a counter are
 * passed by; so a sweep that was cut short begins anew, and writes nothing twice.
 *
 * A sweep waits for nobody once it has the leaf of deltas open. Who deletes a post waits
 * for the chunk that has made the post's counter, as for anybody who has counted.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "items/item.h"
#include "layout/layout.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

/* How many posts a chunk looks at, and how many counters it makes, at most. */
#define MAX_LOOKED 10000
#define MAX_MADE 500

/* Items of a type in a partition, in the order of posts' ids, behind a place. */
static ItemScan *
begin_scan(const CounterSweep *sweep, ItemType type, const ItemPlace *place)
{
	return item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type,
		.partition = sweep->partition, .path = PATH_KEY, .after = place,
		.identity = true
	});
}

/*
 * Go on to the first delta that is not of a post before this one; *more: is there a
 * delta? Returns whether it is this post's counter.
 */
static bool
has_counter(ItemScan *deltas, BlogItem *delta, bool *more,
			const pg_uuid_t *post_id)
{
	int			order = -1;

	while (*more)
	{
		order = memcmp(item_uuid(delta, PROP_POST_ID), post_id, UUID_LEN);
		if (order >= 0)
			break;
		*more = item_scan_next(deltas, delta);
	}
	return *more && order == 0 && delta_is_counter(item_uuid(delta, PROP_ID));
}

/*
 * Find posts without a counter behind the sweep's place, by the active snapshot, up to
 * MAX_MADE of them. Returns how many; *end: is the partition's end reached?
 */
static int
find_missing(CounterSweep *sweep, pg_uuid_t *missing, bool *end)
{
	ItemPlace	place = sweep->place;
	uint64		left_out = left_out_count();
	ItemScan   *posts = begin_scan(sweep, ITEM_POST, &place);
	ItemScan   *deltas = begin_scan(sweep, ITEM_DELTA, &place);
	BlogItem	post;
	BlogItem	delta;
	bool		more;
	int			n = 0;

	/* a leaf that is left out says of no post what it has */
	*end = left_out_count() != left_out;
	more = !*end && item_scan_next(deltas, &delta);
	for (int looked = 0; !*end && looked < MAX_LOOKED && n < MAX_MADE; looked++)
	{
		const pg_uuid_t *post_id;

		*end = !item_scan_next(posts, &post);
		if (*end)
			break;
		CHECK_FOR_INTERRUPTS();
		post_id = item_uuid(&post, PROP_POST_ID);
		if (!has_counter(deltas, &delta, &more, post_id))
			missing[n++] = *post_id;
		sweep->looked++;
		sweep->place.valid = true;
		sweep->place.first = *post_id;
		/* behind all deltas of the post */
		memset(&sweep->place.last, 0xff, sizeof(sweep->place.last));
	}
	item_scan_end(posts);
	item_scan_end(deltas);
	return n;
}

/*
 * Make a post's counter. ITEM_LOCKED: somebody else counts on the post, or is making the
 * counter, or deleting the post; ITEM_NOT_FOUND: there is no such post (any more).
 */
static ItemResult
make_counter(const pg_uuid_t *post_id)
{
	const PostCounts nothing = {0, 0};
	PostLock	lock;
	ItemResult	result;

	post_lock_init(&lock, post_id);
	post_lock_counter(&lock, LockWaitSkip);
	result = post_lock_shared(&lock, LockWaitSkip);
	if (result == ITEM_OK &&
		(!post_has_counter(&lock) || delta_counter_pending(post_id)))
		result = ITEM_LOCKED;
	/* not inserted: somebody has made it since it was looked for */
	if (result == ITEM_OK && !delta_insert_counter(post_id, nothing, false))
		result = ITEM_NOT_FOUND;
	post_unlock(&lock);
	return result;
}

/*
 * Make counters of posts from the sweep's place on, in this transaction, which is READ
 * COMMITTED and had better end then; the containers' owner is the current user. Returns
 * whether the partition's end is reached. Waits for DDL that has the leaves locked.
 */
bool
post_counters_make(CounterSweep *sweep)
{
	pg_uuid_t  *missing;
	bool		end = true;
	int			n;

	if (!delta_possible_in(sweep->partition) ||
		!partition_takes(CONTAINER_POSTS, ITEM_POST, sweep->partition))
		return true;
	missing = palloc(sizeof(pg_uuid_t) * MAX_MADE);
	PushActiveSnapshot(GetTransactionSnapshot());
	n = find_missing(sweep, missing, &end);
	/* a lock that others have for long is met before any counter is written */
	if (n > 0)
		item_writer_close(item_writer_open_partition(CONTAINER_POSTS, ITEM_DELTA,
													 sweep->partition));
	PopActiveSnapshot();
	for (int i = 0; i < n; i++)
	{
		ItemResult	result = make_counter(&missing[i]);

		CHECK_FOR_INTERRUPTS();
		sweep->made += result == ITEM_OK;
		sweep->busy += result == ITEM_LOCKED;
	}
	pfree(missing);
	return end;
}
