/*
 * decoder.c
 *		Decoding the WAL inside the server, in bounded steps.
 *
 * As pg_logical_slot_get_changes() and a walsender do (logicalfuncs.c,
 * walsender.c), but the decoding context lives as long as the worker. Memory
 * contexts: all of it is allocated in the context current at decoder_open().
 *
 * Catalog caches: while changes are decoded they are filled with catalog
 * contents as of the past. They are thrown away on the way in and on the way
 * out, unless past and present are the same (caches_agree()): to fill them again
 * takes longer than all that a small turn is for.
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
	DirtySet   *dirty;			/* what is to be refreshed */
	DirtySet   *later;			/* what is not urgent */
	HeldBack   *held;			/* of transactions that have not ended for
								 * everyone */
	ToldPosts  *told;
	TransactionId last_xid;		/* whose change was decoded last */
	DirtySet   *target;			/* where the changes of last_xid go */
	ResourceOwner owner;		/* of what decoding opens outside of xacts */
	bool		at_end;			/* did the last read end for want of WAL? */

	/* the last change of any catalog that this process has been told of: */
	uint64		invalidations;	/* messages so far, of all databases */
	XLogRecPtr	invalidated;	/* all of them are of commits before this */
};

/*
 * Read WAL that is flushed, and only that. What is flushed can end in the
 * middle of a record; read_local_xlog_page() would wait there for the rest,
 * without a look at the postmaster, and what was read before would not be
 * applied meanwhile.
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
 * What the plugin tells of a change goes into the dirty set, or is held back if
 * the end of its transaction does not show to others yet. Messages are written as they are,
 * in the midst of a transaction that may be as long as anybody likes: they do not wait for its end,
 * so what is held back is bounded by those who commit.
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

/* This process has been told of all changes of catalogs so far. */
static void
note_invalidations(Decoder *decoder)
{
	decoder->invalidations = SharedInvalidMessageCounter;
	decoder->invalidated = GetXLogInsertRecPtr();
}

/*
 * Acquire the slot and begin to decode where it was last confirmed.
 *
 * The context is made inside a transaction: outside of one the server would
 * take this process for a walsender and ignore the snapshots of its later
 * transactions when it computes what vacuum may remove
 * (PROC_IN_LOGICAL_DECODING).
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
 * Forget all catalog caches. What is remembered of the containers' layout is of
 * the present, and the roles of relations are not read otherwise than while
 * decoding: both stay, and go by real invalidations.
 */
static void
forget_catalogs(void)
{
	invalidation_spare(true);
	InvalidateSystemCaches();
	invalidation_spare(false);
}

/*
 * Do the catalog caches fit both the present and what is decoded next? They do
 * if all transactions that are yet to be decoded began after the last change of
 * a catalog. Its commit record comes before the message that says so: it is
 * before the end of WAL when the message has been read. (What is changed in
 * place, without a commit, is the same for past and present.) Catalog contents
 * read in such a transaction are thus as new as that change, and what changes
 * later will be told by another message, whichever way they were read. To one
 * that began earlier they may be older, and would stay though the message has
 * come.
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
 * Decode up to a flushed position, or until the dirty set is full. Returns
 * the position reached: all commits before it are in the set (or were
 * confirmed before).
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

	/* the reader allocates as it goes, and keeps it: no context to reset */
	old = MemoryContextSwitchTo(decoder->ctx->context);
	CurrentResourceOwner = decoder->owner;
	agree = caches_agree(decoder);
	if (!agree)
		forget_catalogs();
	/* a later transaction may have the same xid, or the set been emptied */
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

/* Was there no more WAL to read, though maybe the first part of a record? */
bool
decoder_at_end(const Decoder *decoder)
{
	return decoder->at_end;
}

/*
 * How much WAL the slot would let go if it were confirmed up to a position. The
 * decoder finds where it could begin anew at checkpoints and the like, and keeps
 * the first such place until it is confirmed
 * (LogicalIncreaseRestartDecodingForSlot()); only this process writes there.
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
 * Let the slot move on to a position: all before it has been applied, and the
 * commit of that has been flushed.
 */
void
decoder_confirm(XLogRecPtr lsn)
{
	if (lsn <= MyReplicationSlot->data.confirmed_flush)
		return;
	LogicalConfirmReceivedLocation(lsn);

	/* have a checkpoint save it, though nothing else may have changed */
	ReplicationSlotMarkDirty();
}
