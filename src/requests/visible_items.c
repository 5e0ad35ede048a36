/*
 * visible_items.c
 *		What is shown of the items that queries find: nothing of users who are being
 *		deleted; of replies, whether what they reply to is gone.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"

/*
 * Is an item of posts, and what it hangs on, to be shown? What is not to be counted is taken
 * off a post's counts.
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

/* Nothing is stored of a reply that says that its parent is gone: have a comment say so. */
void
query_say_gone(RequestScan *scan, BlogItem *comment)
{
	if (!comment->isnull[PROP_PARENT_ID])
		item_set(comment, PROP_PARENT_DELETED,
				 BoolGetDatum(parents_gone(&scan->parents, scan->deleted,
										   item_uuid(comment, PROP_POST_ID),
										   item_uuid(comment, PROP_PARENT_ID))));
}
