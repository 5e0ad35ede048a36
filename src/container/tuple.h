/*
 * tuple.h
 *		The tuples behind items, for those who look at their headers.
 */
#ifndef BLOGSTORE_TUPLE_H
#define BLOGSTORE_TUPLE_H

#include "container/container.h"
#include "layout/item.h"
#include "layout/leaf.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/* read.c, for these: a scan of a leaf that is open. */
extern ItemScan *leaf_scan_begin(const OpenLeaf *leaf, const ItemQuery *query);

/* Used by these: what a scan has found, and where. */
extern struct TupleTableSlot *item_scan_slot(ItemScan *scan);
extern Relation item_scan_relation(ItemScan *scan);
extern bool item_scan_has_room(ItemScan *scan);

/* Used by delta.c: the leaf that is written. */
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

/* Is it this one? */
static inline bool
tuple_is_mine(struct TupleTableSlot *slot)
{
	return TransactionIdIsCurrentTransactionId(tuple_writer(slot));
}

#endif							/* BLOGSTORE_TUPLE_H */
