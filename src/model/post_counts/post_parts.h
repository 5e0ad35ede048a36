/*
 * post_parts.h
 *		Post items, what hangs on them, and the deltas beside them, for the files of
 *		model/post_counts/ alone.
 */
#ifndef BLOGSTORE_POST_PARTS_H
#define BLOGSTORE_POST_PARTS_H

#include "model/post_counts/post_counts.h"

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

/* What the lock of an item that is to be deleted says of its deletion. */
static inline DeleteResult
delete_result(ItemResult result)
{
	if (result == ITEM_OK)
		return DELETE_DONE;
	return result == ITEM_LOCKED ? DELETE_LOCKED : DELETE_NOT_FOUND;
}

/* Does a delta only say that its writer is there? */
static inline bool
delta_is_empty(const BlogItem *delta)
{
	return item_count(delta, PROP_COMMENT_COUNT) == 0 &&
		item_count(delta, PROP_LIKE_COUNT) == 0;
}

/* Lock a post item against other writers; *post points into the writer. */
static inline ItemResult
post_lock_for_counts(ItemWriter *writer, const pg_uuid_t *post_id,
					 LockWaitPolicy wait, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(post_id);

	return item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive, wait,
							post);
}

/* Write a post item that is locked, with these added to its counts. */
static inline void
post_write_counts(ItemWriter *writer, BlogItem *post, PostCounts add)
{
	item_add_counts(post, add.comments, add.likes);
	item_writer_update(writer, post);
}

/*
 * post_item.c: a post as the transaction's snapshot shows it, and what is done with
 * a post item, comment, like or delta while it is locked
 */
typedef ItemResult (*PostPartAct) (ItemWriter *writer, const BlogItem *item,
								   void *arg);

extern bool post_shown_by(const pg_uuid_t *post_id, const pg_uuid_t *author);
extern ItemResult post_part_lock(const ItemQuery *query, LockTupleMode mode,
								 LockWaitPolicy wait, PostPartAct act,
								 void *arg);
extern ItemResult post_row_lock(const pg_uuid_t *post_id, LockTupleMode mode,
								LockWaitPolicy wait);

/*
 * count_delta.c: writing deltas of a post that is there and stays, because the caller has
 * it locked or it is the transaction's, and taking them away.
 *
 * Two of a post's deltas are added to again and again: its counter, which is all
 * processes', and a process's stripe.
 */
typedef enum DeltaKind
{
	DELTA_COUNTER,
	DELTA_STRIPE
} DeltaKind;

extern ItemResult delta_add(const pg_uuid_t *post_id, DeltaKind kind,
							PostCounts counts);
extern bool delta_striped(const pg_uuid_t *post_id);

/*
 * A new delta, which always comes to be, and waits for nobody: as this process's
 * stripe, which was not found, or beside it.
 */
extern void delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts);
extern void delta_insert(const pg_uuid_t *post_id, PostCounts counts);
extern bool delta_counter_pending(const pg_uuid_t *post_id);
extern bool delta_insert_counter(const pg_uuid_t *post_id, PostCounts counts);

/* Deltas but counters: are there any, and to take them away. */
extern bool delta_any(const pg_uuid_t *post_id);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit,
						PostCounts *counts, bool *left);

#endif							/* BLOGSTORE_POST_PARTS_H */
