/*
 * users_being_deleted.c
 *		Users who have been deleted, but whose items still exist.
 *
 * Deleting a user queues a job (user_deletion.c), which deletes the user's
 * items. From the commit of the deletion until the job is done, all items of
 * the user are hidden: every request asks here which users are being deleted
 * in its snapshot.
 *
 * Usually there are none, and asking must cost nothing. Each process therefore
 * remembers the list as one snapshot saw it, and uses it for that and newer
 * snapshots until the jobs change. Two signals announce a change. A relcache
 * invalidation for the table of jobs reaches all processes, on standbys too,
 * but a moment after the change has become visible. A counter in shared memory
 * (worker_hooks) is marked before the change becomes visible and incremented
 * afterwards. With the counter, no snapshot on a primary uses an outdated
 * list. The moment remains for a change by COMMIT PREPARED, and on a standby:
 * a reader may then still see items of the user, as if it had read a moment
 * earlier.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/remembered_table.h"
#include "base/worker_hooks.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Users who are being deleted in a snapshot, sorted by id. */
struct DeletedUsers
{
	int			n;
	pg_uuid_t	id[FLEXIBLE_ARRAY_MEMBER];
};

/* A list of users being deleted, and the snapshot that saw it. */
typedef struct Seen
{
	uint64		stamp;			/* from worker_hooks.user_deletions() */
	TransactionId xmax;
	uint32		running;
	bool		standby;
	DeletedUsers *users;		/* NULL: none */
} Seen;

/* The list as last read from the jobs, and whether it is valid. */
static Remembered memory;
static Seen remembered;			/* its users are in TopMemoryContext */

/* The last transaction of this process that has changed the list. */
static TransactionId changed_by = InvalidTransactionId;

/*
 * Read the list as the active snapshot shows it, into the current memory
 * context.
 */
static DeletedUsers *
read_users(void)
{
	int			n;
	pg_uuid_t  *ids = jobs_deleting(&n);
	DeletedUsers *users;

	if (ids == NULL)
		return NULL;
	users = palloc(offsetof(DeletedUsers, id) + sizeof(pg_uuid_t) * n);
	users->n = n;
	memcpy(users->id, ids, sizeof(pg_uuid_t) * n);
	pfree(ids);
	return users;
}

/*
 * Return how many transactions before its xmax a snapshot sees as running. Of
 * two snapshots with the same xmax the newer one sees no more than the older.
 */
static uint32
count_running(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery ? snapshot->subxcnt : snapshot->xcnt;
}

/*
 * Return whether the snapshot was taken on a standby and does not list all
 * running transactions.
 */
static bool
running_unknown(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery && snapshot->suboverflowed;
}

/*
 * Return whether this transaction has changed the list. Its own snapshots then
 * also differ by the command.
 */
static bool
changed_here(void)
{
	return TransactionIdIsValid(changed_by) &&
		TransactionIdEquals(changed_by, GetTopTransactionIdIfAny());
}

/*
 * Return whether a snapshot is at least as new as the one that saw the
 * remembered list, and the list has not changed since.
 */
static bool
remembered_covers(Snapshot snapshot)
{
	uint64		stamp;

	if (!memory.valid || !worker_hooks.user_deletions(&stamp) ||
		stamp != remembered.stamp ||
		snapshot->takenDuringRecovery != remembered.standby ||
		running_unknown(snapshot) || changed_here())
		return false;
	if (TransactionIdFollows(snapshot->xmax, remembered.xmax))
		return true;
	return snapshot->xmax == remembered.xmax &&
		count_running(snapshot) <= remembered.running;
}

/* Return whether the remembered list is outdated for every snapshot. */
static bool
remembered_outdated(void)
{
	uint64		stamp;

	if (!memory.valid)
		return true;
	return (worker_hooks.user_deletions(&stamp) &&
			stamp != remembered.stamp) ||
		RecoveryInProgress() != remembered.standby;
}

static DeletedUsers *
copy_users(const DeletedUsers *users, MemoryContext context)
{
	Size		size;
	DeletedUsers *copy;

	if (users == NULL)
		return NULL;
	size = offsetof(DeletedUsers, id) + sizeof(pg_uuid_t) * users->n;
	copy = MemoryContextAlloc(context, size);
	memcpy(copy, users, size);
	return copy;
}

/*
 * Read the list with a new snapshot, and remember it. The remembered list is
 * invalid from the start of this function until its end, so an error leaves no
 * valid list.
 */
static void
reread_deletions(void)
{
	Seen		seen;
	bool		still;
	Snapshot	snapshot;
	DeletedUsers *users;
	uint64		began = remembered_begin(&memory, bookkeeping_lookup(BOOK_JOBS));

	still = worker_hooks.user_deletions(&seen.stamp);
	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();
	seen.xmax = snapshot->xmax;
	seen.running = count_running(snapshot);
	seen.standby = snapshot->takenDuringRecovery;
	still &= !running_unknown(snapshot) && !changed_here();
	users = read_users();
	PopActiveSnapshot();
	seen.users = copy_users(users, TopMemoryContext);
	if (users != NULL)
		pfree(users);

	users = remembered.users;
	remembered = seen;
	if (still)
		remembered_end(&memory, began);
	if (users != NULL)
		pfree(users);
}

/*
 * Return the users who are being deleted in a snapshot, in the current memory
 * context. Returns NULL if there are none.
 */
const DeletedUsers *
deleted_users(Snapshot snapshot)
{
	DeletedUsers *users;

	if (!IsInParallelMode() && remembered_outdated())
		reread_deletions();
	if (remembered_covers(snapshot))
		return copy_users(remembered.users, CurrentMemoryContext);

	PushActiveSnapshot(snapshot);
	users = read_users();
	PopActiveSnapshot();
	return users;
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, UUID_LEN);
}

/* Return whether a user is in the list. */
bool
deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id)
{
	return deleted != NULL &&
		bsearch(user_id, deleted->id, deleted->n, sizeof(pg_uuid_t),
				compare_ids) != NULL;
}

/*
 * Return whether an item's author is in the list. The author of a user item is
 * the user.
 */
bool
deleted_has_author(const DeletedUsers *deleted, const BlogItem *item)
{
	return deleted != NULL &&
		deleted_has(deleted, item_uuid(item, PROP_USER_ID));
}

/*
 * Return whether an item's author is being deleted in the transaction's
 * snapshot.
 */
bool
author_being_deleted(const BlogItem *item)
{
	bool		result;

	PushActiveSnapshot(GetTransactionSnapshot());
	result = deleted_has_author(deleted_users(GetActiveSnapshot()), item);
	PopActiveSnapshot();
	return result;
}

/*
 * Return whether the author of a post is in the list. Reads the post with the
 * active snapshot. Leaves no memory allocated, because lists call it for each
 * of their rows.
 */
bool
deleted_has_author_of_post(const DeletedUsers *deleted, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemScan   *scan;
	BlogItem	post;
	bool		has;

	if (deleted == NULL)
		return false;
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .partition_key = post_id,
		.path = PATH_KEY, .key = &key, .nkeys = 1
	});
	has = item_scan_next(scan, &post) && deleted_has_author(deleted, &post);
	item_scan_end(scan);
	return has;
}

/*
 * Count the items that a path finds by a key, are on the post, are not hidden,
 * and are by an author in the list. Reads with the active snapshot.
 */
static int64
count_deleted(const DeletedUsers *deleted, ItemType type,
			  const pg_uuid_t *post_id, AccessPath path, Datum key)
{
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = path, .key = &key, .nkeys = 1,
		.identity = true, .rows = -1
	});

	while (item_scan_next(scan, &item))
		n += deleted_has_author(deleted, &item) && !item_hidden(&item) &&
			memcmp(item_uuid(&item, PROP_POST_ID), post_id, UUID_LEN) == 0;
	item_scan_end(scan);
	return n;
}

/*
 * A post's items are counted through the post if it has at most this many for
 * each user in the list.
 */
#define FEW 20

/*
 * Count the items of a type on a post that are by authors in the list. total
 * is the number of all such items on the post. Scans the post's items if they
 * are few, else the users' items.
 */
static int64
count_hidden(const DeletedUsers *deleted, ItemType type,
			 const pg_uuid_t *post_id, int64 total)
{
	int64		n = 0;

	if (total <= 0)
		return 0;
	if (total <= (int64) FEW * deleted->n)
		return count_deleted(deleted, type, post_id, PATH_LIST,
							 UUIDPGetDatum(post_id));
	for (int i = 0; i < deleted->n; i++)
	{
		Datum		key[] = {
			UUIDPGetDatum(&deleted->id[i]), UUIDPGetDatum(post_id)
		};
		BlogItem	like;

		if (type == ITEM_LIKE)
			n += item_get(&(ItemQuery) {
				.container = CONTAINER_POSTS, .type = type,
				.partition_key = post_id, .path = PATH_KEY, .key = key,
				.nkeys = 2
			}, &like);
		else
			n += count_deleted(deleted, type, post_id, PATH_USER, key[0]);
	}
	return n;
}

/*
 * Subtract the items by authors in the list from a post's counts. Reads with
 * the active snapshot, with which the post was read too.
 */
void
deleted_discount(const DeletedUsers *deleted, BlogItem *post)
{
	const pg_uuid_t *post_id;

	if (deleted == NULL)
		return;
	post_id = item_uuid(post, PROP_POST_ID);
	item_add_counts(post,
					-count_hidden(deleted, ITEM_COMMENT, post_id,
								  item_count(post, PROP_COMMENT_COUNT)),
					-count_hidden(deleted, ITEM_LIKE, post_id,
								  item_count(post, PROP_LIKE_COUNT)));
}

/*
 * Announce that this transaction has changed the list, or will change it when
 * it commits.
 */
void
deleted_changed(void)
{
	Oid			relid = bookkeeping_lookup(BOOK_JOBS);

	changed_by = GetTopTransactionId();
	CacheInvalidateRelcacheByRelid(relid);
	worker_hooks.user_deletions_changing();
}

/*
 * Return whether the author of a post is being deleted in the transaction's
 * snapshot.
 */
bool
post_author_being_deleted(const pg_uuid_t *post_id)
{
	bool		result;

	PushActiveSnapshot(GetTransactionSnapshot());
	result = deleted_has_author_of_post(deleted_users(GetActiveSnapshot()), post_id);
	PopActiveSnapshot();
	return result;
}
