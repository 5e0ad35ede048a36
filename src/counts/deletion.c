/*
 * deletion.c
 *		Deleting items with what hangs on them, and counts kept.
 *
 * Who writes a comment or like has the post count it, in place or by a delta,
 * before unlocking the post. So once a post item is deleted with the post locked
 * exclusively, and those who have counted by deltas have ended, what a new
 * snapshot shows is all there will be (post_lock.c).
 *
 * Who deletes an item because of whose it is has read that before the item is
 * locked. Meanwhile it may have been deleted, and its id given to an item of
 * another user's; so the author is told, and looked at under the lock.
 *
 * Runs in backends and in the worker, as the containers' owner.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "counts/internal.h"
#include "layout/item.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/* What the lock of an item that is to be deleted says of its deletion. */
static DeleteResult
delete_result(ItemResult result)
{
	switch (result)
	{
		case ITEM_OK:
			return DELETE_DONE;
		case ITEM_LOCKED:
			return DELETE_LOCKED;
		case ITEM_NOT_FOUND:
			break;
	}
	return DELETE_NOT_FOUND;
}

/* Is an item an author's (NULL: anybody's)? */
static bool
is_by(const BlogItem *item, const pg_uuid_t *author)
{
	return author == NULL ||
		(!item->isnull[PROP_USER_ID] &&
		 memcmp(item_uuid(item, PROP_USER_ID), author, UUID_LEN) == 0);
}

/* A comment or a delta (other is its id), or a like (other is who likes). */
typedef struct Child
{
	ItemType	type;
	pg_uuid_t	post_id;
	pg_uuid_t	other;
	Datum		key[2];
} Child;

static void
child_init(Child *child, ItemType type, const pg_uuid_t *post_id,
		   const pg_uuid_t *other)
{
	child->type = type;
	child->post_id = *post_id;
	child->other = *other;
	child->key[type == ITEM_LIKE ? 1 : 0] = UUIDPGetDatum(&child->post_id);
	child->key[type == ITEM_LIKE ? 0 : 1] = UUIDPGetDatum(&child->other);
}

/*
 * Lock a child and delete it, if it is by an author; else ITEM_NOT_FOUND. lock,
 * where given, is of its post, which is sure to be there and counts it no longer.
 */
static ItemResult
delete_locked(const Child *child, const pg_uuid_t *author, LockWaitPolicy wait,
			  PostLock *lock)
{
	ItemWriter *writer;
	BlogItem	item;
	ItemResult	result;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, child->type, &child->post_id);
	item_writer_identity(writer);
	result = item_writer_lock(writer, child->key, 2, LockTupleExclusive, wait,
							  &item);
	if (result == ITEM_OK && !is_by(&item, author))
		result = ITEM_NOT_FOUND;
	if (result == ITEM_OK && lock != NULL)
		result = post_count(lock, child_counts(child->type, -1));
	if (result == ITEM_OK)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/* Wait for the others who have a child locked, or are writing it. */
static void
child_await_free(const Child *child)
{
	item_await_free(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = child->type,
		.partition_key = &child->post_id, .path = PATH_KEY, .key = child->key,
		.nkeys = 2, .identity = true
	});
}

/* Delete a child; no post's count changes. */
DeleteResult
child_delete_uncounted(ItemType type, const pg_uuid_t *post_id,
					   const pg_uuid_t *other, const pg_uuid_t *author,
					   LockWaitPolicy wait)
{
	Child		child;

	child_init(&child, type, post_id, other);
	return delete_result(delete_locked(&child, author, wait, NULL));
}

/*
 * Delete a child, and have its post no longer count it; DELETE_NOT_FOUND also if
 * there is no post. A post that is being deleted by its user counts as any.
 *
 * Whoever deletes the post waits for those who have it locked, and then needs the
 * child. So that is locked with the post locked, if nobody else has it; who has is
 * waited for with the post unlocked, and nothing in hand that they may need. Whoever
 * waits for the deletion of the post has nothing either.
 */
DeleteResult
child_delete(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			 const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;
	PostLock	lock;
	ItemResult	result;

	child_init(&child, type, post_id, other);
	post_lock_init(&lock, post_id);
	for (;;)
	{
		result = post_lock_shared(&lock, wait);
		if (result == ITEM_OK)
			result = delete_locked(&child, author, LockWaitSkip, &lock);
		post_unlock(&lock);
		if (result != ITEM_LOCKED || wait != LockWaitBlock)
			return delete_result(result);
		CHECK_FOR_INTERRUPTS();
		child_await_free(&child);
	}
}

/* Delete a child as child_delete() does, or if there is no post, without. */
DeleteResult
child_delete_anyway(ItemType type, const pg_uuid_t *post_id,
					const pg_uuid_t *other, const pg_uuid_t *author,
					LockWaitPolicy wait)
{
	DeleteResult result = child_delete(type, post_id, other, author, wait);

	return result != DELETE_NOT_FOUND ? result :
		child_delete_uncounted(type, post_id, other, author, wait);
}

/*
 * A snapshot that shows all there is. A transaction that keeps its first one
 * does not see what has been added since, but must not leave it behind.
 */
static Snapshot
present_snapshot(void)
{
	return IsolationUsesXactSnapshot() ? GetLatestSnapshot() :
		GetTransactionSnapshot();
}

/* Errors: 40001 if the transaction deletes what it does not see. */
static void
check_shown(ItemScan *scan)
{
	if (IsolationUsesXactSnapshot() &&
		!item_scan_shown(scan, GetTransactionSnapshot()))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent insert"),
				 errhint("Retry the transaction.")));
}

/*
 * Delete a post's children of one type, at most limit of them (0: all). Returns
 * how many; *busy is set if others were left because somebody has them locked.
 */
static int64
delete_children(ItemType type, const pg_uuid_t *post_id, LockWaitPolicy wait,
				int64 limit, bool *busy)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	item;
	int64		deleted = 0;

	PushActiveSnapshot(present_snapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	item_writer_identity(writer);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = type == ITEM_DELTA ? PATH_KEY : PATH_LIST, .key = &key,
		.nkeys = 1, .identity = true
	});
	while ((limit == 0 || deleted < limit) && item_scan_next(scan, &item))
	{
		ItemResult	result;

		if (type != ITEM_DELTA)
			check_shown(scan);
		result = item_writer_lock_found(writer, scan, LockTupleExclusive, wait,
										&item);
		if (result == ITEM_OK)
		{
			item_writer_delete(writer);
			deleted++;
		}
		*busy |= result == ITEM_LOCKED;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return deleted;
}

/*
 * Delete the item of a post that is locked exclusively. ITEM_LOCKED: somebody
 * else has it locked, if only weakly.
 */
static ItemResult
delete_post_item(const pg_uuid_t *post_id, LockWaitPolicy wait)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	ItemResult	result;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	item_writer_identity(writer);
	result = item_writer_lock(writer, &key, 1, LockTupleExclusive, wait, &post);
	if (result == ITEM_OK)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/* Delete all that hangs on a post whose item is deleted, and that is unlocked. */
static void
delete_all_children(const PostLock *lock)
{
	const pg_uuid_t *post_id = &lock->post_id;
	bool		busy = false;

	/* nobody can have locked the post since, with its item locked; but be sure */
	post_await_counting(lock);
	(void) delete_children(ITEM_COMMENT, post_id, LockWaitBlock, 0, &busy);
	(void) delete_children(ITEM_LIKE, post_id, LockWaitBlock, 0, &busy);
	if (delta_possible(post_id))
		(void) delete_children(ITEM_DELTA, post_id, LockWaitBlock, 0, &busy);
}

/*
 * Is the post that this transaction has just locked by an author? Nobody else
 * can have made it anew since.
 */
static bool
locked_post_is_by(const pg_uuid_t *post_id, const pg_uuid_t *author)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	query = post_query(&key);
	BlogItem	post;
	ItemScan   *scan;
	bool		is;

	query.no_predicate_locks = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	is = item_scan_next(scan, &post) && is_by(&post, author);
	item_scan_end(scan);
	PopActiveSnapshot();
	return is;
}

/*
 * Lock a post exclusively with its item in a mode, as post_lock_exclusive() does,
 * if it is by an author (NULL: anybody); else ITEM_NOT_FOUND, and it is not locked.
 */
static ItemResult
lock_post_of(PostLock *lock, const pg_uuid_t *author, LockTupleMode mode,
			 LockWaitPolicy wait)
{
	ItemResult	result = post_lock_exclusive(lock, mode, wait);

	if (result != ITEM_OK || author == NULL ||
		locked_post_is_by(&lock->post_id, author))
		return result;
	post_unlock(lock);
	return ITEM_NOT_FOUND;
}

/*
 * Delete a post with its comments and likes, if it is by an author (NULL: anybody).
 * Of what is locked, only the post itself is left alone if wait says so, and if
 * somebody is counting on it: who has it locked has the rest.
 */
DeleteResult
post_delete(const pg_uuid_t *post_id, const pg_uuid_t *author,
			LockWaitPolicy wait)
{
	PostLock	lock;
	ItemResult	result;

	post_lock_init(&lock, post_id);
	result = lock_post_of(&lock, author, LockTupleExclusive, wait);
	if (result == ITEM_OK)
		result = delete_post_item(post_id, wait);
	post_unlock(&lock);
	if (result == ITEM_OK)
		delete_all_children(&lock);
	return delete_result(result);
}

/*
 * Delete a post's comments and likes, at most limit of them (0: all), and have it
 * no longer count them; it is locked exclusively. Returns how many; *busy is set if
 * others were left because somebody has them locked.
 */
static int64
delete_some_children(PostLock *lock, LockWaitPolicy wait, int64 limit,
					 bool *busy)
{
	const pg_uuid_t *post_id = &lock->post_id;
	int64		comments = delete_children(ITEM_COMMENT, post_id, wait, limit,
										   busy);
	int64		likes = 0;

	if (limit == 0 || comments < limit)
		likes = delete_children(ITEM_LIKE, post_id, wait,
								limit == 0 ? 0 : limit - comments, busy);
	if (comments + likes > 0)
		(void) post_count(lock, (PostCounts) {-comments, -likes});
	return comments + likes;
}

/*
 * Delete a post, if it is by an author (NULL: anybody), as far as limit items go
 * (0: all): first what hangs on it, then the post, which no longer counts what is
 * gone if it stays. Adds to *children how many comments and likes went.
 */
DeleteResult
post_delete_in_steps(const pg_uuid_t *post_id, const pg_uuid_t *author,
					 LockWaitPolicy wait, int64 limit, int64 *children)
{
	PostLock	lock;
	DeleteResult result;
	int64		deleted;
	bool		busy = false;

	post_lock_init(&lock, post_id);
	result = delete_result(lock_post_of(&lock, author, LockTupleNoKeyExclusive,
										wait));
	if (result != DELETE_DONE)
		return result;
	deleted = delete_some_children(&lock, wait, limit, &busy);
	*children += deleted;
	if (limit != 0 && deleted >= limit)
		result = DELETE_MORE;
	else if (busy)
		result = DELETE_LOCKED;
	else
		result = delete_result(delete_post_item(post_id, wait));
	post_unlock(&lock);
	if (result == DELETE_DONE)
		delete_all_children(&lock);
	return result;
}
