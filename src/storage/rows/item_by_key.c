/*
 * item_by_key.c
 *		Reads single items by key.
 *
 * Runs in any process, in a transaction with a snapshot.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/*
 * Read the one item of a query. Returns false if the snapshot shows none. *out
 * is a copy in the current memory context. Errors: 22004, 55000.
 */
bool
item_get(const ItemQuery *query, BlogItem *out)
{
	ItemScan   *scan = item_scan_begin(query);
	BlogItem	item;
	bool		found = item_scan_next(scan, &item);

	if (found)
		item_copy(out, &item);
	item_scan_end(scan);
	return found;
}

/*
 * Return whether a user or a post exists, according to a new snapshot. Errors:
 * 22004, 55000.
 */
bool
item_is_there(Container container, ItemType type, const pg_uuid_t *id)
{
	Datum		key = UUIDPGetDatum(id);
	BlogItem	item;
	bool		there;

	PushActiveSnapshot(GetTransactionSnapshot());
	there = item_get(&(ItemQuery) {
		.container = container, .type = type, .partition_key = id,
		.path = PATH_KEY, .key = &key, .nkeys = 1
	}, &item);
	PopActiveSnapshot();
	return there;
}
