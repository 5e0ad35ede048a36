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
 * A post that is missing or too much in the feed may be so because another post has gone or come. So such
 * a finding is settled if no post at all was told of after A, but for counts.
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
#include "views/change_feed/change_feed.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
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
 * Begin to look at the views, before the snapshot is taken that they are looked at by. Returns
 * false if findings about them could not be settled: on a standby, without a worker, in the worker
 * itself, and in a transaction that has written posts, which the worker does not know of.
 */
bool
views_look_begin(ViewsLook *look)
{
	WorkerEntry *entry = my_worker_entry();

	if (RecoveryInProgress() || entry == NULL || entry->pid == 0 ||
		entry->pid == MyProcPid || transaction_wrote_posts())
		return false;
	look->entry = entry;
	look->pid = entry->pid;
	look->known = VIEWS_NOT_ASKED;
	await_worker(look);
	look->applied = pg_atomic_read_u64(&entry->told.applied);
	pg_memory_barrier();
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
 * Wait until the worker has told of every change that the snapshot sees. Returns false, with a
 * warning, if it does not within half a minute, and false if it has ended or serves the views no
 * longer.
 */
static bool
await_turn(const ViewsLook *look)
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

/* Wait, at the first finding about the views. Returns whether it is known which of them are settled. */
bool
views_look_end(ViewsLook *look)
{
	if (look->known == VIEWS_NOT_ASKED)
		look->known = await_turn(look) ? VIEWS_SETTLED : VIEWS_UNSETTLED;
	return look->known == VIEWS_SETTLED;
}

/* Is a finding one about the views? */
bool
finding_is_of_views(const Finding *f)
{
	return strcmp(f->type, "post") == 0 &&
		(strcmp(f->container, "users") == 0 || strcmp(f->container, "feed") == 0);
}

/* Is a finding about the views settled? After views_look_end(). */
bool
finding_is_settled(const ViewsLook *look, const Finding *f)
{
	ToldPosts  *told = &look->entry->told;

	if (f->has_post_id && told_post_since(told, &f->post_id, look->applied))
		return false;
	return strcmp(f->container, "users") == 0 ||
		!(finding_is(f, "missing copy") || finding_is(f, "extra copy")) ||
		!told_list_since(told, look->applied);
}
