/*
 * post_merge.c
 *		What was counted beside a post comes into it: folding and repairing.
 *
 * Folding deletes deltas and writes what they say, in one transaction, so that
 * no snapshot sees a difference. A post that is locked by somebody else keeps its
 * deltas, merged into one.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/*
 * Fold a post's deltas, at most limit of them, into the post, or if that is
 * locked (ITEM_LOCKED), or with hot has no room for a HOT update (ITEM_NO_ROOM), and
 * merge says so, into one delta. ITEM_NOT_FOUND: there is no such post. taken: how
 * many; left: whether there are others. In READ COMMITTED.
 *
 * Deltas that the snapshot shows without their post are of one that was deleted
 * while their leaf was away, and are deleted.
 */
ItemResult
post_fold(const pg_uuid_t *post_id, int64 limit, bool hot, bool merge,
		  int64 *taken, bool *left)
{
	PostLock	lock;
	PostCounts	counts = {0, 0};
	ItemWriter *writer;
	BlogItem	post;
	ItemResult	result;
	bool		stays;			/* does the post stay as it is? */
	uint64		left_out = left_out_count();

	*taken = 0;
	*left = false;
	post_lock_init(&lock, post_id);
	if (merge)
		merge = post_lock_shared(&lock, LockWaitSkip) == ITEM_OK;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	if (hot)
		item_writer_need_room(writer);
	result = post_lock_for_counts(writer, post_id, LockWaitSkip, &post);
	stays = result == ITEM_LOCKED || result == ITEM_NO_ROOM;
	if (result == ITEM_OK || (stays && merge))
		*taken = delta_take_now(post_id, limit, &counts, left);
	if (result == ITEM_OK && *taken > 0)
		post_write_counts(writer, &post, counts);
	if (result == ITEM_NOT_FOUND && left_out_count() == left_out)
		*taken = delta_take(post_id, limit, &counts, left);
	item_writer_close(writer);
	PopActiveSnapshot();
	if (stays && (counts.comments != 0 || counts.likes != 0))
		delta_insert(post_id, counts);
	post_unlock(&lock);
	return result;
}

/*
 * Fold into a post that the caller has locked and is about to write. Not where
 * the transaction has a snapshot of its own, which does not show all there is.
 */
void
post_fold_locked(BlogItem *post, int64 limit)
{
	PostCounts	counts = {0, 0};
	bool		left = false;

	if (IsolationUsesXactSnapshot())
		return;
	(void) delta_take_now(item_uuid(post, PROP_POST_ID), limit, &counts, &left);
	item_add_counts(post, counts.comments, counts.likes);
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
 * no such post, or not all of its items can be read. In READ COMMITTED.
 */
bool
post_counter_repair(const pg_uuid_t *post_id)
{
	ItemWriter *writer;
	BlogItem	post;
	BlogItem	shown;
	bool		found;
	uint64		left_out = left_out_count();

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	found = post_lock_for_counts(writer, post_id, LockWaitBlock, &post) == ITEM_OK;
	if (found)
	{
		PostCounts	missing;

		PushActiveSnapshot(GetTransactionSnapshot());
		shown = post;
		post_add_up(&shown, GetActiveSnapshot());
		missing.comments = count_children(ITEM_COMMENT, post_id) -
			item_count(&shown, PROP_COMMENT_COUNT);
		missing.likes = count_children(ITEM_LIKE, post_id) -
			item_count(&shown, PROP_LIKE_COUNT);
		PopActiveSnapshot();
		found = left_out_count() == left_out;
		if (found && (missing.comments != 0 || missing.likes != 0))
			post_write_counts(writer, &post, missing);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}
