/*
 * follows.c
 *		Requests for follows: follow a user, end this, list whom a user
 *		follows and who follows a user, retrieve a user's follows of many
 *		users, and list the posts of all whom a user follows.
 *
 * Runs in backends; queries also run in parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/user_follows.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

REQUEST_FUNCTION(follow_user, REQUEST_FOLLOW_USER);
REQUEST_FUNCTION(unfollow_user, REQUEST_UNFOLLOW_USER);
QUERY_FUNCTION(get_follows, REQUEST_GET_FOLLOWS, ITEM_FOLLOW,
			   .containers = "users");
QUERY_FUNCTION(list_following, REQUEST_LIST_FOLLOWING, ITEM_FOLLOW,
			   .containers = "users", .page_size_arg = 2);
QUERY_FUNCTION(list_followers, REQUEST_LIST_FOLLOWERS, ITEM_FOLLOW,
			   .containers = "users", .page_size_arg = 2);
QUERY_FUNCTION(list_home_feed, REQUEST_LIST_HOME_FEED, ITEM_POST,
			   .containers = "users or posts", .view = true,
			   .page_size_arg = 2);

/*
 * follow_user(): let a user follow another user. A second call returns the
 * first follow.
 *
 * Errors: 22004, 22023, 23503, 25006, 40001, 54000, 55000. Locks: those of
 * follow_make(). Waits for a transaction in which the user has followed
 * another user, and for an import of follows.
 */
static Datum
follow_user(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	const pg_uuid_t *followed_id = need_uuid(fcinfo, 1, "followed_id");
	OwnerScope	scope;
	BlogItem	follow;
	pg_uuid_t	id;

	new_id(&id);
	item_init(&follow, ITEM_FOLLOW);
	item_set(&follow, PROP_ID, UUIDPGetDatum(&id));
	item_set(&follow, PROP_USER_ID, UUIDPGetDatum(user_id));
	item_set(&follow, PROP_FOLLOWED_ID, UUIDPGetDatum(followed_id));
	item_set(&follow, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 2)));
	if (memcmp(user_id, followed_id, UUID_LEN) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("users cannot follow themselves"),
				 errhint("Pass the id of another user as followed_id."),
				 err_fields(NULL, "followed_id", RULE_NOT_ONESELF)));

	request_begin(&scope, "follow_user()");
	follow_make(&follow);
	owner_end(&scope);
	return return_item(fcinfo, &follow, ITEM_FOLLOW);
}

/*
 * unfollow_user(): let a user no longer follow another user. Returns whether
 * the user did.
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: those of follow_end().
 */
static Datum
unfollow_user(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	const pg_uuid_t *followed_id = need_uuid(fcinfo, 1, "followed_id");
	OwnerScope	scope;
	bool		found;

	request_begin(&scope, "unfollow_user()");
	found = follow_end(user_id, followed_id);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query get_follows(), which returns a user's follows of users with
 * given ids, in the order of the ids. Errors: 22004, 55000.
 */
static void
get_follows(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	ArrayType  *ids = need_uuids(fcinfo, 1, "followed_ids");

	query_ready(scan);
	query_follows_by_ids(scan, user_id, ids);
}

/*
 * Begin the query list_following(), which returns the users whom a user
 * follows. Errors: 22004, 22023, 55000.
 */
static void
list_following(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");

	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	page_find(&scan->page, ITEM_FOLLOW, user_id, NULL);
	query_list(scan, CONTAINER_USERS, PATH_LIST, &user_id, 1);
}

/*
 * Begin the query list_followers(), which returns the users who follow a user.
 * Their follows are in all partitions of users. Errors: 22004, 22023, 55000.
 * Locks: AccessShareLock on the root table of users, until the end of the
 * transaction.
 */
static void
list_followers(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");

	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	if (!deleted_has(scan->deleted, user_id))
		query_user_items_by_date(scan, user_id, PATH_FOLLOWED);
}

/*
 * Begin the query list_home_feed(), which returns the posts of all users whom
 * a user follows, in short form. Hidden posts are not among them. Like
 * list_user_posts(), it reads the copies of the posts or the posts themselves.
 * Errors: 22004, 22023, 55000.
 */
static void
list_home_feed(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	pg_uuid_t  *followed;
	int			n;

	get_page(fcinfo, 1, &scan->page);
	query_ready(scan);
	if (deleted_has(scan->deleted, user_id))
		return;
	followed = followed_users(scan->deleted, user_id, &n);
	page_find(&scan->page, ITEM_POST, NULL, NULL);
	query_home_feed(scan, followed, n, views_ready(GetActiveSnapshot()));
	pfree(followed);
}
