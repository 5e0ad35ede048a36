/*
 * sweep.c
 *		Going over a user's items after a rename or a deletion.
 *
 * A transaction that was under way when the user was renamed (deleted) may
 * have read the old name (the user), and commits an item with it later. Such
 * a transaction holds a lock on the leaf that it writes to, taken before it
 * read the user (need_user()). So: note who holds such locks, sweep, wait for
 * those noted to end, and sweep again. Who is noted is kept in memory only; a
 * worker that starts anew notes who is there then, which is never too few.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "members/members.h"
#include "state/plans.h"
#include "worker/worker.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

typedef struct Waiting
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;
	bool		skipped;		/* did the present sweep skip locked items? */
	long		pause;			/* how long they were left alone, in ms */
	TimestampTz again;			/* then, sweep again not before */
	XLogRecPtr	purged;			/* all the user's items were, before here */
	bool		left_out;		/* could something not be swept? */
} Waiting;

/* How long to leave locked items alone: twice as long each time, in ms. */
#define FIRST_PAUSE 50
#define LAST_PAUSE 5000

/*
 * After so long a pause, wait for a lock, one item at a time: a post that many
 * like all the time is never found free.
 */
#define PATIENT_PAUSE 400

/* When to try again to sweep what could not be read, in ms. */
#define PARKED_PAUSE 30000
#define PARKED_PAUSE_ALL 3600000

static List *waiting = NIL;		/* of Waiting, in TopMemoryContext */

static Waiting *
find_waiting(const Job *job)
{
	ListCell   *lc;

	foreach(lc, waiting)
	{
		Waiting    *w = lfirst(lc);

		if (memcmp(&w->job, &job->id, UUID_LEN) == 0)
			return w;
	}
	return NULL;
}

static void
forget_waiting(Waiting *w)
{
	waiting = list_delete_ptr(waiting, w);
	if (w->writers != NULL)
		pfree(w->writers);
	pfree(w);
}

/*
 * Does a process hold its lock to vacuum, or to build an index without one? It
 * writes no items then.
 */
static bool
only_maintains(VirtualTransactionId holder)
{
	PGPROC	   *proc = compat_vxid_proc(holder);

	return proc != NULL &&
		(proc->statusFlags &
		 (PROC_IS_AUTOVACUUM | PROC_IN_VACUUM | PROC_IN_SAFE_IC)) != 0;
}

static void
add_writer(Waiting *w, VirtualTransactionId writer)
{
	if (only_maintains(writer))
		return;
	for (int i = 0; i < w->n; i++)
		if (VirtualTransactionIdEquals(w->writers[i], writer))
			return;
	if (w->writers == NULL)
		w->writers = palloc(sizeof(VirtualTransactionId));
	else
		w->writers = repalloc(w->writers,
							  sizeof(VirtualTransactionId) * (w->n + 1));
	w->writers[w->n++] = writer;
}

/*
 * Note every transaction that writes to the posts container. The note counts
 * once it is whole: an error on the way leaves none.
 */
static Waiting *
note_writers(const Job *job)
{
	MemoryContext old;
	Waiting    *w = find_waiting(job);

	if (w != NULL)
		forget_waiting(w);
	w = MemoryContextAllocZero(TopMemoryContext, sizeof(Waiting));
	w->job = job->id;

	for (ItemType type = ITEM_POST; type <= ITEM_LIKE; type++)
		for (int p = partition_first(CONTAINER_POSTS, type); p != NO_PARTITION;
			 p = partition_after(CONTAINER_POSTS, type, p))
		{
			VirtualTransactionId *holders =
				partition_writers(CONTAINER_POSTS, type, p);

			old = MemoryContextSwitchTo(TopMemoryContext);
			for (int i = 0; VirtualTransactionIdIsValid(holders[i]); i++)
				add_writer(w, holders[i]);
			MemoryContextSwitchTo(old);
		}

	old = MemoryContextSwitchTo(TopMemoryContext);
	waiting = lappend(waiting, w);
	MemoryContextSwitchTo(old);
	return w;
}

/* Has everyone noted ended? */
static bool
writers_ended(Waiting *w)
{
	while (w->n > 0)
	{
		if (!VirtualXactLock(w->writers[w->n - 1], false))
			return false;
		w->n--;
	}
	return true;
}

/* The name to write on a user's items; 0 if there is no such user. */
static Datum
get_username(const Job *job)
{
	Datum		key = UUIDPGetDatum(&job->user_id);
	BlogItem	user;

	if (!item_get(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_USER,
		.partition_key = &job->user_id, .path = PATH_KEY, .key = &key,
		.nkeys = 1
	}, &user))
		return (Datum) 0;
	return user.value[PROP_USERNAME];
}

/*
 * Leaves of posts are swept type by type. The job's row has one number for how far
 * a sweep has come: the partition, and above it the type.
 */
#define LEAF_TYPE_SHIFT 29
#define LEAF_PARTITION_MASK ((1 << LEAF_TYPE_SHIFT) - 1)

/*
 * The leaf that a sweep has come to, the next one if there is none of its number;
 * false: it has been through all.
 */
static bool
sweep_leaf(Job *job, ItemType *type, int *partition)
{
	int			from = job->partition & LEAF_PARTITION_MASK;

	*type = ITEM_POST + (job->partition >> LEAF_TYPE_SHIFT);
	for (; *type <= ITEM_LIKE; (*type)++, from = 0)
	{
		int			leaf;

		*partition = partition_from(CONTAINER_POSTS, *type, from);
		if (*partition == NO_PARTITION)
			continue;
		leaf = ((*type - ITEM_POST) << LEAF_TYPE_SHIFT) | *partition;
		job->place.valid &= leaf == job->partition;
		job->partition = leaf;
		return true;
	}
	return false;
}

/* Sweep a chunk. Returns false once all leaves have been swept. */
static bool
sweep_items(Job *job, Waiting *w)
{
	bool		purge = job_is(job, "deletion");
	ItemType	type;
	int			partition;
	bool		more;
	const pg_uuid_t *user_id = job->has_user ? &job->user_id : NULL;
	Datum		username = (Datum) 0;
	LeafWalk	walk;
	uint64		left_out;

	left_out = items_left_out();
	if (!purge && job->has_user && (username = get_username(job)) == (Datum) 0)
	{
		/* deleted since, which is a job of its own; or not to be read now */
		w->left_out |= items_left_out() != left_out ||
			!container_whole(CONTAINER_USERS);
		return false;
	}
	if (w->pause >= PATIENT_PAUSE)
		leaf_walk_init(&walk, 1, LockWaitBlock);
	else
		leaf_walk_init(&walk, purge ? PURGE_CHUNK : JOB_CHUNK, LockWaitSkip);
	more = sweep_leaf(job, &type, &partition);
	walk.place = job->place;
	while (more)
	{
		bool		ended = purge ?
			purge_items(user_id, type, partition, &walk) :
			relabel_items(user_id, username, type, partition, &walk);

		if (!ended)
			break;
		walk.place.valid = false;
		job->partition++;
		more = sweep_leaf(job, &type, &partition);
	}
	job->place = walk.place;
	job->done += walk.changed;
	w->skipped |= walk.skipped;
	w->left_out |= items_left_out() != left_out;
	return more;
}

static void
start_sweep(Job *job, int phase)
{
	job->phase = phase;
	job->partition = 0;
	job->place.valid = false;
}

static void
finish(Job *job, Waiting *w)
{
	job->finished = true;
	forget_waiting(w);
}

/*
 * All that can be swept has been. What could not, because a partition is detached
 * or not what it should be, or an item lacks a value, would be served with the
 * old name, or at all, when that is mended: keep the job until then.
 */
static bool
must_park(const Waiting *w)
{
	return w->left_out || !container_whole(CONTAINER_POSTS);
}

static void
park(Job *job, Waiting *w)
{
	start_sweep(job, SWEEP_PARKED);
	w->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
										   job->has_user ? PARKED_PAUSE :
										   PARKED_PAUSE_ALL);
}

/*
 * Is it time to sweep again what a parked job could not? When tables are mended or
 * partitions come, it begins anew anyway (jobs_restart_sweeps()).
 */
static bool
parked_ready(const Waiting *w)
{
	return w->left_out && GetCurrentTimestamp() >= w->again;
}

/*
 * A sweep is through: be done if nobody was noted, or was waited for already,
 * and no locked item was skipped; else wait.
 */
static void
sweep_done(Job *job, Waiting *w)
{
	if (w->n == 0 && !w->skipped)
	{
		if (must_park(w))
			park(job, w);
		else if (job_is(job, "deletion"))
			start_sweep(job, SWEEP_SHOW);
		else
			finish(job, w);
		return;
	}
	start_sweep(job, SWEEP_WAIT);
	w->again = 0;
	if (w->skipped)
	{
		w->pause = Min(Max(2 * w->pause, FIRST_PAUSE), LAST_PAUSE);
		w->again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), w->pause);
	}
	w->skipped = false;
}

static KeptPlan merge_plan = {
	"DELETE FROM blogstore.jobs WHERE kind = 'rename' AND user_id = $1"
	" AND id <> $2 AND phase = 0",
	2, {UUIDOID, UUIDOID}, NULL
};

/*
 * The sweep that begins now writes the user's present name, so it does what
 * later renames that have not begun have asked for.
 */
static void
merge_renames(const Job *job)
{
	Datum		values[] = {
		UUIDPGetDatum(&job->user_id), UUIDPGetDatum(&job->id)
	};

	SPI_connect();
	plan_execute(&merge_plan, values, NULL, false);
	SPI_finish();
}

/*
 * Do the views show that a deleted user's items are gone? As long as the job is
 * there its user's copies are not served, whatever the views say.
 */
static bool
purge_shown(Waiting *w)
{
	WorkerEntry *entry = my_worker_entry();

	if (w->purged == InvalidXLogRecPtr)
	{
		/* the last one was of the chunk that found nothing left */
		w->purged = XactLastCommitEnd;
		/* the worker does not wait for its commits, but reads only flushed WAL */
		XLogFlush(w->purged);
	}
	return entry != NULL &&
		pg_atomic_read_u64(&entry->shown_lsn) >= w->purged;
}

/* Is there anything to do for a job now, or has something to happen first? */
bool
sweep_ready(const Job *job)
{
	Waiting    *w = find_waiting(job);

	if (w == NULL)
		return true;
	if (job->phase == SWEEP_SHOW)
		return purge_shown(w);
	if (job->phase == SWEEP_PARKED)
		return parked_ready(w);
	return job->phase != SWEEP_WAIT ||
		(GetCurrentTimestamp() >= w->again && writers_ended(w));
}

/*
 * A chunk was rolled back: what it had skipped is not known any more, and if
 * it had waited for a lock, that was in vain.
 */
void
sweep_failed(const Job *job)
{
	Waiting    *w = find_waiting(job);

	if (w == NULL)
		return;
	w->skipped = true;
	w->pause = 0;
}

/*
 * Do one chunk of a rename or a deletion. Returns false if there is nothing
 * to do before some other transaction has ended.
 */
bool
sweep_chunk(Job *job)
{
	Waiting    *w = find_waiting(job);

	if (job->phase == 0 || job->phase == SWEEP_PARKED)
	{
		if (job_is(job, "rename") && job->has_user)
			merge_renames(job);
		w = note_writers(job);
		start_sweep(job, SWEEP_FIRST);
	}
	else if (w == NULL)
	{
		/*
		 * The worker is a new one: the first sweep may go on where it was, but
		 * nobody knows whether it had skipped anything.
		 */
		w = note_writers(job);
		w->skipped = true;
		if (job->phase != SWEEP_FIRST)
			start_sweep(job, SWEEP_WAIT);
	}
	if (job->phase == SWEEP_SHOW)
	{
		finish(job, w);
		return true;
	}
	if (job->phase == SWEEP_WAIT)
	{
		if (!sweep_ready(job))
			return false;
		start_sweep(job, SWEEP_AGAIN);
	}

	/* newer than the look at the writers */
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!sweep_items(job, w))
		sweep_done(job, w);
	PopActiveSnapshot();
	return true;
}
