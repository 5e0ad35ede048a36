/*
 * worker_position.c
 *		The position up to which all changes are applied, and recovery when
 *		the worker cannot continue from it.
 *
 * The worker stores the position (applied_position.c) before it confirms the
 * slot up to there, so its own slot is never ahead of the position. If a slot
 * is ahead, or is otherwise not the one that the views were kept with, changes
 * may be missing and the views are rebuilt. They are also rebuilt when
 * partitions were attached or detached, because WAL does not report the rows
 * of such partitions.
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

/*
 * Interval between writes of the position, in ms, and the amount of WAL that
 * makes the worker write it earlier.
 */
#define ADVANCE_PAUSE 1000
#define ADVANCE_AT_ONCE (16 * 1024 * 1024)

/*
 * On an idle database, write the position only if that moves the position or
 * the slot by more WAL than this.
 */
#define ADVANCE_WORTHWHILE (64 * 1024)

/*
 * Store a position with the partitions that the views are built from (layout),
 * and flush the commit.
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
	/* set even if the write fails, so that it is retried after a pause */
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
 * React to changes lost with a slot. first: there was no slot before.
 * other_layout: partitions have changed meanwhile. Items of attached
 * partitions may carry old usernames then, so all users are relabelled.
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
 * Create a slot in place of an unusable one, and rebuild the views. reason:
 * why, as a sentence for DETAIL. other_layout: as in follow_loss().
 *
 * The views are marked invalid before the slot is dropped, so that this
 * survives a crash in between. If an error follows, the next worker finds the
 * slot ahead of the applied position and starts over.
 */
static void
replace_slot(Worker *worker, const char *reason, bool other_layout)
{
	bool		first = worker->position.applied_at == 0;

	worker_invalidate_views(worker);
	/* deltas in partitions that were attached meanwhile were not decoded */
	fold_all_later();
	apply_flush();
	if (worker->position.applied_lsn != InvalidXLogRecPtr)
		worker_entry_error(worker->entry,
						   psprintf("rebuilding the views because replication slot \"%s\" was lost: %s",
									worker->slot_name, reason));
	slot_make(worker->slot_name);
	follow_loss(worker, first, other_layout);
	write_position(worker, slot_confirmed(worker->slot_name));
	ereport(LOG,
			(errmsg("blogstore worker created replication slot \"%s\" and rebuilds the views",
					worker->slot_name),
			 errdetail("%s", reason)));
}

/*
 * Rebuild the views from the current partitions. An attached partition may
 * hold items of users that were renamed or deleted while it was detached, so
 * running sweeps restart and all users are relabelled.
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
			(errmsg("blogstore worker rebuilds the views because partitions were attached or detached")));
}

/* React to a change of partitions and store the new layout. */
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

/*
 * Read the applied position, and make slot and views fit to continue from it.
 *
 * Called once when the worker starts. Creates or replaces the slot if it is
 * not the one that the views were kept with, which waits for all running
 * transactions to end. Errors: those of slot_make().
 */
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
 * Check the containers for damage, and react if partitions were attached or
 * detached since the last check. Called in each turn. Errors: 55000 if
 * something is damaged, which makes the worker block.
 */
void
worker_check_layout(Worker *worker)
{
	MemoryContext context = CurrentMemoryContext;
	OwnerScope	scope;
	int64		layout;
	uint64		loads;

	/* starting a transaction processes invalidation messages */
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

/* see worker_hold_position() */
static bool position_held = false;

/*
 * Stop or resume the advance of the applied position and the slot. A cluster
 * holds them while it has to act on changes that are recorded only in the WAL
 * behind them. A new worker then decodes these changes again.
 */
void
worker_hold_position(bool hold)
{
	position_held = hold;
}

/*
 * Store the applied position and confirm the slot, at most about once per
 * ADVANCE_PAUSE. applied: all changes before this are applied; the position
 * never passes a transaction that is held back.
 *
 * Storing the position writes WAL itself. If no batch was applied, the worker
 * does so only after ADVANCE_WORTHWHILE bytes of other WAL, so an idle server
 * stays idle.
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
