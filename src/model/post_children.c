/*
 * post_children.c
 *		Writing and deleting comments and likes, and changing the counts of
 *		their posts.
 *
 * A comment or like is a child of its post. It is stored in the post's logical
 * partition. child_insert() writes a child, and adds it to the post's counts,
 * in four steps:
 *
 *	1. Check that the post exists. Wait for a transaction that is deleting the
 *	   post.
 *	2. Open the leaf, read the author's name, and insert the child
 *	   speculatively. A deletion of the post does not wait for this.
 *	3. Before the insert is completed, take the post lock in share mode, and
 *	   check that the post still exists. If a transaction is deleting the post,
 *	   undo the insert, wait for that transaction, and begin again at step 1.
 *	4. Add the child to the post's counts, and release the post lock.
 *
 * So the inserting and the deleting transaction never wait for each other at
 * the same time. The head of post_counts/post_count.c explains the post lock
 * and the counts.
 *
 * A reply is also a child of the comment to which it replies, its parent, and
 * counts on the post and on the parent. A like of a comment counts only on the
 * comment. For such children, step 1 also checks the comment, and step 3 also
 * takes the comment's lock (post_counts/count_locks.c).
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
#include "utils/snapmgr.h"

typedef struct ChildInsert
{
	BlogItem   *child;
	ItemType	type;
	const pg_uuid_t *post_id;
	const pg_uuid_t *author;	/* the signed-in user; NULL: the caller may see
								 * all hidden posts */
	bool		id_is_new;		/* whether blogstore has generated the id */
	CountLocks	locks;			/* locks of the post (the first) and of the
								 * comment on which the child counts */
	bool		locked_out;		/* whether try_insert() undid its insert,
								 * because another transaction is deleting the
								 * post or comment */

	/*
	 * stamp: a number that changes with the list of users being deleted. It is
	 *	read before require_post() checks the post's author. If it has changed
	 *	after the insert, the author is checked again.
	 * stamped: false if "stamp" could not be read, because a transaction that
	 *	has changed the list was committing
	 */
	bool		stamped;
	uint64		stamp;
} ChildInsert;

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
 * Return whether the post exists and is not hidden from the signed-in user. A
 * hidden post is hidden from all users except its author.
 *
 * author: the signed-in user; NULL: return true without a search for the post
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
	if (!post_find(&insert->locks.lock[0]) ||
		post_author_being_deleted(insert->post_id))
		unknown_item(ITEM_POST, insert->post_id);
}

/*
 * Called for a comment or like on a hidden post. Raises an error if the
 * comment or like is new. If it exists already, the client is repeating a
 * request from before the post was hidden.
 *
 * Errors: 23514. If the post is hidden from the signed-in user, 23503, as for
 * a missing post.
 */
static void
require_repetition(const ChildInsert *insert)
{
	const ChildKey key = child_key(insert->type, insert->child);
	Datum		value[CHILD_KEYS];
	ItemQuery	query = child_query(&key, value);
	BlogItem	there;

	if (!author_knows_post(insert->post_id, insert->author))
		unknown_item(ITEM_POST, insert->post_id);
	if (!get_now(&query, &there))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("post %s is hidden", id_text(insert->post_id)),
				 errhint("Nobody can comment on it or like it before it is shown, by blogstore.publish_post() or hide_post(..., hidden => false)."),
				 err_fields(container_table(CONTAINER_POSTS), "post_id",
							RULE_POST_SHOWN)));
}

/*
 * Callback of item_writer_insert_if(): take the locks of the post, and of the
 * comment on which the child counts, in share mode (step 3 of child_insert()).
 * Returns false, to undo the insert, if the post or comment does not exist, or
 * another transaction may be deleting it.
 */
static bool
lock_post(void *arg)
{
	ChildInsert *insert = arg;

	insert->locked_out = count_locks_try(&insert->locks) != LOCKS_TAKEN ||
		!count_locks_all_exist(&insert->locks);
	if (insert->locked_out)
		count_locks_release(&insert->locks);
	return !insert->locked_out;
}

/*
 * Steps 2 and 3 of child_insert(). Returns false, with nothing written or
 * locked, if the comment or like exists already. Also returns false if another
 * transaction is deleting the post or comment, and then sets
 * insert->locked_out.
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
 * Called when lock_post() has undone the insert: wait for the transactions
 * that are deleting the post or the comment. Errors: 40001 under REPEATABLE
 * READ and SERIALIZABLE if the post or the comment was deleted after the
 * snapshot.
 */
static void
await_locks(const ChildInsert *insert)
{
	count_locks_await(&insert->locks);
	for (int i = 0; i < insert->locks.n; i++)
		post_check_deleted(&insert->locks.lock[i]);
}

/*
 * Check the comment that the child replies to or likes. Returns true if this
 * comment allows no new child, but the child exists already, for example from
 * before the comment was hidden. Errors: those of check_reply() and
 * check_liked().
 */
static bool
exists_on_comment(const ChildInsert *insert)
{
	switch (insert->type)
	{
		case ITEM_COMMENT:
			return check_reply(insert->child, insert->id_is_new,
							   insert->author) == CHECK_EXISTS;
		case ITEM_COMMENT_LIKE:
			return check_liked(insert->child, insert->author) == CHECK_EXISTS;
		default:
			return false;
	}
}

/*
 * Steps 1 to 3 of child_insert(), repeated while other transactions are
 * deleting the post or the comment. Returns false, with nothing written or
 * locked, if the comment or like exists already. Errors: 23503 if the post
 * does not exist; those of exists_on_comment(), and those of
 * require_repetition() if the post is hidden.
 */
static bool
insert_and_lock(ChildInsert *insert)
{
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (exists_on_comment(insert))
			return false;
		require_post(insert);
		if (insert->locks.lock[0].hidden)
		{
			require_repetition(insert);
			return false;
		}
		inserted = try_insert(insert);
		if (insert->locked_out)
			await_locks(insert);
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
 * Check again the authors of the post and of a comment that is liked. The
 * insert may have waited for a transaction that has deleted one of these
 * users. Errors: 23503.
 */
static void
check_authors_again(const ChildInsert *insert)
{
	if (!deletions_since(insert))
		return;
	if (post_author_being_deleted(insert->post_id))
		unknown_item(ITEM_POST, insert->post_id);
	if (insert->type == ITEM_COMMENT_LIKE)
		(void) check_liked(insert->child, insert->author);
}

/*
 * Write a comment or like with its author's name, and add it to the counts of
 * its post and comment (count_locks.c says which). Returns false, with nothing
 * written, if the comment or like exists already.
 *
 * id_is_new: whether blogstore has generated the id of the comment. An id that
 *		a client has chosen may be the id of a deleted comment that still has
 *		replies.
 * author: the signed-in user; NULL: the caller may see all hidden posts
 *
 * Errors: those of check_reply() and check_liked(); 23503 if the post or the
 * user does not exist; 23514 if the post is hidden; 40001. Locks: those of the
 * items on which the comment or like counts, in share mode, until it is added
 * to the counts.
 */
bool
child_insert(BlogItem *child, ItemType type, bool id_is_new,
			 const pg_uuid_t *author)
{
	ChildInsert insert = {
		.child = child, .type = type, .post_id = item_uuid(child, PROP_POST_ID),
		.id_is_new = id_is_new, .author = author
	};

	count_locks_plan(&insert.locks, type, NULL, child);
	if (!insert_and_lock(&insert))
		return false;
	check_authors_again(&insert);
	count_locks_count(&insert.locks);
	count_locks_release(&insert.locks);
	if (type == ITEM_COMMENT && !id_is_new)
	{
		const CountedItem comment =
			counted_comment(insert.post_id, item_uuid(child, PROP_ID));

		comment_count_anew(&comment, false);
	}
	return true;
}

/*
 * Return whether requests show a comment or like. They do not while one of
 * these users is being deleted: its author, the author of its post, or the
 * author of the comment that it likes.
 */
static bool
child_is_shown(const ChildKey *key)
{
	const DeletedUsers *deleted = deleted_users(GetActiveSnapshot());
	const CountedItem comment = counted_comment(&key->post_id,
												&key->comment_id);

	if (deleted == NULL)
		return true;
	if (key->type != ITEM_LIKE && deleted_has_author_of(deleted, &comment))
		return false;
	return !deleted_has(deleted, &key->user_id) &&
		!deleted_has_author_of_post(deleted, &key->post_id);
}

/*
 * Delete a comment or like, and subtract it from the counts of the items on
 * which it counts. Returns false if it does not exist, or requests do not show
 * it.
 *
 * author: delete the item only if this user has written it; NULL: any user
 *
 * Errors: 40001, 55000. Locks: those of child_delete().
 */
bool
child_take_back(const ChildKey *key, const pg_uuid_t *author)
{
	bool		shown;

	PushActiveSnapshot(GetTransactionSnapshot());
	shown = child_is_shown(key);
	PopActiveSnapshot();
	return shown && child_delete(key, author, LockWaitBlock) == DELETE_DONE;
}
