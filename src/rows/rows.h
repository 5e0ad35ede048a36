/*
 * rows.h
 *		Rows of a leaf by their keys, without a scan; for the files of rows/ and
 *		container/ alone.
 */
#ifndef BLOGSTORE_ROWS_H
#define BLOGSTORE_ROWS_H

#include "items/item.h"
#include "layout/leaf.h"

#include "access/htup.h"
#include "storage/buf.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* index_find.c: the one entry of a key */
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

/* row.c: the one row of a key, and what it counts */
typedef struct RowCounts
{
	int64		comments;
	int64		likes;
} RowCounts;

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
							RowCounts *sum);

#endif							/* BLOGSTORE_ROWS_H */
