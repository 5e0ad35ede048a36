/*
 * user_follows.h
 *		Which users a user follows.
 */
#ifndef BLOGSTORE_USER_FOLLOWS_H
#define BLOGSTORE_USER_FOLLOWS_H

#include "storage/blog_item.h"
#include "storage/rows/rows.h"

/* The largest number of users whom a user can follow. */
#define MAX_FOLLOWED 10000

#define FOLLOW_KEYS 2			/* the number of columns of a follow's key */

/*
 * Return a query that finds a follow by its key.
 *
 * value: room for FOLLOW_KEYS values. The query points to these.
 */
static inline ItemQuery
follow_query(const pg_uuid_t *user_id, const pg_uuid_t *followed_id,
			 Datum *value)
{
	value[0] = UUIDPGetDatum(user_id);
	value[1] = UUIDPGetDatum(followed_id);
	return (ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_FOLLOW,
		.partition_key = user_id, .path = PATH_KEY, .key = value,
		.nkeys = FOLLOW_KEYS
	};
}

extern void follows_lock(void);
extern void follow_make(BlogItem *follow);
extern bool follow_end(const pg_uuid_t *user_id, const pg_uuid_t *followed_id);

#endif							/* BLOGSTORE_USER_FOLLOWS_H */
