/*
 * post_counts.h
 *		Posts and their counts: lock a post, count on it, read its counts, delete
 *		what hangs on it.
 *
 * A post's counts are those of the comments and likes that a snapshot shows,
 * exactly. Who writes one locks the post shared, has the post count it, and
 * unlocks the post; who deletes a post locks it exclusively. Whoever reads a post
 * adds its counts up.
 */
#ifndef BLOGSTORE_POST_COUNTS_H
#define BLOGSTORE_POST_COUNTS_H

#include "storage/blog_item.h"
#include "storage/rows/rows.h"

/* A post's counts, or what is to be added to them. */
typedef struct PostCounts
{
	int64		comments;
	int64		likes;
} PostCounts;

/* What n children of a type are to their post's counts. */
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
 * post_count.c: who writes or deletes a comment or like locks its post shared, has it
 * count, and unlocks it. How a post is held; the head of post_count.c tells what it
 * means to others.
 */
typedef enum PostHold
{
	POST_NOT_HELD,				/* anybody may delete it */
	POST_SHARED,				/* locked; not known to be there */
	/* from here on it is there, and nobody else deletes it */
	POST_SHARED_SURE,			/* locked, and seen since */
	POST_EXCLUSIVE,				/* locked, and so is its item */
	POST_OF_TRANSACTION			/* who deletes it waits for the end of this
								 * transaction */
} PostHold;

typedef struct PostLock
{
	pg_uuid_t	post_id;
	KeyLock		key;
	KeyLockMode mode;			/* how the key is locked, where it is */
	PostHold	hold;
	bool		hidden;			/* was the post when it was looked at? */
} PostLock;

extern void post_lock_init(PostLock *lock, const pg_uuid_t *post_id);
extern bool post_find(PostLock *lock);
extern bool post_try_lock_shared(PostLock *lock);
extern ItemResult post_lock_shared(PostLock *lock, LockWaitPolicy wait);
extern void post_try_lock_counter(PostLock *lock);
extern bool post_has_counter(const PostLock *lock);
extern void post_unlock(PostLock *lock);
extern void post_await_unlock(const PostLock *lock);

/* What came of having a post count; but for POST_COUNTED nothing is written. */
typedef enum PostCountResult
{
	POST_COUNTED,
	POST_GONE,					/* there is no such post (any more) */
	POST_UNSURE					/* somebody may be deleting the post */
} PostCountResult;

extern PostCountResult post_count(PostLock *lock, PostCounts counts);
extern PostCountResult post_count_after_deletion(PostLock *lock,
												 PostCounts counts);
extern bool post_keep(const pg_uuid_t *post_id);

/* post_repair.c: a post's counts become what they should be */
extern bool post_counter_repair(const pg_uuid_t *post_id);

/*
 * count_delta.c: what is counted beside a post. Is a delta with this id the post's
 * counter, which is all processes' and stays?
 */
extern const pg_uuid_t counter_id;

static inline bool
delta_is_counter(const pg_uuid_t *id)
{
	return memcmp(id, &counter_id, UUID_LEN) == 0;
}

/* Is it the stripe of a process, to which that adds again and again? */
static inline bool
delta_is_stripe(const pg_uuid_t *id)
{
	return id->data[6] >> 4 == 8;
}

extern void counter_init(BlogItem *counter, const pg_uuid_t *post_id);

/* post_fold.c: a post has a counter, into which its deltas come */
extern ItemResult post_fold(const pg_uuid_t *post_id, int64 limit, bool merge,
							int64 *taken, bool *left);
extern void post_counter_clear(const pg_uuid_t *post_id);
extern void post_counter_make(const pg_uuid_t *post_id);

/* post_item.c: a post with its counts */
extern PostCounts post_deltas(const pg_uuid_t *post_id, Snapshot snapshot);
extern void post_add_up(BlogItem *post, Snapshot snapshot);
extern void posts_add_up(ManyItems *posts, Snapshot snapshot);

/* many_posts.c: many posts and their counts, one after the other */
typedef struct ManyPosts ManyPosts;

extern ManyPosts *many_posts_begin(Snapshot snapshot);
extern bool many_posts_find(ManyPosts *many, const pg_uuid_t *post_id,
							BlogItem *post);
extern void many_posts_add_up(ManyPosts *many, BlogItem *post);
extern void many_posts_end(ManyPosts *many);

/* What came of deleting an item. */
typedef enum DeleteResult
{
	DELETE_NOT_FOUND,			/* there is none, or none by the author */
	DELETE_DONE,
	DELETE_LOCKED,				/* LockWaitSkip, and somebody else has it */
	DELETE_MORE					/* the limit was reached, and there is more */
} DeleteResult;

/*
 * child_deletion.c: comments, likes and deltas, if they are by an author (NULL:
 * anybody); other tells which child of its post: a comment's or delta's id, or
 * the user who likes
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

/* hide a comment or show it, and have its post count it accordingly */
extern ItemResult comment_hide(const pg_uuid_t *post_id,
							   const pg_uuid_t *comment_id, bool hidden,
							   BlogItem *comment);

/*
 * post_deletion.c: posts with what hangs on them, if they are by an author (NULL:
 * anybody)
 */
extern DeleteResult post_delete(const pg_uuid_t *post_id,
								const pg_uuid_t *author, LockWaitPolicy wait);
extern DeleteResult post_delete_in_steps(const pg_uuid_t *post_id,
										 const pg_uuid_t *author,
										 LockWaitPolicy wait, int64 limit,
										 int64 *children);

/* post_list.c: lists of posts over all partitions */
typedef struct PostList PostList;

extern PostList *post_list_begin(const ItemQuery *query);
extern bool post_list_next(PostList *list, BlogItem *out);
extern void post_list_end(PostList *list);

#endif							/* BLOGSTORE_POST_COUNTS_H */
