/*
 * row_holders.c
 *		Finds out which running transactions have written or locked an item,
 *		and whether the item exists. Takes no row lock.
 *
 * The functions ignore the snapshot of the query. A result describes the
 * moment of the call, and may be out of date at once. A caller that needs a
 * reliable result must hold a lock that excludes changes, for example the post
 * lock (KeyLock).
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/rows.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static ItemScan *
scan_by(const ItemQuery *query, Snapshot snapshot)
{
	ItemQuery	now = *query;

	now.snapshot = snapshot;
	return item_scan_begin(&now);
}

/*
 * Begin a scan of the items that match "query", including uncommitted ones.
 * Whenever the scan returns a version of an item, it sets *dirty (see
 * HeapTupleSatisfiesDirty()):
 *
 * dirty->xmin: another running transaction that has inserted this version;
 *     else InvalidTransactionId
 * dirty->xmax: another running transaction that is deleting or updating this
 *     version; else InvalidTransactionId
 */
static ItemScan *
scan_dirty(const ItemQuery *query, SnapshotData *dirty)
{
	InitDirtySnapshot(*dirty);
	return scan_by(query, dirty);
}

/*
 * Copy the tuple header of the row version in a slot. Returns false if the
 * table access method is not heap.
 */
static bool
version_header(TupleTableSlot *slot, HeapTupleHeader header)
{
	BufferHeapTupleTableSlot *heap = (BufferHeapTupleTableSlot *) slot;

	if (!TTS_IS_BUFFERTUPLE(slot))
		return false;
	LockBuffer(heap->buffer, BUFFER_LOCK_SHARE);
	memcpy(header, heap->base.tuple->t_data, SizeofHeapTupleHeader);
	LockBuffer(heap->buffer, BUFFER_LOCK_UNLOCK);
	return true;
}

/*
 * Return whether a row version was updated or deleted by a transaction that
 * has committed or is running. With a table access method other than heap, the
 * result is always false.
 *
 * next: set to the version's t_ctid, which points to the next version of the
 *     row. If the row was deleted, t_ctid points to the version itself.
 * ender: set to the transaction that updated or deleted the version.
 *
 * HeapTupleSatisfiesDirty() could not be used instead: it reports no update or
 * deletion of a version whose inserting transaction is still running.
 */
static bool
version_ended(TupleTableSlot *slot, ItemPointer next, TransactionId *ender)
{
	HeapTupleHeaderData header;
	TransactionId xid;

	if (!version_header(slot, &header))
		return false;
	*next = header.t_ctid;
	if ((header.t_infomask & HEAP_XMAX_INVALID) ||
		HEAP_XMAX_IS_LOCKED_ONLY(header.t_infomask))
		return false;
	xid = *ender = HeapTupleHeaderGetUpdateXid(&header);
	return TransactionIdIsCurrentTransactionId(xid) ||
		TransactionIdIsInProgress(xid) || TransactionIdDidCommit(xid);
}

/*
 * Find the newest version of a scan's current item. Returns ITEM_LIVE if this
 * version is not deleted, ITEM_DELETING if this version is deleted, and
 * ITEM_UNSEEN if no newest version was found. A version also counts as deleted
 * if the deleting transaction is still running.
 *
 * Follows t_ctid from version to version, because the index may lack the
 * newest version. Without HOT, a new version gets its index entry only after
 * t_ctid points to the version.
 *
 * If an update was rolled back, t_ctid may point to a place that VACUUM has
 * given to another item. So the version at t_ctid is accepted only if its xmin
 * is the xmax of the version before (as in heap_lock_updated_tuple_rec()).
 *
 * deleter: set to the transaction that has deleted the newest version, if the
 *     result is ITEM_DELETING
 */
static ItemLife
follow_versions(ItemScan *scan, TransactionId *deleter)
{
	Relation	rel = item_scan_relation(scan);
	TupleTableSlot *slot;
	ItemPointerData tid = item_scan_slot(scan)->tts_tid;
	TransactionId ender = InvalidTransactionId;
	ItemLife	life = ITEM_UNSEEN;

	/* the version that the scan has found is usually the newest */
	if (!version_ended(item_scan_slot(scan), &(ItemPointerData) {{0}}, &ender))
		return ITEM_LIVE;
	ender = InvalidTransactionId;
	slot = table_slot_create(rel, NULL);
	while (table_tuple_fetch_row_version(rel, &tid, SnapshotAny, slot))
	{
		ItemPointerData next = tid;

		if (TransactionIdIsValid(ender) &&
			!TransactionIdEquals(ender, tuple_writer(slot)))
			break;
		if (!version_ended(slot, &next, &ender))
			life = ITEM_LIVE;
		else if (ItemPointerEquals(&next, &tid))
			life = ITEM_DELETING;
		if (life != ITEM_UNSEEN)
			break;
		tid = next;
		CHECK_FOR_INTERRUPTS();
	}
	ExecDropSingleTupleTableSlot(slot);
	*deleter = ender;
	return life;
}

/*
 * Look up an item with a single scan. Returns whether the scan has found a
 * version that no other running transaction has inserted.
 *
 * life: set to the result of follow_versions(), or ITEM_UNSEEN
 * hidden, deleter: those of item_look() and follow_versions()
 */
static bool
look_once(const ItemQuery *query, Snapshot snapshot, ItemLife *life,
		  bool *hidden, TransactionId *deleter)
{
	BlogItem	item;
	ItemScan   *scan = scan_by(query, snapshot);
	bool		found = false;

	*life = ITEM_UNSEEN;
	while (*life == ITEM_UNSEEN && item_scan_next(scan, &item))
		if (snapshot->snapshot_type != SNAPSHOT_DIRTY ||
			!TransactionIdIsValid(snapshot->xmin))
		{
			found = true;
			*hidden = item_hidden(&item);
			*life = follow_versions(scan, deleter);
		}
	item_scan_end(scan);
	return found;
}

/*
 * The first scan sees the newest versions, but can miss all versions of an
 * item that is being updated. A scan with an MVCC snapshot always finds a
 * committed item. follow_versions() can still miss the newest version, if the
 * update is rolled back meanwhile; then it is looked for again.
 */
static ItemLife
look(const ItemQuery *query, bool *hidden, TransactionId *deleter)
{
	SnapshotData dirty;
	ItemLife	life;
	bool		found = true;

	InitDirtySnapshot(dirty);
	(void) look_once(query, &dirty, &life, hidden, deleter);
	while (life == ITEM_UNSEEN && found)
	{
		Snapshot	now = RegisterSnapshot(GetLatestSnapshot());

		found = look_once(query, now, &life, hidden, deleter);
		UnregisterSnapshot(now);
	}
	return life;
}

/*
 * Find out whether the item that matches "query" exists.
 *
 * hidden: set to the value of the item's column "hidden" in the last committed
 *     version; false for NULL. Not set if the result is ITEM_UNSEEN.
 */
ItemLife
item_look(const ItemQuery *query, bool *hidden)
{
	TransactionId deleter;

	return look(query, hidden, &deleter);
}

/* The running transactions that have written or locked an item. */
typedef struct Holders
{
	/* whether the current transaction has written or locked the item */
	bool		me;
	int			n;
	/* Up to 16 other transactions that have written or locked the item. */
	TransactionId xid[16];
} Holders;

static void
add_holder(Holders *holders, TransactionId xid)
{
	if (TransactionIdIsCurrentTransactionId(xid))
		holders->me = true;
	else if (holders->n < lengthof(holders->xid) &&
			 TransactionIdIsInProgress(xid))
		holders->xid[holders->n++] = xid;
}

/*
 * Add to *holders the running transactions that have inserted, updated,
 * deleted or locked a row version.
 */
static void
list_holders(TupleTableSlot *slot, Holders *holders)
{
	HeapTupleHeaderData header;
	MultiXactMember *member;
	int			n;

	add_holder(holders, tuple_writer(slot));
	if (!version_header(slot, &header) ||
		(header.t_infomask & HEAP_XMAX_INVALID))
		return;
	if (!(header.t_infomask & HEAP_XMAX_IS_MULTI))
	{
		add_holder(holders, HeapTupleHeaderGetRawXmax(&header));
		return;
	}
	n = GetMultiXactIdMembers(HeapTupleHeaderGetRawXmax(&header), &member,
							  false,
							  HEAP_XMAX_IS_LOCKED_ONLY(header.t_infomask));
	for (int i = 0; i < n; i++)
		add_holder(holders, member[i].xid);
}

static void
find_holders(const ItemQuery *query, Holders *holders)
{
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan;

	memset(holders, 0, sizeof(*holders));
	scan = scan_dirty(query, &dirty);
	while (item_scan_next(scan, &item))
		list_holders(item_scan_slot(scan), holders);
	item_scan_end(scan);
}

/*
 * Return whether the current transaction has written or locked an item that
 * matches "query".
 */
bool
item_held_here(const ItemQuery *query)
{
	Holders		holders;

	find_holders(query, &holders);
	return holders.me;
}

static void
await_holders(const Holders *holders)
{
	for (int i = 0; i < holders->n; i++)
		XactLockTableWait(holders->xid[i], NULL, NULL, XLTW_None);
}

/*
 * Wait for the end of other transactions that have written or locked an item
 * that matches "query". Waits for at most 16 of them. Errors: 40P01
 * (deadlock).
 */
void
item_await_free(const ItemQuery *query)
{
	Holders		holders;

	find_holders(query, &holders);
	await_holders(&holders);
}

/*
 * Wait for the end of other transactions that have written or locked the
 * current item of a scan. Waits for at most 16 of them. Returns false if there
 * was no such transaction. Errors: 40P01 (deadlock).
 */
bool
item_scan_await_free(ItemScan *scan)
{
	Holders		holders;

	memset(&holders, 0, sizeof(holders));
	list_holders(item_scan_slot(scan), &holders);
	await_holders(&holders);
	return holders.n > 0;
}

/*
 * Return whether the current transaction has inserted or updated an item that
 * matches "query".
 */
bool
item_written_here(const ItemQuery *query)
{
	BlogItem	item;
	ItemScan   *scan = scan_by(query, SnapshotSelf);
	bool		written = false;

	while (!written && item_scan_next(scan, &item))
		written = TransactionIdIsCurrentTransactionId(tuple_writer(item_scan_slot(scan)));
	item_scan_end(scan);
	return written;
}

/*
 * Return whether another running transaction is inserting, updating or
 * deleting an item that matches "query".
 */
bool
item_written_elsewhere(const ItemQuery *query)
{
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan;
	bool		written = false;

	scan = scan_dirty(query, &dirty);
	while (!written && item_scan_next(scan, &item))
		written = TransactionIdIsValid(dirty.xmin) ||
			TransactionIdIsValid(dirty.xmax);
	item_scan_end(scan);
	return written;
}

/* A running transaction that has inserted an item, or a new version of one. */
typedef struct Inserter
{
	TransactionId xid;
	/*
	 * The token of a speculative insertion that the transaction has not yet
	 * confirmed or withdrawn; else 0.
	 */
	uint32		token;
} Inserter;

static List *
list_inserters(const ItemQuery *query)
{
	List	   *all = NIL;
	TransactionId last = InvalidTransactionId;
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan;

	scan = scan_dirty(query, &dirty);
	while (item_scan_next(scan, &item))
	{
		Inserter   *inserter;

		if (!TransactionIdIsValid(dirty.xmin) ||
			(dirty.speculativeToken == 0 && dirty.xmin == last))
			continue;
		inserter = palloc(sizeof(Inserter));
		inserter->xid = last = dirty.xmin;
		inserter->token = dirty.speculativeToken;
		all = lappend(all, inserter);
	}
	item_scan_end(scan);
	return all;
}

bool
item_inserted_elsewhere(const ItemQuery *query)
{
	return list_inserters(query) != NIL;
}

/*
 * Wait for the end of other running transactions that have inserted an item
 * that matches "query", or a new version of one. If an insertion is
 * speculative, wait only until it is confirmed or withdrawn. Returns false if
 * there were no such transactions. Errors: 40P01 (deadlock).
 */
bool
item_await_inserters(const ItemQuery *query)
{
	List	   *all = list_inserters(query);
	ListCell   *lc;

	foreach(lc, all)
	{
		Inserter   *inserter = lfirst(lc);

		if (inserter->token != 0)
			SpeculativeInsertionWait(inserter->xid, inserter->token);
		else
			XactLockTableWait(inserter->xid, NULL, NULL, XLTW_None);
	}
	return all != NIL;
}

/*
 * Wait until it is known whether the item that matches "query" exists. If its
 * newest version is deleted, wait for the end of the deleting transaction. If
 * no committed version is found, wait for transactions that have inserted one.
 * Does not wait for transactions that only change the item. Errors: 40P01
 * (deadlock).
 */
void
item_await_outcome(const ItemQuery *query)
{
	TransactionId deleter = InvalidTransactionId;
	bool		hidden;

	switch (look(query, &hidden, &deleter))
	{
		case ITEM_LIVE:
			break;
		case ITEM_UNSEEN:
			(void) item_await_inserters(query);
			break;
		case ITEM_DELETING:
			if (!TransactionIdIsCurrentTransactionId(deleter))
				XactLockTableWait(deleter, NULL, NULL, XLTW_None);
			break;
	}
}
