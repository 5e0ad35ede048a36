/*
 * users_being_deleted.c
 *		Users who have been deleted, but whose items are not yet.
 *
 * Deleting a user queues a job (user_deletion.c), which deletes the user's items.
 * From the deleting transaction on, and until the job is done, all of them are
 * hidden: every request asks here who is being deleted in its snapshot.
 *
 * Nearly always the answer is nobody, and it must cost nothing. So the jobs are
 * remembered as some snapshot saw them, and hold for that and newer snapshots
 * until they change. A change is told in two ways. It sends a relcache
 * invalidation for the table of jobs, as catalog changes do, which arrives
 * everywhere, on standbys too, but some moment after it shows. And in shared
 * memory it is announced before it shows and counted afterwards
 * (worker_hooks), so that no snapshot on a primary ever goes by what was
 * before. (For a change by COMMIT PREPARED, and on a standby, that moment
 * remains: a reader may then see items of a user as if it had asked just
 * before.)
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

struct DeletedUsers
{
	int			n;
	pg_uuid_t	id[FLEXIBLE_ARRAY_MEMBER];
};

/* Who is being deleted, and which snapshot saw it. */
typedef struct Seen
{
	uint64		stamp;			/* of worker_hooks.user_deletions() */
	TransactionId xmax;
	uint32		running;
	bool		standby;
	DeletedUsers *users;		/* NULL: none */
} Seen;

/* Who was being deleted when the jobs were last read. */
static Remembered memory;
static Seen remembered;			/* users in TopMemoryContext */

/* The last transaction of this process that has changed the jobs. */
static TransactionId changed_by = InvalidTransactionId;

/* Those whose deletion the active snapshot sees, in the current context. */
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
 * How many transactions a snapshot sees as running, of those before its xmax:
 * ever fewer, as long as xmax stays.
 */
static uint32
count_running(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery ? snapshot->subxcnt : snapshot->xcnt;
}

/* On a standby not all need be listed. */
static bool
running_unknown(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery && snapshot->suboverflowed;
}

/*
 * Has this transaction changed who is being deleted? Then its own snapshots
 * differ by the command too.
 */
static bool
changed_here(void)
{
	return TransactionIdIsValid(changed_by) &&
		TransactionIdEquals(changed_by, GetTopTransactionIdIfAny());
}

/* Is a snapshot at least as new as the one that saw what is remembered? */
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

/* Is what is remembered of another time, whatever snapshot asks? */
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
 * Read the jobs as they are now, to be remembered. What was remembered is invalid
 * from the beginning, and what is read becomes valid at the end, all at once.
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
 * Who is being deleted in a snapshot; NULL: nobody. In the current memory
 * context.
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

/* Is a user among the deleted? */
bool
deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id)
{
	return deleted != NULL &&
		bsearch(user_id, deleted->id, deleted->n, sizeof(pg_uuid_t),
				compare_ids) != NULL;
}

/* Is an item's author among the deleted? Of a user's item the author is the user. */
bool
deleted_has_author(const DeletedUsers *deleted, const BlogItem *item)
{
	return deleted != NULL &&
		deleted_has(deleted, item_uuid(item, PROP_USER_ID));
}

/* Is an item's author being deleted, by the transaction's snapshot? */
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
 * Is a post's author among the deleted, by the active snapshot? Nothing is left in memory:
 * lists ask it of each of their rows.
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
 * How many of the items that a path finds by a key are on a post and by
 * somebody among the deleted. By the active snapshot.
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

/* A post is gone through if it has no more items for each user than this. */
#define FEW 20

/*
 * How many of a post's items, there being total, are by the deleted: go through
 * the post's if they are few, else through the users'.
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
 * Take what is hidden off a post's counts, which are of all items there
 * are. By the active snapshot, in which the post was read.
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

/* Who is being deleted has changed, or will when this transaction commits. */
void
deleted_changed(void)
{
	Oid			relid = bookkeeping_lookup(BOOK_JOBS);

	changed_by = GetTopTransactionId();
	CacheInvalidateRelcacheByRelid(relid);
	worker_hooks.user_deletions_changing();
}

/* Is the author of a post being deleted, by the transaction's snapshot? */
bool
post_author_being_deleted(const pg_uuid_t *post_id)
{
	bool		result;

	PushActiveSnapshot(GetTransactionSnapshot());
	result = deleted_has_author_of_post(deleted_users(GetActiveSnapshot()), post_id);
	PopActiveSnapshot();
	return result;
}
