/*
 * verify_settled.c
 *		Which findings of verify() about the views are settled. A finding is
 *		not settled if its cause may be a change that the worker has yet to
 *		apply.
 *
 * The views follow the posts with a delay. So a comparison during traffic also
 * finds copies that are merely late. The worker numbers the rounds of its main
 * loop. For each post, the worker notes in which round it last decoded a
 * change of the post (views/change_feed/told_posts.c).
 *
 *	1	views_look_begin() reads a number A. The views show all changes that
 *		the worker has decoded in round A and before.
 *	2	verify() takes its snapshot, and compares the views with the posts.
 *	3	views_look_end() waits for the end of a round that began after the
 *		snapshot was taken. By then the worker has decoded all changes that
 *		the snapshot sees.
 *	4	A finding is settled if the worker has decoded no change of the post
 *		after round A. In this case the compared views show all changes of
 *		the post that the snapshot sees.
 *
 * The feed can also lack a post, or have one too many, because another post
 * was created or deleted. Such a finding is settled only if all changes that
 * were decoded after round A were changes of counts.
 *
 * On a cluster, each node takes these steps with its own worker
 * (cluster/operations/cluster_settled.c).
 *
 * verify() does not return findings that are not settled. If the cause is an
 * error, a later call of verify() finds it again.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/settings.h"
#include "base/wait_events.h"
#include "storage/layout/cluster_calls.h"
#include "views/change_feed/change_feed.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/*
 * Times in ms.
 *
 * FIRST_WAIT: longest wait for the worker before the comparison of the views
 * FIRST_WAIT_OF_WRITER: replaces FIRST_WAIT in a transaction that has written
 * and may therefore block the worker
 * LONGEST_WAIT: longest wait for the worker after the comparison
 * LOOK_AGAIN: longest sleep between two checks of how far the worker is
 */
#define FIRST_WAIT 5000
#define FIRST_WAIT_OF_WRITER 1500
#define LONGEST_WAIT 30000
#define LOOK_AGAIN 5

static void
nap(const ViewsLook *look)
{
	worker_wake_at_once(look->entry);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 LOOK_AGAIN, wait_event(WAIT_VERIFY));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Return whether the worker that ran when the comparison began still runs, and
 * readers may still use the views.
 */
static bool
still_served(const ViewsLook *look)
{
	return look->entry->pid == look->pid && look->entry->state == WORKER_RUNNING &&
		TransactionIdIsValid(pg_atomic_read_u32(&look->entry->served));
}

/*
 * Wait until the views show all WAL written by now, or a timeout has passed.
 * Without this wait, the comparison would find more copies that are merely
 * late.
 */
static void
await_worker(const ViewsLook *look)
{
	TimestampTz began = GetCurrentTimestamp();
	int			most = TransactionIdIsValid(GetTopTransactionIdIfAny()) ?
		FIRST_WAIT_OF_WRITER : FIRST_WAIT;
	XLogRecPtr	mark = compat_log_message(WAIT_MARK, "", 0);

	XLogFlush(mark);
	while (still_served(look) &&
		   pg_atomic_read_u64(&look->entry->shown_lsn) < mark &&
		   !clock_passed(began, GetCurrentTimestamp(), most))
		nap(look);
}

/*
 * Store this server's worker in *look. Returns false if verify() cannot
 * compare the views: on a standby, if no worker runs, in the worker itself,
 * and in a transaction that has written posts. The worker decodes such posts
 * only after the commit.
 */
bool
views_look_here(ViewsLook *look)
{
	WorkerEntry *entry = my_worker_entry();

	memset(look, 0, sizeof(*look));
	if (RecoveryInProgress() || entry == NULL || entry->pid == 0 ||
		entry->pid == MyProcPid || transaction_wrote_posts())
		return false;
	look->entry = entry;
	look->pid = entry->pid;
	return true;
}

/*
 * Wait until this server's worker has applied all WAL written by now, or a
 * timeout has passed. Then set look->applied to the number of the last round
 * of the worker's main loop whose changes the views show.
 */
void
views_note_turn(ViewsLook *look)
{
	await_worker(look);
	look->applied = pg_atomic_read_u64(&look->entry->told.applied);
	pg_memory_barrier();
}

/*
 * Begin a comparison of the views with the posts. The caller takes the
 * snapshot for the comparison afterwards. Returns false if verify() cannot
 * compare the views now, for example because no worker runs.
 */
bool
views_look_begin(ViewsLook *look)
{
	const ClusterCalls *cluster = cluster_calls();

	if (!views_look_here(look))
		return false;
	if (cluster != NULL)
		return cluster->views_look_begin(look);
	views_note_turn(look);
	return true;
}

/*
 * Return whether the views were built with the settings that this process has
 * (size of the feed, short form). After a change of these settings the result
 * can be false for a while: the worker and this process reload the
 * configuration at different times. Reads view_state with the active snapshot.
 */
bool
views_fit_settings(void)
{
	ViewState	state;

	view_state_read(&state);
	return state.feed_size == blogstore_feed_size &&
		state.short_form_length == blogstore_short_form_length &&
		state.short_form == short_form_stamp();
}

/*
 * Wait until this server's worker has decoded all changes that the snapshot of
 * verify() sees. Returns false if the worker exits, or if readers may no
 * longer use the views. Raises a warning and returns false after LONGEST_WAIT.
 */
bool
views_await_turn(const ViewsLook *look)
{
	TimestampTz began = GetCurrentTimestamp();
	uint64		turn;

	XLogFlush(compat_log_message(LOOK_MARK, "", 0));
	turn = pg_atomic_read_u64(&look->entry->told.turn);
	while (pg_atomic_read_u64(&look->entry->told.complete) <= turn)
	{
		if (!still_served(look))
			return false;
		if (clock_passed(began, GetCurrentTimestamp(), LONGEST_WAIT))
		{
			ereport(WARNING,
					(errmsg("the views could not be compared"),
					 errdetail("The worker has not read the write-ahead log to its end for half a minute."),
					 errhint("See blogstore.stat_worker.")));
			return false;
		}
		nap(look);
	}
	pg_read_barrier();
	return still_served(look);
}

static ArrayType *
posts_of(List *results)
{
	ArrayBuildState *ids = initArrayResult(UUIDOID, CurrentMemoryContext, false);
	ListCell   *lc;

	foreach(lc, results)
	{
		const SPITupleTable *result = lfirst(lc);

		for (uint64 i = 0; i < result->numvals; i++)
		{
			bool		isnull;
			Datum		id = SPI_getbinval(result->vals[i], result->tupdesc,
										   FINDING_POST_ID, &isnull);

			if (!isnull)
				ids = accumArrayResult(ids, id, false, UUIDOID, CurrentMemoryContext);
		}
	}
	return DatumGetArrayTypeP(makeArrayResult(ids, CurrentMemoryContext));
}

/*
 * Store an array of post ids in *look. The nodes of the cluster have returned
 * the posts of which a worker may have changes yet to apply. Returns false if
 * the array is NULL, because a node did not return its posts.
 */
static bool
keep_unsettled(ViewsLook *look, ArrayType *unsettled)
{
	if (unsettled == NULL)
		return false;
	deconstruct_array(unsettled, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR,
					  &look->unsettled, NULL, &look->n_unsettled);
	return true;
}

/*
 * Return whether verify() can tell errors from changes that the worker has yet
 * to apply. Called for each finding that such a change may have caused. The
 * first call waits for the worker, or asks the nodes of the cluster. Later
 * calls return the result of the first call. The caller has called
 * SPI_connect(), and acts as the containers' owner.
 *
 * results: all findings, as a list of SPITupleTable
 */
bool
views_look_end(ViewsLook *look, List *results)
{
	const ClusterCalls *cluster = cluster_calls();
	bool		known;

	if (look->known == VIEWS_NOT_ASKED)
	{
		known = look->nodes == NULL ? views_await_turn(look) :
			cluster != NULL &&
			keep_unsettled(look, cluster->views_look_end(look, posts_of(results)));
		look->known = known ? VIEWS_SETTLED : VIEWS_UNSETTLED;
	}
	return look->known == VIEWS_SETTLED;
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(DatumGetUUIDP(*(const Datum *) a),
				  DatumGetUUIDP(*(const Datum *) b), UUID_LEN);
}

/* Return whether look->unsettled contains an id. */
static bool
named(const ViewsLook *look, const pg_uuid_t *post_id)
{
	Datum		id = UUIDPGetDatum(post_id);

	return look->n_unsettled > 0 &&
		bsearch(&id, look->unsettled, look->n_unsettled, sizeof(Datum), compare_ids) != NULL;
}

/*
 * Return whether the worker has decoded a change of a post after round number
 * look->applied of its main loop.
 */
static bool
told_of_post(const ViewsLook *look, const pg_uuid_t *post_id)
{
	return look->nodes != NULL ? named(look, post_id) :
		told_post_since(&look->entry->told, post_id, look->applied);
}

/*
 * Return whether the worker has decoded a change that may add a post to the
 * feed or remove one. Only changes that were decoded after round number
 * look->applied of the main loop matter.
 */
static bool
told_of_list(const ViewsLook *look)
{
	const pg_uuid_t zeros = {{0}};

	return look->nodes != NULL ? named(look, &zeros) :
		told_list_since(&look->entry->told, look->applied);
}

static bool
is_of_views(const Finding *f)
{
	return finding_is_of_topic_post(f) ||
		(strcmp(f->type, "post") == 0 &&
		 (strcmp(f->container, "users") == 0 || strcmp(f->container, "feed") == 0 ||
		  finding_is_of_queue(f)));
}

/*
 * Return whether a finding may be no error, but the result of a change during
 * verify(). This is possible for findings about a view. On a cluster it is
 * possible for findings about any post, because verify() reads the nodes at
 * different times.
 */
bool
finding_has_to_be_settled(const ViewsLook *look, const Finding *f)
{
	return is_of_views(f) || (look->nodes != NULL && f->has_post_id);
}

/*
 * Return whether a finding is certainly an error, and not caused by a change
 * that the worker has yet to apply. views_look_end() must have returned true.
 */
bool
finding_is_settled(const ViewsLook *look, const Finding *f)
{
	if (f->has_post_id && told_of_post(look, &f->post_id))
		return false;
	return strcmp(f->container, "feed") != 0 ||
		!(finding_is(f, "missing copy") || finding_is(f, "extra copy")) ||
		!told_of_list(look);
}

/*
 * Return whether this node's worker still runs, and has sent all changes of
 * the views to the other nodes.
 */
bool
views_are_sent(const ViewsLook *look)
{
	return still_served(look) &&
		pg_atomic_read_u32(&look->entry->unsent) == 0;
}
