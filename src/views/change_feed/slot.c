/*
 * slot.c
 *		The worker's replication slot: creating, checking and dropping it.
 *
 * The worker creates the slot, because a backend could not: a slot cannot be
 * created in a transaction that has written, and its creation waits for all
 * running transactions, which would include the caller's own.
 *
 * Runs in the worker; slot_drop() also in a backend that runs stop_worker().
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

/*
 * Write the name of the replication slot of a database's worker to name, which
 * has room for NAMEDATALEN bytes.
 */
void
worker_slot_name(Oid dbid, char *name)
{
	snprintf(name, NAMEDATALEN, "blogstore_%u", dbid);
}

/*
 * Allow blogstore's output plugin in this session. Newer minor releases allow
 * only the plugins listed in output_plugin_libraries, to limit what clients
 * with the REPLICATION attribute can load. The worker uses only its own
 * plugin.
 */
void
slot_allow_plugin(void)
{
	if (GetConfigOption("output_plugin_libraries", true, false) != NULL)
		SetConfigOption("output_plugin_libraries", PLUGIN_NAME, PGC_SUSET,
						PGC_S_SESSION);
}

/*
 * Copy the persistent data of a slot to *data. They are all zeros if there is
 * no such slot.
 */
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

/*
 * Return the position up to which a slot is confirmed, or an invalid position
 * if there is no such slot.
 */
XLogRecPtr
slot_confirmed(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return data.confirmed_flush;
}

/* Return whether a slot is still being created. */
bool
slot_is_being_made(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return NameStr(data.name)[0] != '\0' && data.persistency == RS_EPHEMERAL;
}

/* Return how many bytes of WAL a slot retains, 0 if there is no such slot. */
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
 * Return why a slot is not the one that the views were kept with, as a
 * sentence for the log, or NULL if it is. position: the position up to which
 * the worker has applied changes, as stored in a table.
 *
 * After a promotion, a slot is usable only if the server has synchronized it
 * from the primary (a failover slot). For any other slot, catalog rows that it
 * needs may have been vacuumed, or its WAL belongs to an old timeline.
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

/* Drop a slot if it exists. Errors: 55006 if another process uses it. */
void
slot_drop(const char *name)
{
	if (SearchNamedReplicationSlot(name, true) != NULL)
		ReplicationSlotDrop(name, true);
}

/*
 * Page read callback that waits for WAL. Unlike the server's
 * read_local_xlog_page(), it notices the death of the postmaster while it
 * waits.
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
 * Create the slot; if an unusable one has its name, drop that first. Like
 * pg_create_logical_replication_slot(), this function waits for a consistent
 * point, that is for the end of all running transactions, and then makes the
 * slot persistent. Called outside of a transaction. Errors: 42710 if another
 * plugin uses a slot with this name; those of CreateInitDecodingContext().
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
	ctx = compat_init_decoding(PLUGIN_NAME,
							   XL_ROUTINE(.page_read = wait_and_read_page,
										  .segment_open = wal_segment_open,
										  .segment_close = wal_segment_close));
	DecodingContextFindStartpoint(ctx);
	FreeDecodingContext(ctx);
	ReplicationSlotPersist();
	ReplicationSlotRelease();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}
