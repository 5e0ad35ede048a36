/*
 * user_items_walk.h
 *		Going over the items of users, for model/user_changes/ and the cluster
 *		only.
 *
 * A walk goes over one leaf of the posts container, in one or several steps. A
 * sweep goes over all leaves, as often as concurrent transactions may have
 * added items.
 */
#ifndef BLOGSTORE_USER_ITEMS_WALK_H
#define BLOGSTORE_USER_ITEMS_WALK_H

#include "model/user_changes/user_changes.h"

#include "access/xlogdefs.h"
#include "storage/lock.h"

/*
 * user_items_walk.c: walking through one leaf, to write a user's name on the
 * user's items or to delete them. An ItemWalk keeps the state of a walk from
 * step to step.
 */
typedef struct ItemWalk
{
	ItemPlace	place;			/* the item after which the next step begins */
	int64		limit;			/* how many items one step may change; 0: any
								 * number */
	LockWaitPolicy wait;		/* what to do about locked items: wait for them
								 * or skip them */
	int64		changed;		/* how many items were changed so far */
	bool		skipped;		/* has any step skipped a locked item? */
	bool		nobodys_too;	/* when writing names, delete items whose
								 * author does not exist */
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
 * user_items_sweep.c: sweeping over all leaves of posts for a job, until no
 * item is left that a concurrent transaction has written. A Sweep is the state
 * of a job's sweep in the memory of the worker process; the job's row in
 * blogstore.jobs has the rest.
 */
typedef struct Sweep
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;	/* n transactions that may still write
									 * items and have to end before the next
									 * pass */
	bool		skipped;		/* has this pass over the leaves skipped a
								 * locked item? */
	long		pause;			/* the length of the last pause, in ms; the
								 * worker pauses after a pass that has skipped
								 * items */
	TimestampTz again;			/* when the next pass may begin */
	XLogRecPtr	committed;		/* WAL position after the commit of the last
								 * chunk; 0: not known yet */
} Sweep;

/*
 * What a sweep does to the items. leaf() changes the items of one leaf, and
 * returns whether it has reached the end of the leaf.
 */
typedef struct SweepWork
{
	bool		(*leaf) (const struct SweepWork *work, ItemType type,
						 int partition, ItemWalk *walk);
	const pg_uuid_t *user_id;	/* whose items to change; NULL: those of all
								 * users */
	Datum		username;
	int64		chunk;			/* how many items one step may change */
	bool		one_partition;	/* sweep only one partition of posts? */
	int			partition;
	bool		nobodys_too;	/* delete items whose author does not exist? */
} SweepWork;

/*
 * A callback of sweep_step() that changes a limited number of items for a job.
 * It finds them with the active snapshot, and returns false when all items
 * have been visited.
 */
typedef bool (*SweepChunk) (Job *job, Sweep *sweep);

typedef enum SweepOutcome
{
	SWEEP_GOES_ON,
	SWEEP_HAS_TO_WAIT,			/* nothing was done, because other transactions
								 * have to end first */
	SWEEP_IS_OVER				/* no items are left to change; the caller
								 * calls sweep_end() */
} SweepOutcome;

extern Sweep *sweep_find(const Job *job);
extern bool sweep_has_begun(const Job *job);
extern SweepOutcome sweep_step(Job *job, SweepChunk chunk);
extern bool sweep_has_writers(const Sweep *sweep);
extern bool sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work);
extern void sweep_end(Sweep *sweep);

#endif							/* BLOGSTORE_USER_ITEMS_WALK_H */
