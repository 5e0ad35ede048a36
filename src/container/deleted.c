/*
 * deleted.c
 *		Items of users who have been deleted, but are not purged yet.
 *
 * Deleting a user queues a job (views/sweep.c), which purges the user's items.
 * From the deleting transaction on, and until the job is done, none of them
 * is served: every request asks here who is being deleted in its snapshot.
 *
 * Nearly always the answer is nobody, and it must cost nothing. So the jobs are
 * remembered as some snapshot saw them, and hold for that and newer snapshots
 * until they change. A change is told in two ways. It sends a relcache
 * invalidation for the table of jobs, as catalog changes do, which arrives
 * everywhere, on standbys too, but some moment after it shows. And where there
 * is shared memory, it is announced before it shows and counted afterwards
 * (change_feed_hooks), so that no snapshot on a primary ever goes by what was
 * before. (For a change by COMMIT PREPARED, and on a standby, that moment
 * remains: a reader may then see items of a user as if it had asked just
 * before.)
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "container/container.h"
#include "container/plans.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

struct DeletedUsers
{
	int			n;
	pg_uuid_t	id[FLEXIBLE_ARRAY_MEMBER];
};

static KeptPlan read_plan = {
	"SELECT DISTINCT user_id::uuid FROM blogstore.jobs WHERE kind = 'deletion'",
	0, {0}, NULL
};

static KeptPlan lock_plan = {
	"SELECT 1 FROM blogstore.jobs WHERE kind = 'deletion' AND user_id = $1"
	" FOR UPDATE",
	1, {UUIDOID}, NULL
};

static KeptPlan revive_plan = {
	"UPDATE blogstore.jobs SET kind = 'rename', phase = 0, partition_number = 0,"
	" position_first = NULL, position_date = NULL, position_last = NULL"
	" WHERE kind = 'deletion' AND user_id = $1",
	1, {UUIDOID}, NULL
};

/* What is remembered, and which snapshot saw it. */
static struct
{
	bool		valid;
	bool		changed;		/* an invalidation came since it was begun */
	Oid			relid;			/* of blogstore.jobs */
	uint64		stamp;			/* of change_feed_hooks.deletions() */
	TransactionId xmax;
	uint32		running;
	bool		standby;
	DeletedUsers *users;		/* in TopMemoryContext; NULL: none */
}			remembered;

static void
deleted_invalidate(Datum arg, Oid relid)
{
	if (OidIsValid(relid) && relid != remembered.relid)
		return;
	remembered.valid = false;
	remembered.changed = true;
}

/* Register for invalidations; called once by _PG_init. */
void
deleted_init(void)
{
	CacheRegisterRelcacheCallback(deleted_invalidate, (Datum) 0);
}

/* Those whose deletion the active snapshot sees, in the given context. */
static DeletedUsers *
read_users(MemoryContext context)
{
	OwnerScope	scope;
	DeletedUsers *users = NULL;

	owner_begin(&scope);
	SPI_connect();
	plan_execute(&read_plan, NULL, NULL, true);
	if (SPI_processed > 0)
	{
		users = MemoryContextAlloc(context, offsetof(DeletedUsers, id) +
								   sizeof(pg_uuid_t) * SPI_processed);
		users->n = SPI_processed;
		for (int i = 0; i < users->n; i++)
		{
			bool		isnull;
			Datum		id = SPI_getbinval(SPI_tuptable->vals[i],
										   SPI_tuptable->tupdesc, 1, &isnull);

			users->id[i] = *DatumGetUUIDP(id);
		}
	}
	SPI_finish();
	owner_end(&scope);
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

/* Is a snapshot at least as new as the one that saw what is remembered? */
static bool
remembered_covers(Snapshot snapshot)
{
	uint64		stamp;

	if (!remembered.valid || !change_feed_hooks.deletions(&stamp) ||
		stamp != remembered.stamp ||
		snapshot->takenDuringRecovery != remembered.standby ||
		snapshot->suboverflowed)
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

	if (!remembered.valid)
		return true;
	return (change_feed_hooks.deletions(&stamp) && stamp != remembered.stamp) ||
		RecoveryInProgress() != remembered.standby;
}

/* Remember the jobs as they are now. */
static void
remember(void)
{
	bool		still;
	Snapshot	snapshot;

	if (remembered.users != NULL)
		pfree(remembered.users);
	remembered.users = NULL;

	/* a change during the read must not be lost */
	remembered.changed = false;
	remembered.relid = get_relname_relid("jobs",
										 get_namespace_oid(BLOGSTORE_SCHEMA,
														   false));
	still = change_feed_hooks.deletions(&remembered.stamp);
	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();
	remembered.xmax = snapshot->xmax;
	remembered.running = count_running(snapshot);
	remembered.standby = snapshot->takenDuringRecovery;
	still &= !snapshot->suboverflowed;
	remembered.users = read_users(TopMemoryContext);
	PopActiveSnapshot();
	remembered.valid = still && !remembered.changed;
}

static DeletedUsers *
copy_users(const DeletedUsers *users)
{
	Size		size;
	DeletedUsers *copy;

	if (users == NULL)
		return NULL;
	size = offsetof(DeletedUsers, id) + sizeof(pg_uuid_t) * users->n;
	copy = palloc(size);
	memcpy(copy, users, size);
	return copy;
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
		remember();
	if (remembered_covers(snapshot))
		return copy_users(remembered.users);

	PushActiveSnapshot(snapshot);
	users = read_users(CurrentMemoryContext);
	PopActiveSnapshot();
	return users;
}

/* Is a user among them? */
bool
deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id)
{
	for (int i = 0; deleted != NULL && i < deleted->n; i++)
		if (memcmp(&deleted->id[i], user_id, UUID_LEN) == 0)
			return true;
	return false;
}

/* Is an item's author among them? */
bool
deleted_item(const DeletedUsers *deleted, const BlogItem *item)
{
	return deleted != NULL &&
		deleted_has(deleted, item_uuid(item, PROP_USER_ID));
}

/* Is a post's author among them, by the active snapshot? */
bool
deleted_post(const DeletedUsers *deleted, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	post;

	return deleted != NULL &&
		item_get(CONTAINER_POSTS, ITEM_POST, post_id, PATH_KEY, &key, 1,
				 GetActiveSnapshot(), &post) &&
		deleted_item(deleted, &post);
}

/* How many comments a user has on a post, by the active snapshot. */
static int64
count_comments(const pg_uuid_t *user_id, const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(user_id);
	BlogItem	item;
	int64		n = 0;
	ItemScan   *scan = item_scan_begin(CONTAINER_POSTS, ITEM_COMMENT, post_id,
									   PATH_USER, &key, 1, NULL,
									   ForwardScanDirection,
									   GetActiveSnapshot());

	while (item_scan_next(scan, &item))
		n += memcmp(item_uuid(&item, PROP_POST_ID), post_id, UUID_LEN) == 0;
	item_scan_end(scan);
	return n;
}

/*
 * Take what is not served off a post's counts, which are of all items there
 * are. By the active snapshot, in which the post was read.
 */
void
deleted_discount(const DeletedUsers *deleted, BlogItem *post)
{
	const pg_uuid_t *post_id;
	int64		comments;
	int64		likes;

	if (deleted == NULL)
		return;
	post_id = item_uuid(post, PROP_POST_ID);
	comments = item_count(post, PROP_COMMENT_COUNT);
	likes = item_count(post, PROP_LIKE_COUNT);
	for (int i = 0; i < deleted->n; i++)
	{
		Datum		key[] = {
			UUIDPGetDatum(&deleted->id[i]), UUIDPGetDatum(post_id)
		};
		BlogItem	like;

		if (likes > 0 &&
			item_get(CONTAINER_POSTS, ITEM_LIKE, post_id, PATH_KEY, key, 2,
					 GetActiveSnapshot(), &like))
			likes--;
		if (comments > 0)
			comments -= count_comments(&deleted->id[i], post_id);
	}
	item_set(post, PROP_COMMENT_COUNT, Int64GetDatum(comments));
	item_set(post, PROP_LIKE_COUNT, Int64GetDatum(likes));
}

/* Who is being deleted has changed, or will when this transaction commits. */
void
deleted_changed(void)
{
	Oid			relid = get_relname_relid("jobs",
										  get_namespace_oid(BLOGSTORE_SCHEMA,
															false));

	CacheInvalidateRelcacheByRelid(relid);
	change_feed_hooks.deletions_changing();
}

/*
 * A user is made anew while being deleted: purge what is left now, copies too,
 * since they would be served again from here on, and have the job go on as one that gives late items of the old user the new name.
 * The caller acts as the containers' owner.
 */
void
deleted_revive(const pg_uuid_t *user_id)
{
	Datum		key = UUIDPGetDatum(user_id);
	bool		there;

	SPI_connect();
	plan_execute(&lock_plan, &key, NULL, false);
	there = SPI_processed > 0;
	SPI_finish();
	if (!there)
		return;					/* purged meanwhile, or made anew by another */
	remove_user_items(user_id, 0);
	remove_user_copies(user_id);
	SPI_connect();
	plan_execute(&revive_plan, &key, NULL, false);
	SPI_finish();
	CommandCounterIncrement();
	deleted_changed();
}
