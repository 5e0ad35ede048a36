/*
 * post_counts.h
 *		Posts and their counts: the post lock, counting a post's comments and
 *		likes, reading the counts, and deleting a post with its children.
 *
 * A post's comments and likes are its children. The counts of a post are
 * exact: they equal the number of children that the reader's snapshot shows,
 * without hidden comments. They are the sum of the counts in the post item and
 * the amounts in the post's deltas. The files of this folder write deltas, and
 * readers add them up (count_delta.c). A comment's replies and likes are
 * counted on the comment in the same way.
 *
 * The head of post_count.c explains the post lock.
 */
#ifndef BLOGSTORE_POST_COUNTS_H
#define BLOGSTORE_POST_COUNTS_H

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

/*
 * A counted item: a post, or a comment on a post, whose children are counted.
 * The children of a comment are the replies to it, which are counted as
 * comments, and its likes. A comment's row has no counts. They are the sum of
 * the comment's deltas.
 *
 * The struct has no padding, so that it can be hashed as bytes.
 */
typedef struct CountedItem
{
	pg_uuid_t	post_id;
	pg_uuid_t	item_id;		/* the post's id again, or the id of the
								 * comment */
} CountedItem;

static inline CountedItem
counted_post(const pg_uuid_t *post_id)
{
	return (CountedItem) {*post_id, *post_id};
}

static inline CountedItem
counted_comment(const pg_uuid_t *post_id, const pg_uuid_t *comment_id)
{
	return (CountedItem) {*post_id, *comment_id};
}

static inline ItemType
counted_type(const CountedItem *item)
{
	return memcmp(&item->post_id, &item->item_id, UUID_LEN) == 0 ? ITEM_POST :
		ITEM_COMMENT;
}

/*
 * Return a query that finds a comment by its key. In the comment that it
 * finds, the ids, the author and the creation date are not null. Other fields
 * can be null.
 *
 * key: room for two values, which the query points to
 */
static inline ItemQuery
comment_query(const pg_uuid_t *post_id, const pg_uuid_t *id, Datum *key)
{
	key[0] = UUIDPGetDatum(post_id);
	key[1] = UUIDPGetDatum(id);
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	};
}

/*
 * Return a query that finds a post or comment by its key, as comment_query()
 * does for comments.
 */
static inline ItemQuery
counted_query(const CountedItem *item, Datum *key)
{
	ItemQuery	query = comment_query(&item->post_id, &item->item_id, key);

	if (counted_type(item) == ITEM_POST)
	{
		query.type = ITEM_POST;
		query.nkeys = 1;
	}
	return query;
}

/*
 * Return whether the partition of a post has an index of replies by their
 * parent. The owner may have dropped it, for example for an import.
 */
static inline bool
has_reply_index(const pg_uuid_t *post_id)
{
	return partition_has_path(CONTAINER_POSTS, ITEM_COMMENT,
							  partition_of(CONTAINER_POSTS, ITEM_COMMENT,
										   post_id), PATH_REPLIES);
}

/* The counts of an item, or amounts to add to them. */
typedef struct ItemCounts
{
	int64		comments;		/* comments on a post, or replies to a
								 * comment */
	int64		likes;
} ItemCounts;

static inline bool
no_counts(ItemCounts counts)
{
	return counts.comments == 0 && counts.likes == 0;
}

/* Add n times the counts "more" to "counts". */
static inline void
add_counts(ItemCounts *counts, ItemCounts more, int64 n)
{
	counts->comments += n * more.comments;
	counts->likes += n * more.likes;
}

/* Return the counts that n comments, or n likes, add up to. */
static inline ItemCounts
child_counts(ItemType type, int64 n)
{
	ItemCounts	counts = {0, 0};

	if (type == ITEM_COMMENT)
		counts.comments = n;
	else if (is_like(type))
		counts.likes = n;
	return counts;
}

/* The key of a comment or like. */
typedef struct ChildKey
{
	ItemType	type;
	pg_uuid_t	post_id;
	pg_uuid_t	comment_id;		/* the comment itself, or the comment that is
								 * liked; zero in the key of a like of a
								 * post */
	pg_uuid_t	user_id;		/* of a like: the user who likes; zero in the
								 * key of a comment */
} ChildKey;

/* Return the key of a comment or like, made from its ids. */
static inline ChildKey
child_key(ItemType type, const BlogItem *child)
{
	ChildKey	key = {.type = type, .post_id = *item_uuid(child, PROP_POST_ID)};

	if (type == ITEM_COMMENT)
		key.comment_id = *item_uuid(child, PROP_ID);
	else
		key.user_id = *item_uuid(child, PROP_USER_ID);
	if (type == ITEM_COMMENT_LIKE)
		key.comment_id = *item_uuid(child, PROP_COMMENT_ID);
	return key;
}

#define CHILD_KEYS 3			/* the largest number of columns in a child's
								 * key */

/*
 * Return a query that finds a comment or like by its key.
 *
 * value: room for CHILD_KEYS values. The query points to these and to "key".
 */
static inline ItemQuery
child_query(const ChildKey *key, Datum *value)
{
	int			n = 0;

	if (is_like(key->type))
		value[n++] = UUIDPGetDatum(&key->user_id);
	value[n++] = UUIDPGetDatum(&key->post_id);
	if (key->type != ITEM_LIKE)
		value[n++] = UUIDPGetDatum(&key->comment_id);
	return (ItemQuery) {
		.container = CONTAINER_POSTS, .type = key->type,
		.partition_key = &key->post_id, .path = PATH_KEY, .key = value,
		.nkeys = n
	};
}

/*
 * post_count.c: taking the post lock, and adding to the counts of a post.
 * Comments are locked and counted on in the same way.
 *
 * A CountLock is the state of a transaction's lock on a post or comment. The
 * head of post_count.c has a table of the states.
 */
typedef struct CountLock
{
	CountedItem item;
	KeyLock		key;
	bool		locked;
	KeyLockMode mode;			/* the mode of the post lock; undefined if
								 * "locked" is false */

	/*
	 * True if the post exists and no other transaction can delete it. This is
	 * certain until post_unlock() if "locked" is true, otherwise until this
	 * transaction ends.
	 */
	bool		safe;
	bool		hidden;			/* whether the post was hidden when the post
								 * item was last read */

	/*
	 * True if this transaction only keeps the post from being deleted, and
	 * does not change its counts. The transaction then leaves the post's
	 * counter to others.
	 */
	bool		aside;
} CountLock;

extern void post_lock_init(CountLock *lock, const CountedItem *item);
extern bool post_find(CountLock *lock);
extern bool post_make_safe(CountLock *lock);
extern bool post_try_lock_shared(CountLock *lock);
extern bool post_is_busy(const CountLock *lock);
extern void post_await(const CountLock *lock);
extern void post_check_deleted(const CountLock *lock);
extern ItemResult post_lock_shared(CountLock *lock, LockWaitPolicy wait);
extern void post_try_lock_counter(CountLock *lock);
extern bool post_has_counter(const CountLock *lock);
extern void post_unlock(CountLock *lock);

extern void post_count(const CountLock *lock, ItemCounts counts);
extern void post_count_held(const CountedItem *comment, ItemCounts counts);
extern bool post_keep(const pg_uuid_t *post_id);

/*
 * count_locks.c: locking all items on which a comment or like counts, and
 * adding to their counts
 *
 * A CountedOn lists these items, and what the comment or like adds to the
 * counts of each while it is not hidden. The first item is always the post,
 * even if nothing is added to its counts.
 */
#define MAX_COUNTED_ON 2

typedef struct CountedOn
{
	int			n;
	CountedItem item[MAX_COUNTED_ON];
	ItemCounts	counts[MAX_COUNTED_ON];
} CountedOn;

extern void counted_on(CountedOn *on, ItemType type, const BlogItem *child);

/*
 * The locks of all items on which a comment or like counts before or after a
 * change, and what the change adds to the counts of each. If a comment gets
 * another parent, the items are the post and both parents.
 */
#define MAX_COUNT_LOCKS (MAX_COUNTED_ON + 1)

typedef struct CountLocks
{
	int			n;
	CountLock	lock[MAX_COUNT_LOCKS];
	ItemCounts	counts[MAX_COUNT_LOCKS];
} CountLocks;

typedef enum LocksResult
{
	LOCKS_TAKEN,
	LOCKS_BUSY,					/* another transaction holds a lock in
								 * exclusive mode, or is deleting or inserting
								 * an item; no lock is held */
	LOCKS_GONE					/* the post does not exist; no lock is held */
} LocksResult;

extern void count_locks_plan(CountLocks *locks, ItemType type,
							 const BlogItem *before, const BlogItem *after);
extern void count_locks_plan_post(CountLocks *locks, const pg_uuid_t *post_id);
extern LocksResult count_locks_try(CountLocks *locks);
extern bool count_locks_all_exist(const CountLocks *locks);
extern void count_locks_release(CountLocks *locks);
extern void count_locks_await(const CountLocks *locks);
extern bool count_locks_replan(CountLocks *locks, ItemType type,
							   const BlogItem *before, const BlogItem *after);
extern void count_locks_count(const CountLocks *locks);
extern bool counts_add_written(const CountedItem *item, ItemCounts counts);

/* post_repair.c: correcting wrong counts */
extern bool post_counter_repair(const CountedItem *item);

/* comment_recount.c: counts of a new comment with a deleted comment's id */
extern void comment_count_anew(const CountedItem *comment, bool liked);

/*
 * count_delta.c: deltas. The counter of a post or comment is the delta with
 * the id counter_id (all zeros).
 */
extern const pg_uuid_t counter_id;

static inline bool
delta_is_counter(const pg_uuid_t *id)
{
	return memcmp(id, &counter_id, UUID_LEN) == 0;
}

/*
 * Return whether a delta is a stripe. The id of a stripe is a UUID of version
 * 8.
 */
static inline bool
delta_is_stripe(const pg_uuid_t *id)
{
	return id->data[6] >> 4 == 8;
}

extern void counter_init(BlogItem *counter, const CountedItem *item);

/* post_fold.c: folding deltas into the counter, and making a post's counter */
extern ItemResult post_fold(const CountedItem *item, int64 limit, bool merge,
							int64 *taken, bool *left);
extern void post_counter_clear(const pg_uuid_t *post_id);
extern void post_counter_make(const pg_uuid_t *post_id);

/* post_item.c: adding up the counts of an item and its deltas */
extern ItemCounts post_deltas(ItemScan **scan, const CountedItem *item,
							  Snapshot snapshot);
extern void post_add_up(BlogItem *post, Snapshot snapshot);
extern void posts_add_up(ManyItems *posts, Snapshot snapshot);

/* many_posts.c: reading many posts with their counts, in any order */
typedef struct ManyPosts ManyPosts;

extern ManyPosts *many_posts_begin(Snapshot snapshot);
extern bool many_posts_find(ManyPosts *many, const pg_uuid_t *post_id,
							BlogItem *post);
extern void many_posts_add_up(ManyPosts *many, BlogItem *post);
extern void many_posts_end(ManyPosts *many);

typedef enum DeleteResult
{
	DELETE_NOT_FOUND,			/* no such item, or another user has written
								 * it */
	DELETE_DONE,
	DELETE_LOCKED,				/* another transaction has locked the item's
								 * row, and the caller asked not to wait */
	DELETE_MORE					/* the caller's limit was reached; more items
								 * may be left to delete */
} DeleteResult;

/* child_deletion.c: deleting comments, likes and deltas */
extern DeleteResult child_delete(const ChildKey *key, const pg_uuid_t *author,
								 LockWaitPolicy wait);
extern DeleteResult child_delete_anyway(const ChildKey *key,
										const pg_uuid_t *author,
										LockWaitPolicy wait);
extern DeleteResult child_delete_in_steps(const ChildKey *key,
										  const pg_uuid_t *author,
										  LockWaitPolicy wait, int64 limit,
										  int64 *children);

/* child_deletion.c: deleting one delta */
extern DeleteResult delta_delete(const CountedItem *item,
								 const pg_uuid_t *delta_id);

/* post_deletion.c: deleting the deltas of a comment that does not exist */
extern bool lost_deltas_delete(const CountedItem *comment);

/* child_deletion.c: hiding a comment, showing it again, changing its parent */
extern ItemResult comment_set_parent(const pg_uuid_t *post_id,
									 const pg_uuid_t *comment_id,
									 const pg_uuid_t *parent_id);
extern ItemResult comment_hide(const pg_uuid_t *post_id,
							   const pg_uuid_t *comment_id, bool hidden,
							   BlogItem *comment);

/* post_deletion.c: deleting a post with its comments and likes */
extern DeleteResult post_delete(const pg_uuid_t *post_id,
								const pg_uuid_t *author, LockWaitPolicy wait);
extern DeleteResult post_delete_in_steps(const pg_uuid_t *post_id,
										 const pg_uuid_t *author,
										 LockWaitPolicy wait, int64 limit,
										 int64 *children);

/* post_list.c: listing the posts of all partitions by date */
typedef struct PostList PostList;

extern PostList *post_list_begin(const ItemQuery *query);
extern bool post_list_next(PostList *list, BlogItem *out);
extern void post_list_end(PostList *list);

#endif							/* BLOGSTORE_POST_COUNTS_H */
