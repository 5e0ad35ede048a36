/*
 * row_tuple.h
 *		The tuples behind items, for the files of storage/rows/ only.
 *
 * A leaf is the table that holds the items of one type in one partition.
 */
#ifndef BLOGSTORE_ROW_TUPLE_H
#define BLOGSTORE_ROW_TUPLE_H

#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "access/sysattr.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/* row_scan.c: begin a scan of a leaf that is open already */
extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

/*
 * row_scan.c: advance a scan, without checking that the item has all values;
 * get the scan's tuple and table
 */
extern bool item_scan_advance(ItemScan *scan);
extern struct TupleTableSlot *item_scan_slot(ItemScan *scan);
extern Relation item_scan_relation(ItemScan *scan);

/* row_writer.c: get the table of a writer */
extern Relation item_writer_relation(ItemWriter *writer);

/* Return the transaction that inserted a tuple version (xmin). */
static inline TransactionId
tuple_writer(struct TupleTableSlot *slot)
{
	bool		isnull;

	return DatumGetTransactionId(slot_getsysattr(slot,
												 MinTransactionIdAttributeNumber,
												 &isnull));
}

#endif							/* BLOGSTORE_ROW_TUPLE_H */
