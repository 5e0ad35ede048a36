/*
 * members.h
 *		Users: their names, and the end of them.
 */
#ifndef BLOGSTORE_MEMBERS_H
#define BLOGSTORE_MEMBERS_H

#include "container/container.h"
#include "layout/item.h"

/* walk.c: a user's name on the user's items, or the end of them, in steps */
typedef struct LeafWalk
{
	ItemPlace	place;			/* where the next step begins */
	int64		limit;			/* items to change in a step; 0: all */
	LockWaitPolicy wait;		/* LockWaitSkip: leave locked items alone */
	int64		changed;		/* items changed */
	bool		skipped;		/* were any left alone? */
} LeafWalk;

extern void leaf_walk_init(LeafWalk *walk, int64 limit, LockWaitPolicy wait);
extern bool relabel_items(const pg_uuid_t *user_id, Datum username,
						  ItemType type, int partition, LeafWalk *walk);
extern bool purge_items(const pg_uuid_t *user_id, ItemType type, int partition,
						LeafWalk *walk);
extern void relabel_user_items(const pg_uuid_t *user_id, Datum username);
extern void remove_user_copies(const pg_uuid_t *user_id);
extern void remove_user_items(const pg_uuid_t *user_id, int64 limit);

/* deleted.c: users whose items are not served any more */
typedef struct DeletedUsers DeletedUsers;

extern void deleted_init(void);
extern const DeletedUsers *deleted_users(Snapshot snapshot);
extern bool deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id);
extern bool deleted_item(const DeletedUsers *deleted, const BlogItem *item);
extern bool being_deleted(const BlogItem *item);
extern bool deleted_post(const DeletedUsers *deleted,
						 const pg_uuid_t *post_id);
extern void deleted_discount(const DeletedUsers *deleted, BlogItem *post);
extern void deleted_changed(void);
extern void deleted_revive(const pg_uuid_t *user_id);

/* registry.c: usernames are unique regardless of case */
extern bool registry_claim(Datum username, const pg_uuid_t *user_id);
extern bool registry_lookup(Datum username, pg_uuid_t *user_id);
extern void registry_release(Datum username, const pg_uuid_t *user_id);
extern bool registry_same_name(Datum a, Datum b);

#endif							/* BLOGSTORE_MEMBERS_H */
