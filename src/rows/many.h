/*
 * many.h
 *		Items of one type that are read together, by their keys.
 */
#ifndef BLOGSTORE_MANY_H
#define BLOGSTORE_MANY_H

#include "items/item.h"

#include "utils/snapshot.h"

/* One of them, as a copy. Its key is its partition key, or ends with it. */
typedef struct ManyItem
{
	pg_uuid_t	key;			/* its partition key */
	int			partition;
	bool		found;
	bool		open;			/* what is to be found out takes a scan */
	BlogItem	item;			/* where it was found */
} ManyItem;

typedef struct ManyItems
{
	Container	container;
	ItemType	type;
	int			n;
	ManyItem   *item;			/* one for each different key, n in all */
	int		   *asked;			/* which of them each key is that was asked for */
	uint64		stamp;			/* layout_stamp(), by which partitions hold */
	int			leaves;			/* how many were visited */
	Oid			leaf;			/* the last of them, and its index */
	Oid			index;
} ManyItems;

/*
 * many_rows.c: the items of n partition keys, with the columns of their keys that come
 * before; open: those that only a scan finds. In the current memory context.
 */
extern ManyItems *many_rows_begin(Container container, ItemType type,
								  const pg_uuid_t *key, int n);
extern void many_rows_look_up(ManyItems *many, const Datum *before,
							  int nbefore, Snapshot snapshot);
/*
 * add to the counts of items that were found what items of another type count, whose keys
 * begin with the same; open: those that only a scan can do this for
 */
extern void many_rows_add_counts(ManyItems *many, ItemType type,
								 Snapshot snapshot);

#endif							/* BLOGSTORE_MANY_H */
