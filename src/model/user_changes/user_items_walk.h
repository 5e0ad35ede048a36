/*
 * user_items_walk.h
 *		Going over the items of users, for model/user_changes/ and the cluster
 *		only.
 *
 * A walk goes through one leaf of the posts container, or through a leaf of
 * follows. A sweep walks through all leaves, and repeats this until no running
 * transaction can write another item.
 */
#ifndef BLOGSTORE_USER_ITEMS_WALK_H
#define BLOGSTORE_USER_ITEMS_WALK_H

#include "model/user_changes/user_changes.h"

#include "access/xlogdefs.h"
#include "storage/lock.h"

/*
 * The kinds of items that a walk goes through, in the order of a sweep. The
 * leaves of follows are visited twice: for the user who follows, and for the
 * user who is followed.
 */
typedef enum WalkedItems
{
	WALK_POSTS,
	WALK_COMMENTS,
	WALK_LIKES,
	WALK_COMMENT_LIKES,
	WALK_FOLLOWS,				/* follows of other users by the user */
	WALK_FOLLOWERS				/* follows of the user by other users */
} WalkedItems;

#define N_WALKED_ITEMS (WALK_FOLLOWERS + 1)

/* What a walk has to know of a kind of items. */
typedef struct WalkedKind
{
	Container	container;
	ItemType	type;
	AccessPath	path;			/* the index by which the items of a user are
								 * found */
	Property	user;			/* the fields with the user's id and name */
	Property	username;
} WalkedKind;

extern const WalkedKind walked_kinds[N_WALKED_ITEMS];

/*
 * user_items_walk.c: walking through the items in one leaf, to change the
 * author's name on each item, or to delete the items. An ItemWalk is the state
 * of a walk.
 */
typedef struct ItemWalk
{
	ItemPlace	place;			/* place of the item that was visited last */
	int64		limit;			/* how many items one step may change; 0: any
								 * number */
	LockWaitPolicy wait;		/* LockWaitBlock to wait for locked items,
								 * LockWaitSkip to skip them */
	int64		changed;
	bool		skipped;
	bool		nobodys_too;	/* whether a walk that changes names deletes
								 * items whose author does not exist */
} ItemWalk;

extern void item_walk_init(ItemWalk *walk, int64 limit, LockWaitPolicy wait);
extern bool relabel_items(const pg_uuid_t *user_id, Datum username,
						  WalkedItems items, int partition, ItemWalk *walk);
extern bool delete_items(const pg_uuid_t *user_id, WalkedItems items,
						 int partition, ItemWalk *walk);
extern void delete_user_items(const pg_uuid_t *user_id, int64 limit);
extern void deletion_claim(const pg_uuid_t *user_id);
extern void delete_user_copies(const pg_uuid_t *user_id);

/*
 * user_items_sweep.c: sweeping over all leaves of items for a job. A Sweep is
 * the part of a sweep's state that is only in the worker's memory. The rest is
 * in the job's row in blogstore.jobs.
 */
typedef struct Sweep
{
	pg_uuid_t	job;
	int			n;
	VirtualTransactionId *writers;	/* the n transactions that may still write
									 * items; the sweep waits for their end
									 * before the next pass */
	bool		skipped;		/* whether the current pass over the leaves has
								 * skipped a locked item */
	long		pause;			/* length of the last pause, in ms; the sweep
								 * pauses after a pass that has skipped locked
								 * items */
	TimestampTz again;			/* the time at which the pause ends */
	XLogRecPtr	committed;		/* for a deletion: WAL position of the commit
								 * that deleted the last item; 0: not known
								 * yet */
} Sweep;

/*
 * What a sweep does. The callback leaf() changes or deletes items of one leaf,
 * and returns whether the end of the leaf was reached.
 */
typedef struct SweepWork
{
	bool		(*leaf) (const struct SweepWork *work, WalkedItems items,
						 int partition, ItemWalk *walk);
	const pg_uuid_t *user_id;	/* the user whose items are changed or deleted;
								 * NULL: the items of all users */
	Datum		username;
	int64		chunk;
	bool		one_partition;	/* whether to sweep over only one partition of
								 * posts, and that of users with the same
								 * number, which is in the next field */
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
	SWEEP_HAS_TO_WAIT,			/* nothing was done: the sweep is pausing, or
								 * is waiting for other transactions to end */
	SWEEP_IS_OVER				/* the last pass has ended, and no other
								 * transaction can write further items */
} SweepOutcome;

extern Sweep *sweep_find(const Job *job);
extern bool sweep_has_begun(const Job *job);
extern SweepOutcome sweep_step(Job *job, SweepChunk chunk);
extern bool sweep_has_writers(const Sweep *sweep);
extern bool sweep_go_on(Job *job, Sweep *sweep, const SweepWork *work);
extern void sweep_end(Sweep *sweep);

#endif							/* BLOGSTORE_USER_ITEMS_WALK_H */
