/*
 * post_children.h
 *		Writing and deleting comments and likes, and changing the counts of
 *		their posts.
 */
#ifndef BLOGSTORE_POST_CHILDREN_H
#define BLOGSTORE_POST_CHILDREN_H

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"

#include "utils/uuid.h"

/* post_children.c */
extern bool child_insert(BlogItem *child, ItemType type, bool id_is_new,
						 const pg_uuid_t *author);
extern bool child_take_back(const ChildKey *key, const pg_uuid_t *author);
extern bool author_knows_post(const pg_uuid_t *post_id,
							  const pg_uuid_t *author);

#endif							/* BLOGSTORE_POST_CHILDREN_H */
