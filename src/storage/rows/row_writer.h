/*
 * row_writer.h
 *		A leaf that is being written, for the files of storage/rows/ alone.
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
	MemoryContext context;		/* holds all of this; deleted at close */
	Container	container;
	ItemType	type;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the locked tuple */
	TupleTableSlot *fresh;		/* the tuple to write */
	ExprState **default_of;		/* of columns, or NULL; NULL: not known */
	List	   *arbiters;		/* indexes that tell a taken key */
	List	   *key_arbiters;	/* arbiters with the key's columns alone; NIL:
								 * not known */
	bool		indexes;		/* are the leaf's indexes open? */
	Oid			closed;			/* but for this one, of replies alone */
	bool		by_key;			/* the leaf holds the key that was asked for */
	bool		triggers;		/* does the leaf have any? */
	Guard	   *guard;			/* NULL: nothing is attached to the leaf */
	bool		wrote;
	bool		identity;		/* what is locked may lack other values */
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
