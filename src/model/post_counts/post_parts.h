/*
 * post_parts.h
 *		Queries, locks and deltas of a post, for the files of
 *		model/post_counts/ only.
 */
#ifndef BLOGSTORE_POST_PARTS_H
#define BLOGSTORE_POST_PARTS_H

#include "model/post_counts/post_counts.h"

/*
 * Return a query that finds a post item by its id. Values other than the key
 * may be missing from the row.
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
 * Return a query that finds all deltas of a post. Values other than the key
 * may be missing from the rows.
 */
static inline ItemQuery
delta_query(const Datum *post_id)
{
	ItemQuery	query = post_query(post_id);

	query.type = ITEM_DELTA;
	return query;
}

/* Translate the result of locking an item into the result of its deletion. */
static inline DeleteResult
delete_result(ItemResult result)
{
	if (result == ITEM_OK)
		return DELETE_DONE;
	return result == ITEM_LOCKED ? DELETE_LOCKED : DELETE_NOT_FOUND;
}

/* Return whether a delta counts nothing. post_keep() writes such deltas. */
static inline bool
delta_is_empty(const BlogItem *delta)
{
	return item_count(delta, PROP_COMMENT_COUNT) == 0 &&
		item_count(delta, PROP_LIKE_COUNT) == 0;
}

/*
 * Lock a post item against other writers. *post holds until the writer is
 * closed.
 */
static inline ItemResult
post_lock_for_counts(ItemWriter *writer, const pg_uuid_t *post_id,
					 LockWaitPolicy wait, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(post_id);

	return item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive, wait,
							post);
}

/* Update a locked post item, adding to its counts. */
static inline void
post_write_counts(ItemWriter *writer, BlogItem *post, PostCounts add)
{
	item_add_counts(post, add.comments, add.likes);
	item_writer_update(writer, post);
}

/*
 * post_item.c: finding and locking a post item, comment, like or delta.
 *
 * A PostPartAct is called while the item is locked; its result becomes the
 * result of post_part_lock().
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
 * count_delta.c: writing deltas and taking them away. The caller holds the
 * post in a state of at least POST_SHARED_SURE.
 *
 * DeltaKind names the two deltas of a post that are updated in place: the
 * counter, to which all processes add, and the stripe of this process.
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
 * The next two insert a new delta, and always succeed. They wait for no other
 * transaction.
 */
extern void delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts);
extern void delta_insert(const pg_uuid_t *post_id, PostCounts counts);
extern bool delta_counter_pending(const pg_uuid_t *post_id);
extern bool delta_insert_counter(const pg_uuid_t *post_id, PostCounts counts);

/* deltas other than the counter: whether a post has any, and deleting them */
extern bool delta_any(const pg_uuid_t *post_id);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit,
						PostCounts *counts, bool *left);

#endif							/* BLOGSTORE_POST_PARTS_H */
