/*
 * row_holders.c
 *		Who has written an item, or has it locked, and is it live? Asked without a
 *		lock, which others would wait for.
 *
 * A query's own snapshot does not count here: what is asked is so at this moment,
 * and may be different at the next. Whoever wants it to stay so has a lock that
 * keeps others from changing it.
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

/* How often to look for an item that moves. */
#define LOOKS 3

/* Begin a scan of what a query asks for, by another snapshot. */
static ItemScan *
scan_by(const ItemQuery *query, Snapshot snapshot)
{
	ItemQuery	now = *query;

	now.snapshot = snapshot;
	return item_scan_begin(&now);
}

/*
 * Begin a scan that finds what is not committed, too. Of each item that it comes to,
 * the snapshot, which is the caller's and filled in here, says whose it is
 * (HeapTupleSatisfiesDirty()).
 */
static ItemScan *
scan_dirty(const ItemQuery *query, SnapshotData *dirty)
{
	InitDirtySnapshot(*dirty);
	return scan_by(query, dirty);
}

/* ------------------------------------------------------------------------
 * Is an item live?
 * ------------------------------------------------------------------------ */

/* A version's header; false of another table access method than heap. */
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
 * Has a version of an item been updated or deleted, if only by a transaction that
 * has not ended? next: where the version is that follows; of a deletion itself.
 * ender: who did it.
 *
 * The visibility routines do not say that of a version whose inserter has not
 * ended either (HeapTupleSatisfiesDirty()). Another table access method than
 * heap has to be believed.
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
 * Is the newest version of a scan's present item live? It is found by following
 * the link of each version to the next (t_ctid), not by the index, in which a
 * version that is not HOT appears a moment after the link to it. After an update
 * that was rolled back the link still points to where its version was, and vacuum
 * may have given that place to another item. A version belongs to the chain only
 * if the transaction that ended the one before has written it (as in
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

	/* nearly always what was found is the newest */
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

/* Look once at the item that a query finds; hidden: as it was committed. */
static ItemLife
look_once(const ItemQuery *query, bool *hidden)
{
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan;
	ItemLife	life = ITEM_UNSEEN;

	scan = scan_dirty(query, &dirty);
	while (life == ITEM_UNSEEN && item_scan_next(scan, &item))
		/* not one that is being created, nor a version that is */
		if (!TransactionIdIsValid(dirty.xmin))
		{
			*hidden = item_hidden(&item);
			life = follow_versions(scan);
		}
	item_scan_end(scan);
	return life;
}

/* Look at the item that a query finds, and again if it is updated meanwhile. */
ItemLife
item_look(const ItemQuery *query, bool *hidden)
{
	ItemLife	life = ITEM_UNSEEN;

	for (int i = 0; i < LOOKS && life == ITEM_UNSEEN; i++)
		life = look_once(query, hidden);
	return life;
}

/* ------------------------------------------------------------------------
 * Who holds an item?
 * ------------------------------------------------------------------------ */

/* The transactions that are writing an item, or have it locked. */
typedef struct Holders
{
	bool		me;				/* is this one of them? */
	int			n;
	TransactionId xid[16];		/* others; more are met the next time */
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

/* Who has written, is updating or has locked a version of an item? */
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

/* Who holds what a query finds? */
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

/* Has this transaction written, or locked, the item that a query finds? */
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

/* Wait for the others who are writing the item, or have it locked. */
void
item_await_free(const ItemQuery *query)
{
	Holders		holders;

	find_holders(query, &holders);
	await_holders(&holders);
}

/*
 * Wait for the others who are writing the scan's present item, or have it locked;
 * false: there were none.
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
 * Who has written items?
 * ------------------------------------------------------------------------ */

/* Has this transaction written one of the items that a query finds? */
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

/* Is another transaction, which has not ended, writing one of the items? */
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

/* A transaction that has inserted an item, and has not ended. */
typedef struct Inserter
{
	TransactionId xid;
	uint32		token;			/* of an item that is not confirmed; 0: it is */
} Inserter;

/* The transactions, others than this, that have inserted what a query finds. */
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

/* Has another transaction, which has not ended, inserted such items? */
bool
item_inserted_elsewhere(const ItemQuery *query)
{
	return list_inserters(query) != NIL;
}

/* Wait for those who have inserted such items; false if there are none. */
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
