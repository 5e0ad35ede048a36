/*
 * slot.c
 *		Creates, checks and drops the worker's replication slot.
 *
 * The worker creates the slot, because a backend cannot do so in its own
 * transaction. A slot cannot be created in a transaction that has written.
 * Also, the creation waits for the end of all running transactions.
 *
 * Runs in the worker. slot_drop() also runs in a backend, for stop_worker().
 * slot_of_blogstore() runs in the launcher.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/wait_events.h"
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

/*
 * Write the name of a database's replication slot to the buffer "name", which
 * has NAMEDATALEN bytes.
 */
void
worker_slot_name(Oid dbid, char *name)
{
	snprintf(name, NAMEDATALEN, "blogstore_%u", dbid);
}

/*
 * Allow blogstore's output plugin in this session. Newer minor releases of
 * PostgreSQL load only the plugins that output_plugin_libraries lists, to
 * limit what clients with the REPLICATION attribute can load.
 */
void
slot_allow_plugin(void)
{
	if (GetConfigOption("output_plugin_libraries", true, false) != NULL)
		SetConfigOption("output_plugin_libraries", PLUGIN_NAME, PGC_SUSET,
						PGC_S_SESSION);
}

/*
 * Copy the persistent data of a slot to *data. If there is no such slot, *data
 * is filled with zeros.
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
 * Return the position up to which a slot is confirmed, or InvalidXLogRecPtr if
 * the slot does not exist.
 */
XLogRecPtr
slot_confirmed(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return data.confirmed_flush;
}

/*
 * Return whether a slot exists but slot_make() has not finished creating it.
 */
bool
slot_is_being_made(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	return NameStr(data.name)[0] != '\0' && data.persistency == RS_EPHEMERAL;
}

/*
 * Return how many bytes of WAL a slot retains. Returns 0 if the slot does not
 * exist, or has been invalidated.
 */
int64
slot_keeps(const char *name)
{
	ReplicationSlotPersistentData data;
	XLogRecPtr	end = GetFlushRecPtr(NULL);

	slot_read(name, &data);
	if (compat_slot_invalidation(&data) != COMPAT_SLOT_VALID ||
		data.restart_lsn == InvalidXLogRecPtr || data.restart_lsn > end)
		return 0;
	return end - data.restart_lsn;
}

/*
 * Return why the server has invalidated a slot, as a sentence for the log.
 * Sets *hint to advice for the administrator.
 */
static const char *
invalidation_reason(CompatInvalidation invalidation, const char **hint)
{
	switch (invalidation)
	{
		case COMPAT_ROWS_REMOVED:
			*hint = "On a standby, set hot_standby_feedback = on.";
			return "The slot had been invalidated: catalog rows that it needed were removed on the primary.";
		case COMPAT_DECODING_DISABLED:
			*hint = "Set wal_level = logical on the primary and on its standbys.";
			return "The slot had been invalidated: logical decoding was disabled on the primary.";
		case COMPAT_SLOT_IDLE:
			*hint = "Set idle_replication_slot_timeout = 0, or stop the worker with blogstore.stop_worker(drop_slot => true).";
			return "The slot had been invalidated: it was not used for idle_replication_slot_timeout.";
		case COMPAT_WAL_REMOVED:
		case COMPAT_SLOT_VALID:
			break;
	}
	*hint = "Raise max_slot_wal_keep_size, and end transactions that stay open for long.";
	return "The slot had been invalidated: it needed more WAL than max_slot_wal_keep_size allows.";
}

/*
 * Return why decoding cannot continue from a slot without losing changes, as a
 * sentence for the log. Returns NULL if decoding can continue.
 *
 * position: the row of the table change_feed, which says how far the views are
 *     up to date
 * *hint: set to advice for the administrator, or to NULL
 *
 * After a promotion, a slot is usable only if the server has synchronized it
 * from the primary (a failover slot). For any other slot, vacuum may have
 * removed catalog rows that the slot needs, or the slot's WAL belongs to an
 * old timeline.
 */
const char *
slot_obstacle(const char *name, const AppliedPosition *position,
			  const char **hint)
{
	ReplicationSlotPersistentData data;
	CompatInvalidation invalidation;

	*hint = NULL;
	slot_read(name, &data);
	if (NameStr(data.name)[0] == '\0')
	{
		*hint = "It was dropped, or the database or the server was restored from a backup, copied, promoted or upgraded. Drop the slot only with blogstore.stop_worker(drop_slot => true).";
		if (position->applied_lsn != InvalidXLogRecPtr)
			return "The slot was missing.";
		return position->applied_at == 0 ? "There was no slot yet." :
			"The slot had been dropped.";
	}
	invalidation = compat_slot_invalidation(&data);
	if (invalidation != COMPAT_SLOT_VALID ||
		XLogRecPtrIsInvalid(data.restart_lsn) ||
		XLogRecPtrIsInvalid(data.confirmed_flush))
		return invalidation_reason(invalidation, hint);
	if (data.database != MyDatabaseId ||
		strcmp(NameStr(data.plugin), PLUGIN_NAME) != 0 ||
		position->applied_lsn == InvalidXLogRecPtr ||
		(uint64) position->system_identifier != GetSystemIdentifier())
	{
		*hint = "Another program created the slot, or the tables were copied from another server. Leave slots of this name to the worker.";
		return "The slot did not belong to these containers.";
	}
	if (position->timeline != GetWALInsertionTimeLine() &&
		!compat_slot_synced(&data))
	{
		*hint = "From PostgreSQL 17 on, set sync_replication_slots = on on standbys.";
		return "The slot dated from before a promotion of this server.";
	}
	if (data.confirmed_flush > position->applied_lsn)
	{
		*hint = "Another program read from the slot or advanced it. Leave the slot to the worker.";
		return "The slot was ahead of the applied position.";
	}
	return NULL;
}

/*
 * Return whether a slot belongs to the worker of some database. Sets *dbid to
 * that database, and name (NAMEDATALEN bytes) to the name of the slot.
 *
 * i: index of the slot in shared memory.
 */
bool
slot_of_blogstore(int i, Oid *dbid, char *name)
{
	ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];
	ReplicationSlotPersistentData data;
	char		expected[NAMEDATALEN];
	bool		in_use;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	in_use = slot->in_use;
	SpinLockAcquire(&slot->mutex);
	data = slot->data;
	SpinLockRelease(&slot->mutex);
	LWLockRelease(ReplicationSlotControlLock);
	*dbid = data.database;
	strlcpy(name, NameStr(data.name), NAMEDATALEN);
	worker_slot_name(data.database, expected);
	return in_use && strcmp(NameStr(data.plugin), PLUGIN_NAME) == 0 &&
		strcmp(name, expected) == 0;
}

/*
 * Drop a slot, if it exists and uses blogstore's output plugin. A slot of this
 * name with another plugin belongs to a client. Errors: 55006 if another
 * process uses the slot.
 */
void
slot_drop(const char *name)
{
	ReplicationSlotPersistentData data;

	slot_read(name, &data);
	if (strcmp(NameStr(data.plugin), PLUGIN_NAME) == 0)
		ReplicationSlotDrop(name, true);
}

/*
 * Page read callback for the creation of the slot. Waits until the page has
 * been flushed. Exits if the postmaster dies meanwhile, unlike the server's
 * read_local_xlog_page().
 */
static int
wait_and_read_page(XLogReaderState *reader, XLogRecPtr page, int length,
				   XLogRecPtr record, char *buffer)
{
	while (page + length > GetFlushRecPtr(NULL))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT |
						 WL_EXIT_ON_PM_DEATH, 10, wait_event(WAIT_WORKER_SLOT));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return read_local_xlog_page(reader, page, length, record, buffer);
}

/*
 * Create the slot. An existing slot of blogstore with this name is dropped
 * first. Called outside of a transaction.
 *
 * Waits for the end of all running transactions, and then makes the slot
 * persistent, like pg_create_logical_replication_slot().
 *
 * Errors: 42710 if a slot of another plugin has this name; 55006 if another
 * process uses the slot; those of CreateInitDecodingContext().
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
