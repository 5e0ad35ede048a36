/*
 * reply_parents.h
 *		Checking and reading the parents of replies, checking the comments that
 *		are liked, and the counts of comments.
 */
#ifndef BLOGSTORE_REPLY_PARENTS_H
#define BLOGSTORE_REPLY_PARENTS_H

#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/* A cache of the parents that a query has looked up; see parent_is_gone(). */
typedef struct ParentCache ParentCache;

typedef enum ChildCheck
{
	CHECK_ALLOWED,
	CHECK_EXISTS				/* a comment with the new comment's id, or a
								 * like by the same user, exists already */
} ChildCheck;

/* reply_parents.c */
extern ChildCheck check_reply(const BlogItem *comment, bool id_is_new,
							  const pg_uuid_t *author);
extern ChildCheck check_liked(const BlogItem *like, const pg_uuid_t *author);
extern void set_parent_deleted(BlogItem *comment);
extern void set_comment_counts(BlogItem *comment);
extern void add_up_comment(ItemScan **deltas, const DeletedUsers *deleted,
						   BlogItem *comment, Snapshot snapshot,
						   bool replies, bool likes);
extern bool parent_is_gone(ParentCache **cache, const DeletedUsers *deleted,
						   const pg_uuid_t *post_id,
						   const pg_uuid_t *parent_id);
extern void parent_cache_free(ParentCache *cache);

#endif							/* BLOGSTORE_REPLY_PARENTS_H */
