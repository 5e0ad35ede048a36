/*
 * child_deletion.c
 *		Deleting comments, likes and deltas, hiding comments, and giving a
 *		comment another parent.
 *
 * Most functions also change the counts of the items on which the comment or
 * like counts (count_locks.c).
 *
 * These functions take the locks of these items in share mode. A deletion of a
 * comment also takes the comment's own lock in exclusive mode, so that no
 * other transaction counts a reply or like on it. While a function holds one
 * of these locks, it waits neither for another nor for the row of the comment
 * or like. Waiting could be a deadlock: for example, a transaction that has
 * locked the row may be waiting for the post lock, in order to delete the
 * post. Instead, the function releases all locks, waits for the other
 * transaction, and begins again.
 *
 * A comment's likes and deltas are deleted with it. Replies stay when their
 * parent is deleted.
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

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/*
 * How many times the deletion of a comment waits, without the comment's lock,
 * for transactions that have counted on the comment. After that, it waits with
 * the lock, so that no further transaction can count on the comment.
 */
#define TRIES_TO_LOCK 10

/* What is done to a comment or like. */
typedef enum ChildAct
{
	CHILD_DELETE,
	CHILD_STRIP,				/* delete some of a comment's likes */
	CHILD_HIDE,					/* hide a comment, or show it */
	CHILD_MOVE					/* give a comment another parent */
} ChildAct;

/*
 * A comment or like that will be deleted, or a comment that will be hidden,
 * shown or moved.
 */
typedef struct Child
{
	ChildAct	act;
	ChildKey	id;
	ItemQuery	query;			/* finds the item; points to "id" and "key" */
	Datum		key[CHILD_KEYS];
	const pg_uuid_t *author;	/* user who must have written the item; NULL:
								 * any user */
	bool		counted;		/* false to leave all counts unchanged */
	CountLocks	locks;
	bool		locks_own;		/* whether the lock "own" is needed */
	CountLock	own;			/* for a comment: its own lock */
	int			tries;
	bool		hide;			/* for CHILD_HIDE: true to hide the comment,
								 * false to show it */
	BlogItem   *out;			/* for CHILD_HIDE: receives the changed
								 * comment */
	const pg_uuid_t *parent_id; /* for CHILD_MOVE: the new parent */
	int64		limit;			/* for CHILD_STRIP: the largest number of
								 * likes to delete */
	int64		deleted;		/* for CHILD_STRIP: the number of deleted
								 * likes */
	bool		busy;			/* for CHILD_STRIP: whether a like was not
								 * deleted, because another transaction has
								 * locked its row */
} Child;

/* Initialize a Child, which keeps the pointer "author". */
static void
child_init(Child *child, ChildAct act, const ChildKey *key,
		   const pg_uuid_t *author)
{
	memset(child, 0, sizeof(*child));
	child->act = act;
	child->id = *key;
	child->query = child_query(&child->id, child->key);
	child->query.identity = true;
	child->author = author;
	child->counted = true;
	if (key->type == ITEM_COMMENT)
	{
		const CountedItem comment =
			counted_comment(&key->post_id, &key->comment_id);

		post_lock_init(&child->own, &comment);
		child->locks_own = act == CHILD_DELETE || act == CHILD_STRIP;
	}
}

/* ------------------------------------------------------------------------
 * The locks that are needed
 * ------------------------------------------------------------------------ */

/*
 * Return the item as it will be after the change; NULL if it will be deleted.
 *
 * after: memory for the result
 */
static const BlogItem *
item_after(const Child *child, const BlogItem *item, BlogItem *after)
{
	*after = *item;
	switch (child->act)
	{
		case CHILD_DELETE:
			return NULL;
		case CHILD_STRIP:
			break;
		case CHILD_HIDE:
			if (item_hidden(item) != child->hide)
				set_hidden(after, child->hide);
			break;
		case CHILD_MOVE:
			item_set(after, PROP_PARENT_ID, UUIDPGetDatum(child->parent_id));
			break;
	}
	return after;
}

/*
 * Make a comment or like that has only the ids of its post and of the comment
 * that it likes.
 */
static void
item_of_key(BlogItem *item, const ChildKey *key)
{
	item_init(item, key->type);
	item_set(item, PROP_POST_ID, UUIDPGetDatum(&key->post_id));
	if (key->type == ITEM_COMMENT_LIKE)
		item_set(item, PROP_COMMENT_ID, UUIDPGetDatum(&key->comment_id));
}

/*
 * Set child->locks to the locks that are needed. The key of a like names the
 * items on which it counts. A comment's parent is read with the transaction's
 * snapshot, and may change before the comment's row is locked. To delete only
 * likes of a comment, the post lock and the comment's own lock are enough.
 */
static void
plan_locks(Child *child)
{
	ItemQuery	query = child->query;
	BlogItem	item;
	BlogItem	after;
	ItemScan   *scan = NULL;

	if (child->act == CHILD_STRIP)
	{
		count_locks_plan_post(&child->locks, &child->id.post_id);
		return;
	}
	item_of_key(&item, &child->id);
	if (child->id.type == ITEM_COMMENT)
	{
		BlogItem	comment;

		query.no_predicate_locks = true;
		PushActiveSnapshot(GetTransactionSnapshot());
		scan = item_scan_begin(&query);
		if (item_scan_next(scan, &comment))
			item = comment;
	}
	count_locks_plan(&child->locks, child->id.type, &item,
					 item_after(child, &item, &after));
	if (scan != NULL)
	{
		item_scan_end(scan);
		PopActiveSnapshot();
	}
}

/* ------------------------------------------------------------------------
 * Acts on a locked row
 * ------------------------------------------------------------------------ */

/*
 * Delete some likes of a comment, and subtract them from its counts. The
 * caller holds the comment's own lock in exclusive mode, and has locked its
 * row.
 */
static void
strip_comment(Child *child)
{
	child->own.safe = true;
	child->deleted = children_delete_some(&child->own, LockWaitSkip,
										  child->limit, &child->busy);
}

/*
 * Write a delta with amounts of zero, which keeps other transactions from
 * deleting the post before this one ends. This transaction has locked the
 * child's row. Without the delta, a deletion of the post could wait for this
 * row, and this transaction for the deletion.
 */
static void
keep_post(Child *child)
{
	if (child->counted)
		post_count(&child->locks.lock[0], (ItemCounts) {0, 0});
}

/*
 * Callback of post_part_lock(), which has locked the row of an item: change or
 * delete the item, and change counts. Leaves the item unchanged, and returns
 * ITEM_NOT_FOUND, if another user than child->author has written it. Leaves
 * it, and returns ITEM_LOCKED, if locks are needed that are not in
 * child->locks.
 */
static ItemResult
act_on_locked(ItemWriter *writer, const BlogItem *item, void *arg)
{
	Child	   *child = arg;
	BlogItem	after;
	const BlogItem *then = item_after(child, item, &after);

	if (!item_is_by(item, child->author))
	{
		keep_post(child);
		return ITEM_NOT_FOUND;
	}
	if (child->counted && child->act != CHILD_STRIP &&
		!count_locks_replan(&child->locks, child->id.type, item, then))
	{
		keep_post(child);
		return ITEM_LOCKED;
	}
	switch (child->act)
	{
		case CHILD_DELETE:
			if (child->counted)
				count_locks_count(&child->locks);
			item_writer_delete(writer);
			break;
		case CHILD_STRIP:
			keep_post(child);
			strip_comment(child);
			break;
		case CHILD_HIDE:
		case CHILD_MOVE:
			count_locks_count(&child->locks);
			if (!item_same(item, then, PROP_HIDDEN) ||
				!item_same(item, then, PROP_PARENT_ID))
				item_writer_update(writer, then);
			if (child->out != NULL)
				item_copy(child->out, then);
			break;
	}
	return ITEM_OK;
}

static ItemResult
act_on_row(Child *child, LockWaitPolicy wait)
{
	return post_part_lock(&child->query, child->act == CHILD_DELETE ?
						  LockTupleExclusive : LockTupleNoKeyExclusive, wait,
						  act_on_locked, child);
}

/* ------------------------------------------------------------------------
 * Taking the locks
 * ------------------------------------------------------------------------ */

/* Take the locks of the items on which the child counts. */
static ItemResult
lock_counts(Child *child)
{
	switch (count_locks_try(&child->locks))
	{
		case LOCKS_TAKEN:
			return ITEM_OK;
		case LOCKS_BUSY:
			return ITEM_LOCKED;
		case LOCKS_GONE:
			break;
	}
	post_check_deleted(&child->locks.lock[0]);
	return ITEM_NOT_FOUND;
}

/*
 * Try once to take all locks and to change the item, without waiting for one
 * lock while holding another. Returns ITEM_LOCKED if another transaction was
 * in the way. Releases all locks but the row lock.
 */
static ItemResult
try_act(Child *child, LockWaitPolicy wait)
{
	ItemResult	result;

	plan_locks(child);
	/* Wait only for this lock: the function holds no other lock yet. */
	if (child->locks_own && wait == LockWaitBlock &&
		child->tries >= TRIES_TO_LOCK)
		(void) post_hold_exclusive(&child->own, LockWaitBlock, LockWaitBlock);
	result = lock_counts(child);
	if (result == ITEM_OK && child->locks_own && !child->own.locked &&
		!post_hold_exclusive(&child->own, LockWaitSkip, LockWaitSkip))
		result = ITEM_LOCKED;
	if (result == ITEM_OK)
		result = act_on_row(child, LockWaitSkip);
	post_unlock(&child->own);
	count_locks_release(&child->locks);
	return result;
}

/*
 * Called when try_act() has returned ITEM_LOCKED, and no lock is held: wait
 * for the transactions that may have been in the way.
 */
static void
await_act(Child *child)
{
	CHECK_FOR_INTERRUPTS();
	child->tries++;
	count_locks_await(&child->locks);
	if (child->locks_own)
		post_await_counting(&child->own);
	item_await_free(&child->query);
}

/*
 * Delete, hide, show or move a comment or like, and change the counts. Returns
 * ITEM_LOCKED if the function would have to wait and "wait" is not
 * LockWaitBlock.
 */
static ItemResult
act_on_child(Child *child, LockWaitPolicy wait)
{
	ItemResult	result;

	for (;;)
	{
		result = try_act(child, wait);
		if (result != ITEM_LOCKED || wait != LockWaitBlock)
			return result;
		await_act(child);
	}
}

/* ------------------------------------------------------------------------
 * The functions
 * ------------------------------------------------------------------------ */

/* Delete the likes and deltas of a comment that was deleted. */
static DeleteResult
end_deletion(Child *child, ItemResult result)
{
	if (result == ITEM_OK && child->id.type == ITEM_COMMENT)
		children_delete(&child->own.item);
	return delete_result(result);
}

/*
 * Delete a comment or like, and subtract it from the counts of the items on
 * which it counts. A comment's likes and deltas are deleted too; the replies
 * to it stay. Returns DELETE_NOT_FOUND if there is no such item or no such
 * post. Items and posts of users who are being deleted are found too.
 *
 * author: user who must have written the item; NULL: any user.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the item, one of its
 * likes or the post was changed after the snapshot. Locks: the item's
 * row, FOR UPDATE. While the function runs, also the locks of the items on
 * which the item counts, in share mode, and a comment's own lock, in exclusive
 * mode.
 */
DeleteResult
child_delete(const ChildKey *key, const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;

	child_init(&child, CHILD_DELETE, key, author);
	return end_deletion(&child, act_on_child(&child, wait));
}

/*
 * Delete a comment or like without changing counts. Returns DELETE_NOT_FOUND
 * if there is no such item.
 */
static DeleteResult
delete_uncounted(const ChildKey *key, const pg_uuid_t *author,
				 LockWaitPolicy wait)
{
	Child		child;

	child_init(&child, CHILD_DELETE, key, author);
	child.counted = false;
	return end_deletion(&child, act_on_row(&child, wait));
}

/*
 * Delete a comment or like as child_delete() does, but also if its post does
 * not exist.
 */
DeleteResult
child_delete_anyway(const ChildKey *key, const pg_uuid_t *author,
					LockWaitPolicy wait)
{
	DeleteResult result = child_delete(key, author, wait);

	return result != DELETE_NOT_FOUND ? result :
		delete_uncounted(key, author, wait);
}

static bool
has_likes(const CountedItem *comment)
{
	Datum		key[2];
	ItemQuery	query = likes_query(comment, key);
	BlogItem	like;
	bool		any;

	PushActiveSnapshot(GetTransactionSnapshot());
	any = item_get(&query, &like);
	PopActiveSnapshot();
	return any;
}

/*
 * Do one step of deleting a comment or like, as child_delete_anyway() does. A
 * step deletes some of a comment's likes, and subtracts them from its counts.
 * The last step deletes the comment.
 *
 * limit: how many likes a step deletes; 0: all
 * children: the number of deleted likes is added to this
 *
 * Returns DELETE_MORE if the limit was reached. Other results, errors and
 * locks are those of child_delete(), but a comment's row is locked FOR NO KEY
 * UPDATE until the last step.
 */
DeleteResult
child_delete_in_steps(const ChildKey *key, const pg_uuid_t *author,
					  LockWaitPolicy wait, int64 limit, int64 *children)
{
	const CountedItem comment = counted_comment(&key->post_id,
												&key->comment_id);
	Child		child;
	ItemResult	result;

	if (key->type != ITEM_COMMENT || limit == 0 || !has_likes(&comment))
		return child_delete_anyway(key, author, wait);
	child_init(&child, CHILD_STRIP, key, author);
	child.limit = limit;
	result = act_on_child(&child, wait);
	*children += child.deleted;
	if (result == ITEM_OK && child.deleted >= limit)
		return DELETE_MORE;
	if (result == ITEM_LOCKED || child.busy)
		return DELETE_LOCKED;
	return child_delete_anyway(key, author, wait);
}

/*
 * Hide a comment, and subtract it from the counts of its post and its parent;
 * or show a hidden comment, and add it to the counts. Returns ITEM_NOT_FOUND
 * if the comment or its post does not exist.
 *
 * comment: receives the changed comment, copied to the current memory context.
 *
 * Waits and errors are those of child_delete(). Locks: the locks of the post
 * and of the parent, in share mode, until the counts are changed; the
 * comment's row, FOR NO KEY UPDATE.
 */
ItemResult
comment_hide(const pg_uuid_t *post_id, const pg_uuid_t *comment_id,
			 bool hidden, BlogItem *comment)
{
	const ChildKey key = {ITEM_COMMENT, *post_id, *comment_id};
	Child		child;

	child_init(&child, CHILD_HIDE, &key, NULL);
	child.hide = hidden;
	child.out = comment;
	return act_on_child(&child, LockWaitBlock);
}

/*
 * Give a comment another parent, and change the counts of both parents. The
 * new parent need not exist. Returns ITEM_NOT_FOUND if the comment or its post
 * does not exist. Waits, errors and locks are those of comment_hide().
 */
ItemResult
comment_set_parent(const pg_uuid_t *post_id, const pg_uuid_t *comment_id,
				   const pg_uuid_t *parent_id)
{
	const ChildKey key = {ITEM_COMMENT, *post_id, *comment_id};
	Child		child;

	child_init(&child, CHILD_MOVE, &key, NULL);
	child.parent_id = parent_id;
	return act_on_child(&child, LockWaitBlock);
}

static ItemResult
delete_locked_delta(ItemWriter *writer, const BlogItem *delta, void *arg)
{
	item_writer_delete(writer);
	return ITEM_OK;
}

/*
 * Delete one delta of a post or comment that does not exist. Waits for a
 * transaction that has locked the delta. Returns DELETE_NOT_FOUND if there is
 * no such delta.
 */
DeleteResult
delta_delete(const CountedItem *item, const pg_uuid_t *delta_id)
{
	Datum		key[DELTA_KEYS];
	ItemQuery	query = one_delta_query(item, delta_id, key);

	return delete_result(post_part_lock(&query, LockTupleExclusive,
										LockWaitBlock, delete_locked_delta,
										NULL));
}
