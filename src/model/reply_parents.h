/*
 * reply_parents.h
 *		Checking and reading the parents of replies.
 */
#ifndef BLOGSTORE_REPLY_PARENTS_H
#define BLOGSTORE_REPLY_PARENTS_H

#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/* The parents that a query has looked up last; see parent_is_gone(). */
typedef struct ParentCache ParentCache;

typedef enum ReplyCheck
{
	REPLY_ALLOWED,
	REPLY_EXISTS				/* a comment with the new comment's id exists
								 * already */
} ReplyCheck;

/* reply_parents.c */
extern ReplyCheck check_reply(const BlogItem *comment, bool id_is_new,
							  const pg_uuid_t *author);
extern COMPAT_NORETURN void unknown_parent(const BlogItem *reply);
extern void set_parent_deleted(BlogItem *comment);
extern void set_reply_count(BlogItem *comment);
extern void add_up_replies(ItemScan **deltas, const DeletedUsers *deleted,
						   BlogItem *comment, Snapshot snapshot);
extern bool parent_is_gone(ParentCache **cache, const DeletedUsers *deleted,
						   const pg_uuid_t *post_id,
						   const pg_uuid_t *parent_id);
extern void parent_cache_free(ParentCache *cache);

#endif							/* BLOGSTORE_REPLY_PARENTS_H */
