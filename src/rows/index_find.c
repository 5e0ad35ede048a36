/*
 * index_find.c
 *		Finding the one entry of a key in a B-tree index, without a scan.
 *
 * The page that the key leads to is looked at, and if one entry and no more has the key,
 * that is it. All else is left to a scan: entries that may go on in the next page, and
 * several with the same key, of which some may be of dead versions, which scans mark for
 * those who come after.
 *
 * The way down is that of _bt_search(), but keys are compared as the bytes that they are,
 * and nothing is remembered of the pages on the way. Where a page is not what the one
 * above it says, since it was split or emptied just now, _bt_search() goes. The root and
 * the last page stay pinned for keys that follow. A page that is pinned can have changed;
 * what it says of itself is looked at anew under its lock. It can be deleted, but not be
 * used for anything else as long as the snapshot is held.
 *
 * All indexes here are as CREATE INDEX makes them in any supported version. Runs in any
 * process; needs an active transaction and a snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "items/item.h"
#include "rows/rows.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* A key to search by, of one or two uuids: what is not zero in it, but the uuids. */
static BTScanInsertData search;

static void
search_for(const pg_uuid_t *key, int nkeys)
{
	if (search.keysz == 0)
	{
		FmgrInfo	compare;

		fmgr_info_cxt(F_UUID_CMP, &compare, TopMemoryContext);
		for (int i = 0; i < MAX_ROW_KEYS; i++)
			ScanKeyEntryInitializeWithInfo(&search.scankeys[i], 0, i + 1,
										   InvalidStrategy, InvalidOid,
										   InvalidOid, &compare, (Datum) 0);
		search.heapkeyspace = true;
	}
	search.keysz = nkeys;
	for (int i = 0; i < nkeys; i++)
		search.scankeys[i].sk_argument = UUIDPGetDatum(&key[i]);
}

/* ------------------------------------------------------------------------
 * A page
 * ------------------------------------------------------------------------ */

/* Compare two uuids, as uuid_cmp() does. */
static inline int
compare_uuids(const pg_uuid_t *a, const char *b)
{
	for (int i = 0; i < UUID_LEN; i += sizeof(uint64))
	{
		uint64		va;
		uint64		vb;

		memcpy(&va, &a->data[i], sizeof(uint64));
		memcpy(&vb, b + i, sizeof(uint64));
		if (va != vb)
			return pg_ntoh64(va) < pg_ntoh64(vb) ? -1 : 1;
	}
	return 0;
}

/* Does the key come after the values of an entry (> 0), or is it the entry's (0)? */
static inline int
compare_values(IndexTuple entry, const pg_uuid_t *key)
{
	const char *value = (char *) entry + IndexInfoFindDataOffset(entry->t_info);
	int			order = compare_uuids(key, value);

	/* the second uuid lies behind the first */
	if (order == 0 && search.keysz > 1)
		order = compare_uuids(key + 1, value + sizeof(pg_uuid_t));
	return order;
}

/* The same of an entry of a leaf page. */
static inline int
compare_entry(Relation index, Page page, OffsetNumber at, const pg_uuid_t *key)
{
	IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, at));

	return IndexTupleHasNulls(entry) ? _bt_compare(index, &search, page, at) :
		compare_values(entry, key);
}

/* The same of what divides pages, of which columns may be cut off. */
static inline int
compare_pivot(Relation index, Page page, OffsetNumber at, const pg_uuid_t *key)
{
	IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, at));
	int			order = 0;

	if (!IndexTupleHasNulls(entry) &&
		BTreeTupleGetNAtts(entry, index) >= search.keysz)
		order = compare_values(entry, key);
	return order != 0 ? order : _bt_compare(index, &search, page, at);
}

/* The page below one that is no leaf, on the way to a key. */
static BlockNumber
page_below(Relation index, Page page, const pg_uuid_t *key)
{
	/* all keys come after the first entry, which has no values */
	OffsetNumber at = OffsetNumberNext(P_FIRSTDATAKEY(BTPageGetOpaque(page)));
	OffsetNumber high = OffsetNumberNext(PageGetMaxOffsetNumber(page));

	while (at < high)
	{
		OffsetNumber middle = at + (high - at) / 2;

		if (compare_pivot(index, page, middle, key) > 0)
			at = middle + 1;
		else
			high = middle;
	}
	at = OffsetNumberPrev(at);
	return BTreeTupleGetDownLink((IndexTuple) PageGetItem(page,
														  PageGetItemId(page, at)));
}

/* Is a page there, and does a key not lie to the right of it? */
static bool
page_reaches(Relation index, Page page, const pg_uuid_t *key)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	return !P_IGNORE(opaque) &&
		(P_RIGHTMOST(opaque) ||
		 compare_pivot(index, page, P_HIKEY, key) <= 0);
}

/* Must all entries of a key be in this page, if there are any? */
static bool
page_covers(Relation index, Page page, const pg_uuid_t *key)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);

	return P_ISLEAF(opaque) && page_reaches(index, page, key) &&
		first <= PageGetMaxOffsetNumber(page) &&
		compare_entry(index, page, first, key) > 0;
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

/* ------------------------------------------------------------------------
 * The way down
 * ------------------------------------------------------------------------ */

/* Where the roots of some indexes were found last, by the indexes' oids. */
#define RECENT_ROOTS 256
static struct RecentRoot
{
	Oid			index;
	Buffer		buffer;
	unsigned	uses;
}			recent_root[RECENT_ROOTS];

/* A page that is pinned where it was does not count as used, for what is to stay in the cache. */
#define USED_EVERY 16

/*
 * Read a root. It is nearly always where it was, which is found out without the table of
 * all buffers and its locks.
 */
static Buffer
read_root(Relation index, BlockNumber block)
{
	struct RecentRoot *recent = &recent_root[RelationGetRelid(index) % RECENT_ROOTS];

	if (recent->index == RelationGetRelid(index) &&
		++recent->uses % USED_EVERY != 0 &&
		ReadRecentBuffer(index->rd_locator, MAIN_FORKNUM, block,
						 recent->buffer))
	{
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
		return recent->buffer;
	}
	recent->buffer = ReadBuffer(index, block);
	recent->index = RelationGetRelid(index);
	return recent->buffer;
}

/* Lock the root, as the index remembers it; false: it is another by now, or unknown. */
static bool
lock_root(IndexFinder *finder)
{
	const BTMetaPageData *meta = finder->index->rd_amcache;
	BTPageOpaque opaque;

	if (meta == NULL)
		return false;
	if (BufferIsValid(finder->root) &&
		BufferGetBlockNumber(finder->root) != meta->btm_fastroot)
	{
		ReleaseBuffer(finder->root);
		finder->root = InvalidBuffer;
	}
	if (!BufferIsValid(finder->root))
		finder->root = read_root(finder->index, meta->btm_fastroot);
	LockBuffer(finder->root, BUFFER_LOCK_SHARE);
	_bt_checkpage(finder->index, finder->root);
	opaque = BTPageGetOpaque(BufferGetPage(finder->root));
	/* as _bt_getroot() asks */
	if (!P_IGNORE(opaque) && opaque->btpo_level == meta->btm_fastlevel &&
		P_LEFTMOST(opaque) && P_RIGHTMOST(opaque))
		return true;
	LockBuffer(finder->root, BUFFER_LOCK_UNLOCK);
	return false;
}

/* The page that a key leads to, locked; invalid: _bt_search() has to find it. */
static Buffer
go_down(IndexFinder *finder, const pg_uuid_t *key)
{
	Relation	index = finder->index;
	Page		page;
	Buffer		buffer;
	BlockNumber below;

	if (!lock_root(finder))
		return InvalidBuffer;
	page = BufferGetPage(finder->root);
	if (P_ISLEAF(BTPageGetOpaque(page)))
	{
		/* pinned once, as the last page */
		buffer = finder->root;
		finder->root = InvalidBuffer;
		return buffer;
	}
	below = page_below(index, page, key);
	LockBuffer(finder->root, BUFFER_LOCK_UNLOCK);
	buffer = _bt_getbuf(index, below, BT_READ);
	for (;;)
	{
		page = BufferGetPage(buffer);
		if (!page_reaches(index, page, key))
		{
			_bt_relbuf(index, buffer);
			return InvalidBuffer;
		}
		if (P_ISLEAF(BTPageGetOpaque(page)))
			return buffer;
		buffer = _bt_relandgetbuf(index, buffer, page_below(index, page, key),
								  BT_READ);
	}
}

/* Begin to look up keys, the first nkeys columns of an index of a table, all uuids. */
void
index_finder_begin(IndexFinder *finder, Relation table, Relation index,
				   int nkeys, Snapshot snapshot)
{
	finder->table = table;
	finder->index = index;
	finder->nkeys = nkeys;
	finder->snapshot = snapshot;
	finder->root = InvalidBuffer;
	finder->page = InvalidBuffer;
}

/* Lock the page that a key leads to; false: the index has no pages. */
static bool
lock_page(IndexFinder *finder, const pg_uuid_t *key)
{
	if (BufferIsValid(finder->page))
	{
		LockBuffer(finder->page, BUFFER_LOCK_SHARE);
		if (page_covers(finder->index, BufferGetPage(finder->page), key))
			return true;
		_bt_relbuf(finder->index, finder->page);
	}
	finder->page = go_down(finder, key);
	if (!BufferIsValid(finder->page))
		_bt_freestack(compat_bt_search(finder->table, finder->index, &search,
									   &finder->page, finder->snapshot));
	return BufferIsValid(finder->page);
}

/*
 * Look up the row of a key. Returns whether there is one, of which not even a version
 * need show; -1: a scan has to tell. Keys in the order of the index cost least.
 */
int
index_find(IndexFinder *finder, const pg_uuid_t *key, ItemPointer row)
{
	int			found = 0;

	if (!IsMVCCSnapshot(finder->snapshot) || IsolationIsSerializable())
		return -1;
	search_for(key, finder->nkeys);
	if (lock_page(finder, key))
	{
		found = find_entry(finder->index, BufferGetPage(finder->page), key, row);
		LockBuffer(finder->page, BUFFER_LOCK_UNLOCK);
	}
	if (found < 0)
		return found;
	pgstat_count_index_scan(finder->index);
	pgstat_count_index_tuples(finder->index, found);
	return found;
}

/* Let go of what is pinned. */
void
index_finder_end(IndexFinder *finder)
{
	if (BufferIsValid(finder->root))
		ReleaseBuffer(finder->root);
	if (BufferIsValid(finder->page))
		ReleaseBuffer(finder->page);
}
