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
 * Read the only item that matches "query", and copy it to the current memory
 * context. Returns false if no such item is visible to the snapshot. Errors:
 * 22004 if a required field of the item is NULL; 55000 if the table cannot be
 * read.
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
 * those of item_get().
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
