/*
 * delta.c
 *		What is to be added to a post's counts: delta items.
 *
 * A transaction that cannot change a post's counts in place without waiting
 * (post_count.c) inserts a delta beside it, in the same logical partition. Who
 * reads a post adds up what its deltas say (post_item.c). Folding deletes deltas and
 * adds what they say to the post item, or to one new delta, in one transaction: no
 * snapshot sees a difference. A folder takes only deltas that it has deleted itself,
 * in their newest version, so no two count one delta.
 *
 * Each process has a delta of its own on a post, its stripe, to which it adds
 * again and again: so many processes, so many deltas of a viral post, and no
 * dead entries in the index that its readers would have to step over.
 *
 * A delta also keeps its post from being deleted under it; post_count.c tells how.
 * Whoever writes one has the post locked, or it is the transaction's.
 *
 * Who reads counts in a serializable transaction has the post's key locked
 * (post_item.c): a delta that is written looks for that lock.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "layout/item.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/* The id of this process's stripes: UUIDv8, which no other delta has. */
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

/* Has a transaction that has not ended, not this one, written this stripe? */
static bool
stripe_pending(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};

	return item_written_elsewhere(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	});
}

/* Look for this process's stripe of a post; delta_stripe_end() must follow. */
void
delta_stripe_begin(DeltaStripe *stripe, const pg_uuid_t *post_id)
{
	BlogItem	delta;

	stripe_id(&stripe->id);
	stripe->key[0] = UUIDPGetDatum(post_id);
	stripe->key[1] = UUIDPGetDatum(&stripe->id);
	PushActiveSnapshot(GetTransactionSnapshot());
	stripe->writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	stripe->scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = stripe->key,
		.nkeys = 2
	});
	stripe->found = item_scan_next(stripe->scan, &delta);
	stripe->mine = stripe->found && item_scan_written_here(stripe->scan);
}

/* Add to a stripe that was found; false, nothing written, if it is being folded. */
bool
delta_stripe_add(DeltaStripe *stripe, PostCounts counts)
{
	BlogItem	delta;

	if (item_writer_lock_found(stripe->writer, stripe->scan,
							   LockTupleNoKeyExclusive, LockWaitSkip,
							   &delta) != ITEM_OK)
		return false;
	item_add_counts(&delta, counts.comments, counts.likes);
	item_writer_update(stripe->writer, &delta);
	return true;
}

/* Done with a stripe, found or not. */
void
delta_stripe_end(DeltaStripe *stripe)
{
	item_scan_end(stripe->scan);
	item_writer_close(stripe->writer);
	PopActiveSnapshot();
}

/* Insert a delta; false if its id is taken. */
static bool
delta_write(const pg_uuid_t *post_id, const pg_uuid_t *id, PostCounts counts)
{
	BlogItem	delta;
	ItemWriter *writer;
	bool		inserted;

	item_init(&delta, ITEM_DELTA);
	item_set(&delta, PROP_ID, UUIDPGetDatum(id));
	item_set(&delta, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(&delta, PROP_COMMENT_COUNT, Int64GetDatum(counts.comments));
	item_set(&delta, PROP_LIKE_COUNT, Int64GetDatum(counts.likes));

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	inserted = item_writer_insert(writer, &delta);
	/* who reads counts from here on finds the delta itself */
	if (!delta_is_empty(&delta))
		key_predicate_check(writer, post_id);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/* Have a new delta count on a post that is there, and stays. */
void
delta_insert(const pg_uuid_t *post_id, PostCounts counts)
{
	pg_uuid_t	id;
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		new_id(&id);
		inserted = delta_write(post_id, &id, counts);
	} while (!inserted);
}

/*
 * Have a new delta count on a post that is there, and stays: as this process's
 * stripe, which it has not, unless another transaction is just writing one with
 * its id.
 */
void
delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	pg_uuid_t	id;
	bool		inserted = false;

	CHECK_FOR_INTERRUPTS();
	stripe_id(&id);
	if (!stripe_pending(post_id, &id))
		inserted = delta_write(post_id, &id, counts);
	if (!inserted)
		delta_insert(post_id, counts);
}

/* ------------------------------------------------------------------------
 * Folding
 * ------------------------------------------------------------------------ */

/*
 * Delete a post's deltas that the active snapshot shows, at most limit of them,
 * none that somebody else is writing or deleting. Returns how many, and adds what
 * they say to *counts; *left is set if there are others.
 */
int64
delta_take(const pg_uuid_t *post_id, int64 limit, PostCounts *counts,
		   bool *left)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	int64		taken = 0;

	if (!delta_possible(post_id))
		return 0;
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1
	});
	while (!(*left && taken >= limit) && item_scan_next(scan, &delta))
	{
		PostCounts	says = {
			item_count(&delta, PROP_COMMENT_COUNT),
			item_count(&delta, PROP_LIKE_COUNT)
		};
		ItemResult	result = ITEM_LOCKED;

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

/* Delete a post's deltas that there are by now, and add up what they say. */
int64
delta_take_now(const pg_uuid_t *post_id, int64 limit, PostCounts *counts,
			   bool *left)
{
	int64		taken;

	PushActiveSnapshot(GetTransactionSnapshot());
	taken = delta_take(post_id, limit, counts, left);
	PopActiveSnapshot();
	return taken;
}
