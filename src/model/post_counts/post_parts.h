/*
 * post_parts.h
 *		Queries for a post and its deltas, locks on them, and writing deltas,
 *		for the files of model/post_counts/ only.
 *
 * A delta is a row beside the post item that holds amounts to add to the
 * post's counts (count_delta.c).
 */
#ifndef BLOGSTORE_POST_PARTS_H
#define BLOGSTORE_POST_PARTS_H

#include "model/post_counts/post_counts.h"

/*
 * Return a query that finds a post item by its id. Columns of the found item
 * can be null, except its ids, author and creation date.
 */
static inline ItemQuery
post_query(const Datum *post_id)
{
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST,
		.partition_key = DatumGetUUIDP(*post_id), .path = PATH_KEY,
		.key = post_id, .nkeys = 1, .identity = true
	};
}

/*
 * Return a query that finds all deltas of a post. Columns of a found delta can
 * be null, except those of the key.
 */
static inline ItemQuery
delta_query(const Datum *post_id)
{
	ItemQuery	query = post_query(post_id);

	query.type = ITEM_DELTA;
	return query;
}

static inline DeleteResult
delete_result(ItemResult result)
{
	if (result == ITEM_OK)
		return DELETE_DONE;
	return result == ITEM_LOCKED ? DELETE_LOCKED : DELETE_NOT_FOUND;
}

/*
 * Return whether both amounts of a delta are zero. post_keep() writes such
 * deltas only to keep the post from being deleted.
 */
static inline bool
delta_is_empty(const BlogItem *delta)
{
	return item_count(delta, PROP_COMMENT_COUNT) == 0 &&
		item_count(delta, PROP_LIKE_COUNT) == 0;
}

/*
 * Lock the row of a post item FOR NO KEY UPDATE, and read the item into *post.
 * The values in *post are valid until the writer is closed.
 */
static inline ItemResult
post_lock_for_counts(ItemWriter *writer, const pg_uuid_t *post_id,
					 LockWaitPolicy wait, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(post_id);

	return item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive, wait,
							post);
}

/* Add to the counts in a post item. The writer has locked the item's row. */
static inline void
post_write_counts(ItemWriter *writer, BlogItem *post, PostCounts add)
{
	item_add_counts(post, add.comments, add.likes);
	item_writer_update(writer, post);
}

/*
 * post_item.c: finding and locking a post item, comment, like or delta.
 *
 * A PostPartAct is the callback of post_part_lock(). That function locks the
 * item's row, calls the callback, and returns the callback's result.
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
 * count_delta.c: writing and deleting deltas. The caller has made sure that no
 * other transaction can delete the post: the field "safe" of the caller's
 * PostLock is true.
 *
 * DeltaKind names the two deltas of a post that are updated in place: the
 * counter, which all processes update, and the stripe, which only this process
 * updates.
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
 * delta_insert_stripe() and delta_insert() always insert a delta, and wait for
 * no other transaction.
 */
extern void delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts);
extern void delta_insert(const pg_uuid_t *post_id, PostCounts counts);
extern bool delta_counter_pending(const pg_uuid_t *post_id);
extern bool delta_insert_counter(const pg_uuid_t *post_id, PostCounts counts);

/* These two functions ignore the counter. */
extern bool delta_any(const pg_uuid_t *post_id);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit,
						PostCounts *counts, bool *left);

#endif							/* BLOGSTORE_POST_PARTS_H */
