/*
 * user_items_walk.h
 *		Walking and sweeping users' items, for model/user_changes/ and the
 *		cluster only.
 */
#ifndef BLOGSTORE_USER_ITEMS_WALK_H
#define BLOGSTORE_USER_ITEMS_WALK_H

#include "model/user_changes/user_changes.h"

#include "access/xlogdefs.h"
#include "storage/lock.h"

/*
 * user_items_walk.c: in one leaf, writing a user's name on the user's items,
 * or deleting them, in steps
 */
typedef struct ItemWalk
{
	ItemPlace	place;			/* where the next step begins */
	int64		limit;			/* items to change in one step; 0: all */
	LockWaitPolicy wait;		/* LockWaitSkip: skip locked items */
	int64		changed;		/* items changed so far */
	bool		skipped;		/* were locked items skipped? */
	bool		nobodys_too;	/* when relabelling, delete items without an
								 * author */
} ItemWalk;

extern void item_walk_init(ItemWalk *walk, int64 limit, LockWaitPolicy wait);
extern bool relabel_items(const pg_uuid_t *user_id, Datum username,
						  ItemType type, int partition, ItemWalk *walk);
extern bool delete_items(const pg_uuid_t *user_id, ItemType type, int partition,
						 ItemWalk *walk);
extern void delete_user_items(const pg_uuid_t *user_id, int64 limit);
extern void deletion_claim(const pg_uuid_t *user_id);
extern void delete_user_copies(const pg_uuid_t *user_id);

/*
 * user_items_sweep.c: sweeping all leaves of posts for a job until no item is
 * left that a concurrent transaction has written. Sweep is the state of a
 * sweep in this process's memory.
 */
typedef struct Sweep
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;	/* transactions to wait for */
	bool		skipped;		/* has this pass skipped locked items? */
	long		pause;			/* the last pause for locked items, in ms */
	TimestampTz again;			/* earliest time of the next pass */
	XLogRecPtr	committed;		/* end of the sweep's last commit in the WAL;
								 * 0: not known yet */
} Sweep;

/*
 * What a sweep does. leaf() changes the items of a leaf, and returns whether
 * the end of the leaf was reached.
 */
typedef struct SweepWork
{
	bool		(*leaf) (const struct SweepWork *work, ItemType type,
						 int partition, ItemWalk *walk);
	const pg_uuid_t *user_id;	/* NULL: all users' items */
	Datum		username;
	int64		chunk;			/* items to change in one step */
	bool		one_partition;	/* sweep a single partition */
	int			partition;		/* the number of that partition */
	bool		nobodys_too;	/* as in ItemWalk */
} SweepWork;

/*
 * Sweeps a chunk of a job with the active snapshot. Returns false once the
 * pass is complete.
 */
typedef bool (*SweepChunk) (Job *job, Sweep *sweep);

typedef enum SweepOutcome
{
	SWEEP_GOES_ON,
	SWEEP_HAS_TO_WAIT,			/* other transactions have to end first */
	SWEEP_IS_OVER				/* no items are left; the caller ends the
								 * sweep */
} SweepOutcome;

extern Sweep *sweep_find(const Job *job);
extern bool sweep_has_begun(const Job *job);
extern SweepOutcome sweep_step(Job *job, SweepChunk chunk);
extern bool sweep_has_writers(const Sweep *sweep);
extern bool sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work);
extern void sweep_end(Sweep *sweep);

#endif							/* BLOGSTORE_USER_ITEMS_WALK_H */
