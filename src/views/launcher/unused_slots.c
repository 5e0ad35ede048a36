/*
 * unused_slots.c
 *		Looks for replication slots of blogstore that no worker uses.
 *
 * Such a slot retains WAL. Its worker was stopped, or its database can have no
 * worker any more: the containers were dropped, or the database became a
 * template or accepts no connections. The launcher starts a worker in the
 * database of each such slot. If no worker is needed there, the new worker
 * drops the slot. If stop_worker() was called, the new worker exits. No worker
 * can run in a database that accepts no connections, so the launcher logs a
 * warning.
 *
 * Runs in the launcher.
 */
#include "postgres.h"

#include "base/compat.h"
#include "views/launcher/worker_entries.h"

#include "access/xlog.h"
#include "utils/memutils.h"

typedef struct SlotWarning
{
	Oid			dbid;			/* database of the slot; InvalidOid if the
								 * launcher has not warned of the slot */
	int64		kept;			/* bytes of WAL that the slot retained */
} SlotWarning;

/*
 * The last warning about each replication slot of the server. The index is
 * that of the slot in shared memory.
 */
static SlotWarning *warned = NULL;

static bool
entry_in_use(Oid dbid)
{
	WorkerEntry *entry;
	bool		result;

	LWLockAcquire(launch_shared->lock, LW_SHARED);
	entry = worker_entry_find(dbid);
	result = entry != NULL && worker_entry_in_use(entry);
	LWLockRelease(launch_shared->lock);
	return result;
}

/*
 * Have the launcher start a worker in a database that has no entry, or whose
 * worker is stopped. Returns false if the database has no entry and all
 * entries are taken.
 */
static bool
start_to_look(Oid dbid)
{
	WorkerEntry *entry;

	LWLockAcquire(launch_shared->lock, LW_EXCLUSIVE);
	entry = worker_entry_find(dbid);
	if (entry == NULL)
		entry = worker_entry_create(dbid);
	else if (entry->state == WORKER_STOPPED && !worker_entry_in_use(entry))
		worker_entry_look(entry);
	LWLockRelease(launch_shared->lock);
	return entry != NULL;
}

/*
 * Warn that no worker uses a slot.
 *
 * room: false if no worker can be started in the database, because all entries
 * belong to other databases
 */
static void
warn_of_unused(const char *slot, const Database *database, int64 kept, bool room)
{
	ereport(WARNING,
			(errmsg("replication slot \"%s\" keeps %lld MB of WAL, and no blogstore worker uses it",
					slot, (long long) (kept / (1024 * 1024))),
			 room ?
			 errhint("In database \"%s\", look at blogstore.stat_worker; call blogstore.start_worker(), or drop the slot with blogstore.stop_worker(drop_slot => true).",
					 NameStr(database->name)) :
			 errhint("In database \"%s\", drop the slot with blogstore.stop_worker(drop_slot => true). No worker can be started there, because %d other databases have blogstore containers.",
					 NameStr(database->name), MAX_DATABASES)));
}

static void
warn_of_closed(const char *slot, const Database *database, int64 kept)
{
	ereport(WARNING,
			(errmsg("replication slot \"%s\" of database \"%s\" keeps %lld MB of WAL",
					slot, NameStr(database->name),
					(long long) (kept / (1024 * 1024))),
			 errdetail("No blogstore worker can run in the database, because it accepts no connections."),
			 errhint("Let the database accept connections again, or drop the slot with pg_drop_replication_slot('%s').",
					 slot)));
}

/*
 * If a slot belongs to blogstore and no worker uses it, have the launcher
 * start a worker in its database. Warn if the slot retains more WAL than
 * max_wal_size. If the database accepts no connections, warn in any case.
 *
 * Repeat the warning when the retained WAL has doubled. If it has shrunk, the
 * slot was used or replaced, and the next warning counts as the first.
 *
 * i: index of the slot in shared memory
 */
static void
tend_slot(int i, List *databases)
{
	const int64 limit = (int64) max_wal_size_mb * 1024 * 1024;
	const Database *database = NULL;
	SlotWarning *last = &warned[i];
	char		name[NAMEDATALEN];
	Oid			dbid;
	int64		kept;
	bool		room = true;

	if (slot_of_blogstore(i, &dbid, name))
		database = find_database(databases, dbid);
	if (database == NULL || entry_in_use(dbid))
	{
		last->dbid = InvalidOid;
		return;
	}
	if (database->accepts)
		room = start_to_look(dbid);
	kept = slot_keeps(name);
	if (last->dbid != dbid || kept < last->kept)
		last->dbid = InvalidOid;
	if (OidIsValid(last->dbid) ? kept < 2 * Max(last->kept, limit) :
		database->accepts && kept < limit)
		return;
	last->dbid = dbid;
	last->kept = kept;
	if (database->accepts)
		warn_of_unused(name, database, kept, room);
	else
		warn_of_closed(name, database, kept);
}

void
tend_unused_slots(List *databases)
{
	if (warned == NULL)
		warned = MemoryContextAllocZero(TopMemoryContext,
										max_replication_slots * sizeof(SlotWarning));
	for (int i = 0; i < max_replication_slots; i++)
		tend_slot(i, databases);
}
