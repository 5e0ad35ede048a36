/*
 * write_child.c
 *		Writing a comment or a like into its post's logical partition, and
 *		taking it back.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/worker_hooks.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"

/* How a child comes to its post. */
typedef struct Arrival
{
	PostLock	lock;			/* of the post */
	bool		shut_out;		/* did somebody else have it exclusively? */
	bool		stamped;		/* does the stamp tell? */
	uint64		stamp;			/* of users' deletions, before the post's author
								 * was asked for */
} Arrival;

/* Errors: 23503 unless there is a post whose author is not being deleted. */
static void
need_post(Arrival *arrival)
{
	const pg_uuid_t *post_id = &arrival->lock.post_id;

	arrival->stamped = worker_hooks.user_deletions(&arrival->stamp);
	if (!post_find(&arrival->lock) || post_author_being_deleted(post_id))
		unknown_item("post", post_id);
}

/*
 * A post is hidden, by who has committed that or by this transaction. It takes nothing new;
 * but who repeats a command is to get what is there already. Errors: 55000; 23503 for an
 * author (NULL: anybody) who is not the post's, and is not to know of it.
 */
static void
need_repetition(const BlogItem *item, ItemType type, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = item_uuid(item, PROP_POST_ID);
	Datum		key[] = {
		item->value[type == ITEM_LIKE ? PROP_USER_ID : PROP_POST_ID],
		item->value[type == ITEM_LIKE ? PROP_POST_ID : PROP_ID]
	};
	BlogItem	there;
	bool		found;

	if (!author_knows_post(post_id, author))
		unknown_item("post", post_id);
	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_get(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = key, .nkeys = 2
	}, &there);
	PopActiveSnapshot();
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("post %s is hidden",
						DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(post_id)))),
				 errhint("Nobody can comment on it or like it before it is shown, by blogstore.publish_post() or hide_post(..., hidden => false).")));
}

/* May users have been deleted since the post's author was asked for? */
static bool
deletions_since(const Arrival *arrival)
{
	uint64		stamp;

	return !arrival->stamped || !worker_hooks.user_deletions(&stamp) ||
		stamp != arrival->stamp;
}

/* Lock the post, when the child can be seen, but can still be taken back. */
static bool
arrive(void *arg)
{
	Arrival    *arrival = arg;

	arrival->shut_out = !post_try_lock_shared(&arrival->lock);
	return !arrival->shut_out;
}

/*
 * Write a comment or like with its author's name, and lock its post. Returns
 * false, nothing written or locked, if its key is taken, or somebody else has the
 * post locked exclusively.
 */
static bool
try_insert_child(BlogItem *item, ItemType type, Arrival *arrival)
{
	ItemWriter *writer;
	BlogItem	user;
	bool		inserted;

	arrival->shut_out = false;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type,
							  item_uuid(item, PROP_POST_ID));
	need_user(item_uuid(item, PROP_USER_ID), &user);
	item_set(item, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
	inserted = item_writer_insert_if(writer, item, arrive, arrival);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Write a child, waiting for transactions that delete the post or write an item of the
 * child's key. Returns false, nothing written or locked, if its key is taken. Errors:
 * 55000, and 23503 for an author, on a hidden post.
 */
static bool
insert_child(BlogItem *item, ItemType type, const pg_uuid_t *author,
			 Arrival *arrival)
{
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		need_post(arrival);
		if (arrival->lock.hidden)
		{
			need_repetition(item, type, author);
			return false;
		}
		inserted = try_insert_child(item, type, arrival);
		if (arrival->shut_out)
			post_await_unlock(&arrival->lock);
	} while (arrival->shut_out);
	return inserted;
}

/*
 * Write a comment or like, and have its post count it. Returns false, nothing
 * written, if its key is taken. author: who is to know of no hidden posts but own ones
 * (NULL: of all).
 *
 * Errors: 23503 no such post or user; 40001; 55000 the post is hidden. Locks: the post, shared, for a moment.
 */
bool
write_child(BlogItem *item, ItemType type, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = item_uuid(item, PROP_POST_ID);
	const PostCounts one = child_counts(type, item_hidden(item) ? 0 : 1);
	Arrival		arrival;
	PostCountResult counted;

	post_lock_init(&arrival.lock, post_id);
	if (!insert_child(item, type, author, &arrival))
		return false;
	/* the insert may have waited for the one who deletes the post's author */
	if (deletions_since(&arrival) && post_author_being_deleted(post_id))
		unknown_item("post", post_id);
	counted = post_count(&arrival.lock, one);
	post_unlock(&arrival.lock);
	if (counted == POST_UNSURE)
		counted = post_count_after_deletion(&arrival.lock, one);
	if (counted != POST_COUNTED)
		unknown_item("post", post_id);
	return true;
}

/*
 * Delete a comment or like, if it is by an author (NULL: anybody); false if there is
 * none that shows.
 */
static bool
delete_unless_hidden(ItemType type, const pg_uuid_t *post_id,
					 const pg_uuid_t *other, const pg_uuid_t *author)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(other)};
	const DeletedUsers *deleted;
	BlogItem	comment;
	bool		shown = true;

	PushActiveSnapshot(GetTransactionSnapshot());
	deleted = deleted_users(GetActiveSnapshot());
	if (deleted != NULL && type == ITEM_LIKE)
		shown = !deleted_has(deleted, other);
	else if (deleted != NULL)
		shown = item_get(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = type,
			.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2
		}, &comment) &&
			!deleted_has_author(deleted, &comment);
	shown = shown && !deleted_has_author_of_post(deleted, post_id);
	PopActiveSnapshot();
	return shown &&
		child_delete(type, post_id, other, author, LockWaitBlock) == DELETE_DONE;
}

/*
 * A request that deletes a comment or like: its arguments are the post's id and
 * other, which tells the child. It has to be by an author (NULL: anybody). Returns
 * whether there was one. Errors: 22004, 25006, 40001, 55000. Locks: the post, shared,
 * for a moment; the child, FOR UPDATE.
 */
Datum
delete_on_post(FunctionCallInfo fcinfo, ItemType type, const pg_uuid_t *author)
{
	OwnerScope	scope;
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *other_id = need_uuid(fcinfo, 1, type == ITEM_LIKE ?
										  "user_id" : "comment_id");
	bool		found;

	request_begin(&scope, type == ITEM_LIKE ? "delete_like()" :
				  "delete_comment()");
	found = delete_unless_hidden(type, post_id, other_id, author);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}
