/*
 * post_children.c
 *		Writing and deleting comments and likes, and changing the counts of
 *		their posts.
 *
 * A comment or like is a child of its post. It is stored in the post's logical
 * partition. The transaction that writes a child adds it to the post's counts.
 * child_insert() does this in four steps:
 *
 *	1. Check that the post exists. Wait for a transaction that is deleting the
 *	   post.
 *	2. Open the leaf, read the author's name, and insert the child
 *	   speculatively. A deletion of the post does not wait for this.
 *	3. Before the insert is completed, take the post lock in share mode. If a
 *	   deleting transaction holds the post lock in exclusive mode, undo the
 *	   insert, wait for the lock, and begin again at step 1.
 *	4. Add the child to the post's counts, and release the post lock.
 *
 * So the inserting and the deleting transaction never wait for each other at
 * the same time. The head of post_counts/post_count.c explains the post lock
 * and the counts.
 *
 * A reply is also a child of the comment to which it replies, its parent. It
 * is counted there in the same way. Step 1 then checks the parent as well, and
 * step 3 takes the locks of both.
 *
 * Runs in backends, as the containers' owner.
 */
#include "postgres.h"

#include "base/worker_hooks.h"
#include "model/post_children.h"
#include "model/post_counts/post_counts.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"

typedef struct ChildInsert
{
	BlogItem   *child;
	ItemType	type;
	const pg_uuid_t *post_id;
	const pg_uuid_t *author;	/* the acting user; NULL: the caller may know
								 * of all hidden posts */
	PostLock	lock;
	bool		id_is_new;		/* whether blogstore has generated the id */
	bool		reply;			/* whether the child is a shown reply, which is
								 * counted on its parent too */
	PostLock	parent;			/* the lock of the parent of such a reply */
	bool		locked_out;		/* whether try_insert() undid its insert,
								 * because a deleting transaction holds one of
								 * the locks */

	/*
	 * stamp: a number that changes whenever the list of users being deleted
	 *	changes. It is read before require_post() checks the post's author. If
	 *	it changes later, the author must be checked again.
	 * stamped: false if "stamp" could not be read, because a transaction that
	 *	has changed the list was committing
	 */
	bool		stamped;
	uint64		stamp;
} ChildInsert;

/*
 * Return a query that finds a comment or like by its key.
 *
 * other: the id of the comment, or of the user who likes the post
 * key: room for two values, which the query points to
 */
static ItemQuery
child_query(ItemType type, const pg_uuid_t *post_id, Datum other, Datum *key)
{
	key[type == ITEM_LIKE ? 1 : 0] = UUIDPGetDatum(post_id);
	key[type == ITEM_LIKE ? 0 : 1] = other;
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = key, .nkeys = 2
	};
}

static bool
get_now(const ItemQuery *query, BlogItem *item)
{
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_get(query, item);
	PopActiveSnapshot();
	return found;
}

/*
 * Return whether the post exists and the acting user may know of it. Only the
 * post's author may know of a hidden post.
 *
 * author: the acting user; NULL: return true without a search for the post
 */
bool
author_knows_post(const pg_uuid_t *post_id, const pg_uuid_t *author)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	post;

	return author == NULL ||
		(get_now(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_POST, .partition_key = post_id,
			.path = PATH_KEY, .key = &key, .nkeys = 1
		}, &post) &&
		 (!item_hidden(&post) || item_is_by(&post, author)));
}

/*
 * Step 1 of child_insert(). Errors: 23503 if the post does not exist, or its
 * author is being deleted.
 */
static void
require_post(ChildInsert *insert)
{
	insert->stamped = worker_hooks.user_deletions(&insert->stamp);
	if (!post_find(&insert->lock) || post_author_being_deleted(insert->post_id))
		unknown_item(ITEM_POST, insert->post_id);
}

/*
 * Called for a comment or like on a hidden post. Throws an error unless the
 * comment or like exists already. If the comment or like exists, the client is
 * repeating a request from before the post was hidden. Errors: 23503, as for a
 * missing post, if the acting user may not know of the post; otherwise 23514.
 */
static void
require_repetition(const ChildInsert *insert)
{
	const BlogItem *child = insert->child;
	Property	other = insert->type == ITEM_LIKE ? PROP_USER_ID : PROP_ID;
	Datum		key[2];
	ItemQuery	query = child_query(insert->type, insert->post_id,
									child->value[other], key);
	BlogItem	there;

	if (!author_knows_post(insert->post_id, insert->author))
		unknown_item(ITEM_POST, insert->post_id);
	if (!get_now(&query, &there))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("post %s is hidden",
						DatumGetCString(DirectFunctionCall1(uuid_out,
															UUIDPGetDatum(insert->post_id)))),
				 errhint("Nobody can comment on it or like it before it is shown, by blogstore.publish_post() or hide_post(..., hidden => false)."),
				 err_fields(container_table(CONTAINER_POSTS), "post_id",
							RULE_POST_SHOWN)));
}

static void
unlock(ChildInsert *insert)
{
	if (insert->reply)
		post_unlock(&insert->parent);
	post_unlock(&insert->lock);
}

/*
 * Callback of item_writer_insert_if(): take the post lock in share mode, and
 * that of the parent (step 3 of child_insert()). Returns false, to undo the
 * insert, if a deleting transaction holds one of them.
 */
static bool
lock_post(void *arg)
{
	ChildInsert *insert = arg;

	insert->locked_out = !post_try_lock_shared(&insert->lock) ||
		(insert->reply && !post_try_lock_shared(&insert->parent));
	if (insert->locked_out)
		unlock(insert);
	return !insert->locked_out;
}

/*
 * Steps 2 and 3 of child_insert(). Returns false, with nothing written or
 * locked, if the comment or like exists already, or a deleting transaction
 * holds the post lock.
 */
static bool
try_insert(ChildInsert *insert)
{
	BlogItem   *child = insert->child;
	ItemWriter *writer;
	BlogItem	user;
	bool		inserted;

	insert->locked_out = false;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, insert->type, insert->post_id);
	need_user(item_uuid(child, PROP_USER_ID), &user);
	item_set(child, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
	inserted = item_writer_insert_if(writer, child, lock_post, insert);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Steps 1 to 3 of child_insert(), repeated while a deleting transaction holds
 * the post lock. Returns false, with nothing written or locked, if the comment
 * or like exists already. Errors: 23503 if the post does not exist; those of
 * require_repetition() if the post is hidden.
 */
static bool
insert_and_lock(ChildInsert *insert)
{
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (insert->type == ITEM_COMMENT &&
			check_reply(insert->child, insert->id_is_new,
						insert->author) != REPLY_ALLOWED)
			return false;
		require_post(insert);
		if (insert->lock.hidden)
		{
			require_repetition(insert);
			return false;
		}
		inserted = try_insert(insert);
		if (insert->locked_out)
			post_await_unlock(&insert->lock);
		if (insert->locked_out && insert->reply)
			post_await_unlock(&insert->parent);
	} while (insert->locked_out);
	return inserted;
}

/*
 * Return whether the list of users being deleted may have changed since
 * require_post() checked the post's author.
 */
static bool
deletions_since(const ChildInsert *insert)
{
	uint64		stamp;

	return !insert->stamped || !worker_hooks.user_deletions(&stamp) ||
		stamp != insert->stamp;
}

/*
 * Add "counts" to the counts of the post, or to those of the parent. If
 * another transaction may be deleting it, release all locks, and wait for that
 * transaction. Returns false if the item was deleted.
 */
static bool
count_on(ChildInsert *insert, PostLock *lock, PostCounts counts)
{
	if (post_count(lock, counts) == POST_COUNTED)
		return true;
	unlock(insert);
	return post_count_after_deletion(lock, counts) == POST_COUNTED;
}

/*
 * Add the comment or like to the counts of the post, and of the parent, and
 * release the locks: step 4 of child_insert(). Errors: 23503 if the post or
 * the parent was deleted meanwhile.
 *
 * A transaction that is deleting the parent is waited for first, before this
 * one has counted on the post: it may go on to delete the post.
 */
static void
count_and_unlock(ChildInsert *insert)
{
	const PostCounts one = child_counts(insert->type,
										item_hidden(insert->child) ? 0 : 1);
	bool		replies = true;

	if (insert->reply && !post_make_safe(&insert->parent))
	{
		unlock(insert);
		replies = post_await_deletion(&insert->parent);
	}
	if (replies && !count_on(insert, &insert->lock, one))
		unknown_item(ITEM_POST, insert->post_id);
	if (replies && insert->reply)
		replies = count_on(insert, &insert->parent, one);
	unlock(insert);
	if (!replies)
		unknown_parent(insert->child);
}

/*
 * Write a comment or like with its author's name, and add it to its post's
 * counts. Returns false, with nothing written, if the comment or like exists
 * already.
 *
 * id_is_new: whether blogstore has generated the id of the comment. An id that
 *		a client has chosen may be that of a deleted comment with replies.
 * author: the acting user; NULL: the caller may know of all hidden posts
 *
 * Errors: those of check_reply(); 23503 if the post, the parent or the user
 * does not exist; 23514 if the post is hidden; 40001. Locks: the post lock,
 * and that of the parent, in share mode, until the comment or like is added to
 * the counts.
 */
bool
child_insert(BlogItem *child, ItemType type, bool id_is_new,
			 const pg_uuid_t *author)
{
	ChildInsert insert = {
		.child = child, .type = type, .post_id = item_uuid(child, PROP_POST_ID),
		.id_is_new = id_is_new, .author = author,
		.reply = !child->isnull[PROP_PARENT_ID] && !item_hidden(child)
	};
	const CountedItem post = counted_post(insert.post_id);

	post_lock_init(&insert.lock, &post);
	if (insert.reply)
	{
		const CountedItem parent =
			counted_comment(insert.post_id, item_uuid(child, PROP_PARENT_ID));

		post_lock_init(&insert.parent, &parent);
	}
	if (!insert_and_lock(&insert))
		return false;
	/*
	 * The insert may have waited for a transaction that has deleted the post's
	 * author. So check the author again.
	 */
	if (deletions_since(&insert) && post_author_being_deleted(insert.post_id))
		unknown_item(ITEM_POST, insert.post_id);
	count_and_unlock(&insert);
	if (type == ITEM_COMMENT && !id_is_new)
	{
		const CountedItem comment =
			counted_comment(insert.post_id, item_uuid(child, PROP_ID));

		comment_count_anew(&comment);
	}
	return true;
}

/*
 * Return whether requests show a comment or like. Requests do not show it if
 * its author, or the author of its post, is being deleted.
 *
 * other: the id of the comment, or of the user who likes the post
 */
static bool
child_is_shown(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other)
{
	const DeletedUsers *deleted = deleted_users(GetActiveSnapshot());
	Datum		key[2];
	ItemQuery	query = child_query(type, post_id, UUIDPGetDatum(other), key);
	BlogItem	comment;

	if (deleted == NULL)
		return true;
	if (type == ITEM_LIKE ? deleted_has(deleted, other) :
		!item_get(&query, &comment) || deleted_has_author(deleted, &comment))
		return false;
	return !deleted_has_author_of_post(deleted, post_id);
}

/*
 * Delete a comment or like, and subtract it from its post's counts. Returns
 * false if there is no such comment or like, or requests do not show it
 * (child_is_shown()).
 *
 * other: the id of the comment, or of the user who likes the post
 * author: delete the item only if this user has written it; NULL: any user
 *
 * Errors: 40001, 55000. Locks: the post lock, in share mode, until the item is
 * deleted; the item's row, FOR UPDATE.
 */
bool
child_take_back(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
				const pg_uuid_t *author)
{
	bool		shown;

	PushActiveSnapshot(GetTransactionSnapshot());
	shown = child_is_shown(type, post_id, other);
	PopActiveSnapshot();
	return shown &&
		child_delete(type, post_id, other, author, LockWaitBlock) == DELETE_DONE;
}
