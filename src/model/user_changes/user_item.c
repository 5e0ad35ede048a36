/*
 * user_item.c
 *		Writing a user's item: insert, edit, rename and delete, for requests.
 *
 * If there is a cluster, the cluster code writes the item on all nodes,
 * because each node has all users.
 *
 * Runs in backends. The caller acts as the containers' owner.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

/*
 * Return whether an earlier user with this id is being deleted, as a new
 * snapshot shows it. Under REPEATABLE READ and SERIALIZABLE, return true also
 * if the transaction's snapshot shows it.
 */
static bool
is_being_deleted(const pg_uuid_t *user_id)
{
	bool		deleted;

	/*
	 * The insert of the new user may have waited for the transaction that
	 * deletes the earlier user. Process the invalidation message of that
	 * transaction, so that deleted_users() sees the job of the deletion.
	 */
	AcceptInvalidationMessages();
	PushActiveSnapshot(GetLatestSnapshot());
	deleted = deleted_has(deleted_users(GetActiveSnapshot()), user_id);
	PopActiveSnapshot();
	if (!deleted && IsolationUsesXactSnapshot())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		deleted = deleted_has(deleted_users(GetActiveSnapshot()), user_id);
		PopActiveSnapshot();
	}
	return deleted;
}

/*
 * Insert a user's item. The caller has registered the user's name. Returns
 * false if a user with this id exists.
 *
 * own_id: whether the client has chosen the id. An id that blogstore has
 *		generated cannot have belonged to an earlier user.
 *
 * If an earlier user with this id is being deleted, the function also deletes
 * the earlier user's remaining items. This happens after the insert, which may
 * wait for the transaction that deletes the earlier user, and before AFTER
 * triggers, which may write items of the new user.
 *
 * Errors: 40001, 55000, and those of triggers. Locks: RowExclusiveLock on the
 * leaf of users; for an earlier user, see deletion_revive().
 */
bool
user_insert(const BlogItem *user, bool own_id)
{
	const ClusterCalls *cluster = cluster_calls();
	const pg_uuid_t *id = item_uuid(user, PROP_ID);
	ItemWriter *writer;
	bool		inserted;

	if (cluster != NULL)
		return cluster->insert_user(user, own_id);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_USERS, ITEM_USER, id);
	inserted = item_writer_insert(writer, user);
	if (inserted && own_id && is_being_deleted(id))
		deletion_revive(id);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Lock the row of a user's item, and read the item into writer->user. If the
 * user does not exist, close the writer and return false. Errors: 40001,
 * 55000. Locks: the row, FOR UPDATE for a deletion, otherwise FOR NO KEY
 * UPDATE.
 */
bool
user_writer_lock(UserWriter *writer, const pg_uuid_t *user_id, UserChange change)
{
	Datum		key = UUIDPGetDatum(user_id);
	LockTupleMode mode = change == USER_DELETION ? LockTupleExclusive :
		LockTupleNoKeyExclusive;
	bool		found;

	writer->cluster = cluster_calls();
	writer->items = NULL;
	if (writer->cluster != NULL)
		return writer->cluster->lock_user(user_id, change, &writer->user);
	writer->items = item_writer_open(CONTAINER_USERS, ITEM_USER, user_id);
	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_writer_lock(writer->items, &key, 1, mode, LockWaitBlock,
							 &writer->user) == ITEM_OK;
	PopActiveSnapshot();
	if (!found)
		user_writer_close(writer);
	return found;
}

/*
 * Write the name and "properties" of a user, if they differ from writer->user.
 * The writer has locked the user's row. If the name is new, the caller has
 * registered it, and the function queues the job that writes it on the user's
 * items. Errors: 55000.
 */
void
user_writer_update(UserWriter *writer, const BlogItem *user)
{
	bool		renamed = !item_same(user, &writer->user, PROP_USERNAME);

	if (!renamed && item_same(user, &writer->user, PROP_PROPERTIES))
		return;
	if (writer->cluster != NULL)
	{
		writer->cluster->update_user(user);
		return;
	}
	/*
	 * Insert the job before updating the name, so that output_plugin.c decodes
	 * the job first.
	 */
	if (renamed)
		job_queue(JOB_RENAME, item_uuid(user, PROP_ID));
	PushActiveSnapshot(GetTransactionSnapshot());
	item_writer_update(writer->items, user);
	PopActiveSnapshot();
}

/*
 * Delete the user whose row the writer has locked, and remove the user's name
 * from the registry. Once this transaction has committed, requests show none
 * of the user's items (user_deletion.c). Errors: 40001, 55000.
 */
void
user_writer_delete(UserWriter *writer)
{
	const BlogItem *user = &writer->user;
	const pg_uuid_t *id = item_uuid(user, PROP_ID);

	if (writer->cluster != NULL)
	{
		writer->cluster->delete_user(user);
		return;
	}
	deletion_begin(id);
	PushActiveSnapshot(GetTransactionSnapshot());
	registry_release(user->value[PROP_USERNAME], id);
	item_writer_delete(writer->items);
	PopActiveSnapshot();
}

/*
 * Close a writer for which user_writer_lock() has returned true. The values in
 * writer->user become invalid.
 */
void
user_writer_close(UserWriter *writer)
{
	if (writer->items != NULL)
		item_writer_close(writer->items);
}
