/*
 * sweep.c
 *		What a rename and a deletion leave to do on a user's items.
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

#include "container/container.h"
#include "views/views.h"

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
	TimestampTz again;			/* then, sweep again not before */
} Waiting;

/* How long to leave locked items alone, in milliseconds. */
#define SKIP_PAUSE 100

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

static void
add_writer(Waiting *w, VirtualTransactionId writer)
{
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

/* Note every transaction that writes to the posts container. */
static void
note_writers(const Job *job)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Waiting    *w = find_waiting(job);

	if (w != NULL)
		forget_waiting(w);
	w = palloc0(sizeof(Waiting));
	w->job = job->id;
	waiting = lappend(waiting, w);
	MemoryContextSwitchTo(old);

	for (ItemType type = ITEM_POST; type <= ITEM_LIKE; type++)
		for (int p = 0; p < container_partitions(CONTAINER_POSTS); p++)
		{
			LOCKTAG		tag;
			VirtualTransactionId *holders;

			SET_LOCKTAG_RELATION(tag, MyDatabaseId,
								 item_leaf(CONTAINER_POSTS, type, p));
			holders = GetLockConflicts(&tag, ShareLock, NULL);
			old = MemoryContextSwitchTo(TopMemoryContext);
			for (int i = 0; VirtualTransactionIdIsValid(holders[i]); i++)
				add_writer(w, holders[i]);
			MemoryContextSwitchTo(old);
		}
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

static bool
get_user(const Job *job, BlogItem *user)
{
	Datum		key = UUIDPGetDatum(&job->user_id);

	return item_get(CONTAINER_USERS, ITEM_USER, &job->user_id, PATH_KEY, &key,
					1, GetActiveSnapshot(), user);
}

/*
 * Relabel a chunk: job->partition counts the leaves of posts, type by type.
 * Items that others have locked are skipped. Returns false once all leaves
 * have been swept.
 */
static bool
relabel_chunk(Job *job, bool *skipped)
{
	BlogItem	user;
	int			partitions = container_partitions(CONTAINER_POSTS);
	int			leaves = partitions * (ITEM_LIKE - ITEM_POST + 1);
	int64		room = JOB_CHUNK;

	if (!get_user(job, &user))
		return false;			/* deleted since; a job of its own */
	while (job->partition < leaves)
	{
		ItemType	type = ITEM_POST + job->partition / partitions;
		int64		n = relabel_user_items(&job->user_id,
										   user.value[PROP_USERNAME], type,
										   job->partition % partitions, room,
										   skipped);

		job->done += n;
		room -= n;
		if (room <= 0)
			return true;
		job->partition++;
	}
	return false;
}

/*
 * Delete what transactions under way at the deletion have left; or relabel it,
 * if there is a new user by the same id. Returns as relabel_chunk().
 */
static bool
remove_late(Job *job, bool *skipped)
{
	BlogItem	user;

	if (get_user(job, &user))
		return relabel_chunk(job, skipped);
	job->done += remove_user_items(&job->user_id);
	return false;
}

/*
 * A sweep is through: be done if nobody was noted, or was waited for already,
 * and no locked item was skipped; else wait.
 */
static void
sweep_done(Job *job, Waiting *w)
{
	job->partition = 0;
	if (w->n == 0 && !w->skipped)
	{
		job->finished = true;
		forget_waiting(w);
		return;
	}
	w->again = w->skipped ?
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SKIP_PAUSE) : 0;
	w->skipped = false;
	job->phase = SWEEP_WAIT;
}

/*
 * Do one chunk of a rename or a deletion. Returns false if there is nothing
 * to do before some other transaction has ended.
 */
bool
sweep_chunk(Job *job)
{
	Waiting    *w = find_waiting(job);

	if (job->phase == 0 || w == NULL)
	{
		/* the first time, or the worker is a new one */
		note_writers(job);
		job->partition = 0;
		job->phase = SWEEP_FIRST;
	}
	else if (job->phase == SWEEP_WAIT)
	{
		if (GetCurrentTimestamp() < w->again || !writers_ended(w))
			return false;
		job->phase = SWEEP_AGAIN;
	}
	else if (job->deletion ? !remove_late(job, &w->skipped) :
			 !relabel_chunk(job, &w->skipped))
		sweep_done(job, w);
	return true;
}
