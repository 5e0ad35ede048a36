/*
 * tuple.h
 *		The tuples behind items, for the files of container/ alone.
 */
#ifndef BLOGSTORE_TUPLE_H
#define BLOGSTORE_TUPLE_H

#include "container/container.h"
#include "layout/item.h"
#include "layout/leaf.h"

#include "access/htup.h"
#include "access/sysattr.h"
#include "executor/tuptable.h"
#include "storage/buf.h"
#include "utils/relcache.h"

/* scan.c: a scan of a leaf that is open */
extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

/* index_find.c: the one entry of a key, without a scan */
#define MAX_ROW_KEYS 2			/* columns of a key */

typedef struct IndexFinder
{
	Relation	table;
	Relation	index;
	int			nkeys;
	Snapshot	snapshot;
	Buffer		root;			/* pinned */
	Buffer		page;			/* that the last key led to, pinned */
} IndexFinder;

extern void index_finder_begin(IndexFinder *finder, Relation table,
							   Relation index, int nkeys, Snapshot snapshot);
extern int	index_find(IndexFinder *finder, const pg_uuid_t *key,
					   ItemPointer row);
extern void index_finder_end(IndexFinder *finder);

/* lookup.c: the one row of a key, without a scan */
typedef struct LeafCounts
{
	int64		comments;
	int64		likes;
} LeafCounts;

extern int	leaf_find_row(const OpenLeaf *leaf, Relation index,
						  const pg_uuid_t *key, Snapshot snapshot,
						  ItemPointer row);
extern bool leaf_read_row(const OpenLeaf *leaf, ItemPointer row,
						  Snapshot snapshot, struct TupleTableSlot *slot);
extern bool leaf_has_rows(const OpenLeaf *leaf);
extern bool leaf_row_version(const OpenLeaf *leaf, ItemPointer row,
							 Snapshot snapshot, Buffer *buffer,
							 HeapTuple tuple);
extern bool leaf_sum_counts(const OpenLeaf *leaf, IndexFinder *finder,
							const pg_uuid_t *key, Buffer *buffer,
							LeafCounts *sum);

/* scan.c: what a scan has found, and where; the next, whatever its values */
extern bool item_scan_advance(ItemScan *scan);
extern struct TupleTableSlot *item_scan_slot(ItemScan *scan);
extern Relation item_scan_relation(ItemScan *scan);

/* writer.c: the leaf that is written */
extern Relation item_writer_relation(ItemWriter *writer);

/* The transaction that has written a tuple. */
static inline TransactionId
tuple_writer(struct TupleTableSlot *slot)
{
	bool		isnull;

	return DatumGetTransactionId(slot_getsysattr(slot,
												 MinTransactionIdAttributeNumber,
												 &isnull));
}

#endif							/* BLOGSTORE_TUPLE_H */
