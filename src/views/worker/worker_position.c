/*
 * worker_position.c
 *		How far the worker has come, and whether it can go on from there.
 *
 * The position up to which all is applied is written down (applied_position.c)
 * before the slot moves on that far, so the slot is never ahead of it, unless
 * it is not the slot that the views were kept with. Then, and when partitions
 * have been attached or detached, of whose rows the WAL does not tell, the
 * views are built anew.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* How often to write the position at most, in ms, but for so much WAL. */
#define ADVANCE_PAUSE 1000
#define ADVANCE_AT_ONCE (16 * 1024 * 1024)

/* WAL of others that is worth a write of one's own. */
#define ADVANCE_WORTHWHILE (64 * 1024)

/*
 * Write down a position as reached by this server, with such partitions, flushed on
 * return.
 */
static void
write_position_of(Worker *worker, XLogRecPtr lsn, int64 layout)
{
	OwnerScope	scope;
	AppliedPosition position = worker->position;

	position.applied_lsn = lsn;
	position.layout = layout;
	position.applied_at = GetCurrentTimestamp();
	position.timeline = GetWALInsertionTimeLine();
	position.system_identifier = (int64) GetSystemIdentifier();
	/* if it fails, it is tried again after a pause */
	worker->position.applied_at = position.applied_at;

	apply_begin(&scope, APPLY_STATE);
	applied_position_write(&position);
	apply_end(&scope);
	apply_flush();
	worker->position = position;
}

static void
write_position(Worker *worker, XLogRecPtr lsn)
{
	write_position_of(worker, lsn, worker->position.layout);
}

/*
 * The slot was lost, and with it changes. Partitions may have come and gone unseen (other_layout):
 * their items may have old names. first: there was no slot before.
 */
static void
follow_loss(const Worker *worker, bool first, bool other_layout)
{
	OwnerScope	scope;

	if (worker->cluster != NULL)
	{
		worker->cluster->changes_lost(first);
		return;
	}
	if (!other_layout)
		return;
	apply_begin(&scope, APPLY_STATE);
	jobs_request_renames(NULL, 0, true);
	apply_end(&scope);
}

/*
 * Make a slot in place of one that cannot be used, for a reason. That the views
 * cannot be used is written first, so that a crash in between finds it written. If it
 * ends in an error, the next worker finds a slot that is ahead of what was applied.
 * other_layout: are the partitions others than the views were kept with?
 */
static void
replace_slot(Worker *worker, const char *reason, bool other_layout)
{
	bool		first = worker->position.applied_at == 0;

	worker_invalidate_views(worker);
	/* partitions may have come and gone unseen, with what was lost */
	fold_all_later();
	apply_flush();
	if (worker->position.applied_lsn != InvalidXLogRecPtr)
		worker_entry_error(worker->entry,
						   psprintf("replication slot \"%s\" was lost, and the views are built anew: %s",
									worker->slot_name, reason));
	slot_make(worker->slot_name);
	follow_loss(worker, first, other_layout);
	write_position(worker, slot_confirmed(worker->slot_name));
	ereport(LOG,
			(errmsg("blogstore worker made replication slot \"%s\" and builds the views",
					worker->slot_name),
			 errdetail("%s", reason)));
}

/*
 * Build the views of the partitions that there are now. One that has come may hold items of
 * users who were renamed or deleted meanwhile.
 */
static void
build_anew(Worker *worker)
{
	OwnerScope	scope;

	worker_invalidate_views(worker);
	apply_begin(&scope, APPLY_STATE);
	jobs_restart_sweeps();
	jobs_request_renames(NULL, 0, true);
	apply_end(&scope);
	ereport(LOG,
			(errmsg("blogstore worker found other partitions and builds the views")));
}

/* Partitions have come or gone: have the views follow, and write down what they are built of. */
static void
follow_layout(Worker *worker, int64 layout)
{
	if (worker->cluster != NULL)
		worker->cluster->partitions_changed();
	else
		build_anew(worker);
	fold_all_later();
	write_position_of(worker, worker->position.applied_lsn, layout);
}

/* See to it that slot and views are fit to go on from. */
void
worker_take_position(Worker *worker)
{
	OwnerScope	scope;
	const char *reason;
	int64		layout;
	bool		other_layout;

	apply_begin(&scope, APPLY_STATE);
	applied_position_read(&worker->position);
	worker->cluster = cluster_calls();
	layout = container_layout();
	reason = slot_obstacle(worker->slot_name, &worker->position);
	own_writes_look();
	apply_end(&scope);
	worker->loads = layout_loads();

	other_layout = worker->position.applied_at != 0 &&
		layout != worker->position.layout;
	if (reason != NULL)
	{
		worker->position.layout = layout;
		replace_slot(worker, reason, other_layout);
	}
	else if (other_layout)
		follow_layout(worker, layout);
	else if (worker->position.timeline != GetWALInsertionTimeLine())
		write_position(worker, worker->position.applied_lsn);
}

/*
 * Are the containers fit to be served, and have partitions come or gone since the last look?
 * Errors: 55000, which the worker takes for damage.
 */
void
worker_check_layout(Worker *worker)
{
	MemoryContext context = CurrentMemoryContext;
	OwnerScope	scope;
	int64		layout;
	uint64		loads;

	/* a transaction's start takes in what others have invalidated */
	StartTransactionCommand();
	(void) damage_look(worker);
	worker->cluster = cluster_calls();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	if (layout_loads() == worker->loads)
		return;
	loads = layout_loads();

	apply_begin(&scope, APPLY_STATE);
	worker->cluster = cluster_calls();
	layout = container_layout();
	apply_end(&scope);
	if (layout != worker->position.layout)
		follow_layout(worker, layout);
	worker->loads = loads;
}

/* Is what has been decoded to be decoded again by a worker that starts? */
static bool position_held = false;

/*
 * Hold the position and the slot where they are, or let them move on. What follows from changes
 * behind them is not written down otherwise.
 */
void
worker_hold_position(bool hold)
{
	position_held = hold;
}

/*
 * Write down now and then how far all is applied, and let the slot move on.
 * That itself writes WAL, which must not keep an idle server awake: without
 * news it takes some WAL of others to be worth it.
 */
void
worker_advance(Worker *worker, XLogRecPtr applied)
{
	XLogRecPtr	before = worker->position.applied_lsn;
	bool		paused = clock_passed(worker->position.applied_at,
									  GetCurrentTimestamp(), ADVANCE_PAUSE);

	if (position_held)
		return;
	applied = held_back_limit(worker->held, applied);
	if (applied <= before)
		return;
	if ((paused && (worker->applied || applied - before > ADVANCE_WORTHWHILE ||
					decoder_could_release(applied) > ADVANCE_WORTHWHILE)) ||
		applied - before > ADVANCE_AT_ONCE)
	{
		worker->applied = false;
		write_position(worker, applied);
		decoder_confirm(applied);
	}
}
