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
