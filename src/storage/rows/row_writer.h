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
	 * For each column: the DEFAULT expression, prepared for execution; NULL if
	 * there is none. Only columns that the owner has added have defaults. The
	 * array itself is NULL before the first insert.
	 */
	ExprState **default_of;
	/*
	 * OIDs of the unique indexes that tell whether an item's key exists
	 * already (see find_arbiters()). Each index has all columns of the key,
	 * and may have more.
	 */
	List	   *arbiters;
	/*
	 * OIDs of those indexes in "arbiters" that have only the columns of the
	 * key. NIL before the first insert.
	 */
	List	   *key_arbiters;
	bool		indexes;		/* true if all indexes but "closed" are open */
	/*
	 * The OID of the index for PATH_REPLIES, if the table has this index and
	 * it is not open; else InvalidOid. The index is opened for the first
	 * reply.
	 */
	Oid			closed;
	/*
	 * Whether the partition was found by the key of the items to write. The
	 * partition bound then need not be checked, unless a trigger may have
	 * changed the key.
	 */
	bool		by_key;
	bool		triggers;
	/*
	 * The result of guard_enter() if the owner has attached code to the table;
	 * else NULL.
	 */
	Guard	   *guard;
	bool		wrote;			/* whether any item was written */
	/*
	 * If true, locked items need only have the fields that identify them. If
	 * false, items must have all fields that callers work with; NULL in one of
	 * these is an error (22004).
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
