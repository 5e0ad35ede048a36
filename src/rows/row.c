/*
 * row.c
 *		Reading the one row of a key without a scan of the index.
 *
 * A scan of an index is made for lists: it has room for all entries of a page, and
 * goes through those that the key has there. To begin and end one costs more than
 * to read the row, and a post with its counter takes two. Here the row is read to which
 * the key's one entry points (index_find.c), as a scan would. All else is left to a scan.
 *
 * As with a scan by an MVCC snapshot, nothing keeps VACUUM from the row once the page
 * has been let go: the snapshot does not show what comes to lie in its place.
 *
 * Runs in any process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "items/item.h"
#include "layout/leaf.h"
#include "rows/rows.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Look up the row of a key in an index whose first nkeys columns are uuids. Returns
 * whether there is one, of which not even a version need show; -1: a scan has to tell.
 */
int
leaf_find_row(const OpenLeaf *leaf, Relation index, const pg_uuid_t *key,
			  Snapshot snapshot, ItemPointer row)
{
	IndexFinder finder;
	int			found;

	index_finder_begin(&finder, leaf->rel, index, 1, snapshot);
	found = index_find(&finder, key, row);
	index_finder_end(&finder);
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

/* Can rows of a leaf that is open be looked up by their keys? */
bool
leaf_has_rows(const OpenLeaf *leaf)
{
	return OidIsValid(leaf->index[PATH_KEY]) &&
		leaf->rel->rd_tableam == GetHeapamTableAmRoutine();
}

/*
 * The version of a row that a snapshot shows, in a leaf that has rows; false: none shows.
 * Its page stays pinned in *buffer, which is invalid at first, for rows that follow.
 */
bool
leaf_row_version(const OpenLeaf *leaf, ItemPointer row, Snapshot snapshot,
				 Buffer *buffer, HeapTuple tuple)
{
	Buffer		before = *buffer;
	bool		shown;

	*buffer = ReleaseAndReadBuffer(before, leaf->rel,
								   ItemPointerGetBlockNumber(row));
	if (*buffer != before)
		heap_page_prune_opt(leaf->rel, *buffer);
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	shown = heap_hot_search_buffer(row, leaf->rel, *buffer, snapshot, tuple,
								   NULL, true);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	if (shown)
		pgstat_count_heap_fetch(leaf->rel);
	return shown;
}

/*
 * Add what a row counts, as heap_deform_tuple() reads it, but nothing behind the counts;
 * false: it lacks something.
 */
static bool
add_counts(const OpenLeaf *leaf, HeapTuple tuple, RowCounts *sum)
{
	TupleDesc	desc = RelationGetDescr(leaf->rel);
	const bits8 *nulls = HeapTupleHasNulls(tuple) ? tuple->t_data->t_bits : NULL;
	char	   *data = (char *) tuple->t_data + tuple->t_data->t_hoff;
	AttrNumber	comments = leaf->attno[PROP_COMMENT_COUNT];
	AttrNumber	likes = leaf->attno[PROP_LIKE_COUNT];
	AttrNumber	last = Max(comments, likes);
	uint32		offset = 0;

	if (Min(comments, likes) == InvalidAttrNumber ||
		HeapTupleHeaderGetNatts(tuple->t_data) < last)
		return false;
	for (AttrNumber i = 1; i <= last; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i - 1);

		if (nulls != NULL && att_isnull(i - 1, nulls))
		{
			if (i == comments || i == likes)
				return false;
			continue;
		}
		offset = att_align_pointer(offset, att->attalign, att->attlen,
								   data + offset);
		if (i == comments)
			sum->comments += DatumGetInt64(fetchatt(att, data + offset));
		else if (i == likes)
			sum->likes += DatumGetInt64(fetchatt(att, data + offset));
		offset = att_addlength_pointer(offset, att->attlen, data + offset);
	}
	return true;
}

/*
 * Add up what the items count whose keys begin with a uuid, in a leaf that has rows;
 * false, with the sum undefined: a scan has to do that.
 */
bool
leaf_sum_counts(const OpenLeaf *leaf, IndexFinder *finder, const pg_uuid_t *key,
				Buffer *buffer, RowCounts *sum)
{
	ItemPointerData row;
	HeapTupleData tuple;
	int			found = index_find(finder, key, &row);

	sum->comments = sum->likes = 0;
	if (found <= 0)
		return found == 0;
	return !leaf_row_version(leaf, &row, finder->snapshot, buffer, &tuple) ||
		add_counts(leaf, &tuple, sum);
}
