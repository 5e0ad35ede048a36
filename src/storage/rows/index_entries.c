/*
 * index_entries.c
 *		Inserts the index entries of many rows in the order of each index.
 *
 * The rows of a bulk insert are in the order of at most one index. In every
 * other index, the entries of consecutive rows belong on random pages.
 * Inserting them row by row would read and split pages at random, and leave
 * the pages two thirds full. So if a table has several indexes, their entries
 * are collected and sorted, and inserted after all rows. Each page of an index
 * is then visited once. An index that was empty becomes as dense as a newly
 * built index.
 *
 * Runs in backends and in the worker, in a transaction with an active
 * snapshot.
 */
#include "postgres.h"

#include "storage/rows/row_writer.h"

#include "access/genam.h"
#include "access/itup.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

struct IndexEntries
{
	ItemWriter *writer;
	int			n;
	Tuplesortstate *sort[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * Return whether index_insert() alone can insert the sorted entries of an
 * index. The index must be a B-tree without expressions, and neither
 * deferrable nor for an exclusion constraint. The index may have a predicate,
 * which has_entry() evaluates for each row.
 */
static bool
index_is_plain(Relation index, const IndexInfo *info)
{
	return index->rd_rel->relam == BTREE_AM_OID &&
		info->ii_Expressions == NIL &&
		info->ii_ExclusionOps == NULL && info->ii_ReadyForInserts &&
		index->rd_index->indimmediate;
}

/*
 * Begin to collect the index entries of the rows that a writer inserts. The
 * result is in the current memory context. In these cases, returns NULL, and
 * the entries must be inserted with each row:
 *
 * - The table has a single index. Its entries need no sorting, because the
 *   rows are in the order of this index.
 * - The owner has attached code to the table.
 * - index_is_plain() returns false for an index.
 */
IndexEntries *
index_entries_begin(ItemWriter *writer)
{
	ResultRelInfo *rri = writer->rri;
	int			n = rri->ri_NumIndices;
	IndexEntries *entries;

	if (n < 2 || writer->guard != NULL)
		return NULL;
	for (int i = 0; i < n; i++)
		if (!index_is_plain(rri->ri_IndexRelationDescs[i],
							rri->ri_IndexRelationInfo[i]))
			return NULL;
	entries = palloc(offsetof(IndexEntries, sort) +
					 sizeof(Tuplesortstate *) * n);
	entries->writer = writer;
	entries->n = n;
	for (int i = 0; i < n; i++)
		entries->sort[i] = tuplesort_begin_index_btree(writer->leaf.rel,
													   rri->ri_IndexRelationDescs[i],
													   false, false,
													   Max(maintenance_work_mem / n, 64),
													   NULL, TUPLESORT_NONE);
	return entries;
}

/*
 * Return whether an index has an entry for a row. A partial index has entries
 * only for rows that satisfy the index's predicate.
 */
static bool
has_entry(EState *estate, IndexInfo *info, TupleTableSlot *slot)
{
	ExprContext *econtext = GetPerTupleExprContext(estate);

	if (info->ii_Predicate == NIL)
		return true;
	if (info->ii_PredicateState == NULL)
		info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, estate);
	econtext->ecxt_scantuple = slot;
	return ExecQual(info->ii_PredicateState, econtext);
}

void
index_entries_add(IndexEntries *entries, TupleTableSlot *slot)
{
	ResultRelInfo *rri = entries->writer->rri;

	for (int i = 0; i < entries->n; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (!has_entry(entries->writer->estate, rri->ri_IndexRelationInfo[i],
					   slot))
			continue;
		FormIndexDatum(rri->ri_IndexRelationInfo[i], slot,
					   entries->writer->estate, values, isnull);
		tuplesort_putindextuplevalues(entries->sort[i],
									  rri->ri_IndexRelationDescs[i],
									  &slot->tts_tid, values, isnull);
	}
}

static void
insert_sorted(ItemWriter *writer, Relation index, IndexInfo *info,
			  Tuplesortstate *sort)
{
	IndexUniqueCheck check = info->ii_Unique ? UNIQUE_CHECK_YES :
		UNIQUE_CHECK_NO;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	IndexTuple	entry;

	tuplesort_performsort(sort);
	while ((entry = tuplesort_getindextuple(sort, true)) != NULL)
	{
		ItemPointerData tid = entry->t_tid;
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		index_deform_tuple(entry, RelationGetDescr(index), values, isnull);
		(void) index_insert(index, values, isnull, &tid, writer->leaf.rel,
							check, false, info);
		ResetPerTupleExprContext(writer->estate);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Insert the collected entries of all indexes. Errors: 23505 if a unique index
 * has an equal key already.
 */
void
index_entries_end(IndexEntries *entries)
{
	ResultRelInfo *rri = entries->writer->rri;

	for (int i = 0; i < entries->n; i++)
	{
		insert_sorted(entries->writer, rri->ri_IndexRelationDescs[i],
					  rri->ri_IndexRelationInfo[i], entries->sort[i]);
		tuplesort_end(entries->sort[i]);
	}
	pfree(entries);
}
