/*
 * row_writer.h
 *		The state of a writer, for the files of storage/rows/ only.
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
	MemoryContext context;		/* holds all of this; deleted when the writer
								 * is closed */
	Container	container;
	ItemType	type;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the locked tuple */
	TupleTableSlot *fresh;		/* the tuple to write */
	ExprState **default_of;		/* by column: its default or NULL; NULL: not
								 * prepared yet */
	List	   *arbiters;		/* unique indexes that tell whether a key is
								 * taken */
	List	   *key_arbiters;	/* the arbiters that have no columns but those
								 * of the key; NIL: not looked up yet */
	bool		indexes;		/* true if the leaf's indexes are open */
	Oid			closed;			/* the index on replies if that is not open */
	bool		by_key;			/* true if the leaf was found by a key */
	bool		triggers;		/* true if the leaf has triggers */
	Guard	   *guard;			/* NULL if no code is attached to the leaf */
	bool		wrote;
	bool		identity;		/* locked items may lack values, except those
								 * that identify them */
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
