/*
 * visible_items.c
 *		What queries change in the items that they have read: they leave out
 *		items of users who are being deleted, and tell whether the parents of
 *		replies are gone.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

/*
 * Return whether a query returns an item. It does not if the item's author, or
 * the author of its post, is being deleted. In a post that is returned,
 * subtract the items of such users from the counts.
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
 * In a reply, set the property that tells whether its parent is gone. The
 * property is not stored in the table, so the parent is looked up.
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
