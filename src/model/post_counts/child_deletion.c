/*
 * child_deletion.c
 *		Deleting comments, likes and deltas, hiding comments, and giving a
 *		comment another parent.
 *
 * Most functions also change the counts of the post, and of the comment to
 * which a reply replies (the parent).
 *
 * A function needs up to three locks (post_count.c): those of the post and of
 * the parent in share mode, because it counts on them; and to delete a
 * comment, that comment's own lock in exclusive mode, because other
 * transactions may be counting replies to it. It waits for none of them, nor
 * for the row of the comment or like, while it holds another. Waiting could be
 * a deadlock: for example, a transaction that has locked the row may be
 * waiting for the post lock, in order to delete the post. Instead, the
 * function releases all locks, waits for what was in the way, and begins
 * again. If a transaction is deleting the parent, or making a comment with the
 * parent's id, the function waits for its outcome, because only then is it
 * known whether the parent has a count to change.
 *
 * Replies stay when their parent is deleted. If there is no parent, only the
 * post's counts are changed.
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
 * How many times the deletion of a comment waits for transactions that have
 * counted on the comment without holding its lock. After that it holds the
 * lock while it waits, so that no further transaction can count on it.
 */
#define TRIES_TO_LOCK 10

/* What is done to a comment or like. */
typedef enum ChildAct
{
	CHILD_DELETE,
	CHILD_HIDE,					/* hide a comment, or show it */
	CHILD_MOVE					/* give a comment another parent */
} ChildAct;

/*
 * What is known of the parent of a reply, to whose counts the function adds.
 */
typedef struct Parent
{
	bool		any;			/* whether the comment has this parent */
	bool		counts;			/* whether the parent exists, and is locked in
								 * share mode or cannot be deleted */
	bool		in_the_way;		/* whether another transaction is deleting or
								 * making the parent */
	PostLock	lock;
} Parent;

/*
 * A comment or like that will be deleted, or a comment that will be hidden,
 * shown or moved.
 */
typedef struct Child
{
	ChildAct	act;
	ItemQuery	query;
	Datum		key[2];
	const pg_uuid_t *author;	/* user who must have written the item; NULL:
								 * any user */
	bool		counted;		/* whether to change the counts of the post and
								 * of the parent */
	PostLock	post;
	Parent		parent;
	Parent		next;			/* for CHILD_MOVE: the new parent */
	bool		locks_own;		/* whether "own" is needed, to delete a
								 * comment */
	PostLock	own;			/* the lock of the comment itself */
	int			tries;
	bool		hide;			/* for CHILD_HIDE: true to hide the comment,
								 * false to show it */
	BlogItem   *out;			/* for CHILD_HIDE: receives the changed
								 * comment */
} Child;

/*
 * Initialize a Child. It points to post_id, other and author, which must live
 * as long as the Child.
 *
 * other: the id of the comment, or the user of the like.
 */
static void
child_init(Child *child, ItemType type, const pg_uuid_t *post_id,
		   const pg_uuid_t *other, const pg_uuid_t *author)
{
	const CountedItem post = counted_post(post_id);

	memset(child, 0, sizeof(*child));
	child->key[type == ITEM_LIKE ? 1 : 0] = UUIDPGetDatum(post_id);
	child->key[type == ITEM_LIKE ? 0 : 1] = UUIDPGetDatum(other);
	child->query = (ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = child->key, .nkeys = 2, .identity = true
	};
	child->author = author;
	child->counted = true;
	post_lock_init(&child->post, &post);
	if (type == ITEM_COMMENT)
	{
		const CountedItem comment = counted_comment(post_id, other);

		post_lock_init(&child->own, &comment);
	}
}

/* ------------------------------------------------------------------------
 * The parent
 * ------------------------------------------------------------------------ */

/* Set *parent to the given comment; NULL: no parent. */
static void
parent_set(Parent *parent, const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	CountedItem item;

	parent->any = id != NULL;
	if (id == NULL)
		return;
	item = counted_comment(post_id, id);
	post_lock_init(&parent->lock, &item);
}

/*
 * Read which parent a comment has, as the transaction's snapshot shows it. It
 * may be changed before the comment's row is locked.
 */
static void
parent_read(Child *child)
{
	ItemQuery	query = child->query;
	BlogItem	comment;
	ItemScan   *scan;
	bool		found;

	query.no_predicate_locks = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	found = item_scan_next(scan, &comment);
	parent_set(&child->parent, child->query.partition_key,
			   found ? counted_parent(&comment) : NULL);
	item_scan_end(scan);
	PopActiveSnapshot();
}

/* Return whether the locked comment has the parent that was locked. */
static bool
parent_is(const Parent *parent, const BlogItem *comment)
{
	const pg_uuid_t *id = counted_parent(comment);

	if (id == NULL)
		return !parent->any;
	return parent->any &&
		memcmp(id, &parent->lock.item.item_id, UUID_LEN) == 0;
}

/*
 * Take the parent's lock in share mode, without waiting, and find out whether
 * the parent exists. Returns false if another transaction is deleting or
 * making it.
 */
static bool
parent_try_lock(Parent *parent)
{
	Datum		key[2];
	ItemQuery	row = counted_query(&parent->lock.item, key);

	parent->counts = parent->in_the_way = false;
	if (!parent->any)
		return true;
	parent->counts = post_try_lock_shared(&parent->lock) &&
		post_make_safe(&parent->lock);
	/*
	 * No transaction can begin to delete the parent while it is locked. So it
	 * is gone, unless its deletion or insertion is under way.
	 */
	if (!parent->counts)
		parent->in_the_way = !parent->lock.locked ||
			item_written_elsewhere(&row);
	return !parent->in_the_way;
}

/*
 * Wait until parent_try_lock() can succeed. The caller holds no lock. The
 * function does not lock the parent's row, because a deletion of the post
 * would then wait for this transaction, which may have to wait for the post.
 */
static void
parent_await(Parent *parent)
{
	Datum		key[2];
	ItemQuery	row = counted_query(&parent->lock.item, key);

	if (!parent->in_the_way)
		return;
	post_await_unlock(&parent->lock);
	item_await_free(&row);
}

static void
parent_count(Parent *parent, int64 n)
{
	if (parent->counts)
		(void) post_count(&parent->lock, child_counts(ITEM_COMMENT, n));
}

/*
 * Add n replies to the counts of a comment, if it exists. The caller has
 * written them. Waits for a transaction that is deleting or making the
 * comment.
 */
void
comment_count_replies(const CountedItem *comment, int64 n)
{
	Parent		parent = {.any = false};

	parent_set(&parent, &comment->post_id, &comment->item_id);
	while (!parent_try_lock(&parent))
	{
		post_unlock(&parent.lock);
		CHECK_FOR_INTERRUPTS();
		parent_await(&parent);
	}
	parent_count(&parent, n);
	post_unlock(&parent.lock);
}

/* ------------------------------------------------------------------------
 * Acts on a locked row
 * ------------------------------------------------------------------------ */

/*
 * Add n to the counts of the post, and to those of the parent if the child is
 * a reply. If n is 0, the post still gets a delta, which keeps other
 * transactions from deleting it before this one ends.
 */
static PostCountResult
count_child(Child *child, int64 n)
{
	PostCountResult counted;

	if (!child->counted)
		return POST_COUNTED;
	counted = post_count(&child->post, child_counts(child->query.type, n));
	if (counted == POST_COUNTED && n != 0)
		parent_count(&child->parent, n);
	return counted;
}

/*
 * Callback of post_part_lock(), which has locked the row of an item: delete
 * the item. Leaves the item if child->author is another user than the item's
 * author.
 */
static ItemResult
delete_locked_child(ItemWriter *writer, const BlogItem *item, void *arg)
{
	Child	   *child = arg;

	if (!item_is_by(item, child->author))
		return ITEM_NOT_FOUND;
	if (child->counted && !parent_is(&child->parent, item))
		return ITEM_LOCKED;
	switch (count_child(child, item_hidden(item) ? 0 : -1))
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

/*
 * Callback of post_part_lock(), which has locked the row of a comment: hide
 * the comment if child->hide is true; show it if child->hide is false.
 */
static ItemResult
hide_locked_comment(ItemWriter *writer, const BlogItem *item, void *arg)
{
	Child	   *child = arg;
	BlogItem	comment = *item;
	PostCountResult counted = POST_COUNTED;

	if (!parent_is(&child->parent, item))
		return ITEM_LOCKED;
	if (item_hidden(item) != child->hide)
	{
		counted = count_child(child, child->hide ? -1 : 1);
		set_hidden(&comment, child->hide);
	}
	if (counted != POST_COUNTED)
		return counted == POST_UNSURE ? ITEM_LOCKED : ITEM_NOT_FOUND;
	if (item_hidden(item) != child->hide)
		item_writer_update(writer, &comment);
	item_copy(child->out, &comment);
	return ITEM_OK;
}

/*
 * Callback of post_part_lock(), which has locked the row of a comment: give it
 * the parent child->next.
 */
static ItemResult
move_locked_comment(ItemWriter *writer, const BlogItem *item, void *arg)
{
	Child	   *child = arg;
	BlogItem	comment = *item;

	if (!parent_is(&child->parent, item))
		return ITEM_LOCKED;
	if (parent_is(&child->next, item))
		return ITEM_OK;
	if (!item_hidden(item))
	{
		parent_count(&child->parent, -1);
		parent_count(&child->next, 1);
	}
	item_set(&comment, PROP_PARENT_ID,
			 UUIDPGetDatum(&child->next.lock.item.item_id));
	item_writer_update(writer, &comment);
	return ITEM_OK;
}

static ItemResult
act_on_row(Child *child, LockWaitPolicy wait)
{
	switch (child->act)
	{
		case CHILD_DELETE:
			return post_part_lock(&child->query, LockTupleExclusive, wait,
								  delete_locked_child, child);
		case CHILD_HIDE:
			return post_part_lock(&child->query, LockTupleNoKeyExclusive, wait,
								  hide_locked_comment, child);
		case CHILD_MOVE:
			break;
	}
	return post_part_lock(&child->query, LockTupleNoKeyExclusive, wait,
						  move_locked_comment, child);
}

/* ------------------------------------------------------------------------
 * Taking the locks
 * ------------------------------------------------------------------------ */

/*
 * Take the locks, without waiting for one while another is held, and act on
 * the row. Returns ITEM_LOCKED if something was in the way. All locks are
 * released when the function returns.
 */
static ItemResult
try_act(Child *child, LockWaitPolicy wait)
{
	ItemResult	result;

	if (child->query.type == ITEM_COMMENT)
		parent_read(child);
	/* the only lock for which the function may wait, because it comes first */
	if (child->locks_own && wait == LockWaitBlock &&
		child->tries >= TRIES_TO_LOCK)
	{
		(void) post_hold_exclusive(&child->own, LockWaitBlock, LockWaitBlock);
		wait = LockWaitSkip;
	}
	result = post_lock_shared(&child->post, wait);
	if (result == ITEM_OK &&
		(!parent_try_lock(&child->parent) || !parent_try_lock(&child->next)))
		result = ITEM_LOCKED;
	if (result == ITEM_OK && child->locks_own && !child->own.locked &&
		!post_hold_exclusive(&child->own, LockWaitSkip, LockWaitSkip))
		result = ITEM_LOCKED;
	if (result == ITEM_OK)
		result = act_on_row(child, LockWaitSkip);
	post_unlock(&child->own);
	post_unlock(&child->next.lock);
	post_unlock(&child->parent.lock);
	post_unlock(&child->post);
	return result;
}

/* Wait for what may have been in the way of try_act(). No lock is held. */
static void
await_act(Child *child)
{
	Datum		key = UUIDPGetDatum(child->query.partition_key);
	ItemQuery	post = post_query(&key);
	bool		hidden;

	CHECK_FOR_INTERRUPTS();
	child->tries++;
	post_await_unlock(&child->post);
	if (item_look(&post, &hidden) == ITEM_DELETING)
		item_await_free(&post);
	parent_await(&child->parent);
	parent_await(&child->next);
	if (child->locks_own)
		post_await_counting(&child->own);
	item_await_free(&child->query);
}

/*
 * Act on a comment or like, and change the counts. Returns ITEM_LOCKED if the
 * function would have to wait and "wait" is not LockWaitBlock.
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

/*
 * Delete a comment or like without changing the counts of its post and its
 * parent. Returns DELETE_NOT_FOUND if there is no such item.
 *
 * other: the id of the comment, or the user of the like.
 * author: user who must have written the item; NULL: any user.
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
	ItemResult	result;

	child_init(&child, type, post_id, other, author);
	child.counted = false;
	result = act_on_row(&child, wait);
	if (result == ITEM_OK && type == ITEM_COMMENT)
		deltas_delete(&child.own.item);
	return delete_result(result);
}

/*
 * Delete a comment or like, and subtract it from the counts of its post, and a
 * reply also from those of its parent. A comment's deltas are deleted too; the
 * replies to it stay. Returns DELETE_NOT_FOUND if there is no such item or no
 * such post. Items and posts of users who are being deleted are found too.
 *
 * other: the id of the comment, or the user of the like.
 * author: user who must have written the item; NULL: any user.
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the item, its parent
 * or the post was changed after the snapshot. Locks: the locks of the post and
 * of the parent, in share mode, and of a comment also its own lock, in
 * exclusive mode, until the item is deleted; the item's row, FOR UPDATE.
 */
DeleteResult
child_delete(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			 const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;
	ItemResult	result;

	child_init(&child, type, post_id, other, author);
	child.locks_own = type == ITEM_COMMENT;
	result = act_on_child(&child, wait);
	if (result == ITEM_OK && type == ITEM_COMMENT)
		deltas_delete(&child.own.item);
	return delete_result(result);
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
	Child		child;

	child_init(&child, ITEM_COMMENT, post_id, comment_id, NULL);
	child.act = CHILD_HIDE;
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
	Child		child;

	child_init(&child, ITEM_COMMENT, post_id, comment_id, NULL);
	child.act = CHILD_MOVE;
	parent_set(&child.next, post_id, parent_id);
	return act_on_child(&child, LockWaitBlock);
}

/*
 * Delete a comment or like as child_delete() does. If its post does not exist,
 * child_delete() would return DELETE_NOT_FOUND, but this function deletes the
 * comment or like nevertheless.
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

static ItemResult
delete_locked_delta(ItemWriter *writer, const BlogItem *delta, void *arg)
{
	item_writer_delete(writer);
	return ITEM_OK;
}

/*
 * Delete one delta, whose item does not exist. Waits for a transaction that
 * has locked it. Returns DELETE_NOT_FOUND if there is no such delta.
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
