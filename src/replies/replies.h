/*
 * replies.h
 *		Comments that reply to others, and what has become of those.
 */
#ifndef BLOGSTORE_REPLIES_H
#define BLOGSTORE_REPLIES_H

#include "items/item.h"
#include "members/members.h"

#include "utils/uuid.h"

/* The parents of replies that are being read. */
typedef struct Parents Parents;

/* parents.c */
extern bool need_parent(const BlogItem *comment, bool anew,
						const pg_uuid_t *author);
extern void reply_complete(BlogItem *comment);
extern bool parents_gone(Parents **parents, const DeletedUsers *deleted,
						 const pg_uuid_t *post_id,
						 const pg_uuid_t *parent_id);
extern void parents_end(Parents *parents);

#endif							/* BLOGSTORE_REPLIES_H */
