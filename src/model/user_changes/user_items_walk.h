/*
 * user_items_walk.h
 *		Going through users' items, for model/user_changes/ and the cluster alone.
 */
#ifndef BLOGSTORE_USER_ITEMS_WALK_H
#define BLOGSTORE_USER_ITEMS_WALK_H

#include "model/user_changes/user_changes.h"

#include "access/xlogdefs.h"
#include "storage/lock.h"

/*
 * user_items_walk.c: writing a user's name on the user's items of one type in one
 * partition, or deleting them, in steps
 */
typedef struct ItemWalk
{
	ItemPlace	place;			/* where the next step begins */
	int64		limit;			/* items to change in a step; 0: all */
	LockWaitPolicy wait;		/* LockWaitSkip: leave locked items alone */
	int64		changed;		/* items changed so far */
	bool		skipped;		/* were any left alone? */
	bool		nobodys_too;	/* relabelling: delete items without author */
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
 * user_items_sweep.c: going over all leaves of posts for a job until no item is left that
 * was written beside it. What is known of a sweep in this process's memory.
 */
typedef struct Sweep
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;	/* to be waited for */
	bool		skipped;		/* did the present pass skip locked items? */
	long		pause;			/* how long locked items were left alone, in ms */
	TimestampTz again;			/* go on not before then */
	XLogRecPtr	committed;		/* all it has written is before here; 0: not
								 * asked for so far */
} Sweep;

/* What a sweep does to the items of a leaf; returns whether it is done. */
typedef struct SweepWork
{
	bool		(*leaf) (const struct SweepWork *work, ItemType type,
						 int partition, ItemWalk *walk);
	const pg_uuid_t *user_id;	/* NULL: everyone's items */
	Datum		username;
	int64		chunk;			/* items to change in a step */
	bool		one_partition;	/* no others are swept */
	int			partition;		/* that one */
	bool		nobodys_too;	/* as in ItemWalk */
} SweepWork;

/* Sweeps a chunk of a job by the active snapshot; false once a pass is through. */
typedef bool (*SweepChunk) (Job *job, Sweep *sweep);

typedef enum SweepOutcome
{
	SWEEP_GOES_ON,
	SWEEP_HAS_TO_WAIT,			/* other transactions have to end first */
	SWEEP_IS_OVER				/* no items are left; the caller ends the sweep */
} SweepOutcome;

extern Sweep *sweep_find(const Job *job);
extern bool sweep_has_begun(const Job *job);
extern SweepOutcome sweep_step(Job *job, SweepChunk chunk);
extern bool sweep_has_writers(const Sweep *sweep);
extern bool sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work);
extern void sweep_end(Sweep *sweep);

#endif							/* BLOGSTORE_USER_ITEMS_WALK_H */
