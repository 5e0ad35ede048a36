/*
 * child_deletion.c
 *		Deleting comments, likes and deltas, and having the post no longer count
 *		them; hiding comments, which a post does not count either.
 *
 * Who deletes an item because of whose it is has read that before the item is
 * locked. Meanwhile it may have been deleted, and its id given to an item of
 * another user's; so the author is told, and looked at under the lock.
 *
 * Runs in backends and in the worker, as the containers' owner.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"

/* A comment or a delta (other is its id), or a like (other is who likes). */
typedef struct Child
{
	ItemQuery	query;			/* what finds it */
	Datum		key[2];
	const pg_uuid_t *author;	/* whose it has to be; NULL: anybody's */
	PostLock   *lock;			/* of its post, which is sure to be there, and counts
								 * it no longer; NULL: no post's count changes */
	bool		hide;			/* comment_hide(): what it is to become */
	BlogItem   *out;			/* and what has become of it */
} Child;

/* A child; post_id, other and author must stay where they are as long as it does. */
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

/* Delete a child that is locked; a PostPartAct. */
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

/* Hide a comment that is locked, or show it; a PostPartAct. */
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

/* Lock a child and delete it, if it is by its author; else ITEM_NOT_FOUND. */
static ItemResult
delete_child(Child *child, LockWaitPolicy wait)
{
	return post_part_lock(&child->query, LockTupleExclusive, wait,
						  delete_locked_child, child);
}

/* Delete a child; no post's count changes. */
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
 * Hide a comment, or show it again, and have its post count it accordingly; *comment is
 * what it is then, in the current memory context. ITEM_NOT_FOUND: there is none, or no
 * post. Locks and waits: as child_delete(), the comment FOR NO KEY UPDATE.
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

/* Delete a child, and have its post, if there is one, no longer count it. */
DeleteResult
child_delete_anyway(ItemType type, const pg_uuid_t *post_id,
					const pg_uuid_t *other, const pg_uuid_t *author,
					LockWaitPolicy wait)
{
	DeleteResult result = child_delete(type, post_id, other, author, wait);

	return result != DELETE_NOT_FOUND ? result :
		child_delete_uncounted(type, post_id, other, author, wait);
}
