/*
 * delta.c
 *		What is to be added to a post's counts: delta items.
 *
 * A transaction that cannot change a post's counts in place without waiting
 * (counter.c) inserts a delta beside it, in the same logical partition. What a
 * snapshot shows of a post's counts is the post item's own plus those of its
 * deltas, both by that snapshot. Folding deletes deltas and adds what they say
 * to the post item, or to one new delta, in one transaction: no snapshot sees a
 * difference. A folder takes only deltas that it has deleted itself, in their
 * newest version, so no two count the same one.
 *
 * Each process has a delta of its own on a post, its stripe, to which it adds
 * again and again: so many processes, so many deltas of a viral post, and no
 * dead entries in the index that its readers would have to step over.
 *
 * A delta also keeps its post from being deleted under it; gate.c tells how.
 *
 * A serializable transaction that reads counts is in conflict with one that
 * writes a delta it does not see, and nobody else. The server's own predicate
 * locks are of pages here, in which many posts' deltas lie, so the scan leaves
 * none; a post's deltas have a lock of their own instead (delta_page()).
 *
 * Runs in any process; writes in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "counts/counts.h"
#include "import/import.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/subtrans.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Has a partition a leaf for deltas? One that its owner has made may have none:
 * counts are changed in place there, waiting.
 */
bool
delta_leaf_exists(int partition)
{
	return partition_takes(CONTAINER_POSTS, ITEM_DELTA, partition);
}

/* Has the partition of a post? */
bool
delta_possible(const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, ITEM_DELTA, post_id);

	return partition != NO_PARTITION && delta_leaf_exists(partition);
}

/* The deltas of a post, by a snapshot of any kind. */
ItemScan *
delta_scan(const pg_uuid_t *post_id, Snapshot snapshot, bool identity)
{
	Datum		key = UUIDPGetDatum(post_id);

	return item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
		.identity = identity, .snapshot = snapshot
	});
}

/*
 * The page of its leaf that a post's deltas are said to lie in, for locks of
 * several kinds: a number that no page has, and few other posts.
 */
BlockNumber
delta_page(const pg_uuid_t *post_id)
{
	return UINT32_C(0x80000000) |
		(hash_bytes(post_id->data, UUID_LEN) & UINT32_C(0x3fffffff));
}

/*
 * A serializable transaction does not see a delta: if its writer is one, too,
 * and at the same time, that is a conflict (HeapCheckForSerializableConflictOut()
 * says when).
 */
static void
note_unseen(ItemScan *scan, Snapshot snapshot)
{
	TransactionId xid = tuple_writer(item_scan_slot(scan));

	if (!TransactionIdIsNormal(xid) || TransactionIdPrecedes(xid, TransactionXmin))
		return;
	xid = SubTransGetTopmostTransaction(xid);
	if (!TransactionIdPrecedes(xid, TransactionXmin))
		CheckForSerializableConflictOut(item_scan_relation(scan), xid, snapshot);
}

/* Does it only say that its writer is there? */
static bool
delta_is_empty(const BlogItem *delta)
{
	return item_count(delta, PROP_COMMENT_COUNT) == 0 &&
		item_count(delta, PROP_LIKE_COUNT) == 0;
}

/* Add to a post's counts what its deltas say; both as one snapshot sees them. */
void
delta_add_up(BlogItem *post, Snapshot snapshot)
{
	const pg_uuid_t *post_id = item_uuid(post, PROP_POST_ID);
	bool		serializable = IsolationIsSerializable();
	BlogItem	delta;
	ItemScan   *scan;

	if (!delta_possible(post_id))
		return;
	scan = delta_scan(post_id, serializable ? SnapshotAny : snapshot, false);
	if (serializable)
		PredicateLockPage(item_scan_relation(scan), delta_page(post_id),
						  snapshot);
	while (item_scan_next(scan, &delta))
	{
		if (serializable && !item_scan_shown(scan, snapshot))
		{
			if (!delta_is_empty(&delta))
				note_unseen(scan, snapshot);
			continue;
		}
		item_add_counts(post, item_count(&delta, PROP_COMMENT_COUNT),
						item_count(&delta, PROP_LIKE_COUNT));
	}
	item_scan_end(scan);
}

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

/* Has a transaction that has not ended, not this one, written a stripe? */
static bool
stripe_pending(Datum *key)
{
	SnapshotData dirty;
	BlogItem	delta;
	ItemScan   *scan;
	bool		pending = false;

	InitDirtySnapshot(dirty);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = DatumGetUUIDP(key[0]), .path = PATH_KEY, .key = key,
		.nkeys = 2, .snapshot = &dirty
	});
	while (!pending && item_scan_next(scan, &delta))
		pending = TransactionIdIsValid(dirty.xmin) ||
			TransactionIdIsValid(dirty.xmax);
	item_scan_end(scan);
	return pending;
}

/*
 * Add to this process's stripe of a post, from within its gate. ITEM_NOT_FOUND: it
 * has none; ITEM_LOCKED: it is taken, or a transaction with a snapshot of its own
 * may not see it, or the post may be gone: who deletes that is not kept from the
 * stripe by a lock.
 */
ItemResult
delta_stripe(const pg_uuid_t *post_id, int64 comments, int64 likes)
{
	pg_uuid_t	id = {{0}};
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	ItemResult outcome = ITEM_NOT_FOUND;

	if (IsolationUsesXactSnapshot())
		return ITEM_LOCKED;
	stripe_id(&id);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2
	});
	if (item_scan_next(scan, &delta))
		outcome = tuple_is_mine(item_scan_slot(scan)) || post_look(post_id) == POST_THERE ?
			item_writer_lock_found(writer, scan, LockTupleNoKeyExclusive,
								   LockWaitSkip, &delta) : ITEM_LOCKED;
	item_scan_end(scan);
	if (outcome == ITEM_OK)
	{
		item_add_counts(&delta, comments, likes);
		item_writer_update(writer, &delta);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/* Insert a delta; false if its id is taken. */
static bool
delta_write(const pg_uuid_t *post_id, const pg_uuid_t *id, int64 comments,
			int64 likes)
{
	BlogItem	delta;
	ItemWriter *writer;
	bool		inserted;

	item_init(&delta, ITEM_DELTA);
	item_set(&delta, PROP_ID, UUIDPGetDatum(id));
	item_set(&delta, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(&delta, PROP_COMMENT_COUNT, Int64GetDatum(comments));
	item_set(&delta, PROP_LIKE_COUNT, Int64GetDatum(likes));

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	inserted = item_writer_insert(writer, &delta);
	/* who reads counts from here on finds the delta itself */
	if (comments != 0 || likes != 0)
		CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
									   delta_page(post_id));
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Have a new delta count on a post that is there, from within its gate; as this
 * process's stripe, if it has none.
 */
void
delta_insert(const pg_uuid_t *post_id, int64 comments, int64 likes, bool stripe)
{
	pg_uuid_t	id = {{0}};
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (stripe)
			stripe_id(&id);
		if (!stripe || stripe_pending(key))
			new_id(&id);
		stripe = false;
	} while (!delta_write(post_id, &id, comments, likes));
}

/* ------------------------------------------------------------------------
 * Folding
 * ------------------------------------------------------------------------ */

/*
 * Delete a post's deltas that the active snapshot shows, at most limit of them,
 * none that somebody else is writing or deleting. Returns how many, and adds what
 * they say to *comments and *likes; *left is set if there are others.
 */
int64
delta_take(const pg_uuid_t *post_id, int64 limit, int64 *comments,
		   int64 *likes, bool *left)
{
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	int64		taken = 0;

	if (!delta_possible(post_id))
		return 0;
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = delta_scan(post_id, GetActiveSnapshot(), false);
	while (!(*left && taken >= limit) && item_scan_next(scan, &delta))
	{
		int64		more_comments = item_count(&delta, PROP_COMMENT_COUNT);
		int64		more_likes = item_count(&delta, PROP_LIKE_COUNT);

		if (taken >= limit ||
			item_writer_delete_found(writer, scan) != ITEM_OK)
		{
			*left = true;
			continue;
		}
		*comments += more_comments;
		*likes += more_likes;
		taken++;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	return taken;
}
