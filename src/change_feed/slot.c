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

#include "change_feed/change_feed.h"
#include "compat.h"

#include "access/xact.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "replication/logical.h"
#include "storage/spin.h"
#include "utils/guc.h"

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

/* Is there a slot of this name that can be decoded from here? */
bool
slot_usable(const char *name)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);
	ReplicationSlotPersistentData data;

	if (slot == NULL)
		return false;
	SpinLockAcquire(&slot->mutex);
	data = slot->data;
	SpinLockRelease(&slot->mutex);
	return data.database == MyDatabaseId &&
		strcmp(NameStr(data.plugin), PLUGIN_NAME) == 0 &&
		!compat_slot_invalidated(&data) &&
		!XLogRecPtrIsInvalid(data.restart_lsn) &&
		!XLogRecPtrIsInvalid(data.confirmed_flush);
}

/* Drop a slot if it is there. */
void
slot_drop(const char *name)
{
	if (SearchNamedReplicationSlot(name, true) != NULL)
		ReplicationSlotDrop(name, true);
}

/*
 * Make the slot, in place of an unusable one: find the point from which all
 * transactions are seen whole, then keep it over restarts (as
 * pg_create_logical_replication_slot() does).
 */
void
slot_make(const char *name)
{
	LogicalDecodingContext *ctx;
	ReplicationSlot *there = SearchNamedReplicationSlot(name, true);

	if (there != NULL && strcmp(NameStr(there->data.plugin), PLUGIN_NAME) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("replication slot \"%s\" exists and is not of blogstore",
						name),
				 errhint("Drop it, or copy what reads from it to another name.")));
	slot_drop(name);
	StartTransactionCommand();
	compat_slot_create(name);
	ctx = CreateInitDecodingContext(PLUGIN_NAME, NIL, false, InvalidXLogRecPtr,
									XL_ROUTINE(.page_read = read_local_xlog_page,
											   .segment_open = wal_segment_open,
											   .segment_close = wal_segment_close),
									NULL, NULL, NULL);
	DecodingContextFindStartpoint(ctx);
	FreeDecodingContext(ctx);
	ReplicationSlotPersist();
	ReplicationSlotRelease();
	CommitTransactionCommand();
}
