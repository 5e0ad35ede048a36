/*
 * user_follows.c
 *		Writing and deleting follows: a user follows another user.
 *
 * A follow is stored in the logical partition of the user who follows. Its key
 * is (user_id, followed_id), so a user follows another user at most once. It
 * has the names of both users, which renames keep up to date
 * (user_changes/user_items_sweep.c).
 *
 * No user follows more than MAX_FOLLOWED users, because a transaction that
 * adds a follow counts those that others have committed, and holds two locks
 * until it ends:
 *
 * - A lock on the user's follows. Other transactions that add follows of this
 *   user wait for it.
 * - The lock on all follows, in share mode. import() takes it in exclusive
 *   mode (follows_lock()) instead of locks on the follows of its users.
 *
 * A transaction that ends a follow, or asks for one that exists, takes neither
 * lock. Neither do transactions that rename or delete a user. Their jobs reach
 * follows that are being written (user_changes/user_items_sweep.c).
 *
 * Runs in backends, as the containers' owner.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/error_fields.h"
#include "model/user_follows.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

/*
 * The number of locks on users' follows. A transaction can add follows of any
 * number of users, but the server's lock table has room for some thousand
 * locks. So users whose ids have the same hash share a lock.
 */
#define FOLLOW_LOCKS 1024

/* Read a follow with the transaction's snapshot. */
static bool
find_follow(const pg_uuid_t *user_id, const pg_uuid_t *followed_id,
			BlogItem *follow)
{
	Datum		value[FOLLOW_KEYS];
	const ItemQuery query = follow_query(user_id, followed_id, value);
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_get(&query, follow);
	PopActiveSnapshot();
	return found;
}

/*
 * Read the user whom the new follow names as followed. Errors: 23503, 40001.
 */
static void
need_followed(const pg_uuid_t *followed_id, BlogItem *user)
{
	if (!user_find_now(followed_id, user))
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("user %s does not exist", id_text(followed_id)),
				 errhint("Create the user first, or check the id."),
				 err_fields(container_table(CONTAINER_USERS), "followed_id",
							RULE_USER_EXISTS)));
	check_not_recreated(user);
}

/*
 * Keep other transactions from adding follows on this server until the
 * transaction ends, and wait for those that have added some. The lock is a
 * heavyweight lock on sub-object number 1 of the table users. The server
 * itself does not lock this sub-object.
 */
void
follows_lock(void)
{
	LockDatabaseObject(RelationRelationId, container_table_oid(CONTAINER_USERS),
					   1, ExclusiveLock);
}

/*
 * Keep other transactions from adding follows of a user until the transaction
 * ends. Wait for those that have added some, and for follows_lock(). On a
 * cluster, all transactions that add follows of the user run on this node.
 *
 * The user's lock is a heavyweight lock on an object whose class is the table
 * users, and whose id is a hash of the user's. The server itself locks no
 * objects of this class. KeyLock is not used, because the server does not
 * expect tuple locks at the end of a transaction.
 */
static void
follower_lock(const pg_uuid_t *user_id)
{
	Oid			users = container_table_oid(CONTAINER_USERS);

	LockDatabaseObject(RelationRelationId, users, 1, ShareLock);
	LockDatabaseObject(users, hash_bytes(user_id->data, UUID_LEN) % FOLLOW_LOCKS,
					   1, ExclusiveLock);
}

/*
 * Check that a user can follow one more user. The caller has called
 * follower_lock(). Does nothing if the user follows "followed_id" already.
 * Errors: 54000.
 */
static void
check_number(const pg_uuid_t *user_id, const pg_uuid_t *followed_id)
{
	Datum		key = UUIDPGetDatum(user_id);
	const DeletedUsers *deleted;
	BlogItem	follow;
	ItemScan   *scan;
	bool		there = false;
	int			n = 0;

	PushActiveSnapshot(GetLatestSnapshot());
	deleted = deleted_users(GetActiveSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_FOLLOW,
		.partition_key = user_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
		.identity = true, .no_predicate_locks = true
	});
	while (!there && item_scan_next(scan, &follow))
	{
		there = memcmp(item_uuid(&follow, PROP_FOLLOWED_ID), followed_id,
					   UUID_LEN) == 0;
		n += !deleted_has_author(deleted, &follow);
	}
	item_scan_end(scan);
	PopActiveSnapshot();
	if (!there && n >= MAX_FOLLOWED)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a user can follow at most %d users", MAX_FOLLOWED),
				 errhint("Call blogstore.unfollow_user() for a user first."),
				 err_fields(container_table(CONTAINER_USERS), "user_id",
							RULE_MAX_FOLLOWED)));
}

/*
 * Insert a follow with the names of both users. Returns false if the user
 * follows the other user already, and then sets *there to that follow, if the
 * transaction's snapshot shows it.
 *
 * found: receives whether *there was set
 *
 * The leaf is opened before the names are read: see need_user().
 */
static bool
try_insert(BlogItem *follow, BlogItem *there, bool *found)
{
	const pg_uuid_t *user_id = item_uuid(follow, PROP_USER_ID);
	const pg_uuid_t *followed_id = item_uuid(follow, PROP_FOLLOWED_ID);
	bool		inserted = false;
	BlogItem	user;
	BlogItem	followed;
	ItemWriter *writer;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_USERS, ITEM_FOLLOW, user_id);
	*found = find_follow(user_id, followed_id, there);
	if (!*found)
		follower_lock(user_id);
	need_user(user_id, &user);
	need_followed(followed_id, &followed);
	if (!*found)
	{
		item_set(follow, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
		item_set(follow, PROP_FOLLOWED_USERNAME, followed.value[PROP_USERNAME]);
		check_number(user_id, followed_id);
		inserted = item_writer_insert(writer, follow);
	}
	item_writer_close(writer);
	PopActiveSnapshot();
	if (!*found && !inserted)
		*found = find_follow(user_id, followed_id, there);
	return inserted;
}

/*
 * Insert a follow, whose ids and date the caller has set. If the user follows
 * the other user already, set *follow to the existing follow.
 *
 * Errors: 23503 if one of the users does not exist; 40001; 54000 if the user
 * follows too many users. Locks: RowExclusiveLock on the leaf of follows;
 * those of follower_lock().
 */
void
follow_make(BlogItem *follow)
{
	BlogItem	there;
	bool		found;

	while (!try_insert(follow, &there, &found))
	{
		CHECK_FOR_INTERRUPTS();
		if (found)
		{
			*follow = there;
			return;
		}
		if (IsolationUsesXactSnapshot())
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to a concurrent %s",
							item_noun(ITEM_FOLLOW)),
					 errhint("Retry the transaction.")));
	}
}

/*
 * Delete a follow. Returns false if it does not exist, or requests do not show
 * it because one of the users is being deleted.
 *
 * Errors: 40001, 55000. Locks: RowExclusiveLock on the leaf of follows; the
 * follow, FOR UPDATE.
 */
bool
follow_end(const pg_uuid_t *user_id, const pg_uuid_t *followed_id)
{
	Datum		value[FOLLOW_KEYS];
	const ItemQuery query = follow_query(user_id, followed_id, value);
	ItemWriter *writer = item_writer_open(query.container, query.type, user_id);
	BlogItem	follow;
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_writer_lock(writer, query.key, query.nkeys,
							 LockTupleExclusive, LockWaitBlock,
							 &follow) == ITEM_OK &&
		!deleted_has_author(deleted_users(GetActiveSnapshot()), &follow);
	if (found)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return found;
}
