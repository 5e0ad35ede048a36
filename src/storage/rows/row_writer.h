/*
 * row_writer.h
 *		The state of an ItemWriter, which writes items of one type to one
 *		partition. Only for files of storage/rows/.
 */
#ifndef BLOGSTORE_ROW_WRITER_H
#define BLOGSTORE_ROW_WRITER_H

#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/rows.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

struct ItemWriter
{
	MemoryContext context;		/* contains all memory of the writer */
	Container	container;
	ItemType	type;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the row version to update or delete */
	TupleTableSlot *fresh;		/* the row version to write */
	/*
	 * For each column: the prepared default, or NULL. Only columns that the
	 * owner has added have defaults. The array is NULL before the first
	 * insert.
	 */
	ExprState **default_of;
	/*
	 * OIDs of the unique indexes that tell whether an item's key exists
	 * already (see find_arbiters()). Each of them has all columns of the key.
	 */
	List	   *arbiters;
	/*
	 * OIDs of the indexes in "arbiters" that have no other columns than those
	 * of the key. NIL before the first insert.
	 */
	List	   *key_arbiters;
	bool		indexes;		/* true if the table's indexes are open */
	/*
	 * The index on replies if it is left closed because the writer has written
	 * no reply yet. Otherwise InvalidOid.
	 */
	Oid			closed;
	bool		by_key;			/* true if opened by a partition key */
	bool		triggers;
	/*
	 * The guard around code that the owner has attached to the table, such as
	 * triggers (see guard_enter()). NULL if there is no such code.
	 */
	Guard	   *guard;
	bool		wrote;
	/*
	 * true if the writer may lock items that have NULL in a column that
	 * blogstore requires (see item_writer_identity()).
	 */
	bool		identity;
};

/* row_writer.c */
extern void writer_open_indexes(ItemWriter *writer);
extern void writer_open_indexes_for(ItemWriter *writer, TupleTableSlot *slot);

/* index_entries.c */
typedef struct IndexEntries IndexEntries;

extern IndexEntries *index_entries_begin(ItemWriter *writer);
extern void index_entries_add(IndexEntries *entries, TupleTableSlot *slot);
extern void index_entries_end(IndexEntries *entries);

/* row_forming.c */
extern void writer_form(ItemWriter *writer, TupleTableSlot *slot,
						const BlogItem *item);
extern void writer_form_update(ItemWriter *writer, TupleTableSlot *slot,
							   const BlogItem *item);
extern void writer_suppressed(ItemWriter *writer);

#endif							/* BLOGSTORE_ROW_WRITER_H */
