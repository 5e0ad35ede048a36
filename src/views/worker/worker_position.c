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
#include "cluster/remote/remote.h"
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
 * Go through all items for their authors' names: those of a partition that has come may be old ones.
 * On a cluster it is the change feed that tells a node of renames and deletions of users, and what it
 * would have told is lost with a slot: there all items are taken to have come just now.
 */
static void
request_all_names(const Worker *worker, bool lost)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	if (worker->spread && lost)
	{
		arrivals_forget();
		arrivals_queue();
	}
	else
		jobs_request_renames(NULL, 0, true);
	apply_end(&scope);
}

/*
 * Nor have other nodes been told of all posts that were deleted here: have all look which of their copies
 * have a post (copies_look_elsewhere()). If one cannot be reached, this ends in an error, and the worker that
 * comes next finds a slot that is ahead of what was applied.
 */
static void
have_all_look(void)
{
	LOCAL_FCINFO(call, 1);
	OwnerScope	scope;
	bool		all;

	InitFunctionCallInfoData(*call, NULL, 0, InvalidOid, NULL, NULL);
	apply_begin(&scope, APPLY_STATE);
	remote_call_all("rebuild_views", NULL, call, false, &all);
	apply_end(&scope);
}

/*
 * Make a slot in place of one that cannot be used, for a reason. That the views
 * cannot be used is written first, so that a crash in between finds it written.
 * other_layout: are the partitions others than the views were kept with?
 */
static void
replace_slot(Worker *worker, const char *reason, bool other_layout)
{
	bool		lost = worker->position.applied_at != 0;

	worker_invalidate_views(worker);
	/* partitions may have come and gone unseen, with what was lost */
	fold_all_later();
	if (worker->spread || other_layout)
		request_all_names(worker, lost);
	apply_flush();
	if (worker->position.applied_lsn != InvalidXLogRecPtr)
		worker_entry_error(worker->entry,
						   psprintf("replication slot \"%s\" was lost, and the views are built anew: %s",
									worker->slot_name, reason));
	slot_make(worker->slot_name);
	if (lost && worker->spread)
		have_all_look();
	write_position(worker, slot_confirmed(worker->slot_name));
	ereport(LOG,
			(errmsg("blogstore worker made replication slot \"%s\" and builds the views",
					worker->slot_name),
			 errdetail("%s", reason)));
}

/*
 * Partitions have come or gone: build the views of what there is now. A partition
 * that has come may hold items of users who were renamed or deleted meanwhile. On a cluster copies of
 * posts that have moved are where they were, and only to be looked at: those of the
 * shards that have come.
 */
static void
follow_layout(Worker *worker, int64 layout)
{
	OwnerScope	scope;

	if (!worker->spread)
		worker_invalidate_views(worker);
	apply_begin(&scope, APPLY_STATE);
	jobs_restart_sweeps();
	if (worker->spread)
		arrivals_queue();
	else
		jobs_request_renames(NULL, 0, true);
	apply_end(&scope);
	fold_all_later();
	write_position_of(worker, worker->position.applied_lsn, layout);
	ereport(LOG,
			(errmsg(worker->spread ? "blogstore worker found other shards on this node" :
					"blogstore worker found other partitions and builds the views")));
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
	worker->spread = layout_is_spread();
	if (worker->spread)
		arrivals_note();
	/* after that: what comes in between is found to be another layout */
	layout = container_layout();
	reason = slot_obstacle(worker->slot_name, &worker->position);
	/* else all views are built with what is here, or were */
	if (reason == NULL && layout != worker->position.layout)
		arrivals_forget();
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
	damage_look(worker);
	worker->spread = layout_is_spread();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	if (layout_loads() == worker->loads)
		return;
	loads = layout_loads();

	apply_begin(&scope, APPLY_STATE);
	layout = container_layout();
	worker->spread = layout_is_spread();
	apply_end(&scope);
	if (layout != worker->position.layout)
		follow_layout(worker, layout);
	worker->loads = loads;
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

	/* who starts anew is to read again that other nodes have to look at their copies */
	if (worker->spread && nodes_have_to_look())
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
