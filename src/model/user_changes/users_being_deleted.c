/*
 * users_being_deleted.c
 *		The list of users who have been deleted, but whose items still exist.
 *
 * Deleting a user queues a job (user_deletion.c), and the worker then deletes
 * the user's items. From the commit of the deletion until the job is done, no
 * request shows the user's items. Every request therefore reads this list with
 * its snapshot.
 *
 * Usually the list is empty, and reading it must cost nothing. Each process
 * therefore caches the list that one snapshot has shown. The cached list is
 * also valid for newer snapshots, until the list changes. A process learns of
 * changes in two ways:
 *
 *	- A relcache invalidation for the table of jobs. It reaches all processes,
 *	  on standbys too, but only a moment after the change has become visible.
 *	- Two counters in shared memory (worker_hooks.user_deletions()). One counts
 *	  the changes in progress, the other the changes since the server's start.
 *	  A process uses its cached list only if no change is in progress, and no
 *	  change has committed since the list was read. A reader on a primary
 *	  therefore never uses an outdated list.
 *
 * On a standby, and after COMMIT PREPARED, only the invalidation works. A
 * reader may then see items of the user for a moment after the deletion.
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

/* A list of users who are being deleted, sorted by id. */
struct DeletedUsers
{
	int			n;
	pg_uuid_t	id[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * A cached list of users who are being deleted, and fields of the snapshot
 * with which it was read.
 */
typedef struct Seen
{
	uint64		stamp;			/* how often the list had changed when it was
								 * read (worker_hooks.user_deletions()) */
	TransactionId xmax;
	uint32		running;
	bool		standby;
	DeletedUsers *users;
} Seen;

/* The cached list, "remembered", is valid if memory.valid is true. */
static Remembered memory;
static Seen remembered;			/* remembered.users is in TopMemoryContext */

/*
 * The last transaction of this process that has changed the list of users
 * being deleted.
 */
static TransactionId changed_by = InvalidTransactionId;

/*
 * Read the list of users being deleted with the active snapshot, into the
 * current memory context. Returns NULL if there are none.
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
 * Return the number of running transactions in a snapshot. Of two snapshots
 * with the same xmax, the newer one has at most as many.
 */
static uint32
count_running(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery ? snapshot->subxcnt : snapshot->xcnt;
}

/*
 * Return whether a snapshot was taken on a standby and does not list all
 * running transactions, so that count_running() is wrong.
 */
static bool
running_unknown(Snapshot snapshot)
{
	return snapshot->takenDuringRecovery && snapshot->suboverflowed;
}

/*
 * Return whether this transaction has changed the list of users being deleted.
 * If so, it cannot use the cached list: snapshots from before and after the
 * change can have the same xmax.
 */
static bool
changed_here(void)
{
	return TransactionIdIsValid(changed_by) &&
		TransactionIdEquals(changed_by, GetTopTransactionIdIfAny());
}

/*
 * Return whether the cached list is valid for a snapshot. The list is valid
 * only if no deletion of a user has begun or ended since the list was read.
 * The snapshot must not be older than the one with which the list was read.
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

/*
 * Return whether the list has to be read and cached again. If the result is
 * false, the cached list may still be too new for a given snapshot; see
 * remembered_covers().
 */
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
 * Read the list of users being deleted with a new snapshot, and cache it. The
 * cache is invalid while this function runs, and stays invalid after an error.
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
 * Return the users who are being deleted, as the snapshot shows them. The
 * result is allocated in the current memory context; NULL means that no users
 * are being deleted.
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

bool
deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id)
{
	return deleted != NULL &&
		bsearch(user_id, deleted->id, deleted->n, sizeof(pg_uuid_t),
				compare_ids) != NULL;
}

/*
 * Return whether the author of an item is in the list "deleted". For an item
 * of type "user", the author is the user.
 */
bool
deleted_has_author(const DeletedUsers *deleted, const BlogItem *item)
{
	return deleted != NULL &&
		(deleted_has(deleted, item_uuid(item, PROP_USER_ID)) ||
		 (!item->isnull[PROP_FOLLOWED_ID] &&
		  deleted_has(deleted, item_uuid(item, PROP_FOLLOWED_ID))));
}

/*
 * Return whether the author of an item is being deleted, as the transaction's
 * snapshot shows it.
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
 * Return whether the author of a post or comment is in the list "deleted". The
 * item is read with the active snapshot. Queries call this function for each
 * row, so it leaves no memory allocated.
 */
bool
deleted_has_author_of(const DeletedUsers *deleted, const CountedItem *item)
{
	ItemType	type = counted_type(item);
	Datum		key[] = {
		UUIDPGetDatum(&item->post_id), UUIDPGetDatum(&item->item_id)
	};
	ItemScan   *scan;
	BlogItem	there;
	bool		has;

	if (deleted == NULL)
		return false;
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type,
		.partition_key = &item->post_id, .path = PATH_KEY, .key = key,
		.nkeys = type == ITEM_POST ? 1 : 2, .identity = type != ITEM_POST
	});
	has = item_scan_next(scan, &there) && deleted_has_author(deleted, &there);
	item_scan_end(scan);
	return has;
}

bool
deleted_has_author_of_post(const DeletedUsers *deleted, const pg_uuid_t *post_id)
{
	const CountedItem post = counted_post(post_id);

	return deleted_has_author_of(deleted, &post);
}

/*
 * The children of one type that a post or comment has. For example, "type" is
 * ITEM_LIKE and "on" is a post: all likes of the post.
 */
typedef struct CountedChildren
{
	ItemType	type;
	const CountedItem *on;
} CountedChildren;

static bool
is_child(const CountedChildren *of, const BlogItem *item)
{
	CountedOn	on;

	counted_on(&on, of->type, item);
	for (int i = 0; i < on.n; i++)
		if (!no_counts(on.counts[i]) &&
			memcmp(&on.item[i], of->on, sizeof(CountedItem)) == 0)
			return true;
	return false;
}

/*
 * Return how many of the children "of" are by users in the list "deleted".
 * Hidden comments are not counted. Reads with the active snapshot.
 *
 * path, key, nkeys: the index to scan, and the values of its first columns.
 *		The scan may find other items, too, which are not counted.
 */
static int64
count_deleted(const DeletedUsers *deleted, const CountedChildren *of,
			  AccessPath path, const Datum *key, int nkeys)
{
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = of->type,
		.partition_key = &of->on->post_id, .path = path, .key = key,
		.nkeys = nkeys, .identity = true, .rows = -1
	});

	while (item_scan_next(scan, &item))
		n += deleted_has_author(deleted, &item) && !item_hidden(&item) &&
			is_child(of, &item);
	item_scan_end(scan);
	return n;
}

/*
 * Return how many of the children "of" are by users in the list "deleted", by
 * reading all these children. To find replies without the index of replies,
 * which the owner may have dropped, reads all comments on the post.
 */
static int64
count_deleted_of_all(const DeletedUsers *deleted, const CountedChildren *of)
{
	Datum		key[] = {
		UUIDPGetDatum(&of->on->post_id), UUIDPGetDatum(&of->on->item_id)
	};
	int			nkeys = counted_type(of->on) == ITEM_POST ? 1 : 2;

	if (is_like(of->type))
		return count_deleted(deleted, of, PATH_LIST, key, nkeys);
	if (nkeys == 2 && has_reply_index(&of->on->post_id))
		return count_deleted(deleted, of, PATH_REPLIES, key, 2);
	return count_deleted(deleted, of, PATH_KEY, key, 1);
}

/*
 * While n users are being deleted, count_hidden() reads all children of a post
 * or comment if there are at most FEW * n. Otherwise it reads only the items
 * of these users.
 */
#define FEW 20

static bool
has_liked(const pg_uuid_t *user_id, const CountedChildren *of)
{
	const ChildKey key = {
		of->type, of->on->post_id, of->on->item_id, *user_id
	};
	Datum		value[CHILD_KEYS];
	ItemQuery	query = child_query(&key, value);
	BlogItem	like;

	query.identity = true;
	return item_get(&query, &like);
}

/*
 * Return how many of the children "of" are by users in the list "deleted".
 *
 * total: the number of all these children, which decides how they are found
 *		(FEW)
 */
static int64
count_hidden(const DeletedUsers *deleted, const CountedChildren *of,
			 int64 total)
{
	int64		n = 0;

	if (deleted == NULL || total <= 0)
		return 0;
	if (total <= (int64) FEW * deleted->n)
		return count_deleted_of_all(deleted, of);
	for (int i = 0; i < deleted->n; i++)
	{
		Datum		key = UUIDPGetDatum(&deleted->id[i]);

		n += is_like(of->type) ? has_liked(&deleted->id[i], of) :
			count_deleted(deleted, of, PATH_USER, &key, 1);
	}
	return n;
}

/*
 * Return how many of the comments on a post, or of the replies to a comment,
 * are by users in the list "deleted". Hidden comments are not counted. Reads
 * with the active snapshot.
 *
 * total: the number of all these comments or replies.
 */
int64
deleted_comments(const DeletedUsers *deleted, const CountedItem *item,
				 int64 total)
{
	const CountedChildren comments = {ITEM_COMMENT, item};

	return count_hidden(deleted, &comments, total);
}

/*
 * Return how many likes of a post or comment are by users in the list
 * "deleted". Reads with the active snapshot.
 *
 * total: the number of all likes of the post or comment.
 */
int64
deleted_likes(const DeletedUsers *deleted, const CountedItem *item, int64 total)
{
	const CountedChildren likes = {
		counted_type(item) == ITEM_POST ? ITEM_LIKE : ITEM_COMMENT_LIKE, item
	};

	return count_hidden(deleted, &likes, total);
}

/*
 * Subtract from a post's counts the comments and likes by users in the list
 * "deleted". The caller has read the post with the active snapshot.
 */
void
deleted_discount(const DeletedUsers *deleted, BlogItem *post)
{
	CountedItem item;

	if (deleted == NULL)
		return;
	item = counted_post(item_uuid(post, PROP_POST_ID));
	item_add_counts(post,
					-deleted_comments(deleted, &item,
									  item_count(post, PROP_COMMENT_COUNT)),
					-deleted_likes(deleted, &item,
								   item_count(post, PROP_LIKE_COUNT)));
}

/*
 * Announce to all processes that the commit of this transaction changes the
 * list of users being deleted.
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
 * Return whether the author of a post is being deleted, as the transaction's
 * snapshot shows it.
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
