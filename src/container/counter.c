/*
 * counter.c
 *		A post's counts, changed in the same transaction as what they count.
 *
 * Opening a counter locks the post item against other writers (not against
 * readers, nor against a FOR KEY SHARE of it) until the transaction ends, and
 * the count is added to in place. The update touches no indexed column, so it
 * is HOT; content that is stored out of line is not rewritten. Comments and
 * likes are only written with the counter open: that makes a count under the
 * lock exact.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "container/container.h"

#include "utils/snapmgr.h"

struct PostCounter
{
	ItemWriter *writer;
	BlogItem	post;
	int64		comments;		/* to add */
	int64		likes;
	uint64		triggers;		/* item_triggers_fired() at locking */
};

/* Lock the post's newest version by the active snapshot. */
static LockOutcome
counter_lock(PostCounter *counter, const pg_uuid_t *post_id,
			 LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);

	counter->triggers = item_triggers_fired();
	return item_writer_try_lock(counter->writer, PATH_KEY, &key, 1,
								LockTupleNoKeyExclusive, wait, &counter->post);
}

/*
 * Lock a post's counts, of a post that is being deleted too. Returns NULL if
 * the outcome is not LOCK_HAD. 40001 under REPEATABLE READ and SERIALIZABLE if
 * the post was changed since the snapshot.
 */
PostCounter *
post_counter_try(const pg_uuid_t *post_id, LockWaitPolicy wait,
				 LockOutcome *outcome)
{
	PostCounter *counter = palloc0(sizeof(PostCounter));

	PushActiveSnapshot(GetTransactionSnapshot());
	counter->writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	*outcome = counter_lock(counter, post_id, wait);
	PopActiveSnapshot();
	if (*outcome == LOCK_HAD)
		return counter;
	item_writer_close(counter->writer);
	pfree(counter);
	return NULL;
}

/* Lock a post's counts, waiting for other writers; NULL: no such post. */
PostCounter *
post_counter_open(const pg_uuid_t *post_id)
{
	LockOutcome outcome;
	PostCounter *counter = post_counter_try(post_id, LockWaitBlock, &outcome);

	if (counter == NULL || !being_deleted(&counter->post))
		return counter;
	post_counter_close(counter);
	return NULL;
}

/* Note what the post's counts are to grow by when the counter closes. */
void
post_counter_add(PostCounter *counter, int64 comments, int64 likes)
{
	counter->comments += comments;
	counter->likes += likes;
}

/* Write the counts, if they changed; the lock stays. */
void
post_counter_close(PostCounter *counter)
{
	BlogItem   *post = &counter->post;

	if (counter->comments != 0 || counter->likes != 0)
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		if (counter->triggers != item_triggers_fired())
		{
			pg_uuid_t	post_id = *item_uuid(post, PROP_POST_ID);

			if (counter_lock(counter, &post_id, LockWaitBlock) != LOCK_HAD)
				ereport(ERROR,
						(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
						 errmsg("a trigger deleted the post that is written to")));
		}
		item_set(post, PROP_COMMENT_COUNT,
				 Int64GetDatum(item_count(post, PROP_COMMENT_COUNT) +
							   counter->comments));
		item_set(post, PROP_LIKE_COUNT,
				 Int64GetDatum(item_count(post, PROP_LIKE_COUNT) +
							   counter->likes));
		item_writer_update(counter->writer, post);
		PopActiveSnapshot();
	}
	item_writer_close(counter->writer);
	pfree(counter);
}

/* How many items of a type a post has, by the active snapshot. */
static int64
count_children(ItemType type, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(CONTAINER_POSTS, type, post_id,
									   PATH_LIST, &key, 1, NULL,
									   ForwardScanDirection,
									   GetActiveSnapshot());

	while (item_scan_next(scan, &item))
		n++;
	item_scan_end(scan);
	return n;
}

/*
 * Make a post's counts what is there: with the post locked, nobody changes
 * that. Returns false if there is no such post.
 */
bool
post_counter_repair(const pg_uuid_t *post_id)
{
	LockOutcome outcome;
	PostCounter *counter = post_counter_try(post_id, LockWaitBlock, &outcome);

	if (counter == NULL)
		return false;
	PushActiveSnapshot(GetTransactionSnapshot());
	post_counter_add(counter,
					 count_children(ITEM_COMMENT, post_id) -
					 item_count(&counter->post, PROP_COMMENT_COUNT),
					 count_children(ITEM_LIKE, post_id) -
					 item_count(&counter->post, PROP_LIKE_COUNT));
	PopActiveSnapshot();
	post_counter_close(counter);
	return true;
}
