/*
 * removal.c
 *		Deleting items with what hangs on them, and counts kept.
 *
 * Who writes a comment or like counts it on the post, in place or by a delta,
 * before leaving the post's gate. So once a post item is deleted with the gate
 * shut, and those who have counted by deltas have ended, what a new snapshot
 * shows is all there will be (gate.c).
 *
 * Who deletes an item because of whose it is has read that before the item is
 * locked. Meanwhile it may have been deleted, and its id given to an item of
 * another user's; so the author is told, and looked at under the lock.
 *
 * Runs in backends and in the worker, as the containers' owner.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "import/import.h"
#include "layout/item.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/* Is an item an author's (NULL: anybody's)? */
static bool
is_by(const BlogItem *item, const pg_uuid_t *author)
{
	return author == NULL ||
		(!item->isnull[PROP_USER_ID] &&
		 memcmp(item_uuid(item, PROP_USER_ID), author, UUID_LEN) == 0);
}

/* A comment (other is its id), a delta (the same) or a like (other is who likes). */
typedef struct Child
{
	ItemType	type;
	pg_uuid_t	post_id;
	Datum		key[2];
	pg_uuid_t	other;
} Child;

static void
child_init(Child *child, ItemType type, const pg_uuid_t *post_id,
		   const pg_uuid_t *other)
{
	child->type = type;
	child->post_id = *post_id;
	child->other = *other;
	child->key[type == ITEM_LIKE ? 1 : 0] = UUIDPGetDatum(&child->post_id);
	child->key[type == ITEM_LIKE ? 0 : 1] = UUIDPGetDatum(&child->other);
}

/*
 * Lock a child and delete it, if it is by an author; else ITEM_NOT_FOUND. With a gate,
 * which the caller is in, it is counted off its post first; ITEM_NOT_FOUND if there
 * is no post.
 */
static ItemResult
delete_child(const Child *child, const pg_uuid_t *author, LockWaitPolicy wait,
			 PostGate *gate)
{
	ItemWriter *writer;
	BlogItem	item;
	ItemResult outcome;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, child->type, &child->post_id);
	item_writer_identity(writer);
	outcome = item_writer_lock(writer, child->key, 2, LockTupleExclusive, wait,
							   &item);
	if (outcome == ITEM_OK && !is_by(&item, author))
		outcome = ITEM_NOT_FOUND;
	if (outcome == ITEM_OK && gate != NULL)
		outcome = post_count(gate, -(child->type == ITEM_COMMENT),
							 -(child->type == ITEM_LIKE), LockWaitBlock);
	if (outcome == ITEM_OK)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	return outcome;
}

/* Delete one, if it is by an author; nobody's count changes. */
ItemResult
remove_item(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;

	child_init(&child, type, post_id, other);
	return delete_child(&child, author, wait, NULL);
}

/*
 * Delete one and count it off its post; ITEM_NOT_FOUND also if there is no post. A
 * post that is being deleted by its user counts as any.
 *
 * Whoever deletes the post waits for those in its gate, and then needs the item.
 * So it is locked in the gate, if nobody else has it; who has is waited for
 * outside, with nothing that they may need. Whoever waits for the deletion of the
 * post has nothing either.
 */
ItemResult
remove_child(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			 const pg_uuid_t *author, LockWaitPolicy wait)
{
	Child		child;
	PostGate	gate;
	ItemResult outcome;

	child_init(&child, type, post_id, other);
	gate_init(&gate, post_id);
	for (;;)
	{
		outcome = gate_visit(&gate, wait);
		if (outcome == ITEM_OK)
			outcome = delete_child(&child, author, LockWaitSkip, &gate);
		gate_leave(&gate);
		if (outcome != ITEM_LOCKED || wait != LockWaitBlock)
			return outcome;
		CHECK_FOR_INTERRUPTS();
		item_await_free(type, post_id, child.key, 2);
	}
}

/* The same for an item of nobody's, also if it hangs on nothing. */
ItemResult
purge_child(ItemType type, const pg_uuid_t *post_id, const pg_uuid_t *other,
			const pg_uuid_t *author, LockWaitPolicy wait)
{
	ItemResult outcome = remove_child(type, post_id, other, author, wait);

	return outcome == ITEM_NOT_FOUND ?
		remove_item(type, post_id, other, author, wait) : outcome;
}

/*
 * A snapshot that shows all there is. A transaction that keeps its first one
 * does not see what has been added since, but must not leave it behind.
 */
static Snapshot
present_snapshot(void)
{
	return IsolationUsesXactSnapshot() ? GetLatestSnapshot() :
		GetTransactionSnapshot();
}

/* Errors: 40001 if the transaction deletes what it does not see. */
static void
check_shown(ItemScan *scan)
{
	if (IsolationUsesXactSnapshot() &&
		!item_scan_shown(scan, GetTransactionSnapshot()))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent insert"),
				 errhint("Retry the transaction.")));
}

/*
 * Delete a post's items of one type, at most limit of them (0: all). Returns
 * how many; *busy is set if others were left because somebody has them locked.
 */
static int64
remove_children(ItemType type, const pg_uuid_t *post_id, LockWaitPolicy wait,
				int64 limit, bool *busy)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	item;
	int64		removed = 0;

	PushActiveSnapshot(present_snapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	item_writer_identity(writer);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = type == ITEM_DELTA ? PATH_KEY : PATH_LIST, .key = &key,
		.nkeys = 1, .identity = true
	});
	while ((limit == 0 || removed < limit) && item_scan_next(scan, &item))
	{
		ItemResult outcome;

		if (type != ITEM_DELTA)
			check_shown(scan);
		outcome = item_writer_lock_found(writer, scan, LockTupleExclusive, wait,
										 &item);
		if (outcome == ITEM_OK)
		{
			item_writer_delete(writer);
			removed++;
		}
		*busy |= outcome == ITEM_LOCKED;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return removed;
}

/*
 * Delete a post whose gate is shut, with what hangs on it; the gate is open then.
 * ITEM_LOCKED: somebody else has it locked, if only weakly.
 */
static ItemResult
remove_shut_post(PostGate *gate, LockWaitPolicy wait)
{
	const pg_uuid_t *post_id = &gate->post_id;
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	BlogItem	post;
	ItemResult outcome;
	bool		busy = false;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, post_id);
	item_writer_identity(writer);
	outcome = item_writer_lock(writer, &key, 1, LockTupleExclusive, wait,
							   &post);
	if (outcome == ITEM_OK)
		item_writer_delete(writer);
	item_writer_close(writer);
	PopActiveSnapshot();
	gate_leave(gate);
	if (outcome != ITEM_OK)
		return outcome;
	/* nobody can have passed the gate, with the post locked; but be sure */
	gate_settle(gate);
	(void) remove_children(ITEM_COMMENT, post_id, LockWaitBlock, 0, &busy);
	(void) remove_children(ITEM_LIKE, post_id, LockWaitBlock, 0, &busy);
	if (delta_possible(post_id))
		(void) remove_children(ITEM_DELTA, post_id, LockWaitBlock, 0, &busy);
	return ITEM_OK;
}

/*
 * Is the post that this transaction has just locked by an author? Nobody else
 * can have made it anew since.
 */
static bool
locked_post_is_by(const pg_uuid_t *post_id, const pg_uuid_t *author)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	post;
	ItemScan   *scan;
	bool		is;

	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST,
		.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
		.no_predicate_locks = true, .identity = true
	});
	is = item_scan_next(scan, &post) && is_by(&post, author);
	item_scan_end(scan);
	PopActiveSnapshot();
	return is;
}

/*
 * Shut a post's gate with the post locked, as gate_shut(), if it is by an author
 * (NULL: anybody); else ITEM_NOT_FOUND, and the gate is open.
 */
static ItemResult
shut_post(PostGate *gate, const pg_uuid_t *author, LockTupleMode mode,
		  LockWaitPolicy wait)
{
	ItemResult outcome = gate_shut(gate, mode, wait);

	if (outcome != ITEM_OK || author == NULL ||
		locked_post_is_by(&gate->post_id, author))
		return outcome;
	gate_leave(gate);
	return ITEM_NOT_FOUND;
}

/*
 * Delete a post with its comments and likes, if it is by an author; else
 * ITEM_NOT_FOUND. Of what is locked, only the post itself is left alone if wait says
 * so, and if somebody is counting on it: who has it locked has the rest.
 */
ItemResult
remove_post(const pg_uuid_t *post_id, const pg_uuid_t *author,
			LockWaitPolicy wait)
{
	PostGate	gate;
	ItemResult outcome;

	gate_init(&gate, post_id);
	outcome = shut_post(&gate, author, LockTupleExclusive, wait);
	return outcome == ITEM_OK ? remove_shut_post(&gate, wait) : outcome;
}

/*
 * Delete a post of a deleted user's, as far as limit items go (0: all): first
 * what hangs on it, counted off, then the post. Adds to *removed how many
 * comments and likes went, and sets *more if the limit was reached before the
 * end.
 */
ItemResult
purge_post(const pg_uuid_t *post_id, const pg_uuid_t *author,
		   LockWaitPolicy wait, int64 limit, int64 *removed, bool *more)
{
	PostGate	gate;
	ItemResult outcome;
	int64		comments;
	int64		likes = 0;
	bool		busy = false;

	gate_init(&gate, post_id);
	outcome = shut_post(&gate, author, LockTupleNoKeyExclusive, wait);
	if (outcome != ITEM_OK)
		return outcome;
	comments = remove_children(ITEM_COMMENT, post_id, wait, limit, &busy);
	if (limit == 0 || comments < limit)
		likes = remove_children(ITEM_LIKE, post_id, wait,
								limit == 0 ? 0 : limit - comments, &busy);
	if (comments + likes > 0)
		(void) post_count(&gate, -comments, -likes, LockWaitBlock);

	*removed += comments + likes;
	*more = limit != 0 && comments + likes >= limit;
	outcome = *more || busy ? ITEM_LOCKED : remove_shut_post(&gate, wait);
	gate_leave(&gate);
	return outcome;
}
