/*
 * likes.c
 *		Requests for likes: like a post (C4), list a post's likes (Q5), list a
 *		user's likes, retrieve and delete a like.
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

/*
 * create_like() and own_create_like() (C4): insert a like, and increment the
 * post's like_count. A user has at most one like on a post. A second call
 * returns the first like.
 *
 * author: in own_create_like(), the user who must be the author of the like.
 *     Another user's hidden post is treated as not existing. In create_like(),
 *     "author" is NULL, and there are no such checks.
 *
 * Errors: 22004, 22023, 23503, 23514, 25006, 40001, 42501, 55000. Locks: the
 * post lock in share mode, until the like is added to the post's counts; a row
 * lock on the post's counter, or on another delta. Waits for a transaction
 * that is deleting the post, or writing or deleting the same like.
 */
static Datum
create_like_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	like;
	pg_uuid_t	id;
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *user_id = need_uuid(fcinfo, 1, "user_id");
	Datum		key[] = {UUIDPGetDatum(user_id), UUIDPGetDatum(post_id)};
	BlogItem	there;
	bool		inserted;
	bool		done;

	new_id(&id);
	item_init(&like, ITEM_LIKE);
	item_set(&like, PROP_ID, UUIDPGetDatum(&id));
	item_set(&like, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(&like, PROP_USER_ID, UUIDPGetDatum(user_id));
	item_set(&like, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 2)));

	request_begin(&scope, "create_like()");
	check_new_author(ITEM_LIKE, &like, author);
	do
	{
		inserted = child_insert(&like, ITEM_LIKE, true, author);
		done = inserted ||
			find_conflicting(ITEM_LIKE, post_id, key, 2, &there);
	} while (!done);
	owner_end(&scope);
	return return_item(fcinfo, inserted ? &like : &there, ITEM_LIKE);
}

/*
 * delete_like(): delete a like, and decrement the post's like_count. Returns
 * whether the like existed.
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: the post lock in share mode,
 * until the like is subtracted from the post's counts; a row lock (FOR UPDATE)
 * on the like.
 */
static Datum
delete_like(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *user_id = need_uuid(fcinfo, 1, "user_id");
	OwnerScope	scope;
	bool		found;

	request_begin(&scope, "delete_like()");
	found = child_take_back(ITEM_LIKE, post_id, user_id, NULL);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query get_like(), which returns a user's like on a post, if there
 * is one. Errors: 22004, 55000.
 */
static void
get_like(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *user_id = need_uuid(fcinfo, 1, "user_id");
	const pg_uuid_t *key[] = {user_id, post_id};

	query_ready(scan);
	query_one(scan, CONTAINER_POSTS, post_id, key, 2);
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
 * Check the arguments of list_user_likes() that choose a page. Set *page to
 * the values of these arguments, except after_post_id.
 *
 * With by_date, likes are listed by date, and before_date, before_id and
 * oldest_first choose the page. Otherwise likes are listed by post_id, and
 * after_post_id chooses the page. Errors: 22004; 22023, for example if
 * after_post_id is passed with by_date.
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
	if (by_date && !PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("after_post_id is for likes in the order of post_id"),
				 errhint("Pass before_date and before_id."),
				 err_fields(NULL, "after_post_id", RULE_ORDER)));
}

/*
 * Check that likes have an index on user_id and creation_date. This index is
 * optional; the owner may create it. Errors: 55000 if it does not exist.
 */
static void
need_dated_index(void)
{
	int			first = partition_first(CONTAINER_POSTS, ITEM_LIKE);

	if (first != NO_PARTITION &&
		!partition_has_path(CONTAINER_POSTS, ITEM_LIKE, first, PATH_DATE))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("likes have no index by user and date"),
				 errhint("Create an index on (user_id, creation_date, id) of each partition that holds likes, or leave by_date out."),
				 err_fields(container_table(CONTAINER_POSTS), NULL, RULE_INDEXED)));
}

/*
 * Begin the query list_user_likes(), which returns a user's likes on all
 * posts. Errors: 22004, 22023, 55000.
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
		need_dated_index();
		query_user_items_by_date(scan, user_id, PATH_DATE);
	}
	else
		query_user_likes_by_post(scan, user_id,
								 PG_ARGISNULL(2) ? NULL : PG_GETARG_UUID_P(2));
}
