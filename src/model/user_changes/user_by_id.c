/*
 * user_by_id.c
 *		A user's item, by id.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

/* Is a user there, by the active snapshot? */
bool
user_find(const pg_uuid_t *user_id, BlogItem *user)
{
	Datum		key = UUIDPGetDatum(user_id);

	return item_get(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_USER,
		.partition_key = user_id, .path = PATH_KEY, .key = &key, .nkeys = 1
	}, user);
}

/* The same by what is committed now; where workers run in parallel, by the snapshot that they have. */
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
 * Raise an error (40001) if a user was created anew, with the id of one whom the
 * transaction's snapshot shows as being deleted. The user was read as of now, and
 * is there; the older snapshot would hide all that this transaction writes for the
 * user. Only under REPEATABLE READ and SERIALIZABLE is it older.
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
 * The user as of now: the newest committed version even in a transaction that
 * keeps its first snapshot. A name is then stale only where the user was
 * renamed after this read, and the job of the rename waits for transactions
 * that hold a lock on the leaf they write to: open it before this call.
 *
 * Errors: 23503; 40001 if the user was made anew since.
 */
void
need_user(const pg_uuid_t *user_id, BlogItem *user)
{
	if (!user_find_now(user_id, user))
		unknown_item("user", user_id);
	check_not_anew(user);
}
