/*
 * likes.c
 *		Requests for likes: like a post or comment (C4), list a post's likes
 *		(Q5), a comment's likes and a user's likes, retrieve and delete a like.
 *
 * request_list.h explains the codes C4 and Q5. Runs in backends; queries also
 * run in parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_children.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

AUTHOR_REQUEST_FUNCTION(create_like, REQUEST_CREATE_LIKE);
REQUEST_FUNCTION(delete_like, REQUEST_DELETE_LIKE);
QUERY_FUNCTION(list_user_likes, REQUEST_LIST_USER_LIKES, ITEM_LIKE,
			   .containers = "posts", .page_size_arg = 2);
QUERY_FUNCTION(get_like, REQUEST_GET_LIKE, ITEM_LIKE,
			   .containers = "posts");
QUERY_FUNCTION(list_post_likes, REQUEST_LIST_POST_LIKES, ITEM_LIKE,
			   .containers = "posts", .page_size_arg = 2);
QUERY_FUNCTION(list_comment_likes, REQUEST_LIST_COMMENT_LIKES,
			   ITEM_COMMENT_LIKE, .containers = "posts", .page_size_arg = 3);
QUERY_FUNCTION(get_comment_likes, REQUEST_GET_COMMENT_LIKES,
			   ITEM_COMMENT_LIKE, .containers = "posts");

/*
 * Return the key of the like that the arguments of a request name: post_id and
 * user_id, which come first, and comment_id. Errors: 22004.
 *
 * comment_arg: number of the argument comment_id; it is null if the post is
 *     liked
 */
static ChildKey
like_key(FunctionCallInfo fcinfo, int comment_arg)
{
	ChildKey	key = {.type = ITEM_LIKE};

	key.post_id = *need_uuid(fcinfo, 0, "post_id");
	key.user_id = *need_uuid(fcinfo, 1, "user_id");
	if (!PG_ARGISNULL(comment_arg))
	{
		key.type = ITEM_COMMENT_LIKE;
		key.comment_id = *PG_GETARG_UUID_P(comment_arg);
	}
	return key;
}

/*
 * create_like() and own_create_like() (C4): insert a like of a post or
 * comment, and increment its like_count. A user has at most one like of each
 * post and comment. A second call returns the first like.
 *
 * author: in own_create_like(), the user who must be the author of the like.
 *     Another user's hidden post or comment is treated as not existing. In
 *     create_like(), "author" is NULL, and there are no such checks.
 *
 * Errors: 22004, 22023, 23503, 23514, 25006, 40001, 42501, 55000. Locks: the
 * post lock, and the lock of the comment, in share mode, until the like is
 * added to the counts; a row lock on the counter, or on another delta. Waits
 * for a transaction that is deleting the post or the comment, or writing or
 * deleting the same like.
 */
static Datum
create_like_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	like;
	pg_uuid_t	id;
	const ChildKey key = like_key(fcinfo, 3);
	Datum		value[CHILD_KEYS];
	const ItemQuery query = child_query(&key, value);
	BlogItem	there;
	bool		inserted;
	bool		done;

	new_id(&id);
	item_init(&like, key.type);
	item_set(&like, PROP_ID, UUIDPGetDatum(&id));
	item_set(&like, PROP_POST_ID, UUIDPGetDatum(&key.post_id));
	item_set(&like, PROP_USER_ID, UUIDPGetDatum(&key.user_id));
	if (key.type == ITEM_COMMENT_LIKE)
		item_set(&like, PROP_COMMENT_ID, UUIDPGetDatum(&key.comment_id));
	item_set(&like, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 2)));

	request_begin(&scope, "create_like()");
	check_new_author(key.type, &like, author);
	if (key.type == ITEM_COMMENT_LIKE && !author_knows_post(&key.post_id, author))
		unknown_item(ITEM_POST, &key.post_id);
	do
	{
		inserted = child_insert(&like, key.type, true, author);
		done = inserted ||
			find_conflicting(key.type, &key.post_id, query.key, query.nkeys,
							 &there);
	} while (!done);
	owner_end(&scope);
	return return_item(fcinfo, inserted ? &like : &there, key.type);
}

/*
 * delete_like(): delete a like, and decrement the like_count of the post or
 * comment. Returns whether the like existed.
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: the post lock, and the lock of
 * the comment, in share mode, until the like is subtracted from the counts; a
 * row lock (FOR UPDATE) on the like.
 */
static Datum
delete_like(PG_FUNCTION_ARGS)
{
	const ChildKey key = like_key(fcinfo, 2);
	OwnerScope	scope;
	bool		found;

	request_begin(&scope, "delete_like()");
	found = child_take_back(&key, NULL);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query get_like(), which returns a user's like of a post or
 * comment, if there is one. Errors: 22004, 55000.
 */
static void
get_like(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const ChildKey key = like_key(fcinfo, 2);
	const pg_uuid_t *id[] = {&key.user_id, &key.post_id, &key.comment_id};

	query_ready(scan);
	query_one(scan, CONTAINER_POSTS, key.type, &key.post_id, id,
			  key.type == ITEM_LIKE ? 2 : 3);
}

/*
 * Begin the query list_post_likes() (Q5), which returns the likes on a post.
 * Errors: 22004, 22023, 55000.
 */
static void
list_post_likes(RequestScan *scan, FunctionCallInfo fcinfo)
{
	query_on_post(scan, fcinfo);
}

/*
 * Begin the query list_comment_likes(), which returns the likes of a comment.
 * Errors: 22004, 22023, 55000.
 */
static void
list_comment_likes(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *key[] = {
		need_uuid(fcinfo, 0, "post_id"), need_uuid(fcinfo, 1, "comment_id")
	};

	const CountedItem comment = counted_comment(key[0], key[1]);

	get_page(fcinfo, 2, &scan->page);
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, key[0]) ||
		deleted_has_author_of(scan->deleted, &comment))
		return;
	page_find(&scan->page, ITEM_COMMENT_LIKE, key[0], key[1]);
	query_list(scan, CONTAINER_POSTS, PATH_LIST, key, 2);
}

/*
 * Begin the query get_comment_likes(), which returns a user's likes of the
 * comments on a post, except likes of hidden comments. Errors: 22004, 55000.
 */
static void
get_comment_likes(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	const pg_uuid_t *post_id = need_uuid(fcinfo, 1, "post_id");

	query_ready(scan);
	if (!deleted_has(scan->deleted, user_id) &&
		!deleted_has_author_of_post(scan->deleted, post_id))
		query_comment_likes(scan, user_id, post_id);
}

/*
 * Check the arguments of list_user_likes() that choose a page. Set *page to
 * the values of these arguments, except after_post_id and after_comment_id.
 *
 * With by_date, likes are listed by date, and before_date, before_id and
 * oldest_first choose the page. Otherwise likes are listed by post_id and
 * comment_id, and after_post_id and after_comment_id choose the page. Errors:
 * 22004; 22023, for example if after_post_id is passed with by_date.
 */
static void
get_likes_page(FunctionCallInfo fcinfo, bool by_date, ListPage *page)
{
	LOCAL_FCINFO(arguments, 4);

	InitFunctionCallInfoData(*arguments, fcinfo->flinfo, 4, fcinfo->fncollation,
							 NULL, NULL);
	arguments->args[0] = fcinfo->args[1];
	for (int i = 1; i < 4; i++)
		arguments->args[i] = fcinfo->args[i + 3];
	get_page(arguments, 0, page);
	if (!by_date && (page->before.valid || page->oldest_first))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("before_date, before_id and oldest_first are for likes by date"),
				 errhint("Pass by_date => true, or after_post_id."),
				 err_fields(NULL, page->before.valid ? "before_date" : "oldest_first",
							RULE_ORDER)));
	if (by_date && !(PG_ARGISNULL(2) && PG_ARGISNULL(7)))
	{
		const char *after = PG_ARGISNULL(2) ? "after_comment_id" :
			"after_post_id";

		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is for likes in the order of post_id", after),
				 errhint("Pass before_date and before_id."),
				 err_fields(NULL, after, RULE_ORDER)));
	}
	if (PG_ARGISNULL(2) && !PG_ARGISNULL(7))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("after_comment_id needs after_post_id"),
				 errhint("Pass post_id and comment_id of the last row of the page before."),
				 err_fields(NULL, "after_post_id", RULE_TOGETHER)));
}

/*
 * Check that likes of a type have an index on user_id and creation_date. This
 * index is optional; the owner may create it. Errors: 55000 if it does not
 * exist.
 */
static void
need_dated_index(ItemType type)
{
	int			first = partition_first(CONTAINER_POSTS, type);

	if (first != NO_PARTITION &&
		!partition_has_path(CONTAINER_POSTS, type, first, PATH_DATE))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(type == ITEM_LIKE ?
						"likes have no index by user and date" :
						"likes of comments have no index by user and date"),
				 errhint("Create an index on (user_id, creation_date, id) of each partition that holds likes, of posts or of comments, or leave by_date out."),
				 err_fields(container_table(CONTAINER_POSTS), NULL, RULE_INDEXED)));
}

/*
 * Begin the query list_user_likes(), which returns a user's likes of all posts
 * and comments. Errors: 22004, 22023, 55000.
 */
static void
list_user_likes(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	bool		by_date = get_flag(fcinfo, 3, "by_date");

	get_likes_page(fcinfo, by_date, &scan->page);
	query_ready(scan);
	if (deleted_has(scan->deleted, user_id))
		return;
	if (by_date)
	{
		need_dated_index(ITEM_LIKE);
		need_dated_index(ITEM_COMMENT_LIKE);
		query_user_items_by_date(scan, user_id, PATH_DATE);
	}
	else
		query_user_likes_by_post(scan, user_id,
								 PG_ARGISNULL(2) ? NULL : PG_GETARG_UUID_P(2),
								 PG_ARGISNULL(7) ? NULL : PG_GETARG_UUID_P(7));
}
