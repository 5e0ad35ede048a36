/*
 * user_item.c
 *		Writing a user's item: insert, edit, rename, delete.
 *
 * On a cluster each node has all users, and the cluster writes a user on all of them.
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
 * Return whether a user with this id is being deleted, as of now or in the snapshot that the
 * transaction keeps.
 */
static bool
is_being_deleted(const pg_uuid_t *user_id)
{
	bool		deleted;

	/* a transaction that was waited for may have queued the deletion just now */
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
 * Insert a user, whose name has been claimed; false if there is one with this id. own_id: the
 * caller brought the id, which an earlier user may have had.
 *
 * Once the item is inserted, no other transaction can create or delete a user with this id. So
 * what is left of an earlier user is looked for then, not before, since the name and the id may
 * have been waited for; and before triggers fire, which may write items of the new user.
 *
 * Errors: 40001, 55000, and those of triggers. Locks: RowExclusiveLock on the leaf of users; if
 * the id is being deleted, that job, and what is left of the user's items.
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
 * Lock a user to change it, and read it into writer->user; false, with nothing to close, if there
 * is none. Errors: 40001, 55000. Locks: the user item, FOR UPDATE to delete it, otherwise FOR NO
 * KEY UPDATE.
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
 * Write a locked user's name and properties, if they are others than before. Another name has
 * been claimed; the user's items get it by a job. Errors: 55000.
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
	/* the change feed then knows that the name which follows has a job (output_plugin.c) */
	if (renamed)
		job_queue(JOB_RENAME, item_uuid(user, PROP_ID));
	PushActiveSnapshot(GetTransactionSnapshot());
	item_writer_update(writer->items, user);
	PopActiveSnapshot();
}

/*
 * Delete a locked user, and give the name back. From the commit on all of the user's items are
 * hidden (user_deletion.c). Errors: 40001, 55000.
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

/* End what user_writer_lock() began, after which writer->user must not be used. */
void
user_writer_close(UserWriter *writer)
{
	if (writer->items != NULL)
		item_writer_close(writer->items);
}
