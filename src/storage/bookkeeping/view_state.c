/*
 * view_state.c
 *		Whether queries may read the views. The only row of
 *		blogstore.view_state says so.
 *
 * A query reads the row with its own snapshot. So the column "ready" says
 * whether the views are complete in that snapshot. Each process caches this
 * column. A transaction that writes the row sends a relcache invalidation for
 * the table, which empties the caches, also on standbys. A query uses the
 * cached value only if the query's snapshot sees the cached row version.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/remembered_table.h"
#include "base/settings.h"
#include "base/worker_hooks.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

static KeptPlan write_plan = {
	ON_VIEW_STATE,
	"INSERT INTO " VIEW_STATE_SQL
	" (only_row, enabled, ready, feed_size, short_form_length, short_form,"
	" feed_whole) VALUES (true, $1, $2, $3, $4, $5, false)"
	" ON CONFLICT (only_row) DO UPDATE"
	" SET enabled = $1, ready = $2, feed_size = $3, short_form_length = $4,"
	" short_form = $5",
	5, {BOOLOID, BOOLOID, INT4OID, INT4OID, INT8OID}, NULL
};

static KeptPlan write_whole_plan = {
	ON_VIEW_STATE,
	"UPDATE " VIEW_STATE_SQL " SET feed_whole = $1", 1, {BOOLOID}, NULL
};

/*
 * remembered_ready caches whether queries may read the views. memory.valid
 * says whether remembered_ready is up to date.
 */
static Remembered memory;
static bool remembered_ready;
/* ViewState.short_form in the row version that was cached */
static int64 remembered_short_form;
/* the xmin of the row version of blogstore.view_state that was cached */
static TransactionId remembered_xmin;

static Oid
view_state_relid(void)
{
	return bookkeeping_lookup(BOOK_VIEW_STATE);
}

typedef struct SeenRow
{
	ViewState	state;
	TransactionId xmin;
} SeenRow;

static void
take_row(Relation rel, TupleTableSlot *row, void *arg)
{
	SeenRow    *seen = arg;
	bool		isnull;

	seen->state.enabled = DatumGetBool(bookkeeping_value(rel, row, "enabled"));
	seen->state.ready = DatumGetBool(bookkeeping_value(rel, row, "ready"));
	seen->state.feed_size =
		DatumGetInt32(bookkeeping_value(rel, row, "feed_size"));
	seen->state.short_form_length =
		DatumGetInt32(bookkeeping_value(rel, row, "short_form_length"));
	seen->state.short_form =
		DatumGetInt64(bookkeeping_value(rel, row, "short_form"));
	seen->state.feed_whole =
		DatumGetBool(bookkeeping_value(rel, row, "feed_whole"));
	seen->xmin =
		DatumGetTransactionId(slot_getsysattr(row, MinTransactionIdAttributeNumber,
											  &isnull));
}

/*
 * Read the row of blogstore.view_state into *state. Sets *xmin to the xmin of
 * the row version; to InvalidTransactionId if there is no row.
 */
static void
read_row(ViewState *state, TransactionId *xmin)
{
	SeenRow		seen = {.state.enabled = true,.xmin = InvalidTransactionId};

	(void) bookkeeping_first_row(BOOK_VIEW_STATE, take_row, &seen);
	*state = seen.state;
	*xmin = seen.xmin;
}

/*
 * Read the row of blogstore.view_state with the active snapshot. If there is
 * no row, as after a TRUNCATE of all tables, state->enabled becomes true, and
 * all other fields become zero. Errors: 55000. Locks: AccessShareLock on the
 * table, to the end of the transaction.
 */
void
view_state_read(ViewState *state)
{
	TransactionId xmin;

	read_row(state, &xmin);
}

/*
 * Write the row of blogstore.view_state, except for the column feed_whole (see
 * view_state_write_whole()). When the transaction commits, all processes
 * discard what they have cached of the row. Acts as the owner of blogstore's
 * tables. Errors: 42501, 55000. Locks: RowExclusiveLock on the table, to the
 * end of the transaction.
 */
void
view_state_write(const ViewState *state)
{
	OwnerScope	scope;
	Datum		values[] = {
		BoolGetDatum(state->enabled), BoolGetDatum(state->ready),
		Int32GetDatum(state->feed_size),
		Int32GetDatum(state->short_form_length),
		Int64GetDatum(state->short_form)
	};

	owner_begin(&scope);
	(void) plan_run(&write_plan, values, NULL, false);
	owner_end(&scope);
	CacheInvalidateRelcacheByRelid(view_state_relid());
}

/*
 * Write the column feed_whole of blogstore.view_state: whether the feed has
 * all posts that are not hidden. Called in the transaction that writes the
 * feed, after views_lock(). Acts as the owner of blogstore's tables. Errors
 * and locks: those of view_state_write(). Sends no relcache invalidation,
 * because no process caches feed_whole.
 */
void
view_state_write_whole(bool feed_whole)
{
	Datum		value = BoolGetDatum(feed_whole);
	ViewState	state;
	OwnerScope	scope;

	view_state_read(&state);
	if (state.feed_whole == feed_whole)
		return;
	owner_begin(&scope);
	(void) plan_run(&write_whole_plan, &value, NULL, false);
	owner_end(&scope);
}

/*
 * Return whether the newest committed row version of blogstore.view_state has
 * this xmin.
 */
static bool
is_newest(TransactionId xmin)
{
	ViewState	state;
	TransactionId newest;

	if (!TransactionIdIsValid(xmin))
		return false;
	PushActiveSnapshot(GetLatestSnapshot());
	read_row(&state, &newest);
	PopActiveSnapshot();
	return TransactionIdEquals(xmin, newest);
}

/*
 * Read the row of blogstore.view_state with the active snapshot, and return
 * whether queries may read the views. Sets *short_form to the row's column.
 * Caches the result if the snapshot sees the newest version of the row.
 */
static bool
reread_row(int64 *short_form)
{
	ViewState	state;
	TransactionId xmin;
	uint64		began = remembered_begin(&memory, view_state_relid());

	read_row(&state, &xmin);
	remembered_ready = state.enabled && state.ready;
	remembered_short_form = *short_form = state.short_form;
	remembered_xmin = xmin;
	if (!IsInParallelMode() && is_newest(xmin))
		remembered_end(&memory, began);
	return state.enabled && state.ready;
}

/*
 * Return whether a worker has kept the views up to date since before the
 * snapshot was taken. Otherwise the views may lag behind the posts in the
 * snapshot.
 */
static bool
served_to(Snapshot snapshot)
{
	TransactionId since = worker_hooks.views_served();

	return TransactionIdIsValid(since) &&
		(TransactionIdPrecedes(since, snapshot->xmin) ||
		 !XidInMVCCSnapshot(since, snapshot));
}

/*
 * Do the same as views_ready(). If the result is true, set *short_form to the
 * short_form_stamp() with which the views were built.
 */
static bool
look_at_views(Snapshot snapshot, int64 *short_form)
{
	if (!RecoveryInProgress() && !served_to(snapshot))
		return false;
	*short_form = remembered_short_form;
	if (memory.valid && remembered_ready &&
		TransactionIdPrecedes(remembered_xmin, snapshot->xmin))
		return true;
	return reread_row(short_form);
}

/*
 * Return whether a query may read the views. The views must be complete in the
 * query's snapshot, which is the active one. On a primary, a worker must also
 * keep the views up to date. Errors: 55000.
 */
bool
views_ready(Snapshot snapshot)
{
	int64		short_form;

	return look_at_views(snapshot, &short_form);
}

/*
 * Return whether a query may read the topics: the views are ready, and were
 * built with the settings that this process has. Errors: 55000.
 */
bool
topics_ready(Snapshot snapshot)
{
	int64		short_form;

	return look_at_views(snapshot, &short_form) &&
		short_form == short_form_stamp();
}

/*
 * Record in blogstore.view_state that queries must not read the views, because
 * no worker will keep the views up to date. Queries on standbys see this row.
 * Errors and locks: those of view_state_write().
 */
void
views_abandon(void)
{
	ViewState	state;

	PushActiveSnapshot(GetLatestSnapshot());
	view_state_read(&state);
	if (state.ready)
	{
		state.ready = false;
		view_state_write(&state);
	}
	PopActiveSnapshot();
}

/*
 * Lock the views in exclusive mode, until the transaction ends. Called by each
 * transaction that writes to the copies of posts, the feed or the topics. The
 * lock is a heavyweight lock on sub-object number 1 of the table posts. The
 * server itself does not lock this sub-object.
 */
void
views_lock(void)
{
	LockDatabaseObject(RelationRelationId, container_table_oid(CONTAINER_POSTS),
					   1, ExclusiveLock);
}
