/*
 * many_items.c
 *		Reading items of one type by many keys.
 *
 * Most are looked up without scans (rows/many_rows.c), leaf by leaf. A scan of their leaf
 * finds what is left: keys that have several entries in the index, and all in a
 * serializable transaction.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "container/container.h"
#include "container/tuple.h"
#include "items/item.h"
#include "layout/layout.h"
#include "rows/many.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* A scan that is kept for the items of a leaf. */
typedef struct KeptScan
{
	ItemScan   *scan;			/* NULL: none is open */
	int			partition;
	bool		locked;			/* is the leaf locked beyond the scan? */
	bool		first;			/* were its leaves not visited before? */
} KeptScan;

static void
end_scan(KeptScan *kept)
{
	if (kept->scan != NULL)
		item_scan_end(kept->scan);
	kept->scan = NULL;
	kept->locked = false;
}

/*
 * Keep the lock on a leaf if its row has values that are stored out of line: a copy
 * points to them, as one of rows/many_rows.c does.
 */
static void
keep_lock(KeptScan *kept)
{
	bool		own;
	HeapTuple	row = ExecFetchSlotHeapTuple(item_scan_slot(kept->scan), false,
											 &own);

	if (!kept->locked && HeapTupleHasExternal(row))
	{
		LockRelationOid(RelationGetRelid(item_scan_relation(kept->scan)),
						AccessShareLock);
		kept->locked = true;
	}
	if (own)
		heap_freetuple(row);
}

/* Find an item by a scan of its leaf, which is begun if that is not the last one's. */
static void
scan_for_item(ManyItems *many, ManyItem *item, KeptScan *kept,
			  const ItemQuery *query)
{
	BlogItem	read;

	if (kept->partition != item->partition || layout_stamp() != many->stamp)
		end_scan(kept);
	kept->partition = item->partition;
	many->leaves += kept->first && kept->scan == NULL;
	item_scan_look(&kept->scan, query);
	(void) item_scan_tables(kept->scan, &many->leaf, &many->index);
	item->open = false;
	item->found = item_scan_next(kept->scan, &read);
	if (!item->found)
		return;
	item_copy(&item->item, &read);
	keep_lock(kept);
}

/*
 * Read the items of n partition keys, of which some may be the same. The query says of
 * which container and type, and what its key's columns are but the last. Errors: those
 * of item_scan_begin(), and 22004 if an item lacks a value.
 */
ManyItems *
many_items_read(const ItemQuery *query, const pg_uuid_t *key, int n)
{
	ManyItems  *many = many_rows_begin(query->container, query->type, key, n);
	KeptScan	kept = {.scan = NULL};
	ItemQuery	each = *query;
	Datum		values[2];

	Assert(query->path == PATH_KEY && query->nkeys < lengthof(values));
	if (each.snapshot == NULL)
		each.snapshot = GetActiveSnapshot();
	many_rows_look_up(many, query->key, query->nkeys, each.snapshot);
	kept.first = many->leaves == 0;

	for (int i = 0; i < query->nkeys; i++)
		values[i] = query->key[i];
	each.key = values;
	each.nkeys++;
	for (int i = 0; i < many->n; i++)
	{
		ManyItem   *item = &many->item[i];

		if (!item->open)
			continue;
		each.partition_key = &item->key;
		values[query->nkeys] = UUIDPGetDatum(&item->key);
		scan_for_item(many, item, &kept, &each);
	}
	end_scan(&kept);
	return many;
}
