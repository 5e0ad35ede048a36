/*
 * reference_users.h
 *		User items on a cluster. On every node, the table "user_items" has all
 *		user items. The functions that are called through ClusterCalls are
 *		described in storage/layout/cluster_calls.h.
 */
#ifndef BLOGSTORE_REFERENCE_USERS_H
#define BLOGSTORE_REFERENCE_USERS_H

#include "storage/blog_item.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"

#include "nodes/pg_list.h"
#include "utils/uuid.h"

#define USER_ITEMS_SQL BLOGSTORE_SCHEMA "." USER_ITEMS_TABLE

extern bool reference_user_insert(const BlogItem *user, bool own_id);
extern bool reference_user_lock(const pg_uuid_t *user_id, UserChange change,
								BlogItem *user);
extern void reference_user_update(const BlogItem *user);
extern void reference_user_delete(const BlogItem *user);
extern void reference_users_follow(const pg_uuid_t *users, int n);
extern List *reference_users_being_deleted(void);

#endif							/* BLOGSTORE_REFERENCE_USERS_H */
