/*
 * visible_items.c
 *		What is done with each item that a query has read: leave out items of
 *		users who are being deleted, and set the fields of comments that the
 *		tables do not store.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

#include "utils/snapmgr.h"

/*
 * Return whether an item is a like of a comment whose author is being deleted.
 */
static bool
likes_deleted_comment(const RequestScan *scan, const BlogItem *item)
{
	CountedItem comment;

	if (!is_like(scan->query->type) || item->isnull[PROP_COMMENT_ID])
		return false;
	comment = counted_comment(item_uuid(item, PROP_POST_ID),
							  item_uuid(item, PROP_COMMENT_ID));
	return deleted_has_author_of(scan->deleted, &comment);
}

/*
 * Return whether a query returns an item that it has read. Items of users who
 * are being deleted are not returned, nor comments and likes on their posts,
 * nor likes of their comments. If the item is a post, also subtract comments
 * and likes by such users from the counts.
 */
bool
query_shows(const RequestScan *scan, BlogItem *item)
{
	ItemType	type = scan->query->type;

	if (scan->deleted == NULL || type == ITEM_USER)
		return true;
	if (deleted_has_author(scan->deleted, item))
		return false;
	if (type == ITEM_FOLLOW)
		return true;
	if (type == ITEM_POST)
		deleted_discount(scan->deleted, item);
	else if (deleted_has_author_of_post(scan->deleted, item_uuid(item, PROP_POST_ID)))
		return false;
	return !likes_deleted_comment(scan, item);
}

/*
 * In a comment, set those fields that the tables do not store and that the
 * caller needs: the counts, and parent_deleted. In a reply, parent_deleted is
 * true if the comment to which it replies has been deleted.
 */
void
query_complete(RequestScan *scan, BlogItem *item)
{
	if (query_wants_parent_deleted(scan) && !item->isnull[PROP_PARENT_ID])
		item_set(item, PROP_PARENT_DELETED,
				 BoolGetDatum(parent_is_gone(&scan->parents, scan->deleted,
											 item_uuid(item, PROP_POST_ID),
											 item_uuid(item, PROP_PARENT_ID))));
	if (query_wants_comment_counts(scan))
		add_up_comment(&scan->deltas, scan->deleted, item, GetActiveSnapshot(),
					   query_wants(scan, PROP_REPLY_COUNT),
					   query_wants(scan, PROP_LIKE_COUNT));
}
