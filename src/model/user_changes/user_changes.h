/*
 * user_changes.h
 *		Users: their names, and the end of them.
 */
#ifndef BLOGSTORE_USER_CHANGES_H
#define BLOGSTORE_USER_CHANGES_H

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "tcop/dest.h"

/* username.c: what may be a username */
#define MAX_USERNAME_LENGTH 64	/* characters */

extern bool username_fits(int64 bytes);
extern Datum username_trim(Datum given);
extern const char *username_problem(Datum username);

/* name_key.c: the key by which names are compared */
#define MAX_FOLDED_BYTES 4096	/* of a text that has a key: more than a username's key has */

extern bool has_name_key(Datum text);
extern Datum name_key(Datum text);
extern bool name_key_fits(Datum key);

/* keyed_names.c: the names of users with their keys, as a relation that statements read */
#define KEYED_NAMES "keyed_names"

extern DestReceiver *keyed_names_begin(void);
extern void keyed_names_show(DestReceiver *names);
extern void keyed_names_end(DestReceiver *names);

/* users_being_deleted.c: users whose items are hidden, since they are being deleted */
typedef struct DeletedUsers DeletedUsers;

extern const DeletedUsers *deleted_users(Snapshot snapshot);
extern bool deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id);
extern bool deleted_has_author(const DeletedUsers *deleted,
							   const BlogItem *item);
extern bool deleted_has_author_of_post(const DeletedUsers *deleted,
									   const pg_uuid_t *post_id);
extern bool author_being_deleted(const BlogItem *item);
extern bool post_author_being_deleted(const pg_uuid_t *post_id);
extern void deleted_discount(const DeletedUsers *deleted, BlogItem *post);
extern void deleted_changed(void);

/* user_by_id.c: one user */
extern bool user_find(const pg_uuid_t *user_id, BlogItem *user);
extern bool user_find_now(const pg_uuid_t *user_id, BlogItem *user);
extern void need_user(const pg_uuid_t *user_id, BlogItem *user);
extern void check_not_anew(const BlogItem *user);

/* user_item.c: writing a user's item, on all nodes of a cluster */
typedef struct UserWriter
{
	const ClusterCalls *cluster;	/* which writes the item; NULL: on one machine */
	ItemWriter *items;			/* on one machine */
	BlogItem	user;			/* as it was when it was locked */
} UserWriter;

extern bool user_insert(const BlogItem *user, bool own_id);
extern bool user_writer_lock(UserWriter *writer, const pg_uuid_t *user_id,
							 UserChange change);
extern void user_writer_update(UserWriter *writer, const BlogItem *user);
extern void user_writer_delete(UserWriter *writer);
extern void user_writer_close(UserWriter *writer);

/* user_rename.c: from a user's new name to the last item that carries it */
extern bool rename_step(Job *job);

/* user_deletion.c: from a user's deletion to the last item */
extern void deletion_begin(const pg_uuid_t *user_id);
extern void deletion_revive(const pg_uuid_t *user_id);
extern void deletion_of_leftovers(const pg_uuid_t *user_id);
extern bool deletion_ready(const Job *job, XLogRecPtr shown);
extern bool deletion_step(Job *job);

/* user_items_sweep.c: the passes over all items that renames and deletions are made of */
extern bool sweep_ready(const Job *job);
extern void sweep_failed(const Job *job);

/* username_registry.c: usernames are unique by their keys */
extern bool registry_can_hold(Datum username);
extern bool registry_claim(Datum username, const pg_uuid_t *user_id);
extern bool registry_lookup(Datum username, pg_uuid_t *user_id);
extern void registry_release(Datum username, const pg_uuid_t *user_id);
extern void registry_release_key(Datum key, const pg_uuid_t *user_id);
extern bool registry_same_name(Datum a, Datum b);
extern bool registry_is_key(Datum key, Datum username);

#endif							/* BLOGSTORE_USER_CHANGES_H */
