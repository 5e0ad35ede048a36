/*
 * upgrade.h
 *		Tables of containers of an older version, for upgrade.c alone.
 */
#ifndef BLOGSTORE_UPGRADE_H
#define BLOGSTORE_UPGRADE_H

#include "layout/item.h"

/* What came of a step towards what create_containers() would make. */
typedef enum LeafStep
{
	LEAF_DONE,					/* nothing is left to do */
	LEAF_ALTERED,				/* there may be more to do, in the next transaction */
	LEAF_HAS_NULLS,				/* nothing can be done before these are mended */
	LEAF_IN_USE					/* others had it locked all the time */
} LeafStep;

/* upgrade_columns.c: columns that were added since */
extern LeafStep containers_add_columns(void);

/* upgrade_leaf.c: settings, and NOT NULL */
extern LeafStep leaf_upgrade_settings(Container container, ItemType type,
									  int partition);
extern LeafStep leaf_upgrade_columns(Container container, ItemType type,
									 int partition, int *patience);

#endif							/* BLOGSTORE_UPGRADE_H */
