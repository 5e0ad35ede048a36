/*
 * row_tuple.h
 *		The tuples behind items, for the files of storage/rows/ alone.
 */
#ifndef BLOGSTORE_ROW_TUPLE_H
#define BLOGSTORE_ROW_TUPLE_H

#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "access/sysattr.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/* row_scan.c: a scan of a leaf that is open */
extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

/* row_scan.c: what a scan has found, and where; the next, whatever its values */
extern bool item_scan_advance(ItemScan *scan);
extern struct TupleTableSlot *item_scan_slot(ItemScan *scan);
extern Relation item_scan_relation(ItemScan *scan);

/* row_writer.c: the leaf that is written */
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

#endif							/* BLOGSTORE_ROW_TUPLE_H */
