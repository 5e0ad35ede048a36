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
	MemoryContext context;
	Container	container;
	ItemType	type;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the row version to update or delete */
	TupleTableSlot *fresh;		/* the row version to write */
	/*
	 * For each column: the DEFAULT expression, prepared for execution; NULL if
	 * there is none. Only columns that the owner has added have defaults. The
	 * array is NULL before the first insert.
	 */
	ExprState **default_of;
	/*
	 * OIDs of the unique indexes that tell whether an item's key exists
	 * already. Each index has all columns of the key, and may have other
	 * columns.
	 */
	List	   *arbiters;
	/*
	 * OIDs of the arbiters that have only the columns of the key. NIL before
	 * the first insert.
	 */
	List	   *key_arbiters;
	bool		indexes;		/* whether the indexes are open, except those
								 * in "closed" */
	/*
	 * For each kind of index (AccessPath): the OID of the index if it is not
	 * open yet, because it has entries for replies only, or for top-level
	 * comments only; else InvalidOid. The writer opens the index for the first
	 * such comment.
	 */
	Oid			closed[N_PATHS];
	/*
	 * Whether the writer was opened for a key. If so, the items are in the
	 * key's partition. The partition bound is then checked only if a BEFORE
	 * trigger may have changed the key.
	 */
	bool		by_key;
	bool		triggers;
	/*
	 * The saved user id and settings of the caller, which are changed while
	 * attached code can run. NULL if the table has no attached code.
	 */
	Guard	   *guard;
	bool		wrote;
	/*
	 * Which fields must not be NULL in an item that the writer locks. If true,
	 * only the fields that identify the item (item_identity()); if false, the
	 * fields of item_worked_with().
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
