/*
 * user_item.c
 *		Writing a user's item: insert, edit, rename and delete, for requests.
 *
 * On a cluster each node has all users, and the cluster code writes a user on
 * all nodes.
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
 * Return whether a user with this id is being deleted, now or in the
 * transaction's snapshot.
 */
static bool
is_being_deleted(const pg_uuid_t *user_id)
{
	bool		deleted;

	/* a transaction that was just waited for may have queued the deletion */
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
 * Insert a user, whose name the caller has claimed. own_id tells that the id
 * was given by the client, so that an earlier user may have had it. Returns
 * false if a user with this id exists.
 *
 * Once the item is inserted, no other transaction can create or delete a user
 * with this id. Only then the function looks for items of an earlier user with
 * the id, because the insert may have waited. It does so before AFTER triggers
 * fire, because these may write items of the new user.
 *
 * Errors: 40001, 55000, and those of triggers. Locks: RowExclusiveLock on the
 * leaf of users; if a user with this id is being deleted, also that job and
 * the remaining items.
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
 * Lock a user to change it, and read it into writer->user. Returns false, with
 * nothing to close, if the user does not exist. Errors: 40001, 55000. Locks:
 * the user item, FOR UPDATE for a deletion, otherwise FOR NO KEY UPDATE.
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
 * Write a locked user's name and properties, if they have changed. The caller
 * has claimed a new name; a job gives it to the user's items. Errors: 55000.
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
	 * the job's row precedes the name in the WAL, so output_plugin.c knows of
	 * the job
	 */
	if (renamed)
		job_queue(JOB_RENAME, item_uuid(user, PROP_ID));
	PushActiveSnapshot(GetTransactionSnapshot());
	item_writer_update(writer->items, user);
	PopActiveSnapshot();
}

/*
 * Delete a locked user, and release the name. From the commit on all items of
 * the user are hidden (user_deletion.c). Errors: 40001, 55000.
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
 * Close a writer that user_writer_lock() has opened. writer->user must not be
 * used afterwards.
 */
void
user_writer_close(UserWriter *writer)
{
	if (writer->items != NULL)
		item_writer_close(writer->items);
}
