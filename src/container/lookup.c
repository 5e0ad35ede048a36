/*
 * lookup.c
 *		Reading the one row of a key without a scan of the index.
 *
 * A scan of an index is made for lists: it has room for all entries of a page, and
 * goes through those that the key has there. To begin and end one costs more than
 * to read the row, and a post with its counter takes two. Here the page that the
 * key leads to is looked at, and if one entry and no more has the key, the row that it
 * points to is read, as a scan would. All else is left to a scan: entries that may go
 * on in the next page, and several with the same key, of which some may be of dead
 * versions, which scans mark for those who come after.
 *
 * As with a scan by an MVCC snapshot, nothing keeps VACUUM from the row once the page
 * has been let go: the snapshot does not show what comes to lie in its place.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "layout/item.h"
#include "layout/leaf.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * A key to search an index by, of one uuid: what is not zero in it, but the uuid. All
 * indexes here are as CREATE INDEX makes them in any supported version.
 */
static BTScanInsertData search;

static void
search_for(const pg_uuid_t *key)
{
	if (search.keysz == 0)
	{
		FmgrInfo	compare;

		fmgr_info_cxt(F_UUID_CMP, &compare, TopMemoryContext);
		ScanKeyEntryInitializeWithInfo(&search.scankeys[0], 0, 1,
									   InvalidStrategy, InvalidOid, InvalidOid,
									   &compare, (Datum) 0);
		search.heapkeyspace = true;
		search.keysz = 1;
	}
	search.scankeys[0].sk_argument = UUIDPGetDatum(key);
}

/* Does the key come after an entry of a leaf page (> 0), or is it the entry's (0)? */
static int
compare_entry(Relation index, Page page, OffsetNumber at, const pg_uuid_t *key)
{
	IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, at));

	if (IndexTupleHasNulls(entry))
		return _bt_compare(index, &search, page, at);
	return memcmp(key, (char *) entry + IndexInfoFindDataOffset(entry->t_info),
				  sizeof(pg_uuid_t));
}

/*
 * Find the entry of a key in the page that it leads to. Returns whether there is one;
 * -1: a scan has to tell.
 */
static int
find_entry(Relation index, Page page, const pg_uuid_t *key, ItemPointer row)
{
	OffsetNumber at = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber end = OffsetNumberNext(PageGetMaxOffsetNumber(page));
	bool		last = P_RIGHTMOST(BTPageGetOpaque(page));
	IndexTuple	entry;

	for (OffsetNumber high = end; at < high;)
	{
		OffsetNumber middle = at + (high - at) / 2;

		if (compare_entry(index, page, middle, key) > 0)
			at = middle + 1;
		else
			high = middle;
	}
	if (at >= end)
		return last ? 0 : -1;
	if (compare_entry(index, page, at, key) != 0)
		return 0;
	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, at));
	at++;
	if (BTreeTupleIsPosting(entry) ||
		(at < end ? compare_entry(index, page, at, key) == 0 : !last))
		return -1;
	*row = entry->t_tid;
	return 1;
}

/*
 * Look up the row of a key in an index whose first column is a uuid. Returns whether
 * there is one, of which not even a version need show; -1: a scan has to tell.
 */
int
leaf_find_row(const OpenLeaf *leaf, Relation index, const pg_uuid_t *key,
			  Snapshot snapshot, ItemPointer row)
{
	Buffer		buffer;
	int			found = 0;

	if (!IsMVCCSnapshot(snapshot) || IsolationIsSerializable())
		return -1;
	search_for(key);
	_bt_freestack(compat_bt_search(leaf->rel, index, &search, &buffer, snapshot));
	if (BufferIsValid(buffer))
	{
		found = find_entry(index, BufferGetPage(buffer), key, row);
		_bt_relbuf(index, buffer);
	}
	if (found < 0)
		return found;
	pgstat_count_index_scan(index);
	pgstat_count_index_tuples(index, found);
	return found;
}

/* Read the version of a row that a snapshot shows into a slot; false: none shows. */
bool
leaf_read_row(const OpenLeaf *leaf, ItemPointer row, Snapshot snapshot,
			  TupleTableSlot *slot)
{
	IndexFetchTableData *fetch = table_index_fetch_begin(leaf->rel);
	bool		again = false;
	bool		shown = table_index_fetch_tuple(fetch, row, snapshot, slot, &again,
												NULL);

	if (shown)
		pgstat_count_heap_fetch(leaf->rel);
	table_index_fetch_end(fetch);
	return shown;
}

/* Add what a count of a row says; false: it says nothing. */
static bool
add_column(const OpenLeaf *leaf, HeapTuple tuple, Property count, int64 *sum)
{
	AttrNumber	att = leaf->attno[count];
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (att != InvalidAttrNumber)
		value = heap_getattr(tuple, att, RelationGetDescr(leaf->rel), &isnull);
	if (!isnull)
		*sum += DatumGetInt64(value);
	return !isnull;
}

/* Add what the version of a row says that a snapshot shows; false: it lacks something. */
static bool
add_row(const OpenLeaf *leaf, ItemPointer row, Snapshot snapshot,
		int64 *comments, int64 *likes)
{
	Buffer		buffer = ReadBuffer(leaf->rel, ItemPointerGetBlockNumber(row));
	HeapTupleData tuple;
	bool		complete = true;
	bool		shown;

	heap_page_prune_opt(leaf->rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	shown = heap_hot_search_buffer(row, leaf->rel, buffer, snapshot, &tuple,
								   NULL, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (shown)
	{
		complete = add_column(leaf, &tuple, PROP_COMMENT_COUNT, comments) &&
			add_column(leaf, &tuple, PROP_LIKE_COUNT, likes);
		pgstat_count_heap_fetch(leaf->rel);
	}
	ReleaseBuffer(buffer);
	return complete;
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
		.container = container, .type = type, .key = key, .path = PATH_KEY
	};
	OpenLeaf	leaf;
	bool		added = false;

	*comments = *likes = 0;
	if (!leaf_open(&leaf, &wanted, AccessShareLock))
		return false;
	if (OidIsValid(leaf.index[PATH_KEY]) &&
		leaf.rel->rd_tableam == GetHeapamTableAmRoutine())
	{
		Relation	index = leaf_open_index(&leaf, PATH_KEY);
		ItemPointerData row;
		int			found = leaf_find_row(&leaf, index, key, snapshot, &row);

		added = found == 0 || (found > 0 && add_row(&leaf, &row, snapshot,
													comments, likes));
		index_close(index, AccessShareLock);
	}
	leaf_close(&leaf, false);
	return added;
}
