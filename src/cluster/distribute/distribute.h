/*
 * distribute.h
 *		Moving the items of one machine onto a cluster, for the files of
 *		cluster/distribute/ alone.
 *
 *		distribute.c		the call: from its checks to the change of names
 *		distribution_plan.c	which tables there are, what is in the way, what is carried over
 *		copy_items.c		copying items, and once more those that have changed since
 *		changed_rows.c		what has changed between two snapshots
 *		table_swap.c		keeping others out, and giving the new tables their names
 */
#ifndef BLOGSTORE_DISTRIBUTE_H
#define BLOGSTORE_DISTRIBUTE_H

#include "admin/create_containers.h"
#include "storage/blog_item.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/* What follows the names of new tables as long as the old ones have theirs. */
#define NEW_SUFFIX "_spread"

/* What follows the names of the old ones from then on. */
#define OLD_SUFFIX "_one_machine"

/* Of which table a leaf's rows are copied to which, and by which columns they are told. */
typedef struct SpreadSource
{
	Oid			leaf;
	const char *target;			/* in SQL */
	char	   *columns;		/* in SQL, without the table */
	int			nkeys;
	const char *key[2];
	Oid			key_type;
	bool		spread;			/* the target, by the first of them */
} SpreadSource;

/* A move from one machine to a cluster. */
typedef struct Spread
{
	Creation	creation;
	bool		keep;			/* the old tables, under other names */
	List	   *sources;		/* of SpreadSource */
	int64		copied;			/* rows, by the first pass */
	int64		repeated;		/* rows that have changed since */
} Spread;

/* distribution_plan.c; in SPI */
extern void spread_refuse_obstacles(void);
extern void spread_plan_sources(Spread *spread);
extern void spread_carry_columns(void);
extern void spread_carry_indexes(void);
extern void spread_carry_rights(void);

/* copy_items.c; in SPI */
extern void spread_copy(Spread *spread, Snapshot snapshot);
extern int64 spread_repeat(Spread *spread, Snapshot before, Snapshot now);

/* changed_rows.c */

/* Keys of rows of a leaf, or of all leaves that are copied to the same table. */
typedef struct ChangedKeys
{
	MemoryContext context;
	const SpreadSource *source;
	int			n;
	int			room;
	Datum	   *key[2];
} ChangedKeys;

extern ChangedKeys *changed_keys_make(const SpreadSource *source);
extern void changes_find(const SpreadSource *source, Snapshot before, Snapshot now,
						 ChangedKeys *gone, ChangedKeys *come);

/* table_swap.c; in SPI */
extern bool spread_lock(const Spread *spread, bool readers);
extern bool spread_lock_readers(const Spread *spread);
extern void spread_unlock(const Spread *spread, bool readers);
extern void spread_swap(const Spread *spread);

#endif							/* BLOGSTORE_DISTRIBUTE_H */
