/*
 * distribute.h
 *		Moving the items of a single server onto a cluster. Only files of
 *		cluster/distribute/ use these declarations.
 *
 *		distribute.c		the SQL function, from its checks to the renaming
 *		distribution_plan.c	which tables are copied; what prevents a
 *							distribution; the owner's columns, indexes and
 *							grants on the new tables
 *		copy_items.c		copying all items, then those changed meanwhile
 *		changed_rows.c		rows that have changed between two snapshots
 *		table_swap.c		locking out other transactions, and renaming the
 *							tables
 */
#ifndef BLOGSTORE_DISTRIBUTE_H
#define BLOGSTORE_DISTRIBUTE_H

#include "admin/create_containers.h"
#include "storage/blog_item.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/* The suffix of the new tables' names, until spread_swap() renames them. */
#define NEW_SUFFIX "_spread"

/* The suffix that spread_swap() appends to the names of the old tables. */
#define OLD_SUFFIX "_one_machine"

#define MAX_KEY_COLUMNS 3		/* the longest key has 3 columns */

/*
 * One leaf whose rows are copied to a new table. key[] names the columns that
 * identify a row.
 */
typedef struct SpreadSource
{
	Oid			leaf;
	const char *target;			/* quoted name of the new table */
	/* the columns to copy, as an SQL list */
	char	   *columns;
	int			nkeys;
	const char *key[MAX_KEY_COLUMNS];
	Oid			key_type;

	/*
	 * True if the new table is distributed. Its distribution column is key[0].
	 */
	bool		spread;
} SpreadSource;

typedef struct Spread
{
	Creation	creation;

	/* whether the old tables are kept, under other names */
	bool		keep;

	/* a list of SpreadSource: the leaves to copy, and their new tables */
	List	   *sources;

	/* number of rows copied by spread_copy() */
	int64		copied;

	/* number of rows copied by spread_repeat(), because they had changed */
	int64		repeated;
} Spread;

/* distribution_plan.c */
extern void spread_refuse_obstacles(void);
extern void spread_plan_sources(Spread *spread);
extern void spread_carry_columns(void);
extern void spread_carry_indexes(void);
extern void spread_carry_rights(void);

/* copy_items.c */
extern void spread_copy(Spread *spread, Snapshot snapshot);
extern int64 spread_repeat(Spread *spread, Snapshot before, Snapshot now);

/* changed_rows.c */

/*
 * The keys of n changed rows. The rows are in one leaf, or in several leaves
 * that are copied to the same new table.
 *
 * key: for each column of the key, an array of its n values
 * room: the allocated length of each of these arrays
 */
typedef struct ChangedKeys
{
	MemoryContext context;
	const SpreadSource *source;
	int			n;
	int			room;
	Datum	   *key[3];
} ChangedKeys;

extern ChangedKeys *changed_keys_make(const SpreadSource *source);
extern void changes_find(const SpreadSource *source, Snapshot before, Snapshot now,
						 ChangedKeys *gone, ChangedKeys *come);

/* table_swap.c */
extern bool spread_lock(const Spread *spread, bool readers);
extern bool spread_lock_readers(const Spread *spread);
extern void spread_unlock(const Spread *spread, bool readers);
extern void spread_swap(const Spread *spread);

#endif							/* BLOGSTORE_DISTRIBUTE_H */
