/*
 * relabel.c
 *		Writing a user's present name on the user's items.
 *
 * Runs in the worker, and in a backend on a server where no worker can run.
 */
#include "postgres.h"

#include "container/container.h"

#include "utils/snapmgr.h"

/*
 * Relabel a user's items of one type in one partition of posts, at most limit
 * of them (0: all). Returns how many were written; fewer than limit means
 * that none with another name is left in the active snapshot.
 *
 * skipped: where not NULL, items that others have locked are left alone
 * instead of waited for, and *skipped is set if there were any.
 */
int64
relabel_user_items(const pg_uuid_t *user_id, Datum username, ItemType type,
				   int partition, int64 limit, bool *skipped)
{
	Datum		key = UUIDPGetDatum(user_id);
	LockWaitPolicy wait = skipped != NULL ? LockWaitSkip : LockWaitBlock;
	BlogItem	wanted;
	BlogItem	item;
	int64		written = 0;
	ItemWriter *writer = NULL;
	ItemScan   *scan = item_scan_begin_partition(CONTAINER_POSTS, type,
												 partition, PATH_USER, &key, 1,
												 NULL, ForwardScanDirection,
												 GetActiveSnapshot());

	memset(&wanted, 0, sizeof(wanted));
	item_set(&wanted, PROP_USER_USERNAME, username);
	while ((limit == 0 || written < limit) && item_scan_next(scan, &item))
	{
		LockOutcome outcome;

		if (item_same(&item, &wanted, PROP_USER_USERNAME))
			continue;
		if (writer == NULL)
			writer = item_writer_open_partition(CONTAINER_POSTS, type,
												partition);
		outcome = item_writer_lock_found(writer, scan, LockTupleNoKeyExclusive,
										 wait, &item);
		if (outcome == LOCK_BUSY)
			*skipped = true;
		if (outcome != LOCK_HAD)
			continue;
		item_set(&item, PROP_USER_USERNAME, username);
		item_writer_update(writer, &item);
		written++;
	}
	item_scan_end(scan);
	if (writer != NULL)
		item_writer_close(writer);
	return written;
}
