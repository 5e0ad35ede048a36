/*
 * user_by_id.c
 *		Reading a user's item by id.
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
 * Read a user as the active snapshot shows it. Returns false if the user does
 * not exist.
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
 * Read the newest committed version of a user. In parallel mode, where a new
 * snapshot cannot be taken, read the version that the active snapshot shows.
 * Returns false if the user does not exist.
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
 * Check that a user who was read with a new snapshot is not a successor of a
 * deleted user with the same id. Under REPEATABLE READ and SERIALIZABLE the
 * transaction's snapshot may show the old user as being deleted, and would
 * hide all that this transaction writes for the new user. Errors: 40001 in
 * that case.
 */
void
check_not_anew(const BlogItem *user)
{
	if (IsolationUsesXactSnapshot() && author_being_deleted(user))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a user created anew"),
				 errhint("Retry the transaction.")));
}

/*
 * Read the newest committed version of a user, under every isolation level.
 * The caller must have opened the leaf that it is about to write, which takes
 * a lock on it. If the user is renamed after this read, the rename's job waits
 * for transactions that hold such a lock, and corrects the name that the
 * caller has written.
 *
 * Errors: 23503 if the user does not exist; 40001 as check_not_anew().
 */
void
need_user(const pg_uuid_t *user_id, BlogItem *user)
{
	if (!user_find_now(user_id, user))
		unknown_item(ITEM_USER, user_id);
	check_not_anew(user);
}
