/*
 * row_writer.h
 *		The state of a writer, which writes items of one type to one
 *		partition. For the files of storage/rows/ only.
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
	MemoryContext context;		/* holds this struct and all it points to */
	Container	container;
	ItemType	type;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the tuple that was locked last */
	TupleTableSlot *fresh;		/* the tuple to be written */
	/*
	 * By column: the prepared default of a column that the owner has added, or
	 * NULL. The array is NULL until the first insert.
	 */
	ExprState **default_of;
	/*
	 * The unique indexes that tell whether the key of an item is taken. They
	 * contain all columns of the key.
	 */
	List	   *arbiters;
	/*
	 * Those of the arbiters that have no further columns. NIL until the first
	 * insert.
	 */
	List	   *key_arbiters;
	bool		indexes;		/* the indexes of the table are open */
	/*
	 * The index on replies if it is not open, because no written item is a
	 * reply so far; otherwise InvalidOid.
	 */
	Oid			closed;
	bool		by_key;			/* the partition was found by a key */
	bool		triggers;		/* the table has triggers */
	/*
	 * The guard in which code runs that the owner has attached to the table
	 * (guard.c); NULL if there is no such code.
	 */
	Guard	   *guard;
	bool		wrote;
	/*
	 * true if items that are locked may lack required values, except those
	 * that identify them.
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
