/*
 * upgrade.h
 *		Tables of containers of an older version, for the files of upgrade/ alone.
 */
#ifndef BLOGSTORE_UPGRADE_H
#define BLOGSTORE_UPGRADE_H

#include "items/item.h"

#include "storage/lockdefs.h"

/* What came of a step towards what create_containers() would make. */
typedef enum LeafStep
{
	LEAF_DONE,					/* nothing is left to do */
	LEAF_ALTERED,				/* there may be more to do, in the next transaction */
	LEAF_HAS_NULLS,				/* nothing can be done before these are mended */
	LEAF_IN_USE,				/* others had it locked all the time */
	LEAF_LARGE					/* an index is to be built beside traffic */
} LeafStep;

/* upgrade_columns.c: columns that were added since */
extern LeafStep containers_add_columns(void);

/* upgrade_leaf.c: settings, and NOT NULL */
extern Oid	upgraded_leaf(Container container, ItemType type, int partition);
extern const char *leaf_sql_name(Oid relid);
extern void run_on_leaf(const char *sql);
extern LeafStep leaf_upgrade_settings(Container container, ItemType type,
									  int partition);
extern LeafStep leaf_upgrade_columns(Container container, ItemType type,
									 int partition, int *patience);

/* upgrade_lock.c: locks that keep others out */
extern bool try_for_a_moment(void (*work) (void *arg), void *arg);
extern bool leaf_lock_alone(Oid relid, LOCKMODE mode, int *patience);

/* An index that is to be built beside traffic. */
typedef struct LargeBuild
{
	Oid			leaf;
	int			partition;
	int			index;			/* its number, which upgrade_index.c gives it */
} LargeBuild;

/* Where the round of indexes has come to. */
typedef struct IndexRound
{
	int		   *patience;
	bool		jobs_begin_anew;	/* have they been told to? */
	LargeBuild	large;
} IndexRound;

/* upgrade_index.c: indexes that are new, or have other columns */
extern bool leaf_has_new_indexes(Container container, ItemType type);
extern LeafStep leaf_upgrade_index(Container container, ItemType type,
								   int partition, IndexRound *round);
extern bool leaf_lacks_index(const LargeBuild *build);
extern Oid	leaf_index_begun(Oid leaf, int number, bool *valid);
extern void leaf_build_index(Oid leaf, int number, bool beside);

/* upgrade_builder.c: a process that builds one */
extern bool leaf_build_beside(const LargeBuild *build, Oid owner);

#endif							/* BLOGSTORE_UPGRADE_H */
