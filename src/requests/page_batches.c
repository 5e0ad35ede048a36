/*
 * page_batches.c
 *		Queries that return in one call what a web page needs: many posts or
 *		users by their ids, or a user's likes on many posts.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

QUERY_FUNCTION(get_posts, REQUEST_GET_POSTS, ITEM_POST,
			   .containers = "posts", .by_ids = true);
QUERY_FUNCTION(get_users, REQUEST_GET_USERS, ITEM_USER,
			   .containers = "users", .by_ids = true);
QUERY_FUNCTION(get_likes, REQUEST_GET_LIKES, ITEM_LIKE,
			   .containers = "posts", .by_ids = true);

/*
 * Begin the query get_posts(), which returns the posts with given ids, in the
 * order of the ids. Errors: 22004, 55000.
 */
static void
get_posts(RequestScan *scan, FunctionCallInfo fcinfo)
{
	ArrayType  *ids = need_uuids(fcinfo, 0, "post_ids");

	query_ready(scan);
	query_ids(scan, CONTAINER_POSTS, NULL, 0, ids);
}

/*
 * Begin the query get_users(), which returns the users with given ids, in the
 * order of the ids. Errors: 22004, 55000.
 */
static void
get_users(RequestScan *scan, FunctionCallInfo fcinfo)
{
	ArrayType  *ids = need_uuids(fcinfo, 0, "user_ids");

	query_ready(scan);
	query_ids(scan, CONTAINER_USERS, NULL, 0, ids);
}

/*
 * Begin the query get_likes(), which returns a user's likes on posts with
 * given ids, in the order of the ids. Errors: 22004, 55000.
 */
static void
get_likes(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");
	ArrayType  *ids = need_uuids(fcinfo, 1, "post_ids");

	query_ready(scan);
	query_ids(scan, CONTAINER_POSTS, &user_id, 1, ids);
}
