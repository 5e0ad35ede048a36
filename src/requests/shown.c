/*
 * shown.c
 *		What is shown of the items that queries find by their keys: nothing of users who
 *		are being deleted.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "layout/item.h"
#include "members/members.h"
#include "requests/request.h"

/*
 * Is the item that a key has found, and what it hangs on, to be shown? What is not to
 * be counted is taken off a post's counts.
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
