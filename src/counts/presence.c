/*
 * presence.c
 *		Is a post there, and who holds an item? Asked without a lock, which others
 *		would wait for.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "counts/counts.h"
#include "layout/item.h"

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

/* How often to look for a post that moves. */
#define LOOKS 3

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
 * Has a version of a post been updated or deleted, if only by a transaction that
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
 * Is the newest version that follows one a live one? By the versions' own
 * links: an update that is not HOT shows in the index a moment later. A link may
 * be of an update that was rolled back, its place taken by another's item: the
 * writer tells (as in heap_lock_updated_tuple_rec()).
 */
static PostLife
follow_versions(ItemScan *scan)
{
	Relation	rel = item_scan_relation(scan);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	ItemPointerData tid = item_scan_slot(scan)->tts_tid;
	TransactionId ender = InvalidTransactionId;
	PostLife	life = POST_UNSEEN;

	while (table_tuple_fetch_row_version(rel, &tid, SnapshotAny, slot))
	{
		ItemPointerData next = tid;

		if (TransactionIdIsValid(ender) &&
			!TransactionIdEquals(ender, tuple_writer(slot)))
			break;
		if (!version_ended(slot, &next, &ender))
			life = POST_THERE;
		else if (ItemPointerEquals(&next, &tid))
			life = POST_DELETING;
		if (life != POST_UNSEEN)
			break;
		tid = next;
		CHECK_FOR_INTERRUPTS();
	}
	ExecDropSingleTupleTableSlot(slot);
	return life;
}

/* The versions of an item that a dirty snapshot shows. */
static ItemScan *
dirty_scan(ItemType type, const pg_uuid_t *post_id, const Datum *key, int nkeys,
		   SnapshotData *dirty)
{
	ItemScan   *scan;

	InitDirtySnapshot(*dirty);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = key, .nkeys = nkeys, .snapshot = dirty,
		.identity = true
	});
	return scan;
}

/* Look at a post as it is at this moment, committed or not. */
static PostLife
post_look_once(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	SnapshotData dirty;
	BlogItem	post;
	ItemScan   *scan = dirty_scan(ITEM_POST, post_id, &key, 1, &dirty);
	PostLife	life = POST_UNSEEN;

	while (life == POST_UNSEEN && item_scan_next(scan, &post))
		/* not one that is being created, nor a version that is */
		if (!TransactionIdIsValid(dirty.xmin))
			life = follow_versions(scan);
	item_scan_end(scan);
	return life;
}

/* The same, and again if it was updated under the scan. */
PostLife
post_look(const pg_uuid_t *post_id)
{
	PostLife	life = POST_UNSEEN;

	for (int i = 0; i < LOOKS && life == POST_UNSEEN; i++)
		life = post_look_once(post_id);
	return life;
}

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

/* Who holds an item of a post's logical partition at this moment? */
static Holders
find_holders(ItemType type, const pg_uuid_t *post_id, const Datum *key,
			 int nkeys)
{
	Holders		holders = {0};
	SnapshotData dirty;
	BlogItem	item;
	ItemScan   *scan = dirty_scan(type, post_id, key, nkeys, &dirty);

	while (item_scan_next(scan, &item))
		list_holders(item_scan_slot(scan), &holders);
	item_scan_end(scan);
	return holders;
}

/* Has this transaction written a post, or locked it? */
bool
post_is_held(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);

	return find_holders(ITEM_POST, post_id, &key, 1).me;
}

/* Wait for the others who are writing a post's item, or have it locked. */
void
item_await_free(ItemType type, const pg_uuid_t *post_id, const Datum *key,
				int nkeys)
{
	Holders		holders = find_holders(type, post_id, key, nkeys);

	for (int i = 0; i < holders.n; i++)
		XactLockTableWait(holders.xid[i], NULL, NULL, XLTW_None);
}

/* Wait for the others who are writing a post, or have it locked. */
void
post_await_free(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);

	item_await_free(ITEM_POST, post_id, &key, 1);
}

/* Does the transaction's own snapshot show a post? */
static bool
post_shown(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	post;
	ItemScan   *scan;
	bool		shown;

	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST,
		.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
		.no_predicate_locks = true, .identity = true
	});
	shown = item_scan_next(scan, &post);
	item_scan_end(scan);
	PopActiveSnapshot();
	return shown;
}

/*
 * Lock a post to the end of the transaction, and be sure of it, whatever a look
 * at it says. LockTupleKeyShare conflicts with its deletion alone. 40001 under
 * REPEATABLE READ and SERIALIZABLE if it was changed since the snapshot.
 */
ItemResult
post_hold(const pg_uuid_t *post_id, LockTupleMode mode, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	ItemResult outcome;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	item_writer_identity(writer);
	outcome = item_writer_lock(writer, &key, 1, mode, wait, &post);
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/*
 * Is there such a post? Waits for whoever is deleting it, and for nobody else.
 * Under REPEATABLE READ and SERIALIZABLE there is none that the snapshot does not
 * show, and 40001 if it was deleted since.
 */
bool
post_await(PostGate *gate)
{
	if (IsolationUsesXactSnapshot() && !post_shown(&gate->post_id))
		return false;
	return gate_look(gate, LockWaitBlock) == ITEM_OK;
}
