/*
 * user_items_walk.h
 *		Going over the items of users, for model/user_changes/ and the cluster
 *		only.
 *
 * A walk goes over one leaf of the posts container, in one or several steps. A
 * sweep walks over all leaves. It repeats this until no running transaction
 * can write another item of these users.
 */
#ifndef BLOGSTORE_USER_ITEMS_WALK_H
#define BLOGSTORE_USER_ITEMS_WALK_H

#include "model/user_changes/user_changes.h"

#include "access/xlogdefs.h"
#include "storage/lock.h"

/*
 * user_items_walk.c: walking over the items in one leaf, to change the
 * author's name in each item, or to delete the items. An ItemWalk is the state
 * of a walk.
 */
typedef struct ItemWalk
{
	ItemPlace	place;			/* place of the item that was visited last; the
								 * next step begins after it */
	int64		limit;			/* how many items one step may change; 0: any
								 * number */
	LockWaitPolicy wait;		/* LockWaitBlock to wait for locked items,
								 * LockWaitSkip to skip them */
	int64		changed;		/* how many items this walk has changed so
								 * far */
	bool		skipped;		/* whether this walk has skipped a locked
								 * item */
	bool		nobodys_too;	/* whether relabel_items(), which changes
								 * names, also deletes items whose author does
								 * not exist */
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
 * user_items_sweep.c: sweeping over all leaves of posts for a job. A Sweep is
 * the part of a sweep's state that is in the memory of the worker process. The
 * other part is in the job's row in blogstore.jobs.
 */
typedef struct Sweep
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;	/* the n transactions that may still write
									 * items; the sweep waits for their end
									 * before it goes over the leaves again */
	bool		skipped;		/* whether the current pass over the leaves has
								 * skipped a locked item */
	long		pause;			/* the length of the last pause between two
								 * passes, in ms; there is a pause only after a
								 * pass that has skipped locked items */
	TimestampTz again;			/* the time at which the pause ends and the
								 * next pass may begin */
	XLogRecPtr	committed;		/* WAL position of the commit after which no
								 * item of the deleted user is left; 0: not
								 * known yet (user_deletion.c) */
} Sweep;

/*
 * Describes what a sweep does. The callback leaf() changes or deletes items of
 * one leaf. It returns whether it has reached the end of the leaf.
 */
typedef struct SweepWork
{
	bool		(*leaf) (const struct SweepWork *work, ItemType type,
						 int partition, ItemWalk *walk);
	const pg_uuid_t *user_id;	/* the user whose items are changed or deleted;
								 * NULL: the items of all users */
	Datum		username;
	int64		chunk;
	bool		one_partition;	/* whether to sweep over one partition only
								 * (its number is in the next field) */
	int			partition;
	bool		nobodys_too;	/* whether to delete items whose author does
								 * not exist */
} SweepWork;

/*
 * Callback of sweep_step(). Changes or deletes a limited number of items,
 * which it reads with the active snapshot. Returns false once it has visited
 * the last leaf.
 */
typedef bool (*SweepChunk) (Job *job, Sweep *sweep);

typedef enum SweepOutcome
{
	SWEEP_GOES_ON,
	SWEEP_HAS_TO_WAIT,			/* nothing was done, because the sweep is
								 * pausing or is waiting for other transactions
								 * to end */
	SWEEP_IS_OVER				/* no items are left to change */
} SweepOutcome;

extern Sweep *sweep_find(const Job *job);
extern bool sweep_has_begun(const Job *job);
extern SweepOutcome sweep_step(Job *job, SweepChunk chunk);
extern bool sweep_has_writers(const Sweep *sweep);
extern bool sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work);
extern void sweep_end(Sweep *sweep);

#endif							/* BLOGSTORE_USER_ITEMS_WALK_H */
