/*
 * folding.c
 *		Folds deltas (adds them to the counters of their posts or comments),
 *		and decides when.
 *
 * The change feed tells the worker which posts and comments (items) have
 * deltas. The worker folds the deltas of an item after FOLD_AFTER ms without a
 * new delta, at the latest after FOLD_AT_LAST ms. If an item has MANY_DELTAS,
 * the worker folds them at once, because each reader of the item adds them up.
 * Stripes do not count for this, because a process has at most one stripe for
 * each item (count_delta.c).
 *
 * If another transaction has locked the counter, the worker tries again later.
 * If the item has many deltas, the worker merges them into one meanwhile. The
 * list of items with deltas is only in memory. So a new worker scans all
 * leaves of deltas, a part at a time.
 *
 * Runs in the worker; fold_everything() in a backend, for repair().
 */
#include "postgres.h"

#include "base/clock.h"
#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * If a post or comment has this many deltas, not counting stripes, the worker
 * folds them at once.
 */
#define MANY_DELTAS 32

/*
 * When the worker folds the deltas of a post or comment that has fewer than
 * MANY_DELTAS: FOLD_AFTER ms after the last delta, at the latest FOLD_AT_LAST
 * ms after the first delta.
 */
#define FOLD_AFTER 1000
#define FOLD_AT_LAST 10000

/*
 * Limits on one transaction that folds: FOLD_DELTAS deltas, FOLD_ITEMS posts
 * and comments. After TIME_TO_FOLD ms, the worker decodes WAL again.
 */
#define FOLD_DELTAS 2000
#define FOLD_ITEMS 200
#define TIME_TO_FOLD 2

/*
 * If attached code raises an error while the worker folds the deltas of a post
 * or comment, the worker tries again after this pause, in ms.
 */
#define FAILED_PAUSE 30000

/*
 * While the worker scans all leaves of deltas, each transaction reads at most
 * this many deltas.
 */
#define LOOK_STEP 500

/*
 * If repair() finds a counter locked by another transaction, it waits for
 * MOMENT microseconds and tries again. It waits at most PATIENCE times in all.
 */
#define PATIENCE 500
#define MOMENT 10000

/*
 * Largest number of posts and comments in the list "pending", which have
 * deltas to fold. If there are more, the worker drops the list and scans all
 * leaves of deltas.
 */
#define MAX_PENDING 100000

typedef struct PendingItem
{
	CountedItem item;			/* a post or comment */

	/*
	 * Estimated number of the item's deltas, not counting stripes. Another
	 * process may have folded some.
	 */
	int64		deltas;
	TimestampTz at_last;
	TimestampTz due;
} PendingItem;

static HTAB *pending = NULL;

/*
 * When the worker next has to fold deltas, or to continue the scan of the
 * leaves of deltas. DT_NOEND if there is nothing to do.
 */
static TimestampTz next_due = DT_NOBEGIN;

/*
 * Where the scan of all leaves of deltas continues.
 *
 * look_from_start: true to begin again at the first partition
 * look_at: partition to scan next; NO_PARTITION at the end of the scan
 * look_after: place of the last delta that was read in this partition
 */
static bool look_from_start = true;
static int	look_at = NO_PARTITION;
static ItemPlace look_after;

static TimestampTz failed_at = 0;

static TimestampTz
after(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/*
 * Return whether a point in time, "due", has come. This is also true if "due"
 * lies more than FAILED_PAUSE in the future, which happens only if the clock
 * was set back.
 */
static bool
is_due(TimestampTz due, TimestampTz now)
{
	return due != DT_NOEND && clock_reached(due, now, FAILED_PAUSE);
}

/*
 * Add a post or comment that has deltas to the list "pending", or update its
 * entry.
 *
 * deltas: number of the item's new deltas, not counting stripes
 */
static PendingItem *
remember_item(const CountedItem *item, int64 deltas)
{
	PendingItem *entry;
	bool		found;

	if (pending == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(CountedItem),
		.entrysize = sizeof(PendingItem),.hcxt = TopMemoryContext};

		pending = hash_create("blogstore items to fold", 256, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(pending, item, HASH_ENTER, &found);
	if (!found)
	{
		entry->deltas = 0;
		entry->at_last = after(FOLD_AT_LAST);
	}
	entry->deltas += deltas;
	entry->due = entry->deltas >= MANY_DELTAS ? GetCurrentTimestamp() :
		Min(after(FOLD_AFTER), entry->at_last);
	next_due = Min(next_due, entry->due);
	return entry;
}

/*
 * Drop the list "pending" of posts and comments with deltas. Scan all leaves
 * of deltas instead, beginning after FOLD_AFTER ms.
 */
void
fold_all_later(void)
{
	if (pending != NULL)
		hash_destroy(pending);
	pending = NULL;
	look_from_start = true;
	next_due = after(FOLD_AFTER);
}

/*
 * Called when the views show the changes of a dirty set. Adds the posts and
 * comments of the set that have deltas besides their counter to the list
 * "pending".
 */
void
fold_later(const DirtySet *dirty)
{
	int			n;
	CountedChange *counted;

	if (dirty_anything(dirty) || dirty_left_out(dirty))
		fold_all_later();
	counted = dirty_counted(dirty, &n);
	for (int i = 0; i < n && !look_from_start; i++)
	{
		if (!counted[i].beside)
			continue;
		(void) remember_item(&counted[i].item, counted[i].deltas);
		if (hash_get_num_entries(pending) > MAX_PENDING)
			fold_all_later();
	}
}

/* Return the item that a delta counts for. */
static CountedItem
counted_by(const BlogItem *delta)
{
	return (CountedItem) {
		*item_uuid(delta, PROP_POST_ID), *item_uuid(delta, PROP_ITEM_ID)
	};
}

static bool
room_for_pending(void)
{
	return pending == NULL || hash_get_num_entries(pending) < MAX_PENDING;
}

/*
 * Scan a part of a partition, up to LOOK_STEP deltas, and add the posts and
 * comments of these deltas to the list "pending". Returns true at the end of
 * the partition.
 */
static bool
find_deltas_in(int partition)
{
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition = partition, .path = PATH_KEY, .after = &look_after,
		.identity = true
	});
	BlogItem	delta;
	bool		more = true;
	int			n = 0;

	while (n < LOOK_STEP && room_for_pending() &&
		   (more = item_scan_next(scan, &delta)))
	{
		n++;
		if (!delta_is_counter(item_uuid(&delta, PROP_ID)))
		{
			const CountedItem item = counted_by(&delta);

			(void) remember_item(&item,
								 !delta_is_stripe(item_uuid(&delta, PROP_ID)));
		}
	}
	if (more && n > 0)
		item_scan_place(scan, &look_after);
	item_scan_end(scan);
	return !more;
}

static bool
find_deltas(void)
{
	if (look_from_start)
	{
		look_at = partition_first(CONTAINER_POSTS, ITEM_DELTA);
		look_after.valid = false;
	}
	look_from_start = false;
	if (look_at == NO_PARTITION)
		return false;
	if (!find_deltas_in(look_at))
		return true;
	look_after.valid = false;
	look_at = partition_after(CONTAINER_POSTS, ITEM_DELTA, look_at);
	return look_at != NO_PARTITION;
}

/*
 * Fold the deltas of a post or comment. If another transaction has locked the
 * counter, and there are many deltas, merge them into one. Returns how many
 * deltas were folded or merged.
 */
static int64
fold_item(PendingItem *entry)
{
	bool		many = entry->deltas >= MANY_DELTAS;
	bool		left = false;
	int64		taken = 0;
	ItemResult	outcome = ITEM_NOT_FOUND;

	/* The partition may have been detached, or moved to another node. */
	if (partition_exists_for(CONTAINER_POSTS, ITEM_DELTA, &entry->item.post_id))
		outcome = post_fold(&entry->item, FOLD_DELTAS, many, &taken, &left);
	if (taken >= FOLD_DELTAS)
		/*
		 * More deltas may be left. So the item stays in the list, and the next
		 * transaction folds again.
		 */
		entry->deltas = MANY_DELTAS;
	else if (outcome == ITEM_LOCKED || left)
	{
		/*
		 * Another transaction has locked the counter, or is writing a delta.
		 * The change feed reports nothing if that transaction rolls back. So
		 * keep the item in the list, and try again later.
		 */
		if (taken > 0)
			entry->deltas = 0;	/* post_fold() has merged the other deltas into
								 * one */
		entry->due = after(FOLD_AFTER);
		entry->at_last = after(FOLD_AT_LAST);
	}
	else
		(void) hash_search(pending, &entry->item, HASH_REMOVE, NULL);
	return taken;
}

/*
 * tried: the posts and comments whose deltas the current transaction has tried
 *     to fold
 * at_once: limit on the number of these items; 1 after a failure, to find the
 *     item that fails
 */
static CountedItem tried[FOLD_ITEMS];
static int	n_tried = 0;
static int	at_once = FOLD_ITEMS;

/*
 * Do the work of one transaction: scan a part of the leaves of deltas, and
 * fold deltas that are due.
 */
static void
fold_chunk(void *arg)
{
	HASH_SEQ_STATUS seq;
	PendingItem *entry;
	TimestampTz now = GetCurrentTimestamp();
	int64		deltas = 0;

	next_due = DT_NOEND;
	if (find_deltas())
		next_due = now;
	if (pending == NULL)
		return;
	hash_seq_init(&seq, pending);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		if (is_due(entry->due, now) && n_tried < at_once && deltas < FOLD_DELTAS)
		{
			CountedItem *item = &tried[n_tried++];

			*item = entry->item;
			deltas += fold_item(entry);
			entry = hash_search(pending, item, HASH_FIND, NULL);
		}
		if (entry != NULL)
			next_due = Min(next_due, entry->due);
	}
}

/*
 * Called when fold_chunk() has failed because of attached code, or of the
 * items. From now on,
 * each transaction folds the deltas of only one post or comment. If such a
 * transaction fails, its item is tried again after FAILED_PAUSE ms.
 */
static void
note_failed(const ErrorData *error)
{
	static LogRate rate;
	WorkerEntry *entry = my_worker_entry();

	if (at_once > 1 && n_tried > 1)
		at_once = 1;
	else
	{
		for (int i = 0; i < n_tried; i++)
			remember_item(&tried[i], 0)->due = after(FAILED_PAUSE);
		next_due = after(n_tried > 0 ? FOLD_AFTER : FAILED_PAUSE);
	}
	failed_at = GetCurrentTimestamp();
	if (entry != NULL)
		worker_entry_error(entry, ERROR_FOLD, error->message, error->hint);
	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("blogstore worker could not fold counts and will retry in %d s: %s",
						FAILED_PAUSE / 1000, error->message),
				 n_tried == 1 ? errdetail("The post is %s.",
										  id_text(&tried[0].post_id)) : 0,
				 apply_error_place(error)));
}

/*
 * Remove the error of note_failed() from stat_worker when no deltas are left
 * to fold, or when no fold has failed for twice FAILED_PAUSE.
 */
static void
note_recovered(void)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL &&
		(next_due == DT_NOEND ||
		 clock_passed(failed_at, GetCurrentTimestamp(), 2 * FAILED_PAUSE)))
		worker_entry_recovered(entry, ERROR_FOLD);
}

static bool
try_chunk(void)
{
	ErrorData  *error = NULL;
	ApplyResult result;

	n_tried = 0;
	result = apply_run(APPLY_COUNTS, fold_chunk, NULL, &error);
	if (result == APPLY_DONE)
	{
		if (n_tried == 0)
			at_once = FOLD_ITEMS;
		return true;
	}

	/*
	 * fold_chunk() has removed these items from the list "pending", but the
	 * rollback has restored their deltas.
	 */
	for (int i = 0; i < n_tried; i++)
		(void) remember_item(&tried[i], 0);
	next_due = after(FOLD_AFTER);
	if (result == APPLY_FAILED)
		note_failed(error);
	return false;
}

/*
 * Fold the deltas that are due, for about TIME_TO_FOLD ms. Called in each
 * round of the worker's main loop, outside of a transaction. Returns the
 * number of ms until the next call is due, or -1 if there is nothing to fold
 * or to scan.
 */
long
fold_step(void)
{
	TimestampTz begin = GetCurrentTimestamp();

	while (is_due(next_due, GetCurrentTimestamp()) &&
		   !clock_passed(begin, GetCurrentTimestamp(), TIME_TO_FOLD))
		if (!try_chunk())
			break;
	note_recovered();
	if (next_due == DT_NOEND)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_due);
}

/*
 * Find the next post or comment after *place that has deltas besides its
 * counter, with the active snapshot. Moves *place past all deltas of this
 * item. Returns false if there is no such item.
 */
static bool
next_counted(int partition, ItemPlace *place, CountedItem *item)
{
	BlogItem	delta;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition = partition, .path = PATH_KEY, .after = place,
		.identity = true
	});
	bool		found;

	do
		found = item_scan_next(scan, &delta);
	while (found && delta_is_counter(item_uuid(&delta, PROP_ID)));
	if (found)
	{
		*item = counted_by(&delta);
		item_scan_place(scan, place);
		/* With the largest id, *place is after all deltas of this item. */
		memset(&place->last, 0xff, sizeof(place->last));
	}
	item_scan_end(scan);
	return found;
}

/*
 * Fold the deltas of a post or comment. If another transaction has locked the
 * counter, wait and try again. That transaction is usually the worker's, which
 * folds the same deltas.
 *
 * *patience: how many more times fold_everything() may wait
 */
static void
fold_patiently(const CountedItem *item, int *patience)
{
	int64		taken;
	bool		left;

	while (post_fold(item, PG_INT64_MAX, *patience == 0, &taken,
					 &left) == ITEM_LOCKED && *patience > 0)
	{
		CHECK_FOR_INTERRUPTS();
		(*patience)--;
		pg_usleep(MOMENT);
	}
}

/*
 * Fold all deltas, for repair(). If the counter of a post or comment stays
 * locked, merge its other deltas into one instead. Called in a READ COMMITTED
 * transaction, as the containers' owner.
 */
void
fold_everything(void)
{
	int			patience = PATIENCE;

	for (int p = partition_first(CONTAINER_POSTS, ITEM_DELTA); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_DELTA, p))
	{
		ItemPlace	place = {.valid = false};
		CountedItem item;

		PushActiveSnapshot(GetTransactionSnapshot());
		while (next_counted(p, &place, &item))
			fold_patiently(&item, &patience);
		PopActiveSnapshot();
	}
}
