/*
 * post_parts.h
 *		Queries, locks and writes of post items and their deltas, for the files
 *		of model/post_counts/ only.
 */
#ifndef BLOGSTORE_POST_PARTS_H
#define BLOGSTORE_POST_PARTS_H

#include "model/post_counts/post_counts.h"

/*
 * Return a query that finds a post item by its id. In the item that it finds,
 * any field can be null, except the ids, the author and the creation date.
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
 * Return a query that finds all deltas of a post. In a delta that it finds,
 * any field can be null, except those of the key.
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
 * Return whether both amounts of a delta are zero. post_keep() writes such a
 * delta only to keep other transactions from deleting the post.
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

static inline void
post_write_counts(ItemWriter *writer, BlogItem *post, PostCounts add)
{
	item_add_counts(post, add.comments, add.likes);
	item_writer_update(writer, post);
}

/*
 * post_item.c: finding and locking a post item, comment, like or delta.
 *
 * post_part_lock() calls a PostPartAct with the item that it has locked, and
 * returns the result of the call.
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
 * count_delta.c: writing and deleting deltas. Callers hold a PostLock whose
 * field "safe" is true, so no other transaction can delete the post.
 *
 * DeltaKind names the deltas of a post that delta_add() updates in place: the
 * counter, and the stripe of this process. All processes update the counter.
 * Each process can have a stripe on the post, which no other process updates.
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
 * delta_insert_stripe() and delta_insert() always insert a new row. They wait
 * for no other transaction.
 */
extern void delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts);
extern void delta_insert(const pg_uuid_t *post_id, PostCounts counts);
extern bool delta_counter_pending(const pg_uuid_t *post_id);
extern bool delta_insert_counter(const pg_uuid_t *post_id, PostCounts counts);

/* delta_any() and delta_take() ignore the counter. */
extern bool delta_any(const pg_uuid_t *post_id);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit,
						PostCounts *counts, bool *left);

#endif							/* BLOGSTORE_POST_PARTS_H */
