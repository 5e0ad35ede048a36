/*
 * blocked_by_damage.c
 *		What the worker does while the owner has altered the containers so that they cannot be
 *		served.
 *
 * Damage is what storage/layout/container_damage.c finds in the catalogs, and an item that
 * lacks a value it must have. The worker then keeps no views, because what it cannot read or
 * write would be missing in them. It stops serving them, notes that they are not ready,
 * drops its slot, says what is wrong and what to do, and waits:
 *
 *		what others see		until					then
 *		----------------	--------------------	--------------------------------------
 *		BLOCKED				nothing is damaged		the process ends; the launcher starts
 *													another, which finds no slot, makes
 *													one and builds the views
 *							there are no containers	worker_retire()
 *							stop_worker()			the process ends, STOPPED
 *
 * While it waits it holds no slot, transaction or lock. It looks again every two seconds,
 * less often where a look takes long.
 *
 * Whether something is damaged is decided by a look, never by an error alone: most errors of the
 * worker (a full disk, lack of memory, a lost connection, cancellation) end the process, and the
 * launcher starts it again, with the slot as it was.
 *
 * Runs in the worker.
 */
#include "postgres.h"

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
 * The pause before the next look is PAUSE_FACTOR times as long as the last look took, but at
 * least LOOK_PAUSE and at most LONGEST_PAUSE ms.
 */
#define LOOK_PAUSE 2000
#define LONGEST_PAUSE 30000
#define PAUSE_FACTOR 20

/* Raise what is wrong with a small table, if something is. A table that others have locked is passed by. */
static void
check_bookkeeping(void)
{
	for (Bookkeeping table = 0; table < N_BOOKKEEPING; table++)
		if (table != BOOK_UNSENT)
			(void) bookkeeping_check(table);
}

/*
 * Are all tables there? A node that was just added to a cluster gets some a while later. Errors: 55000
 * if something is wrong with a table that a cluster has besides.
 */
static bool
tables_are_there(void)
{
	const ClusterCalls *cluster = cluster_calls();

	return cluster == NULL || cluster->check_tables();
}

/*
 * Raise what is wrong with a table of blogstore's, if something is. Containers are looked at if they
 * have changed since they were last found to be right. Returns false if the worker starts before all
 * tables are there, which is to wait. In a transaction.
 * Errors: 55000.
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

/* Has a row of a table that an error names no value in the column that it names? */
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
	/* the transaction that holds the lock may be writing the value */
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return true;
	rel = try_table_open(relid, NoLock);
	if (rel == NULL)
		return false;
	attno = shape_column(rel, error->column_name);
	scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);
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
 * What is damaged, as an error in the current memory context; NULL: nothing, or the next worker waits
 * for tables that are not there yet. known: damage that was found before.
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

/* Write down that the views are not ready. */
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

/* Write down that the slot has gone, but what the views were kept with. */
static void
note_no_slot(void *arg)
{
	AppliedPosition position;

	applied_position_read(&position);
	if (position.applied_lsn == InvalidXLogRecPtr)
		return;
	position.applied_lsn = InvalidXLogRecPtr;
	applied_position_write(&position);
}

/*
 * Write something down in a transaction of its own. If the table that it belongs in is what is damaged,
 * that is left: the next worker finds no slot.
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

/* Have others see what is damaged, and what to do. */
static void
tell(Worker *worker, const ErrorData *damage)
{
	worker_entry_error(worker->entry, damage->message);
	worker_entry_blocked(worker->entry, damage->hint ? damage->hint : "");
}

/* Let go of the views and of the slot, and say why. */
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
			(errmsg("blogstore worker is blocked, and readers are answered from posts: %s",
					damage->message),
			 damage->hint ? errhint("%s", damage->hint) : 0));
}

/* Wait, look again, and return how long that took, in ms; *damage becomes what is damaged then. */
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
 * An error of the owner's making was caught, and rolled back: if something is damaged, wait until all
 * is mended, and end the process. Returns if nothing is. The error is in the worker's memory context,
 * which is current.
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
	ereport(LOG,
			(errmsg("blogstore worker finds the containers mended, and starts anew")));
	worker_entry_mended();
	proc_exit(0);
}
