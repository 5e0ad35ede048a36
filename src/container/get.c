/*
 * get.c
 *		Reading items by their keys, one or one after the other.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "container/container.h"
#include "items/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"
#include "rows/rows.h"

#include "access/genam.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
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
 * Begin a scan that is kept for many keys of one leaf, or (*scan is not NULL) begin it
 * again with the query's key. By which leaf, path and snapshot, the first query says.
 */
void
item_scan_look(ItemScan **scan, const ItemQuery *query)
{
	ItemQuery	kept = *query;

	kept.again = true;
	if (*scan != NULL)
		item_scan_again(*scan, query->key, query->nkeys);
	else
		*scan = item_scan_begin(&kept);
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

/*
 * Add up what the items of a type, whose path by key begins with the partition's
 * key, count for one such key in a snapshot. False, with the sums undefined: a
 * scan has to do that, or to tell what is wrong.
 */
bool
item_sum_counts(Container container, ItemType type, const pg_uuid_t *key,
				Snapshot snapshot, int64 *comments, int64 *likes)
{
	LeafWanted	wanted = {
		.container = container, .type = type, .key = key, .path = PATH_KEY,
		.if_any = true
	};
	OpenLeaf	leaf;
	RowCounts	sum = {0, 0};
	bool		added = false;

	if (!leaf_open(&leaf, &wanted, AccessShareLock))
		return false;
	if (leaf_has_rows(&leaf))
	{
		Relation	index = leaf_open_index(&leaf, PATH_KEY);
		IndexFinder finder;
		Buffer		buffer = InvalidBuffer;

		index_finder_begin(&finder, leaf.rel, index, 1, snapshot);
		added = leaf_sum_counts(&leaf, &finder, key, &buffer, &sum);
		index_finder_end(&finder);
		if (BufferIsValid(buffer))
			ReleaseBuffer(buffer);
		index_close(index, AccessShareLock);
	}
	leaf_close(&leaf, false);
	*comments = sum.comments;
	*likes = sum.likes;
	return added;
}
