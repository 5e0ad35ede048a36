/*
 * decoder.c
 *		Logical decoding inside the worker. Each call decodes a limited amount
 *		of WAL.
 *
 * The decoder works like pg_logical_slot_get_changes() and walsenders
 * (logicalfuncs.c, walsender.c), but its decoding context lives as long as the
 * worker. The decoder adds the keys of changed posts and users to dirty sets
 * (dirty_set.c), from which the worker updates the views.
 *
 * Decoding reads the catalogs with historic snapshots, and can leave old rows
 * in the catalog caches. So the caches are reset before and after decoding,
 * unless current and historic snapshots see the same rows (caches_agree()).
 * Filling the caches again after a reset is slow.
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
	DirtySet   *dirty;			/* changes that the worker applies in the
								 * current round of its main loop */
	DirtySet   *later;			/* writes to the views by sessions other than
								 * the worker; the worker corrects them after a
								 * delay */
	HeldBack   *held;			/* changes of committed transactions that other
								 * processes do not see yet */
	ToldPosts  *told;
	TransactionId last_xid;
	DirtySet   *target;			/* the set that receives the changes of the
								 * transaction last_xid */
	ResourceOwner owner;		/* the resource owner while decoding, outside
								 * of transactions */
	bool		at_end;

	uint64		invalidations;	/* SharedInvalidMessageCounter when
								 * note_invalidations() last ran */

	/*
	 * End of WAL when note_invalidations() last ran. The process had then
	 * received the invalidation messages of some catalog changes. The commit
	 * records of these changes are before this position.
	 */
	XLogRecPtr	invalidated;
};

/*
 * Page read callback of the WAL reader. Reads only flushed WAL, and returns -1
 * if the flushed WAL ends within the page.
 *
 * The server's callback read_local_xlog_page() would wait for more WAL
 * instead. During that wait the worker would not apply the changes decoded so
 * far, and would not notice the death of the postmaster.
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
 * If the change's transaction is still in the list of running transactions,
 * the change is held back (held_back.c). This is rare, because a transaction
 * leaves the list soon after its commit record was written. A logical message
 * is not held back, because it does not depend on the end of a transaction.
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

/*
 * Remember that this process has received all invalidation messages sent so
 * far, for caches_agree().
 */
static void
note_invalidations(Decoder *decoder)
{
	decoder->invalidations = SharedInvalidMessageCounter;
	decoder->invalidated = GetXLogInsertRecPtr();
}

/*
 * Acquire the slot, and start decoding at its confirmed position. The decoder
 * lives in the current memory context. Errors: those of
 * ReplicationSlotAcquire() and CreateDecodingContext().
 *
 * dirty: receives the changes that the worker applies at once
 * later: receives writes to the views by sessions other than the worker
 * held: receives the changes of transactions that other processes do not see
 *     yet
 * told: receives the number of the round of the worker's main loop in which a
 *     post has changed (told_posts.c)
 *
 * The decoding context is created inside a transaction. Otherwise the server
 * would set PROC_IN_LOGICAL_DECODING for this process, and vacuum would then
 * ignore the snapshots of the worker's later transactions.
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
 * Reset the catalog caches, but keep blogstore's caches of the layout and of
 * the roles of relations. These two stay correct: the layout is always read
 * with a current snapshot, and the roles are used only while decoding.
 */
static void
forget_catalogs(void)
{
	invalidation_spare(true);
	InvalidateSystemCaches();
	invalidation_spare(false);
}

/*
 * Return whether current snapshots see the same catalog rows as the historic
 * snapshots of the transactions that are decoded next. If so, the catalog
 * caches need not be reset.
 *
 * The snapshots see the same rows if all these transactions began after the
 * last catalog change. The historic snapshot of a transaction that began
 * before a catalog change may put old rows into the caches. These rows would
 * stay there, because this process has already read the invalidation messages
 * of the change. If the catalogs change later, new messages remove the rows
 * that have become old.
 *
 * The commit record of a catalog change is written before the invalidation
 * messages of the change are sent. note_invalidations() reads the end of WAL
 * after this process has received the messages. So the commit record is before
 * that end. In-place updates of catalogs have no commit record, but all
 * snapshots see them.
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
 * Decode WAL up to the flushed position "upto", or until the set
 * decoder->dirty is full. Returns the position reached. The decoder's dirty
 * sets then have the changes of all commits before that position. Errors:
 * XX001 if WAL cannot be read.
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
	 * This memory context is never reset, because the WAL reader keeps memory
	 * that it allocates here.
	 */
	old = MemoryContextSwitchTo(decoder->ctx->context);
	CurrentResourceOwner = decoder->owner;
	agree = caches_agree(decoder);
	if (!agree)
		forget_catalogs();

	/*
	 * Let write_change() choose a set for the next change, even if the change
	 * belongs to the last transaction. The worker may have freed the set of
	 * that transaction.
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
 * Return whether the last decoder_read() reached the end of flushed WAL. An
 * incomplete record at the end is ignored.
 */
bool
decoder_at_end(const Decoder *decoder)
{
	return decoder->at_end;
}

/*
 * Return how many bytes of WAL the server could remove if the slot were
 * confirmed up to lsn.
 *
 * While decoding certain records, such as checkpoints, the server finds a
 * later restart point for the slot, candidate_restart_lsn. The slot gets this
 * restart point when it is confirmed up to candidate_restart_valid (see
 * LogicalIncreaseRestartDecodingForSlot()). The slot is read without its
 * spinlock, because only this process writes these fields.
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
 * caller has applied all changes before lsn to the views, and has flushed the
 * commits of the transactions that applied them.
 */
void
decoder_confirm(XLogRecPtr lsn)
{
	if (lsn <= MyReplicationSlot->data.confirmed_flush)
		return;
	LogicalConfirmReceivedLocation(lsn);

	/*
	 * LogicalConfirmReceivedLocation() does not always mark the slot as dirty.
	 * A checkpoint saves only slots that are marked as dirty.
	 */
	ReplicationSlotMarkDirty();
}
