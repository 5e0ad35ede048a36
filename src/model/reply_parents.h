/*
 * reply_parents.h
 *		Checking and reading the parents of replies.
 */
#ifndef BLOGSTORE_REPLY_PARENTS_H
#define BLOGSTORE_REPLY_PARENTS_H

#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/* The parents of replies that a reader has looked up. */
typedef struct Parents Parents;

/* reply_parents.c */
extern bool need_parent(const BlogItem *comment, bool anew,
						const pg_uuid_t *author);
extern void reply_complete(BlogItem *comment);
extern bool parents_gone(Parents **parents, const DeletedUsers *deleted,
						 const pg_uuid_t *post_id,
						 const pg_uuid_t *parent_id);
extern void parents_end(Parents *parents);

#endif							/* BLOGSTORE_REPLY_PARENTS_H */
