/*
 * get.c
 *		Reading an item by its key.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "container/container.h"
#include "items/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"

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

/*
 * Is a user, or a post, there? *unknown: its partition is away or not what it should
 * be, and it may come back. For who leaves such things out
 * (left_out_instead_of_errors()).
 */
bool
item_is_there(Container container, ItemType type, const pg_uuid_t *id,
			  bool *unknown)
{
	Datum		key = UUIDPGetDatum(id);
	ItemQuery	query = {
		.container = container,.type = type,.partition_key = id,
		.path = PATH_KEY,.key = &key,.nkeys = 1
	};
	uint64		left_out = left_out_count();
	BlogItem	item;
	bool		there;

	PushActiveSnapshot(GetTransactionSnapshot());
	there = item_get(&query, &item);
	PopActiveSnapshot();
	*unknown = left_out_count() != left_out;
	return there;
}
