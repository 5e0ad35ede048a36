/*
 * tuple.h
 *		The tuples behind items, for the files of container/ alone.
 */
#ifndef BLOGSTORE_TUPLE_H
#define BLOGSTORE_TUPLE_H

#include "container/container.h"
#include "items/item.h"
#include "layout/leaf.h"

#include "access/sysattr.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/* scan.c: a scan of a leaf that is open */
extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

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
