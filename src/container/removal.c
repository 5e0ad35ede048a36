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
 * Delete the one item of a logical partition that a key names; nobody's count
 * changes. Returns false if there is none.
 */
bool
remove_item(ItemType type, const pg_uuid_t *post_id, const Datum *key,
			int nkeys)
{
	ItemWriter *writer;
	BlogItem	item;
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	found = item_writer_lock(writer, PATH_KEY, key, nkeys, LockTupleExclusive,
							 &item);
	if (found)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}

/* Delete a like; false if there is none. */
bool
remove_like(const pg_uuid_t *post_id, const pg_uuid_t *user_id)
{
	Datum		key[] = {UUIDPGetDatum(user_id), UUIDPGetDatum(post_id)};
	PostCounter *counter = post_counter_open(post_id);
	bool		found;

	if (counter == NULL)
		return false;
	found = remove_item(ITEM_LIKE, post_id, key, 2);
	if (found)
		post_counter_add(counter, 0, -1);
	post_counter_close(counter);
	return found;
}

/* Delete a comment; false if there is none. */
bool
remove_comment(const pg_uuid_t *post_id, const pg_uuid_t *comment_id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(comment_id)};
	PostCounter *counter = post_counter_open(post_id);
	bool		found;

	if (counter == NULL)
		return false;
	found = remove_item(ITEM_COMMENT, post_id, key, 2);
	if (found)
		post_counter_add(counter, -1, 0);
	post_counter_close(counter);
	return found;
}

/* Delete all of a post's items of one type. */
static void
remove_children(ItemType type, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	ItemScan   *scan = item_scan_begin(CONTAINER_POSTS, type, post_id,
									   PATH_LIST, &key, 1, NULL,
									   ForwardScanDirection,
									   GetActiveSnapshot());
	BlogItem	item;

	while (item_scan_next(scan, &item))
		if (item_writer_lock_found(writer, scan, LockTupleExclusive,
								   LockWaitBlock, &item) == LOCK_HAD)
			item_writer_delete(writer);
	item_scan_end(scan);
	item_writer_close(writer);
}

/* Delete a post with its comments and likes; false if there is none. */
bool
remove_post(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	bool		found;
	uint64		triggers = item_triggers_fired();

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	found = item_writer_lock(writer, PATH_KEY, &key, 1, LockTupleExclusive,
							 &post);
	if (found)
	{
		/* a new snapshot: see what was committed while waiting for the lock */
		PushActiveSnapshot(GetTransactionSnapshot());
		remove_children(ITEM_COMMENT, post_id);
		remove_children(ITEM_LIKE, post_id);
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
	return found;
}

/* Delete a user's items of one type in one partition of posts. */
static int64
remove_user_partition(const pg_uuid_t *user_id, ItemType type, int partition,
					  MemoryContext per_item)
{
	Datum		key = UUIDPGetDatum(user_id);
	ItemScan   *scan = item_scan_begin_partition(CONTAINER_POSTS, type,
												 partition, PATH_USER, &key, 1,
												 NULL, ForwardScanDirection,
												 GetActiveSnapshot());
	BlogItem	item;
	int64		removed = 0;

	while (item_scan_next(scan, &item))
	{
		MemoryContext old = MemoryContextSwitchTo(per_item);
		pg_uuid_t	post_id = *item_uuid(&item, PROP_POST_ID);
		pg_uuid_t	id = *item_uuid(&item, PROP_ID);

		if (type == ITEM_POST)
			removed += remove_post(&post_id);
		else if (type == ITEM_COMMENT)
			removed += remove_comment(&post_id, &id);
		else
			removed += remove_like(&post_id, user_id);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_item);
	}
	item_scan_end(scan);
	return removed;
}

/*
 * Delete a user's posts with all that hangs on them, then the user's comments
 * and likes elsewhere. Returns how many items of the user's were deleted.
 */
int64
remove_user_items(const pg_uuid_t *user_id)
{
	MemoryContext per_item = AllocSetContextCreate(CurrentMemoryContext,
												   "blogstore removed item",
												   ALLOCSET_DEFAULT_SIZES);
	int64		removed = 0;

	PushActiveSnapshot(GetTransactionSnapshot());
	for (ItemType type = ITEM_POST; type <= ITEM_LIKE; type++)
		for (int p = 0; p < container_partitions(CONTAINER_POSTS); p++)
			removed += remove_user_partition(user_id, type, p, per_item);
	PopActiveSnapshot();
	MemoryContextDelete(per_item);
	return removed;
}
