/*
 * distribute.h
 *		Moving the items of a single server onto a cluster. Declarations for
 *		the files of cluster/distribute/ alone.
 *
 *		distribute.c		the SQL function, from its checks to the renaming
 *		distribution_plan.c	which tables are copied, what prevents a
 *							distribution, and which columns, indexes and grants
 *							of the owner the new tables get
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

/* Appended to the names of new tables while the old ones still have theirs. */
#define NEW_SUFFIX "_spread"

/* Appended to the names of the old tables afterwards. */
#define OLD_SUFFIX "_one_machine"

/*
 * A leaf whose rows are copied, the table they are copied to, and the columns
 * that identify a row.
 */
typedef struct SpreadSource
{
	Oid			leaf;
	const char *target;			/* quoted for SQL */
	char	   *columns;		/* list for SQL */
	int			nkeys;
	const char *key[2];
	Oid			key_type;
	bool		spread;			/* the target is distributed, by the first key
								 * column */
} SpreadSource;

/* State of distribute_containers(). */
typedef struct Spread
{
	Creation	creation;
	bool		keep;			/* keep the old tables under other names */
	List	   *sources;		/* list of SpreadSource */
	int64		copied;			/* rows copied in the first pass */
	int64		repeated;		/* changed rows copied again */
} Spread;

/* distribution_plan.c; called in SPI */
extern void spread_refuse_obstacles(void);
extern void spread_plan_sources(Spread *spread);
extern void spread_carry_columns(void);
extern void spread_carry_indexes(void);
extern void spread_carry_rights(void);

/* copy_items.c; called in SPI */
extern void spread_copy(Spread *spread, Snapshot snapshot);
extern int64 spread_repeat(Spread *spread, Snapshot before, Snapshot now);

/* changed_rows.c */

/* Keys of rows of a leaf, or of all leaves with the same target. */
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

/* table_swap.c; called in SPI */
extern bool spread_lock(const Spread *spread, bool readers);
extern bool spread_lock_readers(const Spread *spread);
extern void spread_unlock(const Spread *spread, bool readers);
extern void spread_swap(const Spread *spread);

#endif							/* BLOGSTORE_DISTRIBUTE_H */
