/*
 * worker_position.c
 *		The WAL position up to which the worker has applied all changes to the
 *		views, and what the worker does when it cannot continue from there.
 *
 * The worker stores the position in the table change_feed (applied_position.c)
 * and then confirms the slot up to it. So the slot is never ahead of the
 * stored position. A slot that is ahead, or is not the one that the worker has
 * used, may lack changes. The worker then rebuilds the views. It also rebuilds
 * the views when partitions were attached or detached, because WAL does not
 * report the rows of these partitions.
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
 * The worker stores its WAL position in the table change_feed every
 * ADVANCE_PAUSE ms, or earlier if it has applied ADVANCE_AT_ONCE bytes of WAL.
 */
#define ADVANCE_PAUSE 1000
#define ADVANCE_AT_ONCE (16 * 1024 * 1024)

/*
 * On an idle database, the worker stores its WAL position only if the
 * position, or the WAL that the slot retains, has changed by more bytes than
 * this.
 */
#define ADVANCE_WORTHWHILE (64 * 1024)

/*
 * Store a position in the table change_feed, and flush the commit.
 *
 * layout: number that stands for the partitions from which the views are
 * built.
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
	/*
	 * Set the time before the write, so that the worker repeats a failed write
	 * only after a pause.
	 */
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
 * Called when the worker has created a slot. Changes may have been lost with
 * an earlier slot. A rebuild of the views does not repair items with old
 * usernames, nor the views of other nodes of a cluster. This function starts
 * these repairs.
 *
 * first: whether there was no earlier slot
 * other_layout: whether partitions were attached or detached since the worker
 *     stored its position. Items of an attached partition may have old
 *     usernames. So a job is queued that writes the current names into the
 *     items of all users.
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
 * Replace a missing or unusable slot by a new one, and rebuild the views.
 *
 * reason: why that is necessary, as a sentence for the log
 * hint: if the slot was lost, how to avoid this in future
 * other_layout: whether partitions were attached or detached since the worker
 * stored its position
 *
 * Marks the views as incomplete before the slot is dropped, so that readers do
 * not use them after a crash in between. After an error, the next worker finds
 * the new slot ahead of the stored position, and replaces it again.
 */
static void
replace_slot(Worker *worker, const char *reason, const char *hint,
			 bool other_layout)
{
	bool		first = worker->position.applied_at == 0;
	bool		lost = worker->position.applied_lsn != InvalidXLogRecPtr;

	if (lost)
		ereport(WARNING,
				(errmsg("replication slot \"%s\" of database \"%s\" was lost",
						worker->slot_name, worker_database()),
				 errdetail("%s", reason),
				 errhint("%s", hint)));
	worker_invalidate_views(worker, reason);
	/*
	 * Partitions may have been attached while there was no slot. Their deltas
	 * were not decoded, so scan all deltas.
	 */
	fold_all_later();
	apply_flush();
	if (lost)
		worker_entry_error(worker->entry, ERROR_VIEWS,
						   psprintf("rebuilding the views because replication slot \"%s\" was lost: %s",
									worker->slot_name, reason), hint);
	slot_make(worker->slot_name);
	follow_loss(worker, first, other_layout);
	write_position(worker, slot_confirmed(worker->slot_name));
	ereport(LOG,
			(errmsg("blogstore worker created replication slot \"%s\" and rebuilds the views",
					worker->slot_name),
			 errdetail("%s", reason)));
}

/*
 * Rebuild the views after partitions were attached or detached.
 *
 * An attached partition may have items of users that were renamed or deleted
 * while it was detached. So the running renames and deletions start over, and
 * a job is queued that writes the current usernames into the items of all
 * users.
 */
static void
build_anew(Worker *worker)
{
	OwnerScope	scope;

	worker_invalidate_views(worker, "Partitions were attached or detached.");
	apply_begin(&scope, APPLY_STATE);
	jobs_restart_sweeps();
	jobs_request_renames(NULL, 0, true);
	apply_end(&scope);
}

/*
 * Called when partitions were attached or detached. Has the views rebuilt, and
 * stores the new layout with the position.
 *
 * layout: number that stands for the current partitions.
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
 * Called when the worker starts. Reads the stored position, and decides
 * whether the worker can continue from it. If the slot cannot be used, creates
 * another slot, and waits for the end of all running transactions. Errors:
 * those of slot_make().
 */
void
worker_take_position(Worker *worker)
{
	OwnerScope	scope;
	const char *reason;
	const char *hint;
	int64		layout;
	bool		other_layout;

	apply_begin(&scope, APPLY_STATE);
	applied_position_read(&worker->position);
	worker->cluster = cluster_calls();
	layout = container_layout();
	reason = slot_obstacle(worker->slot_name, &worker->position, &hint);
	own_writes_look();
	apply_end(&scope);
	worker->loads = layout_loads();

	other_layout = worker->position.applied_at != 0 &&
		layout != worker->position.layout;
	if (reason != NULL)
	{
		worker->position.layout = layout;
		replace_slot(worker, reason, hint, other_layout);
	}
	else if (other_layout)
		follow_layout(worker, layout);
	else if (worker->position.timeline != GetWALInsertionTimeLine())
		write_position(worker, worker->position.applied_lsn);
}

/*
 * Called in each round of the main loop. Checks the containers for damage, and
 * rebuilds the views if partitions were attached or detached since the last
 * call. Errors: 55000 if a table is damaged; the worker then blocks
 * (blocked_by_damage.c).
 */
void
worker_check_layout(Worker *worker)
{
	MemoryContext context = CurrentMemoryContext;
	OwnerScope	scope;
	int64		layout;
	uint64		loads;

	/*
	 * Starting a transaction also processes invalidation messages, so that the
	 * code below sees partitions that were attached or detached.
	 */
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

static bool position_held = false;

/*
 * While "hold" is true, do not change the stored WAL position or the slot. On
 * a cluster, the worker may still have to act on changes that are recorded
 * only in WAL. If the worker ends while "hold" is true, the next worker
 * decodes these changes again.
 */
void
worker_hold_position(bool hold)
{
	position_held = hold;
}

/*
 * Store the WAL position "applied" in the table change_feed, and confirm the
 * slot. Does this about once in ADVANCE_PAUSE ms. The views show all changes
 * before this position.
 *
 * If a transaction is held back until other processes see its commit
 * (held_back.c), a position before this transaction is stored instead.
 *
 * Storing the position writes WAL itself. On an idle server this must not be
 * repeated for ever. So the worker stores the position only after it has
 * applied changes, or after ADVANCE_WORTHWHILE bytes of other WAL.
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
