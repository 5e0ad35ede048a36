/*
 * row_scan.c
 *		Reads the items of one type in one partition through an index.
 *
 * A scan opens the leaf and one of its indexes. A scan can read a list
 * backward (newest first) or forward, and can begin after a given
 * (creation_date, id), the cursor. The index gets the cursor as a row
 * comparison: (creation_date, id) < cursor, or >. So it does not matter how
 * many items precede the cursor.
 *
 * Runs in any process, in a transaction with a snapshot.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/row_scan.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/rows.h"

#include "access/relscan.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * Set the scan keys of the first nkeys index columns: each column must equal
 * the given value. The creation date is a timestamptz, a topic a text, and
 * every other column a uuid. Returns the number of scan keys.
 */
static int
scan_equal_keys(ItemScan *scan, const Datum *key, int nkeys)
{
	Assert(nkeys <= MAX_KEYS);
	for (int i = 0; i < nkeys; i++)
	{
		AttrNumber	att = scan->index->rd_index->indkey.values[i];
		bool		date = att == scan->leaf.attno[PROP_CREATION_DATE];
		bool		topic = att == scan->leaf.attno[PROP_TOPIC];

		/* ScanKeyInit() sets the collation "C", which topics have */
		ScanKeyInit(&scan->keys[i], i + 1, BTEqualStrategyNumber,
					topic ? F_TEXTEQ : date ? F_TIMESTAMPTZ_EQ : F_UUID_EQ,
					key[i]);
	}
	return nkeys;
}

/*
 * Set scan->keys[n] to a row comparison of the index columns n + 1 to n +
 * nmembers with the given values. Does this as ExecIndexBuildScanKeys() does.
 */
static void
scan_row_key(ItemScan *scan, int n, int nmembers, StrategyNumber strategy,
			 const Datum *value)
{
	ScanKey		header = &scan->keys[n];

	for (int i = 0; i < nmembers; i++)
	{
		AttrNumber	att = scan->index->rd_index->indkey.values[n + i];
		bool		date = att == scan->leaf.attno[PROP_CREATION_DATE];

		ScanKeyEntryInitialize(&scan->row[i],
							   SK_ROW_MEMBER |
							   (i == nmembers - 1 ? SK_ROW_END : 0),
							   n + i + 1, strategy, InvalidOid, InvalidOid,
							   date ? F_TIMESTAMPTZ_CMP : F_UUID_CMP, value[i]);
	}
	memset(header, 0, sizeof(ScanKeyData));
	header->sk_flags = SK_ROW_HEADER;
	header->sk_attno = n + 1;
	header->sk_strategy = strategy;
	header->sk_argument = PointerGetDatum(scan->row);
}

/*
 * Set scan->keys[n] to the condition (creation_date, id) < cursor for a
 * backward scan, or > for a forward scan. creation_date and id are the index
 * columns n + 1 and n + 2.
 */
static void
scan_cursor_key(ItemScan *scan, int n, const Cursor *cursor)
{
	Datum		value[] = {
		TimestampTzGetDatum(cursor->date), UUIDPGetDatum(&cursor->id)
	};

	scan_row_key(scan, n, 2, ScanDirectionIsBackward(scan->direction) ?
				 BTLessStrategyNumber : BTGreaterStrategyNumber, value);
}

/*
 * Let a scan return items in which required fields are NULL. Only the fields
 * that identify the item and the key columns of the index must not be NULL.
 * Used for callers that rewrite or delete items with such NULLs.
 */
static void
scan_identity(ItemScan *scan, Container container)
{
	uint32		needed = item_identity(container, scan->type);

	for (int i = 0; i < scan->ncolumns; i++)
		needed |= UINT32_C(1) << scan->column[i];
	scan->needed &= needed;
}

static ItemScan *
scan_leaf(const OpenLeaf *leaf, const ItemQuery *query)
{
	ItemScan   *scan = palloc(sizeof(ItemScan));

	scan->path = query->path;
	scan->filter = NULL;
	scan->desc = NULL;
	read_ahead_begin(&scan->ahead, query->rows, query->parts);
	scan->leaf = *leaf;
	scan->index = leaf_open_index(&scan->leaf, query->container, query->type,
								  scan->path);
	scan->direction = query->backward ? BackwardScanDirection :
		ForwardScanDirection;
	scan->hidden = query->shown && !is_like(query->type) ?
		scan->leaf.attno[PROP_HIDDEN] : InvalidAttrNumber;
	scan->type = query->type;
	scan->needed = item_required(query->type);
	scan->ncolumns = leaf_path_columns(query->container, query->type,
									   scan->path, &scan->column);
	if (query->identity)
		scan_identity(scan, query->container);
	scan->slot = table_slot_create(scan->leaf.rel, NULL);
	return scan;
}

static ItemScan *
scan_open(const ItemQuery *query)
{
	OpenLeaf	leaf;

	leaf_open(&leaf, &(LeafWanted) {
		.container = query->container, .type = query->type,
		.key = query->partition_key, .partition = query->partition,
		.path = query->path
	}, AccessShareLock);
	return scan_leaf(&leaf, query);
}

/*
 * Return a snapshot with which a scan takes no predicate locks. In a
 * SERIALIZABLE transaction, index and table scans take predicate locks if they
 * read with an MVCC snapshot (SerializationNeededForRead()). So the scan reads
 * all row versions with SnapshotAny, and skips those that are not visible to
 * the MVCC snapshot (scan->filter).
 */
static Snapshot
scan_without_locks(ItemScan *scan, Snapshot snapshot)
{
	if (!IsolationIsSerializable() || !IsMVCCSnapshot(snapshot))
		return snapshot;
	scan->filter = snapshot;
	return SnapshotAny;
}

/*
 * Set scan->keys[n] to a condition on the index columns from number n + 1 on:
 * as a row, they must be greater than the values in "after".
 */
static void
scan_after_key(ItemScan *scan, int n, const ItemPlace *after)
{
	Datum		value[MAX_PATH_COLUMNS] = {0};

	scan->after = *after;
	for (int i = n; i < scan->ncolumns; i++)
		value[i] = scan->column[i] == PROP_CREATION_DATE ?
			TimestampTzGetDatum(scan->after.date) :
			UUIDPGetDatum(i == 0 ? &scan->after.first :
						  i < scan->ncolumns - 1 ? &scan->after.middle :
						  &scan->after.last);
	/* a single remaining column is a uuid, and needs no row comparison */
	if (scan->ncolumns - n == 1)
		ScanKeyInit(&scan->keys[n], n + 1, BTGreaterStrategyNumber, F_UUID_GT,
					value[n]);
	else
		scan_row_key(scan, n, scan->ncolumns - n, BTGreaterStrategyNumber,
					 &value[n]);
}

/*
 * Set scan->keys[n] to the condition that the topic is not less than "from",
 * or, if "beyond" is true, that it is greater.
 */
static void
scan_topic_key(ItemScan *scan, int n, const text *from, bool beyond)
{
	ScanKeyInit(&scan->keys[n], 1,
				beyond ? BTGreaterStrategyNumber : BTGreaterEqualStrategyNumber,
				beyond ? F_TEXT_GT : F_TEXT_GE, PointerGetDatum(from));
}

static ItemScan *
scan_start(ItemScan *scan, const ItemQuery *query)
{
	Snapshot	snapshot = query->snapshot ? query->snapshot :
		GetActiveSnapshot();
	int			n = scan_equal_keys(scan, query->key, query->nkeys);

	if (query->cursor != NULL && query->cursor->valid)
		scan_cursor_key(scan, n++, query->cursor);
	if (query->after != NULL && query->after->valid)
		scan_after_key(scan, n++, query->after);
	if (query->from_topic != NULL)
		scan_topic_key(scan, n++, query->from_topic, query->beyond_topic);
	if (query->no_predicate_locks)
		snapshot = scan_without_locks(scan, snapshot);
	scan->desc = compat_index_beginscan(scan->leaf.rel, scan->index, snapshot,
										n);
	index_rescan(scan->desc, scan->keys, n, NULL, 0);
	scan->nkeys = n;
	return scan;
}

/*
 * Begin a scan of the items that match "query". Errors: 55000 if the table
 * cannot be read. Locks: AccessShareLock on the table and the index, to the
 * end of the scan.
 */
ItemScan *
item_scan_begin(const ItemQuery *query)
{
	return scan_start(scan_open(query), query);
}

/*
 * Restart a scan with other values for the same key columns, and with the same
 * cursor. The items with these values must be in the same table.
 */
void
item_scan_again(ItemScan *scan, const Datum *key, int nkeys)
{
	ExecClearTuple(scan->slot);
	read_ahead_again(&scan->ahead);
	(void) scan_equal_keys(scan, key, nkeys);
	index_rescan(scan->desc, scan->keys, scan->nkeys, NULL, 0);
}

/*
 * Make *scan read the items that match "query". *scan is NULL before the first
 * call. Later calls for *scan must pass a query in which only the key differs.
 * If the new key is in the same partition, *scan is restarted. Otherwise *scan
 * is ended, and a new scan is begun.
 */
void
item_scan_look(ItemScan **scan, const ItemQuery *query)
{
	int			partition = partition_of_items(query->container, query->type,
											   query->partition_key);

	if (*scan != NULL && (*scan)->partition == partition &&
		(*scan)->stamp == layout_stamp())
	{
		item_scan_again(*scan, query->key, query->nkeys);
		return;
	}
	if (*scan != NULL)
		item_scan_end(*scan);
	*scan = NULL;
	*scan = item_scan_begin(query);
	(*scan)->partition = partition;
	(*scan)->stamp = layout_stamp();
}

/*
 * Begin a scan of an open leaf. The caller closes the leaf after the scan.
 * Locks: AccessShareLock on the index, until the transaction ends.
 */
ItemScan *
leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query)
{
	OpenLeaf	again = *leaf;

	if (OidIsValid(leaf->index[query->path]))
		LockRelationOid(leaf->index[query->path], AccessShareLock);
	RelationIncrementReferenceCount(again.rel);
	again.lockmode = NoLock;
	return scan_start(scan_leaf(&again, query), query);
}

/*
 * Raise an error (22004) if a required field of an item is NULL. Called for
 * items that were read with ItemQuery.identity, because such a scan does not
 * check all required fields.
 */
void
item_scan_require(const ItemScan *scan, const BlogItem *item)
{
	item_require(scan->leaf.rel, item, scan->type, item_required(scan->type));
}

/*
 * Set *place to the place of a scan's current item. A later scan can start
 * after this place (ItemQuery.after).
 */
void
item_scan_place(const ItemScan *scan, ItemPlace *place)
{
	BlogItem	item;

	(void) item_from_slot(&item, scan->slot, scan->leaf.attno);
	memset(place, 0, sizeof(*place));
	place->valid = true;
	place->first = *item_uuid(&item, scan->column[0]);
	for (int i = 1; i < scan->ncolumns; i++)
		if (scan->column[i] == PROP_CREATION_DATE)
			place->date = item_date(&item);
		else if (i < scan->ncolumns - 1)
			place->middle = *item_uuid(&item, scan->column[i]);
		else
			place->last = *item_uuid(&item, scan->column[i]);
}

void
item_scan_tables(const ItemScan *scan, Oid *leaf, Oid *index)
{
	*leaf = RelationGetRelid(scan->leaf.rel);
	*index = RelationGetRelid(scan->index);
}

/*
 * Return whether a scan must skip its current item, because the column
 * "hidden" is true and the query asks only for shown items.
 */
static inline bool
scan_passes_by(const ItemScan *scan)
{
	bool		isnull;
	Datum		hidden;

	if (scan->hidden == InvalidAttrNumber)
		return false;
	hidden = slot_getattr(scan->slot, scan->hidden, &isnull);
	return !isnull && DatumGetBool(hidden);
}

/*
 * Advance a scan to the next row version that is visible to the scan's
 * snapshot. Returns false at the end. Does not check required fields.
 */
static bool
item_scan_advance(ItemScan *scan)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!read_ahead_next(scan) &&
			(scan->ahead.ended ||
			 !index_getnext_slot(scan->desc, scan->direction, scan->slot)))
			return false;
		scan->ahead.given++;
		if (unlikely(scan->ahead.reads != pgBufferUsage.shared_blks_read))
			read_ahead(scan);
	} while ((scan->filter != NULL && !item_scan_shown(scan, scan->filter)) ||
			 scan_passes_by(scan));
	return true;
}

/*
 * Get the next item of a scan. The item is valid until the next call. Returns
 * false at the end. Errors: 22004 if a required field of the item is NULL. If
 * ItemQuery.identity is true, fewer fields are required.
 */
bool
item_scan_next(ItemScan *scan, BlogItem *out)
{
	uint32		missing;

	if (!item_scan_advance(scan))
		return false;
	missing = item_from_slot(out, scan->slot, scan->leaf.attno) & scan->needed;
	if (unlikely(missing != 0))
		item_require(scan->leaf.rel, out, scan->type, missing);
	return true;
}

bool
item_scan_shown(ItemScan *scan, Snapshot snapshot)
{
	return table_tuple_satisfies_snapshot(scan->leaf.rel, scan->slot, snapshot);
}

TupleTableSlot *
item_scan_slot(ItemScan *scan)
{
	return scan->slot;
}

Relation
item_scan_relation(ItemScan *scan)
{
	return scan->leaf.rel;
}

void
item_scan_end(ItemScan *scan)
{
	ExecDropSingleTupleTableSlot(scan->slot);
	read_ahead_end(&scan->ahead);
	index_endscan(scan->desc);
	index_close(scan->index, scan->leaf.lockmode);
	leaf_close(&scan->leaf, false);
	pfree(scan);
}
