/*
 * row_tuple.h
 *		Functions that give access to the tuples of items. Only for files of
 *		storage/rows/.
 */
#ifndef BLOGSTORE_ROW_TUPLE_H
#define BLOGSTORE_ROW_TUPLE_H

#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/rows.h"

#include "access/sysattr.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

extern struct TupleTableSlot *item_scan_slot(ItemScan *scan);
extern Relation item_scan_relation(ItemScan *scan);

extern Relation item_writer_relation(ItemWriter *writer);

/* Return the transaction that inserted the row version in a slot (xmin). */
static inline TransactionId
tuple_writer(struct TupleTableSlot *slot)
{
	bool		isnull;

	return DatumGetTransactionId(slot_getsysattr(slot,
												 MinTransactionIdAttributeNumber,
												 &isnull));
}

#endif							/* BLOGSTORE_ROW_TUPLE_H */
