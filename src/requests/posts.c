/*
 * posts.c
 *		Requests for posts: create and edit a post (C2), retrieve a post (Q2),
 *		list a user's posts (Q3), and delete a post. request_list.h explains
 *		the codes.
 *
 * Runs in backends; queries also run in parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/post_schedule.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

REQUEST_FUNCTION(create_post, REQUEST_CREATE_POST);
AUTHOR_REQUEST_FUNCTION(edit_post, REQUEST_EDIT_POST);
AUTHOR_REQUEST_FUNCTION(delete_post, REQUEST_DELETE_POST);
QUERY_FUNCTION(get_post, REQUEST_GET_POST, ITEM_POST,
			   .containers = "posts");
QUERY_FUNCTION(list_user_posts, REQUEST_LIST_USER_POSTS, ITEM_POST,
			   .containers = "users or posts", .view = true, .page_size_arg = 2);

static void
post_from_args(FunctionCallInfo fcinfo, pg_uuid_t *id, BlogItem *post)
{
	TimestampTz publish_date;
	bool		scheduled;

	item_init(post, ITEM_POST);
	item_set(post, PROP_USER_ID, UUIDPGetDatum(need_uuid(fcinfo, 0, "user_id")));
	item_set(post, PROP_TITLE, need_title(fcinfo, 1));
	item_set(post, PROP_CONTENT, need_text(fcinfo, 2, "content"));
	get_id(fcinfo, 3, id);
	item_set(post, PROP_ID, UUIDPGetDatum(id));
	item_set(post, PROP_POST_ID, UUIDPGetDatum(id));
	item_set(post, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 4)));
	item_set(post, PROP_COMMENT_COUNT, Int64GetDatum(0));
	item_set(post, PROP_LIKE_COUNT, Int64GetDatum(0));
	(void) get_properties(fcinfo, 5, post);
	scheduled = get_publish_date(fcinfo, 7, &publish_date);
	if (get_flag(fcinfo, 6, "hidden") || scheduled)
		set_hidden(post, true);
	if (scheduled)
		post_schedule(post, publish_date);
}

/*
 * Return whether an existing post has the creation date with which
 * create_post() is called again. A post that was scheduled gets its
 * publish_date as its creation date.
 */
static bool
same_creation_date(FunctionCallInfo fcinfo, const BlogItem *there)
{
	return PG_ARGISNULL(4) || item_date(there) == PG_GETARG_TIMESTAMPTZ(4) ||
		(!PG_ARGISNULL(7) && item_date(there) == PG_GETARG_TIMESTAMPTZ(7));
}

static void
discount_post(BlogItem *post)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	deleted_discount(deleted_users(GetActiveSnapshot()), post);
	PopActiveSnapshot();
}

/*
 * Make the counts in *post exact: add the post's deltas, and subtract comments
 * and likes of users who are being deleted. The caller has locked the post's
 * row (FOR NO KEY UPDATE), and has read it into *post. Reads with the
 * transaction's snapshot.
 */
void
add_up_now(BlogItem *post)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	post_add_up(post, GetActiveSnapshot());
	PopActiveSnapshot();
	discount_post(post);
}

/*
 * Insert a post with its author's username, and the post's counter. Returns
 * false if a post with this id exists.
 */
static bool
write_post(BlogItem *post, const pg_uuid_t *id)
{
	BlogItem	user;
	ItemWriter *writer;
	bool		inserted;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, id);
	need_user(item_uuid(post, PROP_USER_ID), &user);
	item_set(post, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
	inserted = item_writer_insert(writer, post);
	item_writer_close(writer);
	PopActiveSnapshot();
	if (inserted)
		post_counter_make(id);
	return inserted;
}

/*
 * create_post() (C2): insert a post. If the client repeats an earlier call
 * with the same id and values, return the existing post.
 *
 * Errors: 22004, 22023, 23503, 23505, 25006, 40001, 54000, 55000. Locks:
 * RowExclusiveLock on the leaf of posts. Waits for a transaction that is
 * writing a post with the same id.
 */
static Datum
create_post(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	BlogItem	post;
	BlogItem	there;
	pg_uuid_t	id;
	Datum		key;
	bool		inserted;
	bool		done;

	post_from_args(fcinfo, &id, &post);
	key = UUIDPGetDatum(&id);
	request_begin(&scope, "create_post()");
	do
	{
		inserted = write_post(&post, &id);
		done = inserted ||
			find_conflicting_or_clear(ITEM_POST, &id, &key, 1, &there);
	} while (!done);
	if (!inserted)
	{
		if (!item_same(&post, &there, PROP_USER_ID) ||
			!item_same(&post, &there, PROP_TITLE) ||
			!item_same(&post, &there, PROP_CONTENT) ||
			(!post.isnull[PROP_PROPERTIES] &&
			 !item_same(&post, &there, PROP_PROPERTIES)) ||
			!same_creation_date(fcinfo, &there))
			item_id_taken(ITEM_POST, &id);
		post = there;
		discount_post(&post);
	}
	owner_end(&scope);
	return return_item(fcinfo, &post, ITEM_POST);
}

/*
 * edit_post() and own_edit_post() (C2): change the title, content or
 * properties of a post. A null argument keeps the current value.
 *
 * author: the user who must have written the post; NULL accepts any author
 *
 * Errors: 22004, 22023, 23503, 25006, 40001, 42501, 54000, 55000. Locks: a row
 * lock (FOR NO KEY UPDATE) on the post.
 */
static Datum
edit_post_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	found;
	BlogItem	edited;
	BlogItem	post;
	ItemWriter *writer;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");
	Datum		key = UUIDPGetDatum(id);
	BlogItem	wanted = {0};
	bool		properties;

	if (!PG_ARGISNULL(1))
		item_set(&wanted, PROP_TITLE, need_title(fcinfo, 1));
	if (!PG_ARGISNULL(2))
		item_set(&wanted, PROP_CONTENT, need_text(fcinfo, 2, "content"));
	properties = get_properties(fcinfo, 3, &wanted);
	request_begin(&scope, "edit_post()");

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, id);
	if (item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive,
						 LockWaitBlock, &found) != ITEM_OK ||
		author_being_deleted(&found))
		unknown_item(ITEM_POST, id);
	check_author(ITEM_POST, &found, author);
	edited = found;
	if (!PG_ARGISNULL(1))
		item_take(&edited, &wanted, PROP_TITLE);
	if (!PG_ARGISNULL(2))
		item_take(&edited, &wanted, PROP_CONTENT);
	if (properties)
		item_take(&edited, &wanted, PROP_PROPERTIES);
	if (!item_same(&edited, &found, PROP_TITLE) ||
		(!PG_ARGISNULL(2) && !item_same(&edited, &found, PROP_CONTENT)) ||
		!item_same(&edited, &found, PROP_PROPERTIES))
	{
		set_modified(&edited);
		item_writer_update(writer, &edited);
	}
	item_copy(&post, &edited);
	item_writer_close(writer);
	PopActiveSnapshot();
	add_up_now(&post);
	owner_end(&scope);
	return return_item(fcinfo, &post, ITEM_POST);
}

/*
 * delete_post() and own_delete_post(): delete a post with its comments, likes
 * and deltas. Returns false if no such post by the author exists.
 *
 * author: the user who must have written the post; NULL accepts any author
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: the post lock in exclusive mode,
 * until the post item is deleted; row locks (FOR UPDATE) on the post item, its
 * comments and likes.
 */
static Datum
delete_post_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");
	bool		found;

	request_begin(&scope, "delete_post()");
	found = !post_author_being_deleted(id) &&
		post_delete(id, author, LockWaitBlock) == DELETE_DONE;
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query get_post() (Q2), which returns a post with its exact counts.
 * Errors: 22004, 55000.
 */
static void
get_post(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");

	query_ready(scan);
	query_one(scan, CONTAINER_POSTS, ITEM_POST, id, &id, 1);
}

/*
 * Begin the query list_user_posts() (Q3), which returns a user's posts in
 * short form. If readers may use the views, the query reads the copies of the
 * posts, which are in one partition of users. Otherwise it reads the posts
 * themselves, which are in all partitions of posts.
 *
 * Errors: 22004, 22023, 55000.
 */
static void
list_user_posts(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");

	get_page(fcinfo, 1, &scan->page);
	scan->include_hidden = get_flag(fcinfo, 5, "include_hidden");
	query_ready(scan);
	if (deleted_has(scan->deleted, user_id))
		return;
	page_find(&scan->page, ITEM_POST, user_id, NULL);
	if (!request_is_part && views_ready(GetActiveSnapshot()))
		query_list(scan, CONTAINER_USERS, PATH_LIST, &user_id, 1);
	else
		query_posts(scan, user_id, &scan->page);
}
