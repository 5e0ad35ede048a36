/*
 * removal.c
 *		Deleting items with what hangs on them, and counts kept.
 *
 * Every writer of a post's comments and likes locks the post first, so what
 * is visible once the post is locked is all there is. Runs in backends and in
 * the worker, as the containers' owner.
 */
#include "postgres.h"

#include "container/container.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Delete a comment (other is its id) or a like (other is who likes); nobody's
 * count changes.
 */
LockOutcome
remove_item(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			LockWaitPolicy wait)
{
	Datum		post = UUIDPGetDatum(post_id);
	Datum		key[2];
	ItemWriter *writer;
	BlogItem	item;
	LockOutcome outcome;

	key[0] = type == ITEM_LIKE ? UUIDPGetDatum(other) : post;
	key[1] = type == ITEM_LIKE ? post : UUIDPGetDatum(other);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	outcome = item_writer_try_lock(writer, PATH_KEY, key, 2,
								   LockTupleExclusive, wait, &item);
	if (outcome == LOCK_HAD)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/*
 * The same, and count it off its post; LOCK_GONE if there is no post either. A
 * post that is being deleted counts as any.
 */
LockOutcome
remove_child(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			 LockWaitPolicy wait)
{
	LockOutcome outcome;
	PostCounter *counter = post_counter_try(post_id, wait, &outcome);

	if (counter == NULL)
		return outcome;
	outcome = remove_item(type, post_id, other, wait);
	if (outcome == LOCK_HAD)
		post_counter_add(counter, -(type == ITEM_COMMENT), -(type == ITEM_LIKE));
	post_counter_close(counter);
	return outcome;
}

/* The same for an item of nobody's, also if it hangs on nothing. */
LockOutcome
purge_child(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			LockWaitPolicy wait)
{
	LockOutcome outcome = remove_child(type, post_id, other, wait);

	return outcome == LOCK_GONE ?
		remove_item(type, post_id, other, wait) : outcome;
}

/*
 * Delete a post's items of one type, at most limit of them (0: all). Returns
 * how many; *busy is set if others were left because somebody has them locked.
 */
static int64
remove_children(ItemType type, const pg_uuid_t *post_id, LockWaitPolicy wait,
				int64 limit, bool *busy)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	ItemScan   *scan = item_scan_begin(CONTAINER_POSTS, type, post_id,
									   PATH_LIST, &key, 1, NULL,
									   ForwardScanDirection,
									   GetActiveSnapshot());
	BlogItem	item;
	int64		removed = 0;

	while ((limit == 0 || removed < limit) && item_scan_next(scan, &item))
	{
		LockOutcome outcome = item_writer_lock_found(writer, scan,
													 LockTupleExclusive, wait,
													 &item);

		if (outcome == LOCK_HAD)
		{
			item_writer_delete(writer);
			removed++;
		}
		*busy |= outcome == LOCK_BUSY;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	return removed;
}

/*
 * Delete a post with its comments and likes. Of what is locked, only the post
 * itself is left alone if wait says so: who has it locked has the rest.
 */
LockOutcome
remove_post(const pg_uuid_t *post_id, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	LockOutcome outcome;
	bool		busy = false;
	uint64		triggers = item_triggers_fired();

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	outcome = item_writer_try_lock(writer, PATH_KEY, &key, 1,
								   LockTupleExclusive, wait, &post);
	if (outcome == LOCK_HAD)
	{
		/* a new snapshot: see what was committed while waiting for the lock */
		PushActiveSnapshot(GetTransactionSnapshot());
		remove_children(ITEM_COMMENT, post_id, LockWaitBlock, 0, &busy);
		remove_children(ITEM_LIKE, post_id, LockWaitBlock, 0, &busy);
		PopActiveSnapshot();

		/* a newer version, if a trigger has written one */
		PushActiveSnapshot(GetTransactionSnapshot());
		if (triggers == item_triggers_fired() ||
			item_writer_lock(writer, PATH_KEY, &key, 1, LockTupleExclusive,
							 &post))
			item_writer_delete(writer);
		PopActiveSnapshot();
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/*
 * Delete a post of a deleted user's, as far as limit items go (0: all): first
 * what hangs on it, counted off, then the post. Adds to *removed how many
 * comments and likes went, and sets *more if the limit was reached before the
 * end.
 */
LockOutcome
purge_post(const pg_uuid_t *post_id, LockWaitPolicy wait, int64 limit,
		   int64 *removed, bool *more)
{
	LockOutcome outcome;
	PostCounter *counter = post_counter_try(post_id, wait, &outcome);
	int64		comments;
	int64		likes = 0;
	bool		busy = false;

	if (counter == NULL)
		return outcome;
	PushActiveSnapshot(GetTransactionSnapshot());
	comments = remove_children(ITEM_COMMENT, post_id, wait, limit, &busy);
	if (limit == 0 || comments < limit)
		likes = remove_children(ITEM_LIKE, post_id, wait,
								limit == 0 ? 0 : limit - comments, &busy);
	PopActiveSnapshot();
	post_counter_add(counter, -comments, -likes);
	post_counter_close(counter);

	*removed += comments + likes;
	*more = limit != 0 && comments + likes >= limit;
	if (*more || busy)
		return LOCK_BUSY;
	return remove_post(post_id, wait);
}
