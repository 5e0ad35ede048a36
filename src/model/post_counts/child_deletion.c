/*
 * child_deletion.c
 *		Deleting comments, likes and deltas, and hiding comments. Most
 *		functions also subtract the item from the post's counts.
 *
 * The deletion of a user first finds the user's items, and then deletes them
 * one by one with the functions of this file. Meanwhile, another transaction
 * may replace an item by one with the same id and another author. So the
 * functions delete an item only if the locked row has the given author.
 *
 * Runs in backends and in the worker, as the containers' owner.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"

/* An item to be deleted, or a comment to be hidden or shown. */
typedef struct Child
{
	ItemQuery	query;
	Datum		key[2];
	const pg_uuid_t *author;	/* change the item only if this user has
								 * written it; NULL: any user */
	PostLock   *lock;			/* the post lock of the item's post; NULL:
								 * leave the post's counts unchanged */
	bool		hide;			/* for comment_hide(): true to hide the
								 * comment, false to show it */
	BlogItem   *out;			/* for comment_hide(): receives the changed
								 * comment */
} Child;

/*
 * Initialize a Child. The arguments must live as long as the Child, which
 * points to them.
 *
 * other: the id of the comment or delta, or of the user who likes the post
 */
static void
child_init(Child *child, ItemType type, const pg_uuid_t *post_id,
		   const pg_uuid_t *other, const pg_uuid_t *author)
{
	child->key[type == ITEM_LIKE ? 1 : 0] = UUIDPGetDatum(post_id);
	child->key[type == ITEM_LIKE ? 0 : 1] = UUIDPGetDatum(other);
	child->query = (ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = child->key, .nkeys = 2, .identity = true
	};
	child->author = author;
	child->lock = NULL;
}

/*
 * Callback of post_part_lock(), which has locked the item's row: delete the
 * item, if child->author has written it.
 */
static ItemResult
delete_locked_child(ItemWriter *writer, const BlogItem *item, void *arg)
{
	const Child *child = arg;
	PostCountResult counted = POST_COUNTED;

	if (!item_is_by(item, child->author))
		return ITEM_NOT_FOUND;
	if (child->lock != NULL && !item_hidden(item))
		counted = post_count(child->lock, child_counts(child->query.type, -1));
	switch (counted)
	{
		case POST_COUNTED:
			item_writer_delete(writer);
			return ITEM_OK;
		case POST_UNSURE:
			return ITEM_LOCKED;
		case POST_GONE:
			break;
	}
	return ITEM_NOT_FOUND;
}

static ItemResult
hide_locked_comment(ItemWriter *writer, const BlogItem *item, void *arg)
{
	const Child *child = arg;
	BlogItem	comment = *item;
	PostCountResult counted = POST_COUNTED;

	if (item_hidden(item) != child->hide)
	{
		counted = post_count(child->lock,
							 child_counts(ITEM_COMMENT, child->hide ? -1 : 1));
		set_hidden(&comment, child->hide);
	}
	if (counted != POST_COUNTED)
		return counted == POST_UNSURE ? ITEM_LOCKED : ITEM_NOT_FOUND;
	if (item_hidden(item) != child->hide)
		item_writer_update(writer, &comment);
	item_copy(child->out, &comment);
	return ITEM_OK;
}

static ItemResult
delete_child(Child *child, LockWaitPolicy wait)
{
	return post_part_lock(&child->query, LockTupleExclusive, wait,
						  delete_locked_child, child);
}

/*
 * Delete a comment, like or delta without changing its post's counts. Returns
 * DELETE_NOT_FOUND if there is no such item.
 *
 * other: the id of the comment or delta, or of the user who likes the post
 * author: delete the item only if this user has written it; NULL: any user
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the item was changed
 * after the snapshot. Locks: the item's row, FOR UPDATE.
 */
DeleteResult
child_delete_uncounted(ItemType type, const pg_uuid_t *post_id,
					   const pg_uuid_t *other, const pg_uuid_t *author,
					   LockWaitPolicy wait)
{
	Child		child;

	child_init(&child, type, post_id, other, author);
	return delete_result(delete_child(&child, wait));
}

/*
 * Delete a comment or like, and subtract it from its post's counts. Returns
 * DELETE_NOT_FOUND if the item or the post does not exist. Items of users who
 * are being deleted, and items on their posts, are deleted, too.
 *
 * other: the id of the comment, or of the user who likes the post
 * author: delete the item only if this user has written it; NULL: any user
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the item or the post
 * was changed after the snapshot. Locks: the post lock, in share mode, until
 * the item is deleted; the item's row, FOR UPDATE.
 *
 * If another transaction has locked the item's row, that transaction may be
 * waiting for the post lock, to delete the post. To avoid a deadlock, the
 * function then releases the post lock, waits for the row, and begins again.
 */
DeleteResult
child_delete(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			 const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;
	PostLock	lock;
	ItemResult	result;

	child_init(&child, type, post_id, other, author);
	child.lock = &lock;
	post_lock_init(&lock, post_id);
	for (;;)
	{
		result = post_lock_shared(&lock, wait);
		if (result == ITEM_OK)
			result = delete_child(&child, LockWaitSkip);
		post_unlock(&lock);
		if (result != ITEM_LOCKED || wait != LockWaitBlock)
			return delete_result(result);
		CHECK_FOR_INTERRUPTS();
		item_await_free(&child.query);
	}
}

/*
 * Hide a comment, and subtract it from its post's counts; or show a hidden
 * comment, and add it to the counts. Returns ITEM_NOT_FOUND if the comment or
 * its post does not exist.
 *
 * comment: receives the changed comment, copied to the current memory context
 *
 * Locks, waits and errors are those of child_delete(), but the comment's row
 * is locked FOR NO KEY UPDATE.
 */
ItemResult
comment_hide(const pg_uuid_t *post_id, const pg_uuid_t *comment_id,
			 bool hidden, BlogItem *comment)
{
	Child		child;
	PostLock	lock;
	ItemResult	result;

	child_init(&child, ITEM_COMMENT, post_id, comment_id, NULL);
	child.lock = &lock;
	child.hide = hidden;
	child.out = comment;
	post_lock_init(&lock, post_id);
	for (;;)
	{
		result = post_lock_shared(&lock, LockWaitBlock);
		if (result == ITEM_OK)
			result = post_part_lock(&child.query, LockTupleNoKeyExclusive,
									LockWaitSkip, hide_locked_comment, &child);
		post_unlock(&lock);
		if (result != ITEM_LOCKED)
			return result;
		CHECK_FOR_INTERRUPTS();
		item_await_free(&child.query);
	}
}

/*
 * Delete a comment or like as child_delete() does, but also if its post does
 * not exist.
 */
DeleteResult
child_delete_anyway(ItemType type, const pg_uuid_t *post_id,
					const pg_uuid_t *other, const pg_uuid_t *author,
					LockWaitPolicy wait)
{
	DeleteResult result = child_delete(type, post_id, other, author, wait);

	return result != DELETE_NOT_FOUND ? result :
		child_delete_uncounted(type, post_id, other, author, wait);
}
