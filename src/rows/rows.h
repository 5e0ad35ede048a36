/*
 * rows.h
 *		Rows of a leaf by their keys, without a scan; for the files of rows/ and
 *		container/ alone.
 */
#ifndef BLOGSTORE_ROWS_H
#define BLOGSTORE_ROWS_H

#include "items/item.h"
#include "layout/leaf.h"

#include "access/genam.h"
#include "access/htup.h"
#include "executor/instrument.h"
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

/* read_ahead.c: what has been asked for of the pages that a scan will come to */
typedef struct ReadAhead
{
	int64		rows;			/* that may well be read */
	int64		share;			/* of them, if other scans give the others */
	int64		given;			/* those that were read */
	int64		reads;			/* pages that the backend had read when that was looked at */
	BlockNumber asked_of;		/* a page of the index, of whose rows pages were asked */
	int			asked;			/* the last of these rows */
} ReadAhead;

extern void read_ahead_begin(ReadAhead *ahead, int64 rows, int parts);
extern int	read_ahead_pages(IndexScanDesc scan);
extern void read_ahead(ReadAhead *ahead, IndexScanDesc scan,
					   ScanDirection direction);
extern bool read_ahead_first(IndexScanDesc scan, ScanDirection direction);

/* A row was read. */
static inline void
read_ahead_row(ReadAhead *ahead, IndexScanDesc scan, ScanDirection direction)
{
	ahead->given++;
	if (unlikely(ahead->reads != pgBufferUsage.shared_blks_read))
		read_ahead(ahead, scan, direction);
}

#endif							/* BLOGSTORE_ROWS_H */
