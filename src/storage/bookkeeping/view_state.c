/*
 * view_state.c
 *		May readers use the views? One row in blogstore.view_state tells.
 *
 * The row is read in the reader's own snapshot, so that the answer fits what
 * the snapshot sees, and remembered: whoever writes it sends a relcache
 * invalidation for its table (remembered_table.c), which also reaches standbys. A
 * remembered row serves the snapshots that are sure to see it.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/remembered_table.h"
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
	" (only_row, enabled, ready, feed_size, short_form_length, short_form)"
	" VALUES (true, $1, $2, $3, $4, $5) ON CONFLICT (only_row) DO UPDATE"
	" SET enabled = $1, ready = $2, feed_size = $3, short_form_length = $4,"
	" short_form = $5",
	5, {BOOLOID, BOOLOID, INT4OID, INT4OID, INT8OID}, NULL
};

static KeptPlan write_whole_plan = {
	ON_VIEW_STATE,
	"UPDATE " VIEW_STATE_SQL " SET feed_whole = $1", 1, {BOOLOID}, NULL
};

/* What the row said when it was last read. */
static Remembered memory;
static bool remembered_ready;
static TransactionId remembered_xmin;	/* of that version of the row */

static Oid
view_state_relid(void)
{
	return bookkeeping_lookup(BOOK_VIEW_STATE);
}

/* The row, and which version of it. */
typedef struct SeenRow
{
	ViewState	state;
	TransactionId xmin;
} SeenRow;

/* Take over what a row says. */
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
 * Read the row by the active snapshot; xmin tells which version. Where there is none, as in a
 * database whose tables were all emptied, nothing is known of the views and nobody has stopped the
 * worker.
 */
static void
read_row(ViewState *state, TransactionId *xmin)
{
	SeenRow		seen = {.state.enabled = true,.xmin = InvalidTransactionId};

	(void) bookkeeping_first_row(BOOK_VIEW_STATE, take_row, &seen);
	*state = seen.state;
	*xmin = seen.xmin;
}

/* Read the row by the active snapshot; all zero but enabled if it is missing. */
void
view_state_read(ViewState *state)
{
	TransactionId xmin;

	read_row(state, &xmin);
}

/*
 * Write the row, and have every process forget the one it remembers; all but whether the
 * feed is whole, which is for who writes the feed.
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
 * Write down whether the feed holds all posts that are shown, in the transaction that
 * writes the feed. The caller holds the views' lock. Nobody remembers it: a reader whose
 * snapshot sees this transaction could still remember what was before it.
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

/* Is this the newest version of the row, not just one an old snapshot sees? */
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
 * Read the row by the active snapshot, and remember it if it is the newest.
 * Returns whether the views may be used.
 */
static bool
reread_row(void)
{
	ViewState	state;
	TransactionId xmin;
	uint64		began = remembered_begin(&memory, view_state_relid());

	read_row(&state, &xmin);
	remembered_ready = state.enabled && state.ready;
	remembered_xmin = xmin;
	if (!IsInParallelMode() && is_newest(xmin))
		remembered_end(&memory, began);
	return state.enabled && state.ready;
}

/*
 * Does a worker keep the views up to date, and has done so since before this snapshot was
 * taken? One from before sees views that had fallen behind what it sees of the posts
 * container, where its transaction may have read until now.
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
 * May a query with this (the active) snapshot read the views?
 *
 * They must be complete in it; and on a primary a worker must be keeping
 * them, else they fall behind what the posts container tells.
 */
bool
views_ready(Snapshot snapshot)
{
	if (!RecoveryInProgress() && !served_to(snapshot))
		return false;
	if (memory.valid && remembered_ready &&
		TransactionIdPrecedes(remembered_xmin, snapshot->xmin))
		return true;
	return reread_row();
}

/*
 * Write down that the views are not to be used, because they fall behind from here on. Readers
 * on standbys learn it from the row alone.
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
 * Take the views' lock: an object lock that nothing else in the server takes,
 * on a part of the table of posts that does not exist as such.
 */
void
views_lock(void)
{
	LockDatabaseObject(RelationRelationId, container_table_oid(CONTAINER_POSTS),
					   1, ExclusiveLock);
}
