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
 * A delta also keeps its post from being deleted under it, in place of a lock
 * on the post. As with a unique index, each side shows first what it is about
 * to do, and looks for the other then: a delta is inserted speculatively, the
 * post looked at, and the delta confirmed if nobody is deleting the post;
 * whoever deletes a post deletes the post item first, then waits for the
 * transactions that have inserted deltas (delta_await()), and deletes what
 * hangs on it last (removal.c).
 *
 * A serializable transaction that reads counts is in conflict with one that
 * writes a delta it does not see, and nobody else. The server's own predicate
 * locks are of pages here, in which many posts' deltas lie, so the scan leaves
 * none; a post's deltas have a lock of their own instead (count_page()).
 *
 * Runs in any process; writes in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/leaf.h"

#include "access/subtrans.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "storage/lmgr.h"
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
	return OidIsValid(item_leaf(CONTAINER_POSTS, ITEM_DELTA, partition));
}

/* Has the partition of a post? */
bool
delta_possible(const pg_uuid_t *post_id)
{
	int			partition = container_find_partition(CONTAINER_POSTS, post_id);

	return partition >= 0 && delta_leaf_exists(partition);
}

/* The deltas of a post, by a snapshot of any kind. */
static ItemScan *
delta_scan(Datum *key, Snapshot snapshot)
{
	return item_scan_begin(CONTAINER_POSTS, ITEM_DELTA, DatumGetUUIDP(*key),
						   PATH_KEY, key, 1, NULL, ForwardScanDirection,
						   snapshot);
}

/*
 * The page of its leaf that a post's deltas are said to lie in, for predicate
 * locks: a number that no page has, and few other posts.
 */
static BlockNumber
count_page(const pg_uuid_t *post_id)
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

/* Add to a post's counts what its deltas say; both as one snapshot sees them. */
void
delta_add_up(BlogItem *post, Snapshot snapshot)
{
	Datum		key = post->value[PROP_POST_ID];
	bool		serializable = IsolationIsSerializable();
	BlogItem	delta;
	ItemScan   *scan;

	if (!delta_possible(DatumGetUUIDP(key)))
		return;
	scan = delta_scan(&key, serializable ? SnapshotAny : snapshot);
	if (serializable)
		PredicateLockPage(item_scan_relation(scan),
						  count_page(DatumGetUUIDP(key)), snapshot);
	while (item_scan_next(scan, &delta))
	{
		if (serializable && !item_scan_shown(scan, snapshot))
		{
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

/*
 * Has this transaction counted on a post, but for the given delta (NULL: by any)?
 * Then whoever is deleting the post waits for it.
 */
bool
delta_have(const pg_uuid_t *post_id, const pg_uuid_t *except)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	delta;
	ItemScan   *scan = delta_scan(&key, SnapshotSelf);
	bool		have = false;

	while (!have && item_scan_next(scan, &delta))
		have = TransactionIdIsCurrentTransactionId(tuple_writer(item_scan_slot(scan))) &&
			(except == NULL ||
			 memcmp(item_uuid(&delta, PROP_ID), except, UUID_LEN) != 0);
	item_scan_end(scan);
	return have;
}

/*
 * May a delta stand? Called while it is in its leaf, but not confirmed. A
 * deletion that waits for this transaction anyway, because of an earlier delta,
 * is not in the way.
 */
static bool
delta_stands(const BlogItem *delta)
{
	const pg_uuid_t *post_id = item_uuid(delta, PROP_POST_ID);
	PostLife	life = post_look(post_id);

	return life == POST_THERE ||
		(life == POST_DELETING &&
		 delta_have(post_id, item_uuid(delta, PROP_ID)));
}

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
	scan = item_scan_begin(CONTAINER_POSTS, ITEM_DELTA, DatumGetUUIDP(key[0]),
						   PATH_KEY, key, 2, NULL, ForwardScanDirection, &dirty);
	while (!pending && item_scan_next(scan, &delta))
		pending = TransactionIdIsValid(dirty.xmin) ||
			TransactionIdIsValid(dirty.xmax);
	item_scan_end(scan);
	return pending;
}

/*
 * Add to this process's stripe of a post. LOCK_GONE: it has none; LOCK_BUSY: it
 * is taken, or a transaction with a snapshot of its own may not see it.
 *
 * Others see this only when it is done, and it cannot be taken back: if the post
 * is being deleted just now, and not for want of this transaction's end, 40001.
 */
LockOutcome
delta_stripe(const pg_uuid_t *post_id, int64 comments, int64 likes)
{
	pg_uuid_t	id = {{0}};
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};
	ItemWriter *writer;
	BlogItem	delta;
	LockOutcome outcome;

	if (IsolationUsesXactSnapshot())
		return LOCK_BUSY;
	stripe_id(&id);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	outcome = item_writer_try_lock(writer, PATH_KEY, key, 2,
								   LockTupleNoKeyExclusive, LockWaitSkip,
								   &delta);
	if (outcome == LOCK_HAD)
	{
		bool		mine = TransactionIdIsCurrentTransactionId(tuple_writer(item_writer_slot(writer)));

		item_add_counts(&delta, comments, likes);
		item_writer_update(writer, &delta);
		if (!mine && post_look(post_id) != POST_THERE &&
			!delta_have(post_id, &id))
			post_deleting();
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/* Insert a delta; false if it does not stand. */
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
	inserted = item_writer_insert_if(writer, &delta, delta_stands);
	/* who reads counts from here on finds the delta itself */
	CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
								   count_page(post_id));
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Have a new delta count on a post, as this process's stripe if it has none.
 * LOCK_GONE, nothing written, if there is no such post (any more). If somebody
 * is deleting it, wait for the outcome, or with LockWaitSkip, LOCK_BUSY.
 */
LockOutcome
delta_insert(const pg_uuid_t *post_id, int64 comments, int64 likes,
			 LockWaitPolicy wait, bool stripe)
{
	pg_uuid_t	id = {{0}};
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};
	LockOutcome outcome;

	for (;;)
	{
		if (stripe)
			stripe_id(&id);
		if (!stripe || stripe_pending(key))
			new_id(&id);
		if (delta_write(post_id, &id, comments, likes))
			return LOCK_HAD;
		if (wait != LockWaitBlock && post_look(post_id) == POST_DELETING)
			return LOCK_BUSY;
		outcome = post_hold(post_id, LockTupleKeyShare, wait);
		if (outcome != LOCK_HAD)
			return outcome;
	}
}

/* A transaction that has counted by a delta, and has not ended. */
typedef struct Counting
{
	TransactionId xid;
	uint32		token;			/* of a delta that is not confirmed; 0: it is */
} Counting;

/* The transactions that are counting on a post at this moment. */
static List *
list_counting(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	List	   *all = NIL;
	TransactionId last = InvalidTransactionId;
	SnapshotData dirty;
	BlogItem	delta;
	ItemScan   *scan;

	InitDirtySnapshot(dirty);
	scan = delta_scan(&key, &dirty);
	while (item_scan_next(scan, &delta))
	{
		Counting   *counting;

		if (!TransactionIdIsValid(dirty.xmin) ||
			(dirty.speculativeToken == 0 && dirty.xmin == last))
			continue;
		counting = palloc(sizeof(Counting));
		counting->xid = last = dirty.xmin;
		counting->token = dirty.speculativeToken;
		all = lappend(all, counting);
	}
	item_scan_end(scan);
	return all;
}

/*
 * Wait for the transactions that are counting on a post by deltas at this
 * moment. Returns whether there were any.
 */
bool
delta_await(const pg_uuid_t *post_id)
{
	List	   *all;
	ListCell   *lc;

	if (!delta_possible(post_id))
		return false;
	all = list_counting(post_id);
	foreach(lc, all)
	{
		Counting   *counting = lfirst(lc);

		if (counting->token != 0)
			SpeculativeInsertionWait(counting->xid, counting->token);
		else
			XactLockTableWait(counting->xid, NULL, NULL, XLTW_None);
	}
	return all != NIL;
}

/* Is any transaction counting on a post by a delta? */
bool
delta_counting(const pg_uuid_t *post_id)
{
	return delta_possible(post_id) && list_counting(post_id) != NIL;
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
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	int64		taken = 0;

	if (!delta_possible(post_id))
		return 0;
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = delta_scan(&key, GetActiveSnapshot());
	while (!(*left && taken >= limit) && item_scan_next(scan, &delta))
	{
		int64		more_comments = item_count(&delta, PROP_COMMENT_COUNT);
		int64		more_likes = item_count(&delta, PROP_LIKE_COUNT);

		if (taken >= limit ||
			item_writer_delete_found(writer, scan) != LOCK_HAD)
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
