/*
 * many_rows.c
 *		Looking up rows of one type by many keys.
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
 * Rows lie in pages of their own. When one has had to be read, the pages of as many of
 * those that follow are asked for as effective_io_concurrency allows, and then all of these
 * are read.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "items/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"
#include "rows/many.h"
#include "rows/rows.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* What is looked up: rows of a type, by the columns of keys that come before the partition's. */
typedef struct ManyWanted
{
	ItemType	type;
	pg_uuid_t	key[MAX_ROW_KEYS];	/* the last is each item's own */
	int			nkeys;
	Snapshot	snapshot;
	bool		of_found;		/* for items alone that were found */
	int64		reads;			/* pages that the backend had read when that was looked at */
	Oid			tablespace;		/* of the last leaf that was visited */
	int			ahead;			/* the end of the items whose pages were asked for */
} ManyWanted;

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
 * Pages that are not in the cache
 * ------------------------------------------------------------------------ */

/* Is an item's row looked up? */
static inline bool
is_wanted(const ManyItems *many, const ManyWanted *wanted, int i)
{
	return !wanted->of_found || many->item[i].found;
}

/* Ask for the pages of the rows from one on, up to another, of a leaf that is open. */
static void
ask_for_rows(const ManyItems *many, ManyWanted *wanted, const OpenLeaf *leaf,
			 Relation index, int from, int to)
{
	IndexFinder finder;
	ItemPointerData row;
	BlockNumber last = InvalidBlockNumber;

	index_finder_begin(&finder, leaf->rel, index, wanted->nkeys,
					   wanted->snapshot);
	for (int i = from; i < to; i++)
	{
		wanted->key[wanted->nkeys - 1] = many->item[i].key;
		if (!is_wanted(many, wanted, i) ||
			index_find(&finder, wanted->key, &row) <= 0 ||
			ItemPointerGetBlockNumber(&row) == last)
			continue;
		last = ItemPointerGetBlockNumber(&row);
		PrefetchBuffer(leaf->rel, MAIN_FORKNUM, last);
	}
	index_finder_end(&finder);
}

/* The same of those that lie in the leaf of the first. Returns the end of them. */
static int
ask_in_leaf(const ManyItems *many, ManyWanted *wanted, int from, int to)
{
	LeafWanted	place = {
		.container = many->container, .type = wanted->type,
		.key = &many->item[from].key, .path = PATH_KEY
	};
	OpenLeaf	leaf;

	if (!is_wanted(many, wanted, from) ||
		!partition_takes_key(many->container, wanted->type, place.key) ||
		!leaf_open(&leaf, &place, AccessShareLock))
		return from + 1;
	to = Min(to, end_of_leaf(many, from));
	if (leaf_has_rows(&leaf))
	{
		Relation	index = leaf_open_index(&leaf, PATH_KEY);

		ask_for_rows(many, wanted, &leaf, index, from, to);
		index_close(index, AccessShareLock);
	}
	leaf_close(&leaf, false);
	return to;
}

/* Did a page have to be read since that was last looked at? */
static inline bool
had_to_read(const ManyWanted *wanted)
{
	return unlikely(wanted->reads != pgBufferUsage.shared_blks_read);
}

/*
 * A page had to be read: for how many rows is it worth to ask now, from one on up to
 * another? To ask for the next alone gains nothing.
 */
static int
rows_to_ask(ManyWanted *wanted, int from, int to)
{
	int			pages;

	wanted->reads = pgBufferUsage.shared_blks_read;
	if (from < wanted->ahead || to - from < 2)
		return 0;
	pages = get_tablespace_io_concurrency(wanted->tablespace);
	if (pages < 2)
		return 0;
	wanted->ahead = Min(to, from + pages);
	return wanted->ahead - from;
}

/*
 * Ask for rows of the leaves that follow. Between two leaves, so that none is locked while
 * another is waited for.
 */
static void
ask_in_leaves(const ManyItems *many, ManyWanted *wanted, int from)
{
	int			to = from + rows_to_ask(wanted, from, many->n);

	while (from < to)
		from = ask_in_leaf(many, wanted, from, to);
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

/* Look up items in the leaf that is open. What takes a scan stays open. */
static void
look_up_items(ManyItems *many, LeafVisit *visit, ManyWanted *wanted,
			  int from, int to)
{
	Relation	index = leaf_open_index(&visit->leaf, PATH_KEY);
	IndexFinder finder;
	Buffer		buffer = InvalidBuffer;
	ItemPointerData row;
	HeapTupleData version;

	index_finder_begin(&finder, visit->leaf.rel, index, wanted->nkeys,
					   wanted->snapshot);
	for (int i = from; i < to; i++)
	{
		ManyItem   *item = &many->item[i];
		int			found;

		if (had_to_read(wanted))
			ask_for_rows(many, wanted, &visit->leaf, index, i,
						 i + rows_to_ask(wanted, i, to));
		wanted->key[wanted->nkeys - 1] = item->key;
		found = index_find(&finder, wanted->key, &row);
		item->open = found < 0;
		item->found = found > 0 &&
			leaf_row_version(&visit->leaf, &row, wanted->snapshot, &buffer,
							 &version) &&
			take_row(visit, many->type, heap_copytuple(&version), &item->item);
	}
	index_finder_end(&finder);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	many->index = RelationGetRelid(index);
	index_close(index, AccessShareLock);
}

/* Look up the items from one on that lie in a leaf. Returns the end of them. */
static int
visit_leaf(ManyItems *many, ManyWanted *wanted, int from)
{
	LeafVisit	visit = {.needed = item_required(many->type)};
	LeafWanted	place = {
		.container = many->container, .type = many->type,
		.key = &many->item[from].key, .path = PATH_KEY
	};
	int			end;

	if (!leaf_open(&visit.leaf, &place, AccessShareLock))
		return from + 1;
	wanted->tablespace = visit.leaf.rel->rd_rel->reltablespace;
	end = end_of_leaf(many, from);
	if (leaf_has_rows(&visit.leaf))
	{
		visit.copy = MakeSingleTupleTableSlot(RelationGetDescr(visit.leaf.rel),
											  &TTSOpsHeapTuple);
		look_up_items(many, &visit, wanted, from, end);
		ExecDropSingleTupleTableSlot(visit.copy);
		many->leaves++;
		many->leaf = RelationGetRelid(visit.leaf.rel);
	}
	leaf_close(&visit.leaf, visit.keep_lock);
	return end;
}

/* Begin to read the items of n partition keys, of which some may be the same. */
ManyItems *
many_rows_begin(Container container, ItemType type, const pg_uuid_t *key, int n)
{
	ManyItems  *many = palloc0(sizeof(ManyItems));

	many->container = container;
	many->type = type;
	take_keys(many, key, n);
	return many;
}

/*
 * Look up the items, whose keys have nbefore columns before the partition's. In a
 * serializable transaction all of them take a scan, which leaves predicate locks. Errors:
 * those of leaf_open(), and 22004 if an item lacks a value.
 */
void
many_rows_look_up(ManyItems *many, const Datum *before, int nbefore,
				  Snapshot snapshot)
{
	ManyWanted	wanted = {
		.type = many->type, .nkeys = nbefore + 1, .snapshot = snapshot,
		.reads = pgBufferUsage.shared_blks_read
	};

	Assert(nbefore < MAX_ROW_KEYS);
	if (IsolationIsSerializable())
		return;
	for (int i = 0; i < nbefore; i++)
		wanted.key[i] = *DatumGetUUIDP(before[i]);
	for (int i = 0; i < many->n;)
	{
		if (had_to_read(&wanted))
			ask_in_leaves(many, &wanted, i);
		i = visit_leaf(many, &wanted, i);
	}
}

/* ------------------------------------------------------------------------
 * Counts
 * ------------------------------------------------------------------------ */

/* Add up counts in a leaf that is open. What takes a scan stays open. */
static void
add_counts(ManyItems *many, const OpenLeaf *leaf, ManyWanted *wanted,
		   int from, int to)
{
	Relation	index = leaf_open_index(leaf, PATH_KEY);
	IndexFinder finder;
	Buffer		buffer = InvalidBuffer;
	RowCounts	sum;

	index_finder_begin(&finder, leaf->rel, index, wanted->nkeys,
					   wanted->snapshot);
	for (int i = from; i < to; i++)
	{
		ManyItem   *item = &many->item[i];

		if (had_to_read(wanted))
			ask_for_rows(many, wanted, leaf, index, i,
						 i + rows_to_ask(wanted, i, to));
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
visit_counts(ManyItems *many, ManyWanted *wanted, int from)
{
	LeafWanted	place = {
		.container = many->container, .type = wanted->type,
		.key = &many->item[from].key, .path = PATH_KEY
	};
	OpenLeaf	leaf;
	int			end;

	if (!many->item[from].found)
		return from + 1;
	if (!partition_takes_key(many->container, wanted->type, place.key))
	{
		many->item[from].open = false;
		return from + 1;
	}
	if (!leaf_open(&leaf, &place, AccessShareLock))
		return from + 1;
	wanted->tablespace = leaf.rel->rd_rel->reltablespace;
	end = end_of_leaf(many, from);
	if (leaf_has_rows(&leaf))
		add_counts(many, &leaf, wanted, from, end);
	leaf_close(&leaf, false);
	return end;
}

/*
 * Add to the counts of the items that were found what items of another type count for
 * them, as a snapshot shows both. Those for which only a scan can tell are left open.
 */
void
many_rows_add_counts(ManyItems *many, ItemType type, Snapshot snapshot)
{
	ManyWanted	wanted = {
		.type = type, .nkeys = 1, .snapshot = snapshot, .of_found = true,
		.reads = pgBufferUsage.shared_blks_read
	};

	for (int i = 0; i < many->n; i++)
		many->item[i].open = many->item[i].found;
	if (IsolationIsSerializable())
		return;
	for (int i = 0; i < many->n;)
	{
		if (had_to_read(&wanted))
			ask_in_leaves(many, &wanted, i);
		i = visit_counts(many, &wanted, i);
	}
}
