/*
 * blocked_by_damage.c
 *		What the worker does when the containers' owner has altered tables so
 *		that the worker cannot use them ("damage").
 *
 * Damage is what storage/layout/container_damage.c finds in the catalogs, a
 * damaged bookkeeping table, or a missing value in an item. Until the owner
 * repairs the damage, the worker cannot keep the views complete. The worker
 * marks the views as not ready, so that readers do not use them. It drops its
 * slot, reports the damage with a hint, and waits in state BLOCKED:
 *
 *		until					then
 *		----------------------	-------------------------------------------
 *		nothing is damaged		the process exits; the launcher starts
 *								another, which finds no slot, creates one
 *								and rebuilds the views
 *		there are no containers	worker_retire()
 *		stop_worker()			the process exits, in state STOPPED
 *
 * Meanwhile the worker has no slot, transaction or lock. It checks the tables
 * every two seconds, or less often if a check takes long.
 *
 * An error alone never blocks the worker. After an error the worker checks the
 * tables. If it finds no damage, the process exits and keeps the slot, and the
 * launcher starts a new worker.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/worker/worker_parts.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * How long a blocked worker sleeps between two checks for damage, in ms:
 * PAUSE_FACTOR times the duration of the last check, but at least LOOK_PAUSE
 * and at most LONGEST_PAUSE.
 */
#define LOOK_PAUSE 2000
#define LONGEST_PAUSE 30000
#define PAUSE_FACTOR 20

/*
 * Throw an error if a bookkeeping table is damaged. Skips tables that another
 * transaction has locked. Skips the table "unsent", which exists only on a
 * cluster; tables_are_there() checks it.
 */
static void
check_bookkeeping(void)
{
	for (Bookkeeping table = 0; table < N_BOOKKEEPING; table++)
		if (table != BOOK_UNSENT)
			(void) bookkeeping_check(table);
}

/*
 * Return whether this server has all tables that it needs. A node that was
 * just added to a cluster gets some of them later. Errors: 55000 if a table
 * that only clusters have is damaged.
 */
static bool
tables_are_there(void)
{
	const ClusterCalls *cluster = cluster_calls();

	return cluster == NULL || cluster->check_tables();
}

/*
 * Throw an error if a table is damaged. The containers are checked only if
 * their catalogs have changed since the last check. Called in a transaction.
 * Errors: 55000.
 *
 * Returns false if tables are missing while the worker starts. The caller then
 * waits until they are created.
 */
bool
damage_look(Worker *worker)
{
	uint64		stamp = layout_stamp();

	if (!tables_are_there() && worker->views == VIEWS_UNKNOWN)
		return false;
	if (worker->checked != stamp && containers_check())
		worker->checked = stamp;
	check_bookkeeping();
	return true;
}

/*
 * Return true if an error reports that a column has a NULL (22004), and the
 * column still has a NULL.
 */
static bool
lacks_value(const ErrorData *error)
{
	Oid			relid;
	Relation	rel;
	AttrNumber	attno;
	TableScanDesc scan;
	TupleTableSlot *slot;
	bool		lacks = false;

	if (error->sqlerrcode != ERRCODE_NULL_VALUE_NOT_ALLOWED ||
		error->schema_name == NULL || error->table_name == NULL ||
		error->column_name == NULL)
		return false;
	relid = get_relname_relid(error->table_name,
							  get_namespace_oid(error->schema_name, true));
	if (!OidIsValid(relid))
		return false;

	/*
	 * If another transaction has locked the table, it may be adding the
	 * missing values. Assume that values are missing until the table can be
	 * read.
	 */
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return true;
	rel = try_table_open(relid, NoLock);
	if (rel == NULL)
		return false;
	attno = shape_column(rel, error->column_name);
	scan = compat_table_beginscan(rel, GetActiveSnapshot());
	slot = table_slot_create(rel, NULL);
	while (!lacks && attno != InvalidAttrNumber &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		lacks = slot_attisnull(slot, attno);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	return lacks;
}

/*
 * Check the tables for damage. Returns an error that describes the damage, or
 * NULL if there is none. Also returns NULL if tables do not exist yet. The
 * next worker waits for these tables.
 *
 * known: the damage known so far. If it is a missing value, the function
 * checks whether the value is still missing.
 */
static const ErrorData *
find_damage(const ErrorData *known)
{
	MemoryContext context = CurrentMemoryContext;
	const ErrorData *volatile damage = NULL;

	PG_TRY();
	{
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		if (tables_are_there())
		{
			(void) containers_check();
			check_bookkeeping();
			if (lacks_value(known))
				damage = known;
		}
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		if (error_cause(APPLY_STATE, geterrcode()) != CAUSE_OWNER)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		damage = CopyErrorData();
		apply_roll_back();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return damage;
}

static void
note_not_ready(void *arg)
{
	ViewState	state;

	view_state_read(&state);
	if (!state.ready)
		return;
	state.ready = false;
	view_state_write(&state);
}

static void
note_no_slot(void *arg)
{
	applied_position_forget();
}

/*
 * Run "note", which writes a bookkeeping table, in a transaction of its own.
 * If that table is damaged, nothing is written. This does no harm, because the
 * next worker finds no slot and rebuilds the views.
 */
static void
write_down(void (*note) (void *arg))
{
	ErrorData  *error = NULL;
	ApplyResult result;

	do
	{
		result = apply_run(APPLY_STATE, note, NULL, &error);
		CHECK_FOR_INTERRUPTS();
	} while (result == APPLY_AGAIN);
}

static void
tell(Worker *worker, const ErrorData *damage)
{
	worker_entry_error(worker->entry, ERROR_VIEWS, damage->message,
					   damage->hint);
	worker_entry_blocked(worker->entry);
}

static void
give_up_views(Worker *worker, const ErrorData *damage)
{
	pg_atomic_write_u32(&worker->entry->served, InvalidTransactionId);
	told_end_turn(&worker->entry->told);
	write_down(note_not_ready);
	write_down(note_no_slot);
	apply_flush();
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	slot_drop(worker->slot_name);
	tell(worker, damage);
	ereport(LOG,
			(errmsg("blogstore worker is blocked, and readers use posts instead of the views: %s",
					damage->message),
			 damage->hint ? errhint("%s", damage->hint) : 0));
}

/*
 * Sleep for "pause" ms, and check the tables for damage again. Returns how
 * many ms the check has taken.
 *
 * *damage: the damage known so far; set to the damage found now, or NULL if
 * there is none.
 */
static long
wait_and_look(Worker *worker, const ErrorData **damage, long pause)
{
	MemoryContext old = MemoryContextSwitchTo(worker->turn);
	const ErrorData *found;
	TimestampTz began;

	worker_sleep_between_looks(worker, pause);
	began = GetCurrentTimestamp();
	if (!worker_needed())
		worker_retire(worker);
	found = find_damage(*damage);
	MemoryContextSwitchTo(old);
	if (found != NULL && found != *damage &&
		strcmp(found->message, (*damage)->message) != 0)
	{
		ErrorData  *kept = palloc0(sizeof(ErrorData));

		kept->message = pstrdup(found->message);
		kept->hint = found->hint ? pstrdup(found->hint) : NULL;
		*damage = kept;
		tell(worker, *damage);
	}
	else if (found == NULL)
		*damage = NULL;
	MemoryContextReset(worker->turn);
	return TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
}

/*
 * Called after an error that the owner seems to have caused (CAUSE_OWNER). If
 * a table is damaged, stops readers from using the views, waits until the
 * damage is repaired, and exits. Returns only if nothing is damaged.
 *
 * The error and the current memory context must live as long as the worker.
 */
void
worker_block(Worker *worker, const ErrorData *error)
{
	const ErrorData *damage;
	long		took = 0;

	if (!worker_needed())
		worker_retire(worker);
	damage = find_damage(error);
	if (damage == NULL)
		return;
	give_up_views(worker, damage);
	while (damage != NULL)
		took = wait_and_look(worker, &damage,
							 Min(Max(LOOK_PAUSE, took * PAUSE_FACTOR),
								 LONGEST_PAUSE));

	/*
	 * Forget the position again. The damage may have prevented that before,
	 * and the next worker would report the slot as lost.
	 */
	write_down(note_no_slot);
	apply_flush();
	ereport(LOG,
			(errmsg("blogstore worker restarts because the containers have been mended")));
	worker_entry_mended();
	proc_exit(0);
}
