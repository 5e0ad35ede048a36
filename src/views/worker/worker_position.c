/*
 * worker_position.c
 *		The WAL position up to which the worker has applied all changes to the
 *		views, and what it does when it cannot continue from there.
 *
 * The worker stores the position in a table (applied_position.c) before it
 * confirms the slot up to there, so its own slot is never ahead of the stored
 * position. If a slot is ahead, or is not the one that the views were kept
 * with, changes may be missing, and the worker rebuilds the views. It also
 * rebuilds them when partitions were attached or detached, because WAL does
 * not report the rows of these partitions.
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
 * Interval at which the worker stores the position, in ms, and the amount of
 * WAL after which it does so earlier.
 */
#define ADVANCE_PAUSE 1000
#define ADVANCE_AT_ONCE (16 * 1024 * 1024)

/*
 * On an idle database, the worker stores the position only if the position or
 * the WAL that the slot retains moves by more bytes than this.
 */
#define ADVANCE_WORTHWHILE (64 * 1024)

/*
 * Store a position, together with the identity of the partitions that the
 * views are built from (layout), and flush the commit.
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
	/* set even if the write fails, which is then repeated after a pause */
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
 * Do what is necessary besides a rebuild when changes were lost with a slot.
 * first: there was no slot before, so nothing was lost. other_layout:
 * partitions were attached or detached meanwhile. Items of attached partitions
 * may carry old usernames, so a job is queued that writes the current names
 * into the items of all users.
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
 * Create a slot in place of a missing or unusable one, and rebuild the views.
 * reason: why that is necessary, as a sentence for the log. other_layout: as
 * in follow_loss().
 *
 * The views are marked as incomplete before the slot is dropped, so that a
 * crash in between does not leave them in use. If an error follows, the next
 * worker finds the slot ahead of the stored position and replaces it again.
 */
static void
replace_slot(Worker *worker, const char *reason, bool other_layout)
{
	bool		first = worker->position.applied_at == 0;

	worker_invalidate_views(worker);
	/* partitions attached meanwhile may have deltas that were not decoded */
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
 * Rebuild the views from the current partitions, after some were attached or
 * detached. An attached partition may hold items of users that were renamed or
 * deleted while it was detached. So the running renames and deletions start
 * over, and a job is queued that writes the current names into the items of
 * all users.
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

/*
 * React to attached or detached partitions, and store the new layout with the
 * position.
 */
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
 * Called once when the worker starts. Reads the stored position, and decides
 * whether the worker can continue from it. If the slot is not the one that the
 * views were kept with, creates another, which waits for all running
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
 * Called in each turn. Checks the containers for damage, and rebuilds the
 * views if partitions were attached or detached since the last check. Errors:
 * 55000 if a table is damaged; the worker then blocks (blocked_by_damage.c).
 */
void
worker_check_layout(Worker *worker)
{
	MemoryContext context = CurrentMemoryContext;
	OwnerScope	scope;
	int64		layout;
	uint64		loads;

	/* the start of a transaction processes invalidation messages */
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

/* set by worker_hold_position() */
static bool position_held = false;

/*
 * Stop or resume the advance of the stored position and the slot. The cluster
 * stops it while it has to act on changes that are recorded only in the WAL
 * behind the position. If the worker ends meanwhile, the next one decodes
 * these changes again.
 */
void
worker_hold_position(bool hold)
{
	position_held = hold;
}

/*
 * Store the position and confirm the slot up to it, about once in
 * ADVANCE_PAUSE. applied: all changes before this are applied. The position
 * does not pass a transaction that is held back because its commit is not
 * visible to others yet (held_back.c).
 *
 * Storing the position writes WAL itself. To leave an idle server idle, the
 * worker does so only if a batch was applied or ADVANCE_WORTHWHILE bytes of
 * other WAL were written.
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
	if ((paused && (worker->batch_applied || applied - before > ADVANCE_WORTHWHILE ||
					decoder_could_release(applied) > ADVANCE_WORTHWHILE)) ||
		applied - before > ADVANCE_AT_ONCE)
	{
		worker->batch_applied = false;
		write_position(worker, applied);
		decoder_confirm(applied);
	}
}
