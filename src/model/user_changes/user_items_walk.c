/*
 * user_items_walk.c
 *		Walking: going through the items in one leaf, in steps, to write a
 *		user's name on them or to delete them.
 *
 * A step ends after it has changed as many items as the caller allows, or has
 * read LOOKS_PER_CHANGE times as many items. ItemWalk.place is the place in
 * the leaf at which the next step continues. A step can skip items that other
 * transactions have locked (ItemWalk.skipped). The caller then has to begin
 * another walk through the leaf.
 *
 * Runs in the worker. A walk with one step also runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_items_walk.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* How many items a step may read for each item that it may change. */
#define LOOKS_PER_CHANGE 20

const WalkedKind walked_kinds[N_WALKED_ITEMS] = {
	[WALK_POSTS] = {CONTAINER_POSTS, ITEM_POST, PATH_USER, PROP_USER_ID,
	PROP_USER_USERNAME},
	[WALK_COMMENTS] = {CONTAINER_POSTS, ITEM_COMMENT, PATH_USER, PROP_USER_ID,
	PROP_USER_USERNAME},
	[WALK_LIKES] = {CONTAINER_POSTS, ITEM_LIKE, PATH_USER, PROP_USER_ID,
	PROP_USER_USERNAME},
	[WALK_COMMENT_LIKES] = {CONTAINER_POSTS, ITEM_COMMENT_LIKE, PATH_USER,
	PROP_USER_ID, PROP_USER_USERNAME},
	[WALK_FOLLOWS] = {CONTAINER_USERS, ITEM_FOLLOW, PATH_USER, PROP_USER_ID,
	PROP_USER_USERNAME},
	[WALK_FOLLOWERS] = {CONTAINER_USERS, ITEM_FOLLOW, PATH_FOLLOWED,
	PROP_FOLLOWED_ID, PROP_FOLLOWED_USERNAME}
};

/*
 * What a callback has done with the item that it visits.
 *
 *	- VISIT_UNCHANGED: nothing, because nothing had to be done.
 *	- VISIT_CHANGED: changed or deleted the item.
 *	- VISIT_BUSY: nothing, because another transaction is using the item. A
 *	  later walk has to visit the item again.
 *	- VISIT_AGAIN: did only a part of the work, such as deleting some comments
 *	  on a post. The step ends, and the next step visits the same item again.
 */
typedef enum VisitOutcome
{
	VISIT_UNCHANGED,
	VISIT_CHANGED,
	VISIT_BUSY,
	VISIT_AGAIN
} VisitOutcome;

typedef struct Visitor
{
	VisitOutcome (*visit) (struct Visitor *visitor, ItemScan *scan,
						   BlogItem *item, ItemWalk *walk);
	const WalkedKind *kind;
	int			partition;
	Datum		username;		/* the name to write on each item; 0: the
								 * current name of the item's user */
	MemoryContext context;		/* memory context of the writer, which lives
								 * until the end of the step */
	ItemWriter *writer;			/* writer for the leaf; NULL until the step
								 * changes its first item */
} Visitor;

/*
 * Do one step of a walk: visit the items after walk->place. Returns whether
 * the end of the leaf was reached.
 *
 * user_id: visit only items of this user; NULL: all items.
 */
static bool
walk_items(Visitor *visitor, const pg_uuid_t *user_id, ItemWalk *walk)
{
	MemoryContext per_item = AllocSetContextCreate(CurrentMemoryContext,
												   "blogstore walked item",
												   ALLOCSET_DEFAULT_SIZES);
	BlogItem	item;
	int64		looks = walk->limit * LOOKS_PER_CHANGE;
	bool		ended = false;
	Datum		of_user = UUIDPGetDatum(user_id);
	ItemScan   *scan;

	/*
	 * The snapshot must show this transaction's own changes, because the
	 * transaction may visit a leaf twice. This can happen when another
	 * transaction attaches a partition, which changes the numbers of other
	 * partitions.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = visitor->kind->container, .type = visitor->kind->type,
		.partition = visitor->partition,
		.path = user_id ? visitor->kind->path : PATH_KEY, .key = &of_user,
		.nkeys = user_id != NULL, .after = &walk->place,
		.identity = true, .rows = walk->limit == 0 ? -1 : walk->limit
	});

	visitor->context = CurrentMemoryContext;
	while (walk->limit == 0 || (walk->changed < walk->limit && looks-- > 0))
	{
		MemoryContext old;
		VisitOutcome outcome;

		if (!item_scan_next(scan, &item))
		{
			ended = true;
			break;
		}
		old = MemoryContextSwitchTo(per_item);
		outcome = visitor->visit(visitor, scan, &item, walk);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_item);
		if (outcome == VISIT_AGAIN)
			break;
		walk->changed += outcome == VISIT_CHANGED;
		walk->skipped |= outcome == VISIT_BUSY;
		item_scan_place(scan, &walk->place);
	}
	item_scan_end(scan);
	if (visitor->writer != NULL)
		item_writer_close(visitor->writer);
	PopActiveSnapshot();
	MemoryContextDelete(per_item);
	return ended;
}

/*
 * Find the name to write on an item: visitor->username if it is set, otherwise
 * the current name of the item's user. Returns false if the user does not
 * exist.
 *
 * wanted: receives the name, in the field visitor->kind->username
 */
static bool
wanted_name(const Visitor *visitor, const BlogItem *item, BlogItem *wanted)
{
	const WalkedKind *kind = visitor->kind;
	BlogItem	user;

	memset(wanted, 0, sizeof(*wanted));
	if (visitor->username != (Datum) 0)
	{
		item_set(wanted, kind->username, visitor->username);
		return true;
	}
	if (!user_find(item_uuid(item, kind->user), &user))
		return false;
	item_set(wanted, kind->username, user.value[PROP_USERNAME]);
	return true;
}

/*
 * Return a writer for the leaf that the scan reads, or NULL if the item's key
 * now belongs to another leaf.
 *
 * The writer is opened by the item's key, not by the partition's number. This
 * number can change when another partition is attached, which locks on the
 * container do not prevent.
 */
static ItemWriter *
walk_writer(Visitor *visitor, ItemScan *scan, const BlogItem *item)
{
	MemoryContext old;

	if (visitor->writer != NULL)
		return visitor->writer;
	old = MemoryContextSwitchTo(visitor->context);
	visitor->writer = item_writer_open(visitor->kind->container,
									   visitor->kind->type,
									   item_uuid(item, container_key(visitor->kind->container)));
	MemoryContextSwitchTo(old);
	if (item_writer_has_scan(visitor->writer, scan))
		return visitor->writer;
	item_writer_close(visitor->writer);
	visitor->writer = NULL;
	return NULL;
}

/*
 * Delete a follow. Nothing hangs on a follow, and no counts are kept of
 * follows.
 */
static VisitOutcome
delete_follow(Visitor *visitor, ItemScan *scan, BlogItem *item, ItemWalk *walk)
{
	ItemWriter *writer = walk_writer(visitor, scan, item);

	if (writer == NULL)
		return VISIT_BUSY;
	switch (item_writer_lock_found(writer, scan, LockTupleExclusive,
								   walk->wait, item))
	{
		case ITEM_OK:
			item_writer_delete(writer);
			return VISIT_CHANGED;
		case ITEM_LOCKED:
			return VISIT_BUSY;
		case ITEM_NOT_FOUND:
			break;
	}
	return VISIT_UNCHANGED;
}

/*
 * Delete a post, comment or like. If the item is a post, delete the comments
 * and likes on it first; if the item is a comment, delete its likes first.
 */
static VisitOutcome
delete_post_or_child(ItemType type, const BlogItem *item, ItemWalk *walk)
{
	pg_uuid_t	post_id = *item_uuid(item, PROP_POST_ID);
	pg_uuid_t	author = *item_uuid(item, PROP_USER_ID);
	int64		limit = walk->limit == 0 ? 0 : walk->limit - walk->changed;
	DeleteResult result;

	if (type == ITEM_POST)
		result = post_delete_in_steps(&post_id, &author, walk->wait, limit,
									  &walk->changed);
	else
	{
		const ChildKey key = child_key(type, item);

		result = child_delete_in_steps(&key, &author, walk->wait, limit,
									   &walk->changed);
	}
	switch (result)
	{
		case DELETE_DONE:
			return VISIT_CHANGED;
		case DELETE_LOCKED:
			return VISIT_BUSY;
		case DELETE_MORE:
			return VISIT_AGAIN;
		case DELETE_NOT_FOUND:
			break;
	}
	return VISIT_UNCHANGED;
}

/* Visitor callback: delete an item of a deleted user. */
static VisitOutcome
delete_item(Visitor *visitor, ItemScan *scan, BlogItem *item, ItemWalk *walk)
{
	if (visitor->kind->type == ITEM_FOLLOW)
		return delete_follow(visitor, scan, item, walk);
	return delete_post_or_child(visitor->kind->type, item, walk);
}

/*
 * Visitor callback: delete an item whose author does not exist. Skip the item
 * if another transaction is creating a user with the author's id
 * (deletion_claim()). The item may then be a like that the new user wants to
 * write: create_like() finds the like, and inserts no second one.
 */
static VisitOutcome
delete_nobodys(Visitor *visitor, ItemScan *scan, BlogItem *item, ItemWalk *walk)
{
	const pg_uuid_t *author = item_uuid(item, visitor->kind->user);
	BlogItem	user;
	KeyLock		lock;

	key_lock_init(&lock, CONTAINER_USERS, ITEM_USER, author, NULL);
	if (!key_lock(&lock, KEY_LOCK_EXCLUSIVE, LockWaitSkip) ||
		user_find_now(author, &user))
		return VISIT_BUSY;
	return delete_item(visitor, scan, item, walk);
}

/*
 * Called when a user is created, so that delete_nobodys() does not delete the
 * new user's items. Waits for other transactions in which delete_nobodys() is
 * deleting items with this user id.
 *
 * Locks: the key lock of the user's id (KeyLock) in share mode, until the
 * transaction ends. Other transactions meanwhile skip items with this user id
 * in delete_nobodys().
 */
void
deletion_claim(const pg_uuid_t *user_id)
{
	KeyLock		lock;

	key_lock_init(&lock, CONTAINER_USERS, ITEM_USER, user_id, NULL);
	(void) key_lock(&lock, KEY_LOCK_SHARED, LockWaitBlock);
}

/*
 * Visitor callback: write the name of an item's user on the item. The user is
 * the author or, for WALK_FOLLOWERS, the user who is followed. If the user
 * does not exist and walk->nobodys_too is set, delete the item.
 */
static VisitOutcome
relabel_item(Visitor *visitor, ItemScan *scan, BlogItem *item, ItemWalk *walk)
{
	BlogItem	wanted;
	ItemResult	outcome;
	ItemWriter *writer;

	if (!wanted_name(visitor, item, &wanted))
		return walk->nobodys_too ? delete_nobodys(visitor, scan, item, walk) :
			VISIT_UNCHANGED;
	if (item_same(item, &wanted, visitor->kind->username))
		return VISIT_UNCHANGED;
	writer = walk_writer(visitor, scan, item);
	if (writer == NULL)
		return VISIT_BUSY;
	outcome = item_writer_lock_found(writer, scan,
									 LockTupleNoKeyExclusive, walk->wait, item);
	if (outcome == ITEM_LOCKED)
		return VISIT_BUSY;
	if (outcome == ITEM_NOT_FOUND)
		return VISIT_UNCHANGED;
	item_set(item, visitor->kind->username,
			 wanted.value[visitor->kind->username]);
	item_writer_update(writer, item);
	return VISIT_CHANGED;
}

/* Initialize an ItemWalk, for a walk that begins at the start of a leaf. */
void
item_walk_init(ItemWalk *walk, int64 limit, LockWaitPolicy wait)
{
	memset(walk, 0, sizeof(*walk));
	walk->limit = limit;
	walk->wait = wait;
}

/*
 * Do one step of writing names on the items in a leaf. Returns whether the end
 * of the leaf was reached.
 *
 * user_id: change only items of this user; NULL: all items.
 * username: the name of this user. If user_id is NULL, each item gets the name
 *		of its author, and this argument is ignored.
 */
bool
relabel_items(const pg_uuid_t *user_id, Datum username, WalkedItems items,
			  int partition, ItemWalk *walk)
{
	Visitor		visitor = {
		.visit = relabel_item,.kind = &walked_kinds[items],
		.partition = partition,
		.username = user_id ? username : (Datum) 0
	};

	return walk_items(&visitor, user_id, walk);
}

/*
 * Do one step of deleting a user's items in a leaf. If an item is a post, all
 * comments and likes on it are deleted too. If an item is a comment, its likes
 * are deleted too. Returns whether the end of the leaf was reached.
 */
bool
delete_items(const pg_uuid_t *user_id, WalkedItems items, int partition,
			 ItemWalk *walk)
{
	Visitor		visitor = {
		.visit = delete_item,.kind = &walked_kinds[items],
		.partition = partition
	};

	return walk_items(&visitor, user_id, walk);
}

/*
 * Delete the copies of a user's posts that the scan finds in a view. Closes
 * the scan and the writer, which the caller has opened.
 */
static void
delete_found(ItemWriter *writer, ItemScan *scan, const pg_uuid_t *user_id)
{
	BlogItem	item;

	while (item_scan_next(scan, &item))
		if (memcmp(item_uuid(&item, PROP_USER_ID), user_id, UUID_LEN) == 0 &&
			item_writer_lock_found(writer, scan, LockTupleExclusive,
								   LockWaitBlock, &item) == ITEM_OK)
			item_writer_delete(writer);
	item_scan_end(scan);
	item_writer_close(writer);
}

/*
 * Delete the copies of a user's posts in the views (the containers users and
 * feed), including copies that the transaction's snapshot does not show. The
 * caller has called views_lock(). Locks: the rows of the copies, FOR UPDATE.
 */
void
delete_user_copies(const pg_uuid_t *user_id)
{
	Datum		key = UUIDPGetDatum(user_id);
	const ClusterCalls *cluster = cluster_calls();
	Snapshot	snapshot;
	bool		here = cluster == NULL || cluster->hold_copies(user_id);

	/*
	 * Use a new snapshot: the caller may have waited in views_lock() for the
	 * transaction that wrote the copies.
	 */
	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();
	if (here)
		delete_found(item_writer_open(CONTAINER_USERS, ITEM_POST, user_id),
					 item_scan_begin(&(ItemQuery) {
						.container = CONTAINER_USERS, .type = ITEM_POST,
						.partition_key = user_id, .path = PATH_LIST, .key = &key,
						.nkeys = 1, .identity = true, .snapshot = snapshot,
						.rows = -1
					}),
					 user_id);
	delete_found(item_writer_open_partition(CONTAINER_FEED, ITEM_POST,
											FEED_PARTITION),
				 item_scan_begin(&(ItemQuery) {
					.container = CONTAINER_FEED, .type = ITEM_POST,
					.partition = FEED_PARTITION, .path = PATH_DATE,
					.identity = true, .snapshot = snapshot
				}),
				 user_id);
	PopActiveSnapshot();
}


/*
 * Delete a user's items of one kind in all partitions, until the walk's limit
 * is reached.
 */
static void
delete_user_items_of(const pg_uuid_t *user_id, WalkedItems items, ItemWalk *walk)
{
	const WalkedKind *kind = &walked_kinds[items];

	for (int p = partition_first(kind->container, kind->type);
		 p != NO_PARTITION;
		 p = partition_after(kind->container, kind->type, p))
	{
		walk->place.valid = false;
		if (!delete_items(user_id, items, p, walk))
			break;
	}
}

/*
 * Delete a user's posts, comments and likes, the user's follows, and those by
 * the user's followers, in this transaction.
 *
 * limit: delete about this many items, and skip items that other transactions
 *		have locked. 0: delete all items, and wait for locks.
 *
 * If another transaction attaches or detaches a partition meanwhile, the
 * numbers of other partitions change. The function may then miss a leaf. If
 * limit is 0, the function visits all leaves again after such a change.
 */
void
delete_user_items(const pg_uuid_t *user_id, int64 limit)
{
	ItemWalk	walk;
	uint64		loads;

	item_walk_init(&walk, limit, limit == 0 ? LockWaitBlock : LockWaitSkip);
	/*
	 * These locks prevent all changes of partitions, except ATTACH PARTITION
	 * and DETACH PARTITION CONCURRENTLY.
	 */
	container_lock(CONTAINER_USERS, true);
	container_lock(CONTAINER_POSTS, true);
	do
	{
		CHECK_FOR_INTERRUPTS();
		(void) partition_first(CONTAINER_POSTS, ITEM_POST);
		loads = layout_loads();
		for (WalkedItems items = 0; items < N_WALKED_ITEMS; items++)
			delete_user_items_of(user_id, items, &walk);
	} while (limit == 0 && layout_loads() != loads);
}
