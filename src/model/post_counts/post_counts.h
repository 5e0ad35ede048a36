/*
 * post_counts.h
 *		Posts and their counts: locking a post, counting its comments and
 *		likes, reading its counts, and deleting it with its children.
 *
 * A post's comments and likes are its children. The counts of a post are
 * exact: they equal the number of children that the reader's snapshot shows,
 * hidden comments aside. A transaction that writes or deletes a child locks
 * the post in share mode, adds to the post's counts, and unlocks the post. A
 * transaction that deletes a post locks it in exclusive mode. A reader adds up
 * the counts of the post item and of its deltas.
 */
#ifndef BLOGSTORE_POST_COUNTS_H
#define BLOGSTORE_POST_COUNTS_H

#include "storage/blog_item.h"
#include "storage/rows/rows.h"

/* A post's counts, or an amount to add to them. */
typedef struct PostCounts
{
	int64		comments;
	int64		likes;
} PostCounts;

/* Return what n children of a type contribute to their post's counts. */
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
 * post_count.c: the post lock, and the count.
 *
 * PostHold tells how this transaction holds a post. The head of post_count.c
 * explains what other transactions may do in each state.
 */
typedef enum PostHold
{
	POST_NOT_HELD,				/* others may delete the post */
	POST_SHARED,				/* post lock held in share mode; the post may
								 * not exist */
	/* from here on the post exists, and no other transaction can delete it */
	POST_SHARED_SURE,			/* post lock held in share mode; the post
								 * exists */
	POST_EXCLUSIVE,				/* post lock held in exclusive mode; the post
								 * item is locked */
	POST_OF_TRANSACTION			/* no post lock; a deletion of the post waits
								 * for the end of this transaction */
} PostHold;

typedef struct PostLock
{
	pg_uuid_t	post_id;
	KeyLock		key;
	KeyLockMode mode;			/* mode of the key lock, while it is held */
	PostHold	hold;
	bool		hidden;			/* was the post hidden when it was last looked
								 * at? */
} PostLock;

extern void post_lock_init(PostLock *lock, const pg_uuid_t *post_id);
extern bool post_find(PostLock *lock);
extern bool post_try_lock_shared(PostLock *lock);
extern ItemResult post_lock_shared(PostLock *lock, LockWaitPolicy wait);
extern void post_try_lock_counter(PostLock *lock);
extern bool post_has_counter(const PostLock *lock);
extern void post_unlock(PostLock *lock);
extern void post_await_unlock(const PostLock *lock);

/*
 * Result of counting on a post. Nothing is written unless it is POST_COUNTED.
 */
typedef enum PostCountResult
{
	POST_COUNTED,
	POST_GONE,					/* the post does not exist (any more) */
	POST_UNSURE					/* another transaction may be deleting the
								 * post */
} PostCountResult;

extern PostCountResult post_count(PostLock *lock, PostCounts counts);
extern PostCountResult post_count_after_deletion(PostLock *lock,
												 PostCounts counts);
extern bool post_keep(const pg_uuid_t *post_id);

/* post_repair.c: correcting the counts of a post */
extern bool post_counter_repair(const pg_uuid_t *post_id);

/*
 * count_delta.c: deltas, which are rows of counts beside a post.
 *
 * The delta with the id counter_id is the post's counter. All processes add to
 * it, and folding keeps it.
 */
extern const pg_uuid_t counter_id;

static inline bool
delta_is_counter(const pg_uuid_t *id)
{
	return memcmp(id, &counter_id, UUID_LEN) == 0;
}

/*
 * Return whether a delta's id is that of a stripe, which belongs to one
 * process.
 */
static inline bool
delta_is_stripe(const pg_uuid_t *id)
{
	return id->data[6] >> 4 == 8;
}

extern void counter_init(BlogItem *counter, const pg_uuid_t *post_id);

/* post_fold.c: adding deltas to the counter, and making the counter */
extern ItemResult post_fold(const pg_uuid_t *post_id, int64 limit, bool merge,
							int64 *taken, bool *left);
extern void post_counter_clear(const pg_uuid_t *post_id);
extern void post_counter_make(const pg_uuid_t *post_id);

/* post_item.c: adding up the counts of a post */
extern PostCounts post_deltas(const pg_uuid_t *post_id, Snapshot snapshot);
extern void post_add_up(BlogItem *post, Snapshot snapshot);
extern void posts_add_up(ManyItems *posts, Snapshot snapshot);

/* many_posts.c: reading many posts and their counts */
typedef struct ManyPosts ManyPosts;

extern ManyPosts *many_posts_begin(Snapshot snapshot);
extern bool many_posts_find(ManyPosts *many, const pg_uuid_t *post_id,
							BlogItem *post);
extern void many_posts_add_up(ManyPosts *many, BlogItem *post);
extern void many_posts_end(ManyPosts *many);

/* Result of deleting an item. */
typedef enum DeleteResult
{
	DELETE_NOT_FOUND,			/* no such item, or none by this author */
	DELETE_DONE,
	DELETE_LOCKED,				/* with LockWaitSkip: another transaction has
								 * it locked */
	DELETE_MORE					/* the limit was reached; more items are
								 * left */
} DeleteResult;

/*
 * child_deletion.c: deleting comments, likes and deltas. "other" identifies
 * the child within its post: the id of a comment or delta, or the user of a
 * like. If author is not NULL, only a child by this author is deleted.
 */
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

/* child_deletion.c: hiding and showing a comment */
extern ItemResult comment_hide(const pg_uuid_t *post_id,
							   const pg_uuid_t *comment_id, bool hidden,
							   BlogItem *comment);

/*
 * post_deletion.c: deleting a post and its children. If author is not NULL,
 * only a post by this author is deleted.
 */
extern DeleteResult post_delete(const pg_uuid_t *post_id,
								const pg_uuid_t *author, LockWaitPolicy wait);
extern DeleteResult post_delete_in_steps(const pg_uuid_t *post_id,
										 const pg_uuid_t *author,
										 LockWaitPolicy wait, int64 limit,
										 int64 *children);

/* post_list.c: the posts of all partitions in one list */
typedef struct PostList PostList;

extern PostList *post_list_begin(const ItemQuery *query);
extern bool post_list_next(PostList *list, BlogItem *out);
extern void post_list_end(PostList *list);

#endif							/* BLOGSTORE_POST_COUNTS_H */
