/*
 * count_delta.c
 *		Deltas: rows beside a post item that hold amounts to add to the post's
 *		counts.
 *
 * A reader of a post adds up the post's deltas (post_item.c). Deltas are in
 * the post's logical partition. There are three kinds, which differ by their
 * ids:
 *
 *	- The counter. Each post has one. All processes update it, one at a time
 *	  (post_has_counter()).
 *	- A stripe. A process updates its stripe on a post while another process
 *	  uses the counter. Each process has at most one stripe on a post, so a
 *	  post that many users like at once has few dead index entries.
 *	- A delta with a new id. A transaction inserts one if it would have to wait
 *	  for the counter and the stripe, or could not update them.
 *
 * Folding deletes stripes and deltas with new ids. In the same transaction, it
 * adds their amounts to the counter or to one new delta. So snapshots from
 * before and after the folding show the same sum. Only the transaction that
 * deletes a delta adds its amounts, so no delta is folded twice.
 *
 * A transaction writes a delta only while no other transaction can delete the
 * post. A transaction that deletes the post waits for the transactions that
 * have inserted deltas (post_count.c).
 *
 * A serializable transaction that reads counts takes a predicate lock on the
 * post's key (post_item.c). A transaction that inserts a delta checks for that
 * lock.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

const pg_uuid_t counter_id = {{0}};

/*
 * Set *id to the id of this process's stripes, which is the same on all posts.
 * It is a UUID of version 8 with the process's number in the server's array of
 * processes. No other delta has a UUID of this version.
 */
static void
stripe_id(pg_uuid_t *id)
{
	uint32		number = compat_proc_number();

	memset(id, 0, sizeof(*id));
	id->data[6] = 0x80;
	id->data[8] = 0x80;
	for (int i = 0; i < 4; i++)
		id->data[UUID_LEN - 1 - i] = number >> (8 * i);
}

static bool
delta_pending(const CountedItem *item, const pg_uuid_t *id)
{
	Datum		key[DELTA_KEYS];
	ItemQuery	query = one_delta_query(item, id, key);

	return item_written_elsewhere(&query);
}

/*
 * A process remembers up to this many posts whose counter another process was
 * using. On these posts, it adds to its own stripe, without trying the counter
 * first.
 */
#define STRIPED_POSTS 16

/*
 * How long a process remembers a post whose counter another process was using,
 * in ms. FOLD_AFTER in folding.c, after which the worker folds the post's
 * stripes, has the same value.
 */
#define STRIPED_FOR 1000

typedef struct StripedPost
{
	CountedItem item;
	TimestampTz until;
} StripedPost;

static StripedPost striped[STRIPED_POSTS];
static int	next_striped = 0;

static StripedPost *
find_striped(const CountedItem *item)
{
	for (int i = 0; i < STRIPED_POSTS; i++)
		if (memcmp(&striped[i].item, item, sizeof(CountedItem)) == 0)
			return &striped[i];
	return NULL;
}

/*
 * Return whether another process was using the post's counter lately. If so,
 * the caller adds to this process's stripe instead.
 */
bool
delta_striped(const CountedItem *item)
{
	const StripedPost *post = find_striped(item);

	return post != NULL &&
		!clock_reached(post->until, GetCurrentTimestamp(), STRIPED_FOR);
}

/*
 * Remember a post whose counter another process was using. Called after counts
 * were added to this process's stripe. Ignores counts of zero: they can be
 * from post_keep(), which does not try the counter.
 */
static void
remember_striped(const CountedItem *item, ItemCounts counts)
{
	StripedPost *post = find_striped(item);

	if (counts.comments == 0 && counts.likes == 0)
		return;
	if (post == NULL)
	{
		post = &striped[next_striped];
		post->item = *item;
		next_striped = (next_striped + 1) % STRIPED_POSTS;
	}
	post->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											  STRIPED_FOR);
}

/*
 * Add counts to the counter or stripe in "delta", which the scan has found.
 * Returns ITEM_LOCKED, with nothing added, if another transaction is changing
 * the row; else ITEM_OK.
 */
static ItemResult
add_to_found(ItemWriter *writer, ItemScan *scan, const CountedItem *item,
			 DeltaKind kind, BlogItem *delta, ItemCounts counts)
{
	ItemResult	result;

	/* The worker may be folding the stripe, and so deleting the row. */
	if (kind == DELTA_STRIPE)
	{
		result = item_writer_lock_found(writer, scan, LockTupleNoKeyExclusive,
										LockWaitSkip, delta);
		if (result != ITEM_OK)
			return ITEM_LOCKED;
		item_add_counts(delta, counts.comments, counts.likes);
		item_writer_update(writer, delta);
		remember_striped(item, counts);
		return ITEM_OK;
	}
	item_scan_require(scan, delta);
	item_add_counts(delta, counts.comments, counts.likes);
	result = item_writer_update_found(writer, scan, delta);
	return result == ITEM_OK ? ITEM_OK : ITEM_LOCKED;
}

/*
 * Add counts to a post's counter (DELTA_COUNTER) or to this process's stripe
 * on the post (DELTA_STRIPE). Called under READ COMMITTED only. For the
 * counter, the caller has checked post_has_counter().
 *
 * Returns ITEM_NOT_FOUND if the post has no counter or stripe. Returns
 * ITEM_LOCKED, with nothing added, if another transaction is changing the row
 * or has just changed it. Errors: 22004 if the counter has a null amount.
 */
ItemResult
delta_add(const CountedItem *item, DeltaKind kind, ItemCounts counts)
{
	pg_uuid_t	id = counter_id;
	Datum		key[DELTA_KEYS];
	BlogItem	delta;
	ItemWriter *writer;
	ItemScan   *scan;
	ItemResult	result = ITEM_NOT_FOUND;

	if (kind == DELTA_STRIPE)
		stripe_id(&id);
	delta_key(item, &id, key);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, &item->post_id);
	scan = item_writer_scan(writer, key, DELTA_KEYS);
	if (item_scan_next(scan, &delta))
		result = add_to_found(writer, scan, item, kind, &delta, counts);
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

static void
delta_init(BlogItem *delta, const CountedItem *item, const pg_uuid_t *id,
		   ItemCounts counts)
{
	item_init(delta, ITEM_DELTA);
	item_set(delta, PROP_ID, UUIDPGetDatum(id));
	item_set(delta, PROP_POST_ID, UUIDPGetDatum(&item->post_id));
	item_set(delta, PROP_ITEM_ID, UUIDPGetDatum(&item->item_id));
	item_set(delta, PROP_COMMENT_COUNT, Int64GetDatum(counts.comments));
	item_set(delta, PROP_LIKE_COUNT, Int64GetDatum(counts.likes));
}

/*
 * Fill in a counter in memory, with counts of zero. The counter points to
 * item, which must live as long.
 */
void
counter_init(BlogItem *counter, const CountedItem *item)
{
	delta_init(counter, item, &counter_id, (ItemCounts) {0, 0});
}

static bool
delta_write(const CountedItem *item, const pg_uuid_t *id, ItemCounts counts)
{
	BlogItem	delta;
	ItemWriter *writer;
	bool		inserted;

	delta_init(&delta, item, id, counts);

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, &item->post_id);
	inserted = item_writer_insert(writer, &delta);
	/*
	 * Detect a conflict with serializable transactions that have read the
	 * counts without this delta.
	 */
	if (!delta_is_empty(&delta))
		key_predicate_check(writer, &item->post_id, &item->item_id);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Insert a delta with a new id. The caller has made sure that no other
 * transaction can delete the post.
 */
void
delta_insert(const CountedItem *item, ItemCounts counts)
{
	pg_uuid_t	id;
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		new_id(&id);
		inserted = delta_write(item, &id, counts);
	} while (!inserted);
}

/*
 * Insert this process's stripe on a post. If the stripe exists already, or
 * another transaction in progress has deleted it, insert a delta with a new id
 * instead. The caller has made sure that no other transaction can delete the
 * post.
 */
void
delta_insert_stripe(const CountedItem *item, ItemCounts counts)
{
	pg_uuid_t	id;
	bool		inserted = false;

	CHECK_FOR_INTERRUPTS();
	stripe_id(&id);
	if (!delta_pending(item, &id))
		inserted = delta_write(item, &id, counts);
	if (inserted)
		remember_striped(item, counts);
	else
		delta_insert(item, counts);
}

/*
 * Return whether another transaction in progress has written or deleted the
 * post's counter.
 */
bool
delta_counter_pending(const CountedItem *item)
{
	return delta_pending(item, &counter_id);
}

/*
 * Insert a post's counter. The caller has checked post_has_counter(). Returns
 * false if the post has a counter already.
 */
bool
delta_insert_counter(const CountedItem *item, ItemCounts counts)
{
	return delta_write(item, &counter_id, counts);
}

/*
 * Return whether the transaction's snapshot shows a delta of the post other
 * than the counter.
 */
bool
delta_any(const CountedItem *item)
{
	Datum		key[2];
	ItemQuery	query = delta_query(item, key);
	BlogItem	delta;
	ItemScan   *scan;
	bool		any = false;

	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	while (!any && item_scan_next(scan, &delta))
		any = !delta_is_counter(item_uuid(&delta, PROP_ID));
	item_scan_end(scan);
	PopActiveSnapshot();
	return any;
}

/*
 * Delete the deltas of a post that the active snapshot shows, except the
 * counter. Skips deltas that another transaction is writing or deleting.
 * Returns the number of deleted deltas.
 *
 * limit: the largest number of deltas to delete
 * counts: the amounts of the deleted deltas are added to this
 * left: set to true if deltas other than the counter still exist afterwards
 */
int64
delta_take(const CountedItem *item, int64 limit, ItemCounts *counts,
		   bool *left)
{
	Datum		key[2];
	ItemQuery	query = delta_query(item, key);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	int64		taken = 0;

	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, &item->post_id);
	query.identity = false;
	scan = item_scan_begin(&query);
	while (!(*left && taken >= limit) && item_scan_next(scan, &delta))
	{
		ItemCounts	says = {
			item_count(&delta, PROP_COMMENT_COUNT),
			item_count(&delta, PROP_LIKE_COUNT)
		};
		ItemResult	result = ITEM_LOCKED;

		if (delta_is_counter(item_uuid(&delta, PROP_ID)))
			continue;
		if (taken < limit)
			result = item_writer_delete_found(writer, scan);
		if (result != ITEM_OK)
		{
			*left = true;
			continue;
		}
		counts->comments += says.comments;
		counts->likes += says.likes;
		taken++;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	return taken;
}
