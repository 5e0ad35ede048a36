/*
 * writer.h
 *		A leaf that is being written, for write.c and batch.c alone.
 */
#ifndef BLOGSTORE_WRITER_H
#define BLOGSTORE_WRITER_H

#include "container/leaf.h"

#include "nodes/execnodes.h"

struct ItemWriter
{
	MemoryContext context;		/* holds all of this; deleted at close */
	Container	container;
	ItemType	type;
	int			partition;
	OpenLeaf	leaf;
	EState	   *estate;
	EPQState	epqstate;
	ResultRelInfo *rri;
	TupleTableSlot *found;		/* the locked tuple */
	TupleTableSlot *fresh;		/* the tuple to write */
	bool		triggers;		/* does the leaf have any? */
	bool		wrote;
};

extern void writer_fill(ItemWriter *writer, TupleTableSlot *slot,
						const BlogItem *item);
extern void writer_fill_defaults(ItemWriter *writer, TupleTableSlot *slot);
extern void writer_check(ItemWriter *writer, TupleTableSlot *slot);

#endif							/* BLOGSTORE_WRITER_H */
