/*
 * slot.c
 *		The worker's replication slot: made, checked, dropped.
 *
 * The worker makes it itself: a slot cannot be made in a transaction that has
 * written, and making one waits for all transactions under way to end, which
 * must not be the caller's own. Runs in the worker; slot_drop() also in the
 * backend that runs stop_worker().
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/change_feed/decoded_changes.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "replication/logical.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

/* The replication slot of a database's worker; name has NAMEDATALEN bytes. */
void
worker_slot_name(Oid dbid, char *name)
{
	snprintf(name, NAMEDATALEN, "blogstore_%u", dbid);
}

/*
 * Newer minor releases decode only with plugins that output_plugin_libraries
 * lists. The list guards against what clients with the REPLICATION attribute
 * may load; here the library loads itself, so the worker sets it for itself.
 */
void
slot_allow_plugin(void)
{
	if (GetConfigOption("output_plugin_libraries", true, false) != NULL)
		SetConfigOption("output_plugin_libraries", PLUGIN_NAME, PGC_SUSET,
						PGC_S_SESSION);
}

/* A slot's persistent data, all zero if there is none. */
static void
slot_read(const char *name, ReplicationSlotPersistentData *data)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);

	memset(data, 0, sizeof(*data));
	if (slot == NULL)
		return;
	SpinLockAcquire(&slot->mutex);
	*data = slot->data;
	SpinLockRelease(&slot->mutex);
}

/* How far a slot has been confirmed. */
XLogRecPtr
slot_confirmed(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return data.confirmed_flush;
}

/* Is there a slot that is not fit to be used yet? */
bool
slot_is_being_made(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return NameStr(data.name)[0] != '\0' && data.persistency == RS_EPHEMERAL;
}

/* How much WAL a slot keeps, in bytes. */
int64
slot_keeps(const char *name)
{
	ReplicationSlotPersistentData data;
	XLogRecPtr	end = GetFlushRecPtr(NULL);

	slot_read(name, &data);
	return data.restart_lsn == InvalidXLogRecPtr || data.restart_lsn > end ?
		0 : end - data.restart_lsn;
}

/*
 * Why a slot of this name is not the one that the views were kept with, up to
 * a position; NULL if it is. It is then a sentence for a DETAIL.
 *
 * After a promotion a slot can only be relied on if the server keeps it in
 * step with the primary's (a failover slot): catalog rows that another may need
 * have been vacuumed away, or its WAL is of a timeline that was left.
 */
const char *
slot_obstacle(const char *name, const AppliedPosition *position)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	if (NameStr(data.name)[0] == '\0')
	{
		if (position->applied_lsn != InvalidXLogRecPtr)
			return "The slot was missing.";
		return position->applied_at == 0 ? "There was no slot yet." :
			"The slot had been dropped because the containers were damaged.";
	}
	if (compat_slot_invalidated(&data) ||
		XLogRecPtrIsInvalid(data.restart_lsn) ||
		XLogRecPtrIsInvalid(data.confirmed_flush))
		return "The slot had been invalidated.";
	if (data.database != MyDatabaseId ||
		strcmp(NameStr(data.plugin), PLUGIN_NAME) != 0 ||
		position->applied_lsn == InvalidXLogRecPtr ||
		(uint64) position->system_identifier != GetSystemIdentifier())
		return "The slot did not belong to these containers.";
	if (position->timeline != GetWALInsertionTimeLine() &&
		!compat_slot_synced(&data))
		return "The slot dated from before a promotion of this server.";
	if (data.confirmed_flush > position->applied_lsn)
		return "The slot was ahead of the applied position.";
	return NULL;
}

/* Drop a slot if it is there. */
void
slot_drop(const char *name)
{
	if (SearchNamedReplicationSlot(name, true) != NULL)
		ReplicationSlotDrop(name, true);
}

/*
 * Wait until a page of WAL is flushed as far as asked for, and read it.
 * read_local_xlog_page() waits too, but not for the end of the postmaster.
 */
static int
wait_and_read_page(XLogReaderState *reader, XLogRecPtr page, int length,
				   XLogRecPtr record, char *buffer)
{
	while (page + length > GetFlushRecPtr(NULL))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
						 WL_EXIT_ON_PM_DEATH, 10, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return read_local_xlog_page(reader, page, length, record, buffer);
}

/*
 * Make the slot, in place of an unusable one: find the point from which all
 * transactions are seen whole, then keep it over restarts (as
 * pg_create_logical_replication_slot() does).
 */
void
slot_make(const char *name)
{
	MemoryContext context = CurrentMemoryContext;
	LogicalDecodingContext *ctx;
	ReplicationSlot *there = SearchNamedReplicationSlot(name, true);

	if (there != NULL && strcmp(NameStr(there->data.plugin), PLUGIN_NAME) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("replication slot \"%s\" exists but does not belong to blogstore",
						name),
				 errhint("Drop the slot. If a client still reads from it, copy it under another name first.")));
	slot_drop(name);
	StartTransactionCommand();
	compat_slot_create(name);
	ctx = CreateInitDecodingContext(PLUGIN_NAME, NIL, false, InvalidXLogRecPtr,
									XL_ROUTINE(.page_read = wait_and_read_page,
											   .segment_open = wal_segment_open,
											   .segment_close = wal_segment_close),
									NULL, NULL, NULL);
	DecodingContextFindStartpoint(ctx);
	FreeDecodingContext(ctx);
	ReplicationSlotPersist();
	ReplicationSlotRelease();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}
