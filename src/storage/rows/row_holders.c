/*
 * row_holders.c
 *		Finds out which transactions have written or locked an item, and
 *		whether the item exists, without taking a lock for which other
 *		transactions would wait.
 *
 * The snapshot of the query is ignored: the answer describes this moment, and
 * may be wrong at the next. A caller that needs it to stay true holds another
 * lock that excludes changes.
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

/*
 * How often item_look() tries to find the newest version of an item that other
 * transactions are updating.
 */
#define LOOKS 3

/* Begin a scan of a query, but with another snapshot. */
static ItemScan *
scan_by(const ItemQuery *query, Snapshot snapshot)
{
	ItemQuery	now = *query;

	now.snapshot = snapshot;
	return item_scan_begin(&now);
}

/*
 * Begin a scan of a query that also finds uncommitted items. For each item
 * that the scan returns, *dirty has the transactions that are inserting or
 * deleting it (HeapTupleSatisfiesDirty()).
 */
static ItemScan *
scan_dirty(const ItemQuery *query, SnapshotData *dirty)
{
	InitDirtySnapshot(*dirty);
	return scan_by(query, dirty);
}

/* ------------------------------------------------------------------------
 * Whether an item is live
 * ------------------------------------------------------------------------ */

/*
 * Copy the tuple header of a row version. Returns false if the table access
 * method is not heap.
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
 * Return whether a row version was updated or deleted, by a transaction that
 * has committed or is in progress. *next becomes the link to the following
 * version, which points to the version itself if it was deleted. *ender
 * becomes the transaction that updated or deleted it.
 *
 * HeapTupleSatisfiesDirty() does not tell this if the transaction that
 * inserted the version is in progress, too. With a table access method other
 * than heap, the result is always false.
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
 * Return whether the current item of a scan exists in its newest version. The
 * newest version is found by following t_ctid, not by the index, because a
 * version that is not HOT gets its index entry only after it was linked. After
 * an aborted update, t_ctid still points to the place of the aborted version,
 * which VACUUM may have given to another item. So a version belongs to the
 * chain only if its xmin is the xmax of the version before (as in
 * heap_lock_updated_tuple_rec()).
 */
static ItemLife
follow_versions(ItemScan *scan)
{
	Relation	rel = item_scan_relation(scan);
	TupleTableSlot *slot;
	ItemPointerData tid = item_scan_slot(scan)->tts_tid;
	TransactionId ender = InvalidTransactionId;
	ItemLife	life = ITEM_UNSEEN;

	/* usually, the version that the scan has found is the newest */
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
	return life;
}

/*
 * Look once whether the item that a query finds exists. *hidden becomes
 * whether its last committed version is hidden.
 */
static ItemLife
look_once(const ItemQuery *query, bool *hidden)
{
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan;
	ItemLife	life = ITEM_UNSEEN;

	scan = scan_dirty(query, &dirty);
	while (life == ITEM_UNSEEN && item_scan_next(scan, &item))
		/* skip a version whose inserting transaction is in progress */
		if (!TransactionIdIsValid(dirty.xmin))
		{
			*hidden = item_hidden(&item);
			life = follow_versions(scan);
		}
	item_scan_end(scan);
	return life;
}

/*
 * Return whether the item that a query finds exists in its newest version.
 * *hidden becomes whether the item is hidden, without regard to uncommitted
 * changes of other transactions; it is not set if no item is found. Concurrent
 * updates can hide an item from a scan, so up to LOOKS scans are made.
 */
ItemLife
item_look(const ItemQuery *query, bool *hidden)
{
	ItemLife	life = ITEM_UNSEEN;

	for (int i = 0; i < LOOKS && life == ITEM_UNSEEN; i++)
		life = look_once(query, hidden);
	return life;
}

/* ------------------------------------------------------------------------
 * Transactions that hold an item
 * ------------------------------------------------------------------------ */

/* The running transactions that have written an item, or have it locked. */
typedef struct Holders
{
	bool		me;				/* this transaction is one of them */
	int			n;
	/*
	 * The other ones. If there are more, the caller finds them when it calls
	 * again after these have ended.
	 */
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
 * Add the transactions that have inserted, are updating, or have locked a row
 * version.
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

/*
 * Collect the running transactions that have written, or have locked, an item
 * that a query finds.
 */
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
 * Return whether this transaction has written or locked an item that a query
 * finds.
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
 * Wait for the end of other transactions that have written, or have locked, an
 * item that a query finds. Errors: 40P01 (deadlock).
 */
void
item_await_free(const ItemQuery *query)
{
	Holders		holders;

	find_holders(query, &holders);
	await_holders(&holders);
}

/*
 * Wait for the end of other transactions that have written, or have locked,
 * the current item of a scan. Returns false if there were none. Errors: 40P01
 * (deadlock).
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

/* ------------------------------------------------------------------------
 * Transactions that have written items
 * ------------------------------------------------------------------------ */

/* Return whether this transaction has written an item that a query finds. */
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
 * Return whether a running transaction, other than this one, is inserting,
 * updating or deleting an item that a query finds.
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

/* A running transaction that has inserted an item. */
typedef struct Inserter
{
	TransactionId xid;
	/*
	 * The token of its speculative insertion, while the item can still be
	 * withdrawn; otherwise 0.
	 */
	uint32		token;
} Inserter;

/*
 * List the other running transactions that have inserted an item that a query
 * finds.
 */
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

/*
 * Return whether a running transaction, other than this one, has inserted an
 * item that a query finds, or a new version of one.
 */
bool
item_inserted_elsewhere(const ItemQuery *query)
{
	return list_inserters(query) != NIL;
}

/*
 * Wait for other running transactions that have inserted an item that a query
 * finds, or a new version of one. Of a speculative insertion, wait only until
 * it is confirmed or withdrawn. Returns false if there were none. Errors:
 * 40P01 (deadlock).
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
