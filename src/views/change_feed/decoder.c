/*
 * decoder.c
 *		Logical decoding inside the worker, in bounded steps.
 *
 * The decoder works like pg_logical_slot_get_changes() and walsenders
 * (logicalfuncs.c, walsender.c), but its decoding context lives as long as the
 * worker. All its memory belongs to the context that is current at
 * decoder_open(). It adds the keys of what has changed to dirty sets
 * (dirty_set.c), from which the worker updates the views.
 *
 * While changes are decoded, the catalog caches are filled with historic
 * contents. So they must be reset before and after decoding, unless historic
 * and current contents are the same (caches_agree()). Filling the caches costs
 * more than all other work of a small turn of the worker.
 *
 * Runs in the worker, outside of transactions.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/invalidation.h"
#include "views/change_feed/decoded_changes.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/snapbuild.h"
#include "storage/procarray.h"
#include "storage/sinval.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

struct Decoder
{
	LogicalDecodingContext *ctx;
	DirtySet   *dirty;			/* changes to be applied in this turn of the
								 * worker */
	DirtySet   *later;			/* writes of other sessions to the views, to be
								 * applied later */
	HeldBack   *held;			/* changes of transactions that other processes
								 * do not see yet */
	ToldPosts  *told;
	TransactionId last_xid;		/* the transaction of the last decoded
								 * change */
	DirtySet   *target;			/* the set to which the changes of last_xid are
								 * added */
	ResourceOwner owner;		/* owner of resources that are used while
								 * decoding */
	bool		at_end;			/* the last read has reached the end of flushed
								 * WAL */

	uint64		invalidations;	/* SharedInvalidMessageCounter when this
								 * process last looked */
	XLogRecPtr	invalidated;	/* the catalog changes counted in invalidations
								 * have committed before this position */
};

/*
 * Page read callback of the WAL reader. Reads only flushed WAL, and tells the
 * reader that there is no more if the flushed WAL ends within a page. The
 * server's callback, read_local_xlog_page(), would wait for more WAL. The
 * changes decoded so far would not be applied meanwhile, and the death of the
 * postmaster would not be noticed.
 */
static int
read_flushed_page(XLogReaderState *reader, XLogRecPtr page, int length,
				  XLogRecPtr record, char *buffer)
{
	LogicalDecodingContext *ctx = reader->private_data;
	Decoder    *decoder = ctx->output_writer_private;

	if (page + length > GetFlushRecPtr(NULL))
	{
		decoder->at_end = true;
		return -1;
	}
	return read_local_xlog_page(reader, page, length, record, buffer);
}

static void
prepare_write(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			  bool last_write)
{
	resetStringInfo(ctx->out);
}

/*
 * Write callback of the decoding context: add the change that the output
 * plugin reports to a dirty set.
 *
 * A change is held back if its transaction still appears as running
 * (held_back.c). Changes from logical messages are not, because they do not
 * depend on the end of the transaction. As such a message may be written at
 * any time within a long transaction, this also bounds the number of
 * transactions that are held back: they are only those that are committing.
 */
static void
write_change(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			 bool last_write)
{
	Decoder    *decoder = ctx->output_writer_private;
	const Change *change = (Change *) ctx->out->data;

	Assert(ctx->out->len == sizeof(Change));
	told_change(decoder->told, change);
	if (!TransactionIdIsValid(xid) || change->message)
	{
		dirty_add(decoder->dirty, change);
		return;
	}
	if (!TransactionIdEquals(xid, decoder->last_xid))
	{
		decoder->last_xid = xid;
		decoder->target = TransactionIdIsInProgress(xid) ?
			held_back_add(decoder->held, xid, lsn) : decoder->dirty;
	}
	if (change->later && decoder->target == decoder->dirty)
		dirty_add(decoder->later, change);
	else
		dirty_add(decoder->target, change);
}

/* Note that this process has received all invalidation messages so far. */
static void
note_invalidations(Decoder *decoder)
{
	decoder->invalidations = SharedInvalidMessageCounter;
	decoder->invalidated = GetXLogInsertRecPtr();
}

/*
 * Acquire the slot, and start decoding at its confirmed position.
 *
 * The decoded changes are added to dirty; to later if they need not be applied
 * at once; to held if their transaction is not visible to others yet; and all
 * of them are recorded in told. The decoder lives in the current memory
 * context. Errors: those of ReplicationSlotAcquire() and
 * CreateDecodingContext().
 *
 * The decoding context is created inside a transaction. Otherwise the server
 * would set PROC_IN_LOGICAL_DECODING for this process, and vacuum would then
 * ignore the snapshots of its later transactions.
 */
Decoder *
decoder_open(const char *slot_name, DirtySet *dirty, DirtySet *later,
			 HeldBack *held, ToldPosts *told)
{
	MemoryContext context = CurrentMemoryContext;
	Decoder    *decoder = palloc0(sizeof(Decoder));

	decoder->dirty = dirty;
	decoder->later = later;
	decoder->held = held;
	decoder->told = told;
	decoder->owner = ResourceOwnerCreate(NULL, "blogstore decoding");

	compat_slot_acquire(slot_name);
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	decoder->ctx = CreateDecodingContext(InvalidXLogRecPtr, NIL, false,
										 XL_ROUTINE(.page_read = read_flushed_page,
													.segment_open = wal_segment_open,
													.segment_close = wal_segment_close),
										 prepare_write, write_change, NULL);
	decoder->ctx->output_writer_private = decoder;
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);

	XLogBeginRead(decoder->ctx->reader, MyReplicationSlot->data.restart_lsn);
	note_invalidations(decoder);
	return decoder;
}

/*
 * Reset all catalog caches, except for two that follow invalidation messages:
 * the layout of the containers, which is always read with a current snapshot,
 * and the roles of relations, which are used only while decoding.
 */
static void
forget_catalogs(void)
{
	invalidation_spare(true);
	InvalidateSystemCaches();
	invalidation_spare(false);
}

/*
 * Return whether the catalog caches fit both current snapshots and the
 * historic snapshots of the transactions that are decoded next.
 *
 * That is the case if all these transactions began after the last catalog
 * change. Both kinds of snapshot see the result of that change then, and a
 * later change sends another invalidation message. But if a transaction began
 * before the last change, its historic snapshot may read older catalog
 * contents. These would stay in the cache, because the message has already
 * been processed.
 *
 * The commit record of a catalog change precedes its invalidation messages. So
 * it lies before the end of WAL as read after the message arrived. In-place
 * updates of catalogs have no commit; they look the same to all snapshots.
 */
static bool
caches_agree(Decoder *decoder)
{
	ReorderBufferTXN *oldest = ReorderBufferGetOldestTXN(decoder->ctx->reorder);
	XLogRecPtr	begin = oldest ? oldest->first_lsn :
		decoder->ctx->reader->EndRecPtr;

	AcceptInvalidationMessages();
	if (decoder->invalidations != SharedInvalidMessageCounter)
		note_invalidations(decoder);
	return begin >= decoder->invalidated;
}

/*
 * Decode WAL up to a flushed position, or until the dirty set is full. Returns
 * the position reached: all commits before it are in the dirty sets, or were
 * confirmed earlier. Errors: XX001 if WAL cannot be read.
 */
XLogRecPtr
decoder_read(Decoder *decoder, XLogRecPtr upto)
{
	XLogReaderState *reader = decoder->ctx->reader;
	MemoryContext old;
	bool		agree;

	if (reader->EndRecPtr >= upto)
	{
		decoder->at_end = true;
		return reader->EndRecPtr;
	}

	/*
	 * The WAL reader keeps memory that it allocates here, so this context is
	 * never reset.
	 */
	old = MemoryContextSwitchTo(decoder->ctx->context);
	CurrentResourceOwner = decoder->owner;
	agree = caches_agree(decoder);
	if (!agree)
		forget_catalogs();

	/*
	 * Another transaction may have the xid by now, and the worker may have
	 * emptied the set that received the changes.
	 */
	decoder->last_xid = InvalidTransactionId;
	decoder->at_end = false;

	while (!decoder->at_end && reader->EndRecPtr < upto && !dirty_full(decoder->dirty))
	{
		char	   *error = NULL;
		XLogRecord *record = XLogReadRecord(reader, &error);

		if (error)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("could not read WAL at %X/%X: %s",
							LSN_FORMAT_ARGS(reader->EndRecPtr), error)));
		if (record)
			LogicalDecodingProcessRecord(decoder->ctx, reader);
		MemoryContextSwitchTo(decoder->ctx->context);
		CurrentResourceOwner = decoder->owner;
		CHECK_FOR_INTERRUPTS();
	}

	decoder->at_end |= reader->EndRecPtr >= upto;
	if (!agree || decoder->invalidations != SharedInvalidMessageCounter)
		forget_catalogs();
	CurrentResourceOwner = NULL;
	MemoryContextSwitchTo(old);
	return reader->EndRecPtr;
}

/*
 * Return whether the last read reached the end of flushed WAL, apart from an
 * incomplete record.
 */
bool
decoder_at_end(const Decoder *decoder)
{
	return decoder->at_end;
}

/*
 * Return how many bytes of WAL the slot would release if it were confirmed up
 * to lsn. When the server decodes certain records, such as checkpoints, it
 * finds a new restart point for the slot. It keeps the first one that it finds
 * until the slot is confirmed past it; see
 * LogicalIncreaseRestartDecodingForSlot(). The fields of the slot are read
 * without its spinlock, because only this process writes them.
 */
uint64
decoder_could_release(XLogRecPtr lsn)
{
	const ReplicationSlot *slot = MyReplicationSlot;

	if (slot->candidate_restart_valid == InvalidXLogRecPtr ||
		slot->candidate_restart_valid > lsn ||
		slot->candidate_restart_lsn < slot->data.restart_lsn)
		return 0;
	return slot->candidate_restart_lsn - slot->data.restart_lsn;
}

/*
 * Confirm the slot up to lsn, so that the server may remove older WAL. The
 * caller has applied all changes before lsn and flushed its commits.
 */
void
decoder_confirm(XLogRecPtr lsn)
{
	if (lsn <= MyReplicationSlot->data.confirmed_flush)
		return;
	LogicalConfirmReceivedLocation(lsn);

	/*
	 * Otherwise the next checkpoint would not save the slot if only the
	 * confirmed position has changed.
	 */
	ReplicationSlotMarkDirty();
}
