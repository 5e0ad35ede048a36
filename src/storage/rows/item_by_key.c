/*
 * item_by_key.c
 *		Reading an item by its key.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

/*
 * Read one item by key. Returns false if the snapshot sees none; out is a copy in
 * the current memory context.
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

/* Is a user, or a post, there? By a snapshot of its own. */
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
