/*
 * user_by_id.c
 *		Reading a user's item by the user's id.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/*
 * Read the item of a user with the active snapshot. Returns false if the
 * snapshot shows no user with this id.
 */
bool
user_find(const pg_uuid_t *user_id, BlogItem *user)
{
	Datum		key = UUIDPGetDatum(user_id);

	return item_get(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_USER,
		.partition_key = user_id, .path = PATH_KEY, .key = &key, .nkeys = 1
	}, user);
}

/*
 * Read the newest committed version of a user's item. In parallel mode, where
 * no new snapshot can be taken, read the version that the active snapshot
 * shows. Returns false if the user does not exist.
 */
bool
user_find_now(const pg_uuid_t *user_id, BlogItem *user)
{
	bool		found;

	if (IsInParallelMode())
		return user_find(user_id, user);
	PushActiveSnapshot(GetLatestSnapshot());
	found = user_find(user_id, user);
	PopActiveSnapshot();
	return found;
}

/*
 * Raise 40001 if the transaction's snapshot shows that an earlier user with
 * the same id is being deleted. Requests of this transaction would then not
 * show what it writes for the new user. Occurs only under REPEATABLE READ and
 * SERIALIZABLE.
 *
 * user: the new user's item, read with a newer snapshot.
 */
void
check_not_recreated(const BlogItem *user)
{
	if (IsolationUsesXactSnapshot() && author_being_deleted(user))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a user created anew"),
				 errhint("Retry the transaction.")));
}

/*
 * Read the newest committed version of a user's item, in order to write the
 * user's name on a post, comment or like. Errors: 23503 if the user does not
 * exist; 40001, see check_not_recreated().
 *
 * The caller has opened the leaf that it is about to write to, and so holds
 * RowExclusiveLock on the leaf. If the user is renamed after this read, the
 * worker waits for the transactions that hold such locks. Then the worker
 * corrects the name on the items that they have written (user_items_sweep.c).
 */
void
need_user(const pg_uuid_t *user_id, BlogItem *user)
{
	if (!user_find_now(user_id, user))
		unknown_item(ITEM_USER, user_id);
	check_not_recreated(user);
}
