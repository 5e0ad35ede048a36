/*
 * user_changes.h
 *		Users: their names, renaming them, and deleting them with their items.
 *
 * A user's items are the posts, comments and likes that the user has written.
 * Each of them contains the user's name.
 */
#ifndef BLOGSTORE_USER_CHANGES_H
#define BLOGSTORE_USER_CHANGES_H

#include "model/names/names.h"
#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "tcop/dest.h"

/*
 * keyed_names.c: makes an ephemeral named relation that SQL statements can
 * read. Each row contains a username and the key of this username.
 */
#define KEYED_NAMES "keyed_names"

extern DestReceiver *keyed_names_begin(void);
extern void keyed_names_show(DestReceiver *names);
extern void keyed_names_end(DestReceiver *names);

/*
 * users_being_deleted.c: the list of users who are being deleted. Requests do
 * not show items of these users.
 */
typedef struct DeletedUsers DeletedUsers;

extern const DeletedUsers *deleted_users(Snapshot snapshot);
extern bool deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id);
extern bool deleted_has_author(const DeletedUsers *deleted,
							   const BlogItem *item);
extern bool deleted_has_author_of(const DeletedUsers *deleted,
								  const CountedItem *item);
extern bool deleted_has_author_of_post(const DeletedUsers *deleted,
									   const pg_uuid_t *post_id);
extern bool author_being_deleted(const BlogItem *item);
extern bool post_author_being_deleted(const pg_uuid_t *post_id);
extern void deleted_discount(const DeletedUsers *deleted, BlogItem *post);
extern int64 deleted_comments(const DeletedUsers *deleted,
							  const CountedItem *item, int64 total);
extern int64 deleted_likes(const DeletedUsers *deleted,
						   const CountedItem *item, int64 total);
extern void deleted_changed(void);

extern bool user_find(const pg_uuid_t *user_id, BlogItem *user);
extern bool user_find_now(const pg_uuid_t *user_id, BlogItem *user);
extern void need_user(const pg_uuid_t *user_id, BlogItem *user);
extern void check_not_recreated(const BlogItem *user);

/*
 * user_item.c: writing a user's item. On a cluster the item is written on all
 * nodes.
 */
typedef struct UserWriter
{
	const ClusterCalls *cluster;	/* functions that write the item on all
									 * nodes; NULL without a cluster */
	ItemWriter *items;			/* the writer that has locked the item's row;
								 * NULL on a cluster */
	BlogItem	user;			/* the item that user_writer_lock() has read */
} UserWriter;

extern bool user_insert(const BlogItem *user, bool own_id);
extern bool user_writer_lock(UserWriter *writer, const pg_uuid_t *user_id,
							 UserChange change);
extern void user_writer_update(UserWriter *writer, const BlogItem *user);
extern void user_writer_delete(UserWriter *writer);
extern void user_writer_close(UserWriter *writer);

/* user_rename.c: writing a user's new name on the user's items */
extern bool rename_step(Job *job);

/* user_deletion.c: deleting a user's items */
extern void deletion_begin(const pg_uuid_t *user_id);
extern void deletion_revive(const pg_uuid_t *user_id);
extern void deletion_of_leftovers(const pg_uuid_t *user_id);
extern bool deletion_ready(const Job *job, XLogRecPtr shown);
extern bool deletion_step(Job *job);

/*
 * user_items_sweep.c: changing all items of a user for a job, including items
 * that concurrent transactions are writing
 */
extern bool sweep_ready(const Job *job);
extern void sweep_failed(const Job *job);

/* username_registry.c: the table of all usernames, which keeps them unique */
extern bool registry_can_hold(Datum username);
extern bool registry_claim(Datum username, const pg_uuid_t *user_id);
extern bool registry_lookup(Datum username, pg_uuid_t *user_id);
extern void registry_release(Datum username, const pg_uuid_t *user_id);
extern void registry_release_key(Datum key, const pg_uuid_t *user_id);
extern bool registry_same_name(Datum a, Datum b);
extern bool registry_is_key(Datum key, Datum username);

#endif							/* BLOGSTORE_USER_CHANGES_H */
