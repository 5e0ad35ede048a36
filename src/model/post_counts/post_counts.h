/*
 * post_counts.h
 *		Posts and their counts: the post lock, counting a post's comments and
 *		likes, reading the counts, and deleting a post with its children.
 *
 * A post's comments and likes are its children. The counts of a post are
 * exact: they equal the number of children that the reader's snapshot shows,
 * without hidden comments. They are the sum of the counts in the post item and
 * the amounts in the post's deltas. The files of this folder write deltas, and
 * readers add them up (count_delta.c).
 *
 * A transaction that writes or deletes a child takes the post lock in share
 * mode, adds to the post's counts, and releases the lock. A transaction that
 * deletes a post takes the post lock in exclusive mode. The head of
 * post_count.c explains the post lock.
 */
#ifndef BLOGSTORE_POST_COUNTS_H
#define BLOGSTORE_POST_COUNTS_H

#include "storage/blog_item.h"
#include "storage/rows/rows.h"

/*
 * A counted item: a post, or a comment on a post, whose children are counted.
 * The replies to a comment are its children, and are counted as comments. A
 * comment's row has no counts of its own; its counts are the sum of its
 * deltas. It has none before its first reply.
 *
 * The struct has no padding, so that it can be hashed as bytes.
 */
typedef struct CountedItem
{
	pg_uuid_t	post_id;
	pg_uuid_t	item_id;		/* the post's id again, or the comment's id */
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

/* The counts of an item, or amounts to add to them. */
typedef struct PostCounts
{
	int64		comments;		/* of a comment: the replies to it */
	int64		likes;
} PostCounts;

/* Return what n comments (or n likes) add to the counts of their item. */
static inline PostCounts
child_counts(ItemType type, int64 n)
{
	PostCounts	counts = {0, 0};

	if (type == ITEM_COMMENT)
		counts.comments = n;
	else if (type == ITEM_LIKE)
		counts.likes = n;
	return counts;
}

/*
 * post_count.c: taking the post lock, and adding to the counts of a post.
 * Comments are locked and counted on in the same way.
 *
 * A PostLock says what a transaction has locked of a post or comment. It is a
 * local variable. The head of post_count.c has a table of its states.
 */
typedef struct PostLock
{
	CountedItem item;
	KeyLock		key;
	bool		locked;
	KeyLockMode mode;			/* the mode of the post lock; undefined if
								 * "locked" is false */

	/*
	 * True if the post exists and no other transaction can delete it. If
	 * "locked" is true, this is certain until post_unlock(), and otherwise
	 * until this transaction ends.
	 */
	bool		safe;
	bool		hidden;			/* whether the post was hidden when the post
								 * item was last read */
} PostLock;

extern void post_lock_init(PostLock *lock, const CountedItem *item);
extern bool post_find(PostLock *lock);
extern bool post_make_safe(PostLock *lock);
extern bool post_await_deletion(PostLock *lock);
extern bool post_try_lock_shared(PostLock *lock);
extern ItemResult post_lock_shared(PostLock *lock, LockWaitPolicy wait);
extern void post_try_lock_counter(PostLock *lock);
extern bool post_has_counter(const PostLock *lock);
extern void post_unlock(PostLock *lock);
extern void post_await_unlock(const PostLock *lock);

/*
 * The result of adding to the counts of a post. Nothing was added unless it is
 * POST_COUNTED.
 */
typedef enum PostCountResult
{
	POST_COUNTED,
	POST_GONE,
	POST_UNSURE					/* another transaction may be deleting the
								 * post; call post_unlock() and
								 * post_count_after_deletion() */
} PostCountResult;

extern PostCountResult post_count(PostLock *lock, PostCounts counts);
extern PostCountResult post_count_after_deletion(PostLock *lock,
												 PostCounts counts);
extern void post_count_held(const CountedItem *comment, PostCounts counts);
extern bool post_keep(const pg_uuid_t *post_id);

/* post_repair.c: correcting wrong counts */
extern bool post_counter_repair(const CountedItem *item);

/* comment_recount.c: the counts of a new comment that already has replies */
extern void comment_count_anew(const CountedItem *comment);

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

/*
 * post_fold.c: folding deltas into the counter, and making the counter of a
 * new post
 */
extern ItemResult post_fold(const CountedItem *item, int64 limit, bool merge,
							int64 *taken, bool *left);
extern void post_counter_clear(const pg_uuid_t *post_id);
extern void post_counter_make(const pg_uuid_t *post_id);

/* post_item.c: adding up the counts of an item and its deltas */
extern PostCounts post_deltas(ItemScan **scan, const CountedItem *item,
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
extern DeleteResult child_delete(ItemType type, const pg_uuid_t *post_id,
								 const pg_uuid_t *other,
								 const pg_uuid_t *author, LockWaitPolicy wait);
extern DeleteResult child_delete_uncounted(ItemType type,
										   const pg_uuid_t *post_id,
										   const pg_uuid_t *other,
										   const pg_uuid_t *author,
										   LockWaitPolicy wait);
extern DeleteResult child_delete_anyway(ItemType type,
										const pg_uuid_t *post_id,
										const pg_uuid_t *other,
										const pg_uuid_t *author,
										LockWaitPolicy wait);

/* child_deletion.c: counting replies that are in the tables already */
extern void comment_count_replies(const CountedItem *comment, int64 n);

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
