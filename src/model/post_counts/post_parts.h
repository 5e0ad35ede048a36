/*
 * post_parts.h
 *		Queries, locks and writes of post items and their deltas, for the files
 *		of model/post_counts/ only.
 */
#ifndef BLOGSTORE_POST_PARTS_H
#define BLOGSTORE_POST_PARTS_H

#include "model/post_counts/post_counts.h"
#include "storage/layout/layout.h"

/*
 * Return a query that finds a post item by its id. In the item that it finds,
 * the ids, the author and the creation date are not null. Other fields can be
 * null.
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
 * Return a query that finds all deltas of a post or comment. Columns of a
 * found delta can be null, except those of the key.
 *
 * key: room for two values, which the query points to
 */
static inline ItemQuery
delta_query(const CountedItem *item, Datum *key)
{
	ItemQuery	query = counted_query(item, key);

	query.type = ITEM_DELTA;
	query.nkeys = 2;
	return query;
}

#define DELTA_KEYS 3			/* number of columns of a delta's key */

/* Fill in the key of a delta. The values in "key" point to *item and *id. */
static inline void
delta_key(const CountedItem *item, const pg_uuid_t *id, Datum *key)
{
	key[0] = UUIDPGetDatum(&item->post_id);
	key[1] = UUIDPGetDatum(&item->item_id);
	key[2] = UUIDPGetDatum(id);
}

/*
 * Return a query that finds a delta by its key.
 *
 * key: room for DELTA_KEYS values, which the query points to
 */
static inline ItemQuery
one_delta_query(const CountedItem *item, const pg_uuid_t *id, Datum *key)
{
	ItemQuery	query = delta_query(item, key);

	delta_key(item, id, key);
	query.nkeys = DELTA_KEYS;
	return query;
}

/*
 * Return a query that finds all deltas of an item and, if it is a post, of the
 * comments on it. A deletion of the item waits for transactions that have
 * inserted one of these deltas, and deletes the deltas.
 */
static inline ItemQuery
all_deltas_query(const CountedItem *item, Datum *key)
{
	ItemQuery	query = delta_query(item, key);

	query.nkeys = counted_type(item) == ITEM_POST ? 1 : 2;
	return query;
}

/*
 * Return a query that finds the likes of a post or comment, by date.
 *
 * key: room for two values, which the query points to
 */
static inline ItemQuery
likes_query(const CountedItem *item, Datum *key)
{
	ItemQuery	query = counted_query(item, key);

	query.type = counted_type(item) == ITEM_POST ? ITEM_LIKE :
		ITEM_COMMENT_LIKE;
	query.path = PATH_LIST;
	return query;
}

/*
 * Return a query that finds the replies to a comment, including hidden ones.
 * If the owner has dropped the index of replies, for example for an import,
 * the query finds all comments on the post. The caller checks each with
 * is_reply_to().
 *
 * key: room for two values, which the query points to
 */
static inline ItemQuery
replies_query(const CountedItem *comment, Datum *key)
{
	ItemQuery	query = counted_query(comment, key);

	if (has_reply_index(&comment->post_id))
		query.path = PATH_REPLIES;
	else
		query.nkeys = 1;
	return query;
}

static inline bool
is_reply_to(const BlogItem *item, const CountedItem *comment)
{
	return !item->isnull[PROP_PARENT_ID] &&
		memcmp(item_uuid(item, PROP_PARENT_ID), &comment->item_id,
			   UUID_LEN) == 0;
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
 * Lock the row of a post or comment FOR NO KEY UPDATE, and read the item into
 * *row. The values in *row are valid until the writer is closed.
 */
static inline ItemResult
post_lock_for_counts(ItemWriter *writer, const CountedItem *item,
					 LockWaitPolicy wait, BlogItem *row)
{
	Datum		key[2];
	ItemQuery	query = counted_query(item, key);

	return item_writer_lock(writer, key, query.nkeys, LockTupleNoKeyExclusive,
							wait, row);
}

static inline void
post_write_counts(ItemWriter *writer, BlogItem *post, ItemCounts add)
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

extern bool post_shown_by(const CountedItem *item, const pg_uuid_t *author);
extern ItemResult post_part_lock(const ItemQuery *query, LockTupleMode mode,
								 LockWaitPolicy wait, PostPartAct act,
								 void *arg);
extern ItemResult post_row_lock(const CountedItem *item, LockTupleMode mode,
								LockWaitPolicy wait);

/*
 * count_delta.c: writing and deleting deltas. Callers hold a CountLock whose
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

extern ItemResult delta_add(const CountedItem *item, DeltaKind kind,
							ItemCounts counts);
extern bool delta_striped(const CountedItem *item);

/*
 * delta_insert_stripe() and delta_insert() always insert a new row. They wait
 * for no other transaction.
 */
extern void delta_insert_stripe(const CountedItem *item, ItemCounts counts);
extern void delta_insert(const CountedItem *item, ItemCounts counts);
extern bool delta_counter_pending(const CountedItem *item);
extern bool delta_insert_counter(const CountedItem *item, ItemCounts counts);

/* delta_any() and delta_take() ignore the counter. */
extern bool delta_any(const CountedItem *item);
extern int64 delta_take(const CountedItem *item, int64 limit,
						ItemCounts *counts, bool *left);

/*
 * post_deletion.c: taking the lock of a post or comment in exclusive mode, and
 * deleting its children and deltas
 */
extern bool post_hold_exclusive(CountLock *lock, LockWaitPolicy key_wait,
								LockWaitPolicy count_wait);
extern void post_await_counting(const CountLock *lock);
extern void deltas_delete(const CountedItem *item);
extern void children_delete(const CountedItem *item);
extern int64 children_delete_some(CountLock *lock, LockWaitPolicy wait,
								  int64 limit, bool *busy);

/* post_repair.c */
extern int64 count_replies(const CountedItem *comment);

#endif							/* BLOGSTORE_POST_PARTS_H */
