/*
 * count_locks.c
 *		Finding the items on which a comment or like counts, locking them, and
 *		changing their counts.
 *
 *	child				| counts on
 *	--------------------+---------------------------------------------------
 *	comment				| its post
 *	reply				| its post, and the comment to which it replies
 *	like of a post		| the post
 *	like of a comment	| the comment
 *
 * A transaction that inserts, changes or deletes a child needs the post lock
 * in share mode, because a deletion of the post deletes the child, too. If the
 * child counts on a comment, the transaction also needs the lock of that
 * comment. count_locks_plan() lists these locks. Its arguments are the child
 * before and after the change.
 *
 * The transaction waits for none of these locks while it holds another.
 * count_locks_try() takes all of them or none. Waiting could be a deadlock:
 * for example, a transaction that deletes a comment holds the comment's lock
 * in exclusive mode, and needs the post lock.
 *
 * A reply may outlive the comment to which it replies, and then counts only on
 * its post. While another transaction is deleting that comment, or inserting a
 * comment with its id, it is not known on what the reply counts.
 * count_locks_try() then takes no lock, and the caller waits for that
 * transaction.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"

#include "miscadmin.h"

/*
 * Return the id of the comment on which a child counts; NULL if there is none.
 * A child in which the owner has written the id of the post instead counts on
 * no comment.
 */
static const pg_uuid_t *
counted_comment_of(ItemType type, const BlogItem *child)
{
	Property	prop = type == ITEM_COMMENT ? PROP_PARENT_ID : PROP_COMMENT_ID;

	if (type == ITEM_LIKE || child->isnull[prop] ||
		memcmp(item_uuid(child, prop), item_uuid(child, PROP_POST_ID),
			   UUID_LEN) == 0)
		return NULL;
	return item_uuid(child, prop);
}

static void
add_item(CountedOn *on, CountedItem item, ItemCounts counts)
{
	on->item[on->n] = item;
	on->counts[on->n++] = counts;
}

/*
 * Set *on to the items on which a comment or like counts, and what it adds to
 * their counts while it is not hidden.
 */
void
counted_on(CountedOn *on, ItemType type, const BlogItem *child)
{
	const ItemCounts nothing = {0, 0};
	const ItemCounts one = child_counts(type, 1);
	const pg_uuid_t *post_id = item_uuid(child, PROP_POST_ID);
	const pg_uuid_t *comment_id = counted_comment_of(type, child);

	on->n = 0;
	add_item(on, counted_post(post_id),
			 type == ITEM_COMMENT_LIKE ? nothing : one);
	if (comment_id != NULL)
		add_item(on, counted_comment(post_id, comment_id), one);
}

/* The items whose counts a change affects, and what it adds to each count. */
typedef struct CountChange
{
	int			n;
	CountedItem item[MAX_COUNT_LOCKS];
	ItemCounts	counts[MAX_COUNT_LOCKS];
} CountChange;

static int
find_item(const CountChange *change, const CountedItem *item)
{
	int			i = 0;

	while (i < change->n &&
		   memcmp(&change->item[i], item, sizeof(CountedItem)) != 0)
		i++;
	return i;
}

/*
 * Add to *change the items on which a child counts, and n times the amounts
 * that the child adds to their counts. A hidden child adds nothing.
 *
 * child: if NULL, *change stays as it is
 */
static void
add_state(CountChange *change, ItemType type, const BlogItem *child, int64 n)
{
	CountedOn	on;

	if (child == NULL)
		return;
	counted_on(&on, type, child);
	for (int i = 0; i < on.n; i++)
	{
		int			at = find_item(change, &on.item[i]);

		if (at == change->n)
		{
			Assert(change->n < MAX_COUNT_LOCKS);
			change->item[at] = on.item[i];
			change->counts[at] = (ItemCounts) {0, 0};
			change->n++;
		}
		if (!item_hidden(child))
			add_counts(&change->counts[at], on.counts[i], n);
	}
}

static void
change_between(CountChange *change, ItemType type, const BlogItem *before,
			   const BlogItem *after)
{
	change->n = 0;
	add_state(change, type, before, -1);
	add_state(change, type, after, 1);
}

/*
 * Initialize the locks that a change of a comment or like needs, without
 * taking them.
 *
 * before, after: the comment or like before and after the change, on the same
 *		post. "before" is NULL for an insert, "after" for a deletion.
 */
void
count_locks_plan(CountLocks *locks, ItemType type, const BlogItem *before,
				 const BlogItem *after)
{
	CountChange change;
	bool		any = false;

	change_between(&change, type, before, after);
	for (int i = 0; i < change.n; i++)
		any |= !no_counts(change.counts[i]);
	locks->n = change.n;
	for (int i = 0; i < change.n; i++)
	{
		post_lock_init(&locks->lock[i], &change.item[i]);
		/* if no count changes, the post gets a delta of zeros */
		locks->lock[i].aside = any && no_counts(change.counts[i]);
		locks->counts[i] = change.counts[i];
	}
}

/*
 * Initialize the lock of a post for a caller that keeps the post from being
 * deleted, but changes no counts.
 */
void
count_locks_plan_post(CountLocks *locks, const pg_uuid_t *post_id)
{
	const CountedItem post = counted_post(post_id);

	locks->n = 1;
	post_lock_init(&locks->lock[0], &post);
	locks->lock[0].aside = true;
	locks->counts[0] = (ItemCounts) {0, 0};
}

/*
 * Take all locks in share mode, without waiting, and find out which of the
 * items exist. After the result LOCKS_TAKEN, no other transaction can delete
 * the items that exist before count_locks_release(). A comment that does not
 * exist is locked, too. A transaction that inserts it waits for the lock
 * (comment_recount.c).
 */
LocksResult
count_locks_try(CountLocks *locks)
{
	LocksResult result = LOCKS_TAKEN;

	for (int i = 0; i < locks->n && result == LOCKS_TAKEN; i++)
	{
		CountLock  *lock = &locks->lock[i];

		if (post_try_lock_shared(lock) && post_make_safe(lock))
			continue;
		/*
		 * The lock keeps other transactions from beginning to delete the item.
		 * So the item does not exist, unless a transaction is deleting or
		 * inserting it now.
		 */
		if (!lock->locked || post_is_busy(lock))
			result = LOCKS_BUSY;
		else if (counted_type(&lock->item) == ITEM_POST)
			result = LOCKS_GONE;
	}
	if (result != LOCKS_TAKEN)
		count_locks_release(locks);
	return result;
}

/* Return whether all items exist. The caller has locked them. */
bool
count_locks_all_exist(const CountLocks *locks)
{
	for (int i = 0; i < locks->n; i++)
		if (!locks->lock[i].safe)
			return false;
	return true;
}

void
count_locks_release(CountLocks *locks)
{
	for (int i = locks->n - 1; i >= 0; i--)
		post_unlock(&locks->lock[i]);
}

/*
 * Wait until no other transaction holds one of the locks in exclusive mode, or
 * is deleting or inserting one of the items. The caller holds none of the
 * locks. The function locks no row. A row lock would make a deletion of the
 * post wait for this transaction, which may have to wait for that deletion.
 */
void
count_locks_await(const CountLocks *locks)
{
	for (int i = 0; i < locks->n; i++)
		post_await(&locks->lock[i]);
}

/*
 * Compute locks->counts again, now that the caller has locked the row of the
 * comment or like. Returns false if the change needs a lock that is not in
 * "locks".
 */
bool
count_locks_replan(CountLocks *locks, ItemType type, const BlogItem *before,
				   const BlogItem *after)
{
	CountChange change;
	int			known = 0;

	change_between(&change, type, before, after);
	for (int i = 0; i < locks->n; i++)
	{
		int			at = find_item(&change, &locks->lock[i].item);

		locks->counts[i] = (ItemCounts) {0, 0};
		if (at < change.n)
		{
			locks->counts[i] = change.counts[at];
			known++;
		}
	}
	return known == change.n;
}

/*
 * Add locks->counts to the counts of the items that exist. The caller has
 * taken the locks. If nothing is added to any item, the post still gets a
 * delta, which keeps other transactions from deleting it before this one ends.
 * Errors: 40001 under SERIALIZABLE if a concurrent transaction has read the
 * counts.
 */
void
count_locks_count(const CountLocks *locks)
{
	bool		counted = false;

	for (int i = 0; i < locks->n; i++)
		if (locks->lock[i].safe && !no_counts(locks->counts[i]))
		{
			post_count(&locks->lock[i], locks->counts[i]);
			counted = true;
		}
	if (!counted)
		post_count(&locks->lock[0], (ItemCounts) {0, 0});
}

/*
 * Add to the counts of a post or comment, if it exists, for children that the
 * caller writes in another way than with child_insert(). Waits for a
 * transaction that is deleting or inserting the post or comment. Returns
 * whether it exists. If it does, no other transaction can delete it before
 * this one ends.
 */
bool
counts_add_written(const CountedItem *item, ItemCounts counts)
{
	CountLocks	locks = {.n = 1};
	LocksResult result;
	bool		exists;

	post_lock_init(&locks.lock[0], item);
	while ((result = count_locks_try(&locks)) == LOCKS_BUSY)
	{
		CHECK_FOR_INTERRUPTS();
		count_locks_await(&locks);
	}
	exists = result == LOCKS_TAKEN && count_locks_all_exist(&locks);
	if (exists)
		post_count(&locks.lock[0], counts);
	count_locks_release(&locks);
	return exists;
}
