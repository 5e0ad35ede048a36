/*
 * internal.h
 *		Post items and the deltas beside them, for the files of counts/ alone.
 */
#ifndef BLOGSTORE_COUNTS_INTERNAL_H
#define BLOGSTORE_COUNTS_INTERNAL_H

#include "counts/counts.h"

/* The post of an id, to be looked at without regard to its values. */
static inline ItemQuery
post_query(const Datum *post_id)
{
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST,
		.partition_key = DatumGetUUIDP(*post_id), .path = PATH_KEY,
		.key = post_id, .nkeys = 1, .identity = true
	};
}

/* A post's deltas, to be looked at without regard to their values. */
static inline ItemQuery
delta_query(const Datum *post_id)
{
	ItemQuery	query = post_query(post_id);

	query.type = ITEM_DELTA;
	return query;
}

/* post_lock.c: what else there is to know of a post that is, or was, locked */
extern bool post_is_sure(PostLock *lock);
extern void post_await_counting(const PostLock *lock);
extern ItemResult post_await_deletion(PostLock *lock);

/* This process's delta of a post. */
typedef struct DeltaStripe
{
	ItemWriter *writer;
	ItemScan   *scan;
	pg_uuid_t	id;
	Datum		key[2];			/* what the scan finds it by */
	bool		found;			/* is there one? */
	bool		mine;			/* has this transaction written it? */
} DeltaStripe;

/* delta.c */
extern void delta_stripe_begin(DeltaStripe *stripe, const pg_uuid_t *post_id);
extern ItemResult delta_stripe_add(DeltaStripe *stripe, PostCounts counts);
extern void delta_stripe_end(DeltaStripe *stripe);
extern void delta_insert(const pg_uuid_t *post_id, PostCounts counts);
extern void delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit,
						PostCounts *counts, bool *left);
extern int64 delta_take_now(const pg_uuid_t *post_id, int64 limit,
							PostCounts *counts, bool *left);

/* post_count.c: the post item */
extern ItemResult post_item_lock(ItemWriter *writer, const pg_uuid_t *post_id,
								 LockWaitPolicy wait, BlogItem *post);
extern void post_item_write(ItemWriter *writer, BlogItem *post,
							PostCounts add);

#endif							/* BLOGSTORE_COUNTS_INTERNAL_H */
