/*
 * counts.h
 *		Posts and their counts.
 */
#ifndef BLOGSTORE_COUNTS_H
#define BLOGSTORE_COUNTS_H

#include "container/container.h"
#include "layout/item.h"

#include "storage/block.h"
#include "storage/lock.h"

typedef struct ItemMerge ItemMerge;

/* gate.c: who counts on a post, and who deletes it */
typedef struct PostGate
{
	pg_uuid_t	post_id;
	LOCKTAG		tag;
	LOCKMODE	mode;			/* as held, or NoLock */
	bool		passed;			/* there is no need to hold it */
	bool		sure;			/* of the post, while it is held */
} PostGate;

extern void gate_init(PostGate *gate, const pg_uuid_t *post_id);
extern ItemResult gate_enter(PostGate *gate, LockWaitPolicy wait);
extern ItemResult gate_look(PostGate *gate, LockWaitPolicy wait);
extern ItemResult gate_visit(PostGate *gate, LockWaitPolicy wait);
extern ItemResult gate_shut(PostGate *gate, LockTupleMode mode,
							 LockWaitPolicy wait);
extern void gate_settle(PostGate *gate);
extern void gate_leave(PostGate *gate);

/* counter.c: a post's counts */
extern ItemResult post_count(PostGate *gate, int64 comments, int64 likes,
							  LockWaitPolicy wait);
extern ItemResult post_join(const pg_uuid_t *post_id);
extern ItemResult post_fold(const pg_uuid_t *post_id, int64 limit, bool hot,
							 bool merge, int64 *taken, bool *left);
extern void post_fold_locked(BlogItem *post, int64 limit);
extern bool post_counter_repair(const pg_uuid_t *post_id);

/* delta.c: what is to be added to a post's counts */
static inline bool
delta_is_stripe(const pg_uuid_t *id)
{
	return id->data[6] >> 4 == 8;
}

extern bool delta_leaf_exists(int partition);
extern bool delta_possible(const pg_uuid_t *post_id);
extern void delta_add_up(BlogItem *post, Snapshot snapshot);
extern ItemResult delta_stripe(const pg_uuid_t *post_id, int64 comments,
								int64 likes);
extern void delta_insert(const pg_uuid_t *post_id, int64 comments, int64 likes,
						 bool stripe);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit, int64 *comments,
						int64 *likes, bool *left);
extern ItemScan *delta_scan(const pg_uuid_t *post_id, Snapshot snapshot,
							bool identity);
extern BlockNumber delta_page(const pg_uuid_t *post_id);

/* presence.c: is a post there? */
typedef enum PostLife
{
	POST_UNSEEN,				/* none, or it moves too fast */
	POST_THERE,
	POST_DELETING				/* by another transaction, so far */
} PostLife;

extern PostLife post_look(const pg_uuid_t *post_id);
extern bool post_is_held(const pg_uuid_t *post_id);
extern void item_await_free(ItemType type, const pg_uuid_t *post_id,
							const Datum *key, int nkeys);
extern void post_await_free(const pg_uuid_t *post_id);
extern ItemResult post_hold(const pg_uuid_t *post_id, LockTupleMode mode,
							 LockWaitPolicy wait);
extern bool post_await(PostGate *gate);

/* removal.c: items with what hangs on them; author NULL: whoever's they are */
extern ItemResult remove_item(ItemType type, const pg_uuid_t *post_id,
							   const pg_uuid_t *other, const pg_uuid_t *author,
							   LockWaitPolicy wait);
extern ItemResult remove_child(ItemType type, const pg_uuid_t *post_id,
								const pg_uuid_t *other, const pg_uuid_t *author,
								LockWaitPolicy wait);
extern ItemResult purge_child(ItemType type, const pg_uuid_t *post_id,
							   const pg_uuid_t *other, const pg_uuid_t *author,
							   LockWaitPolicy wait);
extern ItemResult remove_post(const pg_uuid_t *post_id,
							   const pg_uuid_t *author, LockWaitPolicy wait);
extern ItemResult purge_post(const pg_uuid_t *post_id,
							  const pg_uuid_t *author, LockWaitPolicy wait,
							  int64 limit, int64 *removed, bool *more);

/* merge.c: lists over all partitions */
extern ItemMerge *item_merge_begin(const ItemQuery *query);
extern bool item_merge_next(ItemMerge *merge, BlogItem *out);
extern void item_merge_end(ItemMerge *merge);

#endif							/* BLOGSTORE_COUNTS_H */
