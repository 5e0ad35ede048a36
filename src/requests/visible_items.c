/*
 * visible_items.c
 *		What queries show of the items that they find: no items of users who
 *		are being deleted, and for replies, whether their parents are gone.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

/*
 * Return whether an item is shown. It is not if its author, or the author of
 * its post, is being deleted. Subtracts items that are not shown from a post's
 * counts.
 */
bool
query_shows(const RequestScan *scan, BlogItem *item)
{
	ItemType	type = scan->query->type;

	if (scan->deleted == NULL || type == ITEM_USER)
		return true;
	if (deleted_has_author(scan->deleted, item))
		return false;
	if (type == ITEM_POST)
		deleted_discount(scan->deleted, item);
	else if (deleted_has_author_of_post(scan->deleted, item_uuid(item, PROP_POST_ID)))
		return false;
	return true;
}

/*
 * Set the property that tells whether a reply's parent is gone. It is not
 * stored, but looked up here.
 */
void
query_set_parent_deleted(RequestScan *scan, BlogItem *comment)
{
	if (!comment->isnull[PROP_PARENT_ID])
		item_set(comment, PROP_PARENT_DELETED,
				 BoolGetDatum(parent_is_gone(&scan->parents, scan->deleted,
											 item_uuid(comment, PROP_POST_ID),
											 item_uuid(comment, PROP_PARENT_ID))));
}
