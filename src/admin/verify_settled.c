/*
 * verify_settled.c
 *		Which findings of verify() about the views are settled: the worker has nothing left to do
 *		there.
 *
 * The views follow the posts, so a comparison beside traffic also finds what is merely late. The
 * worker numbers its turns, and tells in which one it last decoded a change of a post
 * (views/change_feed/told_posts.c).
 *
 *		1	views_look_begin() notes up to which turn all is applied: A.
 *		2	The comparison takes its snapshot after that, and so sees all that was told of up
 *			to A in the views.
 *		3	views_look_end() waits for a turn that began after the snapshot was taken. By its end
 *			the worker has told of every change that the snapshot sees.
 *		4	A finding is settled if its post was told of after A by none of these turns: the snapshot
 *			sees no change of the post that the views do not show yet.
 *
 * A post can be missing in the feed, or be there in excess, because another post came or went.
 * Such a finding is settled only if the worker was told of nothing but counts after A.
 *
 * On a cluster each node is asked for both (cluster/operations/cluster_settled.c).
 *
 * A finding that is not settled is dropped: what the worker does next mends it, or it is found
 * again.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/settings.h"
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
#include "utils/wait_event.h"

/*
 * How long to wait for the worker at most, first and last, and before looking again, in ms. A
 * transaction that has written may itself be in the worker's way.
 */
#define FIRST_WAIT 5000
#define FIRST_WAIT_OF_WRITER 1500
#define LONGEST_WAIT 30000
#define LOOK_AGAIN 5

/* Sleep for a moment, or until this process is woken. */
static void
nap(const ViewsLook *look)
{
	worker_wake_at_once(look->entry);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 LOOK_AGAIN, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Does the worker that was there at the beginning serve the views still? */
static bool
still_served(const ViewsLook *look)
{
	return look->entry->pid == look->pid && look->entry->state == WORKER_RUNNING &&
		TransactionIdIsValid(pg_atomic_read_u32(&look->entry->served));
}

/*
 * Give the worker some time to come to the present, counts and all: the less it has left to do, the
 * more can be settled.
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
 * Find the worker of this machine. Returns false if findings about its views could not be settled:
 * on a standby, without a worker, in the worker itself, and in a transaction that has written posts,
 * which the worker does not know of.
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

/* Note up to which turn all is applied on this machine, once the worker has come to the present. */
void
views_note_turn(ViewsLook *look)
{
	await_worker(look);
	look->applied = pg_atomic_read_u64(&look->entry->told.applied);
	pg_memory_barrier();
}

/*
 * Begin to look at the views, before the snapshot is taken that they are looked at by. Returns
 * false if findings about them could not be settled, here or on another node of a cluster.
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
 * Are the views those of the present settings, by the active snapshot? Else the worker, or this
 * process, has still to learn of them.
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
 * Wait until this machine's worker has told of every change that the snapshot sees. Returns false,
 * with a warning, if it does not within half a minute, and false if it has ended or serves the views
 * no longer.
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

/* The posts of all findings, on a cluster, where nodes are asked for them. */
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

/* Keep what the nodes of a cluster have answered. Returns whether they know. */
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
 * Find out, at the first finding that has to be settled, which of the results' are. Returns whether
 * that is known. In SPI, as the containers' owner.
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

/* Did a node name a post, or zeros for all of them, which come first? */
static bool
named(const ViewsLook *look, const pg_uuid_t *post_id)
{
	Datum		id = UUIDPGetDatum(post_id);

	return look->n_unsettled > 0 &&
		bsearch(&id, look->unsettled, look->n_unsettled, sizeof(Datum), compare_ids) != NULL;
}

/* Was a post told of since the turn up to which all was applied? */
static bool
told_of_post(const ViewsLook *look, const pg_uuid_t *post_id)
{
	return look->nodes != NULL ? named(look, post_id) :
		told_post_since(&look->entry->told, post_id, look->applied);
}

/* Was any post, to more than whose counts something was done? */
static bool
told_of_list(const ViewsLook *look)
{
	const pg_uuid_t zeros = {{0}};

	return look->nodes != NULL ? named(look, &zeros) :
		told_list_since(&look->entry->told, look->applied);
}

/* Is a finding one about the views? */
static bool
is_of_views(const Finding *f)
{
	return strcmp(f->type, "post") == 0 &&
		(strcmp(f->container, "users") == 0 || strcmp(f->container, "feed") == 0);
}

/*
 * Does a finding have to be settled? On a cluster each does that is about a post: the statement has
 * read the nodes one after the other.
 */
bool
finding_has_to_be_settled(const ViewsLook *look, const Finding *f)
{
	return is_of_views(f) || (look->nodes != NULL && f->has_post_id);
}

/* Is a finding settled? After views_look_end(). */
bool
finding_is_settled(const ViewsLook *look, const Finding *f)
{
	if (f->has_post_id && told_of_post(look, &f->post_id))
		return false;
	return strcmp(f->container, "feed") != 0 ||
		!(finding_is(f, "missing copy") || finding_is(f, "extra copy")) ||
		!told_of_list(look);
}

/* Has this node nothing to send to others? */
bool
views_are_sent(const ViewsLook *look)
{
	return still_served(look) &&
		pg_atomic_read_u32(&look->entry->unsent) == 0;
}
