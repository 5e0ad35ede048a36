/*
 * counter.c
 *		A post's counts, changed in the same transaction as what they count.
 *
 * Nobody waits in order to count. If the post is free, and the transaction is
 * about to end, its counts are added to in place: no indexed column changes,
 * and a page without room for another version is left alone, so the update is
 * HOT. Otherwise a delta is written beside it (delta.c), as it is by a process
 * that has one there already, which is not folded yet. A transaction that has a
 * snapshot of its own would have to fail if the post was changed since, and one
 * in a transaction block could keep the post for minutes: both leave deltas.
 *
 * Deltas are folded by the worker (views/fold.c) and by whoever edits the post;
 * where no worker keeps the views, also by whoever counts in place, in
 * transaction blocks too.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "hooks.h"
#include "import/import.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/* How many deltas a count in place folds in passing. */
#define FOLD_IN_PASSING 100

/* Does a worker fold what is left? */
static bool
worker_folds(void)
{
	return change_feed_hooks.views_served();
}

/* Lock a post against other writers; *post points into the writer. */
static ItemResult
lock_post(ItemWriter *writer, const pg_uuid_t *post_id, LockWaitPolicy wait,
		  bool hot, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(post_id);

	if (hot)
		item_writer_need_room(writer);
	return item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive, wait,
							post);
}

/* Write a locked post with these added to its counts. */
static void
write_counts(ItemWriter *writer, BlogItem *post, int64 comments, int64 likes)
{
	item_add_counts(post, comments, likes);
	item_writer_update(writer, post);
}

/* Take deltas of a post by a snapshot of now, with the post locked or not. */
static int64
take_deltas(const pg_uuid_t *post_id, int64 limit, int64 *comments,
			int64 *likes, bool *left)
{
	int64		taken;

	PushActiveSnapshot(GetTransactionSnapshot());
	taken = delta_take(post_id, limit, comments, likes, left);
	PopActiveSnapshot();
	return taken;
}

/*
 * Add to the counts of a post item, if it is free; folds: a worker folds what
 * is left.
 */
static ItemResult
count_in_place(const pg_uuid_t *post_id, int64 comments, int64 likes,
			   LockWaitPolicy wait, bool folds)
{
	bool		left = false;
	ItemWriter *writer;
	BlogItem	post;
	ItemResult outcome;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	outcome = lock_post(writer, post_id, wait,
						folds && wait != LockWaitBlock, &post);
	if (outcome == ITEM_OK)
	{
		if (!folds && !IsolationUsesXactSnapshot())
			(void) take_deltas(post_id, FOLD_IN_PASSING, &comments, &likes,
							   &left);
		write_counts(writer, &post, comments, likes);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/*
 * Have a post count comments and likes that this transaction writes or deletes,
 * from within its gate. ITEM_NOT_FOUND, nothing written, if there is no such post (any
 * more). Somebody may be deleting the post: wait for the outcome; with
 * LockWaitSkip, ITEM_LOCKED.
 */
ItemResult
post_count(PostGate *gate, int64 comments, int64 likes, LockWaitPolicy wait)
{
	const pg_uuid_t *post_id = &gate->post_id;
	ItemResult outcome = ITEM_LOCKED;
	ItemResult stripe = ITEM_NOT_FOUND;
	bool		folds = worker_folds();

	if (!delta_possible(post_id))
		return count_in_place(post_id, comments, likes, LockWaitBlock, folds);
	/* who has a stripe has met others here: leave the post to them */
	if (folds)
		stripe = delta_stripe(post_id, comments, likes);
	if (stripe == ITEM_OK)
		return ITEM_OK;
	if (!IsolationUsesXactSnapshot() && (!IsTransactionBlock() || !folds))
		outcome = count_in_place(post_id, comments, likes, LockWaitSkip, folds);
	if (outcome != ITEM_LOCKED)
		return outcome;
	if (!folds)
		stripe = delta_stripe(post_id, comments, likes);
	if (stripe == ITEM_OK)
		return ITEM_OK;
	outcome = gate_look(gate, wait);
	if (outcome == ITEM_OK)
		delta_insert(post_id, comments, likes, stripe == ITEM_NOT_FOUND);
	return outcome;
}

/*
 * Have whoever deletes a post wait for the end of this transaction, before
 * the post is marked, as if it had counted: it is about to lock what hangs on the
 * post, and may need the post then. Waits for who is deleting it; ITEM_NOT_FOUND if
 * there is no such post (any more).
 */
ItemResult
post_join(const pg_uuid_t *post_id)
{
	PostGate	gate;
	ItemResult outcome;

	if (!delta_possible(post_id))
		return ITEM_OK;
	gate_init(&gate, post_id);
	outcome = gate_visit(&gate, LockWaitBlock);
	if (outcome == ITEM_OK)
	{
		ItemResult stripe = delta_stripe(post_id, 0, 0);

		if (stripe != ITEM_OK)
			delta_insert(post_id, 0, 0, stripe == ITEM_NOT_FOUND);
	}
	gate_leave(&gate);
	return outcome;
}

/*
 * Fold a post's deltas, at most limit of them, into the post, or if that is
 * locked or may not grow (hot), and merge says so, into one delta. ITEM_LOCKED:
 * they were left or merged; ITEM_NOT_FOUND: there is no such post. taken: how many;
 * left: whether there are others. In READ COMMITTED.
 *
 * Deltas that the snapshot shows without their post are of one that was deleted
 * while their leaf was away, and are deleted.
 */
ItemResult
post_fold(const pg_uuid_t *post_id, int64 limit, bool hot, bool merge,
		  int64 *taken, bool *left)
{
	PostGate	gate;
	ItemWriter *writer;
	BlogItem	post;
	ItemResult outcome;
	uint64		left_out = items_left_out();
	int64		comments = 0;
	int64		likes = 0;

	*taken = 0;
	*left = false;
	gate_init(&gate, post_id);
	merge = merge && gate_visit(&gate, LockWaitSkip) == ITEM_OK;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	outcome = lock_post(writer, post_id, LockWaitSkip, hot, &post);
	if (outcome == ITEM_OK || (outcome == ITEM_LOCKED && merge))
		*taken = take_deltas(post_id, limit, &comments, &likes, left);
	if (outcome == ITEM_OK && *taken > 0)
		write_counts(writer, &post, comments, likes);
	if (outcome == ITEM_NOT_FOUND && items_left_out() == left_out)
		*taken = delta_take(post_id, limit, &comments, &likes, left);
	item_writer_close(writer);
	PopActiveSnapshot();
	if (outcome == ITEM_LOCKED && (comments != 0 || likes != 0))
		delta_insert(post_id, comments, likes, false);
	gate_leave(&gate);
	return outcome;
}

/*
 * Fold into a post that the caller has locked and is about to write. Not where
 * the transaction has a snapshot of its own, which does not show all there is.
 */
void
post_fold_locked(BlogItem *post, int64 limit)
{
	int64		comments = 0;
	int64		likes = 0;
	bool		left = false;

	if (IsolationUsesXactSnapshot())
		return;
	(void) take_deltas(item_uuid(post, PROP_POST_ID), limit, &comments, &likes,
					   &left);
	item_add_counts(post, comments, likes);
}

/* How many items of a type a post has, by the active snapshot. */
static int64
count_children(ItemType type, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_LIST, .key = &key, .nkeys = 1, .identity = true
	});

	while (item_scan_next(scan, &item))
		n++;
	item_scan_end(scan);
	return n;
}

/*
 * Make a post's counts what is there. With the post locked, its counts are
 * those of any snapshot taken from here on; by one such snapshot the items and
 * the deltas are added up, and what is missing is added to the post. Who is
 * writing meanwhile brings item and count together. Returns false if there is
 * no such post. In READ COMMITTED.
 */
bool
post_counter_repair(const pg_uuid_t *post_id)
{
	ItemWriter *writer;
	BlogItem	post;
	BlogItem	shown;
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	found = lock_post(writer, post_id, LockWaitBlock, false, &post) == ITEM_OK;
	if (found)
	{
		int64		comments;
		int64		likes;

		PushActiveSnapshot(GetTransactionSnapshot());
		shown = post;
		delta_add_up(&shown, GetActiveSnapshot());
		comments = count_children(ITEM_COMMENT, post_id) -
			item_count(&shown, PROP_COMMENT_COUNT);
		likes = count_children(ITEM_LIKE, post_id) -
			item_count(&shown, PROP_LIKE_COUNT);
		PopActiveSnapshot();
		if (comments != 0 || likes != 0)
			write_counts(writer, &post, comments, likes);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}
