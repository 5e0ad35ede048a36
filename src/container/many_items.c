/*
 * many_items.c
 *		Reading items of one type by many keys.
 *
 * To open a leaf and its index costs as much as to read two or three rows. So the keys
 * are put in the order of partitions, each leaf is opened once for all of its keys, and
 * within it they are looked up in the order of its index, so that pages follow each
 * other. What is read is copied, and when the items are handed out no leaf is open.
 *
 * A copy can point to values that are stored out of line. They are there as long as the
 * snapshot is, but for DDL that gives the leaf other files. The lock on a leaf that has
 * given such a copy is kept to the end of the transaction, as a statement that names a
 * table keeps it.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* A leaf that is visited for the items of its keys. */
typedef struct LeafVisit
{
	OpenLeaf	leaf;
	uint32		needed;			/* properties that items must have */
	TupleTableSlot *copy;		/* of a row */
	bool		keep_lock;
} LeafVisit;

/* ------------------------------------------------------------------------
 * The order in which keys are looked up
 * ------------------------------------------------------------------------ */

/* A key, and which of those it is that were asked for. */
typedef struct AskedKey
{
	const pg_uuid_t *key;
	int			partition;
	int			number;
} AskedKey;

static inline int
compare_keys(const AskedKey *a, const AskedKey *b)
{
	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return memcmp(a->key, b->key, sizeof(pg_uuid_t));
}

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE AskedKey
#define ST_COMPARE(a, b) compare_keys(a, b)
#define ST_SCOPE static
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

/* Take each different one of n keys, in the order of partitions and keys. */
static void
take_keys(ManyItems *many, const pg_uuid_t *key, int n)
{
	AskedKey   *asked = palloc(sizeof(AskedKey) * n);

	many->stamp = layout_stamp();
	for (int i = 0; i < n; i++)
		asked[i] = (AskedKey) {
			.key = &key[i],.number = i,
			.partition = partition_of_items(many->container, many->type, &key[i])
		};
	sort_keys(asked, n);

	many->item = palloc(sizeof(ManyItem) * n);
	many->asked = palloc(sizeof(int) * n);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || compare_keys(&asked[i - 1], &asked[i]) != 0)
		{
			ManyItem   *item = &many->item[many->n++];

			item->key = *asked[i].key;
			item->partition = asked[i].partition;
			item->found = false;
			item->open = true;
		}
		many->asked[asked[i].number] = many->n - 1;
	}
	pfree(asked);
}

/*
 * The end of the keys from one on that lie in the leaf which was opened for that. If
 * anything about partitions has changed since their numbers were found out, it is
 * opened for the one alone.
 */
static int
end_of_leaf(const ManyItems *many, int from)
{
	int			end = from + 1;

	if (layout_stamp() == many->stamp)
		while (end < many->n &&
			   many->item[end].partition == many->item[from].partition)
			end++;
	return end;
}

/* ------------------------------------------------------------------------
 * Items
 * ------------------------------------------------------------------------ */

/* Make an item of a copy of its row; false: it lacks values, and is left out. */
static bool
take_row(LeafVisit *visit, ItemType type, HeapTuple row, BlogItem *item)
{
	TupleDesc	desc = RelationGetDescr(visit->leaf.rel);
	uint32		missing;

	/* what columns that came later have by default is the relation's to keep */
	if (desc->constr != NULL && desc->constr->missing != NULL &&
		HeapTupleHeaderGetNatts(row->t_data) < desc->natts)
		row = heap_expand_tuple(row, desc);
	ExecStoreHeapTuple(row, visit->copy, false);
	missing = item_from_slot(item, visit->copy, visit->leaf.attno) &
		visit->needed;
	visit->keep_lock |= HeapTupleHasExternal(row);
	return missing == 0 || item_complete(item, type, missing);
}

/*
 * Look up items without scans, in the leaf that is open. What takes a scan stays open.
 */
static void
look_up_items(ManyItems *many, LeafVisit *visit, const ItemQuery *query,
			  int from, int to)
{
	Relation	index = leaf_open_index(&visit->leaf, PATH_KEY);
	IndexFinder finder;
	Buffer		buffer = InvalidBuffer;
	pg_uuid_t	key[MAX_ROW_KEYS];
	ItemPointerData row;
	HeapTupleData version;

	index_finder_begin(&finder, visit->leaf.rel, index, query->nkeys + 1,
					   query->snapshot);
	for (int i = 0; i < query->nkeys; i++)
		key[i] = *DatumGetUUIDP(query->key[i]);
	for (int i = from; i < to; i++)
	{
		ManyItem   *item = &many->item[i];
		int			found;

		key[query->nkeys] = item->key;
		found = index_find(&finder, key, &row);
		item->open = found < 0;
		item->found = found > 0 &&
			leaf_row_version(&visit->leaf, &row, query->snapshot, &buffer,
							 &version) &&
			take_row(visit, many->type, heap_copytuple(&version), &item->item);
	}
	index_finder_end(&finder);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	many->index = RelationGetRelid(index);
	index_close(index, AccessShareLock);
}

/* Find those items by a scan that are open still. */
static void
scan_for_items(ManyItems *many, LeafVisit *visit, const ItemQuery *query,
			   int from, int to)
{
	ItemQuery	each = *query;
	Datum		key[MAX_ROW_KEYS];
	ItemScan   *scan = NULL;

	for (int i = 0; i < query->nkeys; i++)
		key[i] = query->key[i];
	each.key = key;
	each.nkeys++;
	for (int i = from; i < to; i++)
	{
		ManyItem   *item = &many->item[i];

		if (!item->open)
			continue;
		each.partition_key = &item->key;
		key[query->nkeys] = UUIDPGetDatum(&item->key);
		item_scan_look(&scan, &each);
		item->open = false;
		while (!item->found && item_scan_advance(scan))
			item->found = take_row(visit, many->type,
								   ExecCopySlotHeapTuple(item_scan_slot(scan)),
								   &item->item);
	}
	if (scan != NULL)
	{
		(void) item_scan_tables(scan, &many->leaf, &many->index);
		item_scan_end(scan);
	}
}

/*
 * Read the items from one on that lie in a leaf. Returns the end of them. Errors: those
 * of leaf_open(), and 22004 if an item lacks a value.
 */
static int
visit_leaf(ManyItems *many, const ItemQuery *query, int from)
{
	LeafVisit	visit = {.needed = item_required(many->type)};
	LeafWanted	wanted = {
		.container = many->container, .type = many->type,
		.key = &many->item[from].key, .path = PATH_KEY
	};
	int			end;

	if (!leaf_open(&visit.leaf, &wanted, AccessShareLock))
		return from + 1;
	end = end_of_leaf(many, from);
	many->leaves++;
	many->leaf = RelationGetRelid(visit.leaf.rel);
	visit.copy = MakeSingleTupleTableSlot(RelationGetDescr(visit.leaf.rel),
										  &TTSOpsHeapTuple);
	if (!IsolationIsSerializable() && leaf_has_rows(&visit.leaf))
		look_up_items(many, &visit, query, from, end);
	scan_for_items(many, &visit, query, from, end);
	ExecDropSingleTupleTableSlot(visit.copy);
	leaf_close(&visit.leaf, visit.keep_lock);
	return end;
}

/*
 * Read the items of n partition keys, of which some may be the same. The query says of
 * which container and type, and what its key's columns are but the last.
 */
ManyItems *
many_items_read(const ItemQuery *query, const pg_uuid_t *key, int n)
{
	ManyItems  *many = palloc0(sizeof(ManyItems));
	ItemQuery	each = *query;

	Assert(query->path == PATH_KEY && query->nkeys < MAX_ROW_KEYS);
	many->container = query->container;
	many->type = query->type;
	if (each.snapshot == NULL)
		each.snapshot = GetActiveSnapshot();
	take_keys(many, key, n);
	for (int i = 0; i < many->n;)
		i = visit_leaf(many, &each, i);
	return many;
}

/* ------------------------------------------------------------------------
 * Counts
 * ------------------------------------------------------------------------ */

/* Add up counts in a leaf that is open. What takes a scan stays open. */
static void
add_counts(ManyItems *many, const OpenLeaf *leaf, Snapshot snapshot,
		   int from, int to)
{
	Relation	index = leaf_open_index(leaf, PATH_KEY);
	IndexFinder finder;
	Buffer		buffer = InvalidBuffer;
	LeafCounts	sum;

	index_finder_begin(&finder, leaf->rel, index, 1, snapshot);
	for (int i = from; i < to; i++)
	{
		ManyItem   *item = &many->item[i];

		if (!item->found ||
			!leaf_sum_counts(leaf, &finder, &item->key, &buffer, &sum))
			continue;
		item_add_counts(&item->item, sum.comments, sum.likes);
		item->open = false;
	}
	index_finder_end(&finder);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	index_close(index, AccessShareLock);
}

/*
 * Add what a leaf counts for the items from one on whose keys lie in it. Returns the end
 * of them.
 */
static int
visit_counts(ManyItems *many, ItemType type, Snapshot snapshot, int from)
{
	LeafWanted	wanted = {
		.container = many->container, .type = type,
		.key = &many->item[from].key, .path = PATH_KEY
	};
	OpenLeaf	leaf;
	int			end;

	if (!many->item[from].found)
		return from + 1;
	if (!partition_takes_key(many->container, type, wanted.key))
	{
		many->item[from].open = false;
		return from + 1;
	}
	if (!leaf_open(&leaf, &wanted, AccessShareLock))
		return from + 1;
	end = end_of_leaf(many, from);
	if (leaf_has_rows(&leaf))
		add_counts(many, &leaf, snapshot, from, end);
	leaf_close(&leaf, false);
	return end;
}

/*
 * Add to the counts of the items that were found what items of another type count for
 * them, as a snapshot shows both. Those for which only a scan can tell are left open.
 */
void
many_items_add_counts(ManyItems *many, ItemType type, Snapshot snapshot)
{
	for (int i = 0; i < many->n; i++)
		many->item[i].open = many->item[i].found;
	if (IsolationIsSerializable())
		return;
	for (int i = 0; i < many->n;)
		i = visit_counts(many, type, snapshot, i);
}
