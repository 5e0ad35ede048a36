/*
 * key_lock.c
 *		Locks all items of a type that belong to one partition key, for example
 *		a post by its id.
 *
 * The server has no lock for such a set of items. So blogstore locks a block
 * number of the items' table. The number is a hash of the partition key, in a
 * range that no table grows to, so no such block exists. There are two kinds
 * of lock on this block number:
 *
 * - A heavyweight lock on a tuple in this block makes other processes wait.
 *   pg_locks shows it as a tuple lock.
 * - A predicate lock on the block lets SERIALIZABLE transactions detect
 *   conflicts. A predicate lock on a real page would also cover items of other
 *   keys.
 *
 * If two keys have the same block number, transactions wait for each other
 * without need. There is no other harm.
 *
 * The heavyweight lock is released at the end of the transaction, or at a
 * rollback to a savepoint that was set before the lock was taken.
 *
 * Heavyweight locks are taken in backends and in the worker. The other
 * functions run in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/rows.h"

#include "access/subtrans.h"
#include "access/transam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/off.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Return the block number that stands for a partition key in locks, for
 * example for a post. If "item" is the id of an item with this key, for
 * example of a comment, return the block number that stands for this item.
 *
 * item: NULL, or equal to the partition key, if there is no such item
 */
static BlockNumber
key_page(const pg_uuid_t *partition_key, const pg_uuid_t *item)
{
	uint32		hash = hash_bytes(partition_key->data, UUID_LEN);

	if (item == NULL || memcmp(item, partition_key, UUID_LEN) == 0)
		return UINT32_C(0x80000000) | (hash & UINT32_C(0x3fffffff));
	hash = hash_combine(hash, hash_bytes(item->data, UUID_LEN));
	return UINT32_C(0xc0000000) | (hash & UINT32_C(0x1fffffff));
}

/*
 * Set up a lock for a partition key, for example for a post. If "item" is the
 * id of an item with this key, for example of a comment, the lock is for this
 * item. Does not lock anything yet. Errors: 55000 if the key's partition has
 * no usable table for the type.
 *
 * item: NULL, or equal to the partition key, if there is no such item
 */
void
key_lock_init(KeyLock *lock, Container container, ItemType type,
			  const pg_uuid_t *partition_key, const pg_uuid_t *item)
{
	lock->table = leaf_of_key(container, type, partition_key);
	lock->number = key_page(partition_key, item);
}

static LOCKMODE
key_lock_tag(LOCKTAG *tag, const KeyLock *lock, KeyLockMode mode)
{
	SET_LOCKTAG_TUPLE(*tag, MyDatabaseId, lock->table, lock->number,
					  FirstOffsetNumber);
	switch (mode)
	{
		case KEY_LOCK_SHARED:
			return RowExclusiveLock;
		case KEY_LOCK_SHARED_FIRST:
			return ShareUpdateExclusiveLock;
		case KEY_LOCK_EXCLUSIVE:
			break;
	}
	return ShareLock;
}

/*
 * Take the heavyweight lock that a KeyLock describes, until the transaction
 * ends.
 *
 * wait: LockWaitBlock to wait, or LockWaitSkip to return false if another
 *     transaction holds the lock in a conflicting mode
 *
 * Errors: 40P01 (deadlock), 55P03 (lock_timeout).
 */
bool
key_lock(const KeyLock *lock, KeyLockMode mode, LockWaitPolicy wait)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	return LockAcquire(&tag, lockmode, false, wait != LockWaitBlock) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Release the heavyweight lock that a KeyLock describes, before the
 * transaction ends. If key_lock() was called several times with this mode,
 * key_unlock() must be called as many times.
 */
void
key_unlock(const KeyLock *lock, KeyLockMode mode)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	(void) LockRelease(&tag, lockmode, false);
}

/*
 * Take a predicate lock on all items of a partition key. If "item" is the id
 * of one of these items, for example of a comment, take it only on those that
 * belong to this item. In a SERIALIZABLE transaction, this records that the
 * result of a scan depends on the locked items. Does nothing if "snapshot" is
 * not an MVCC snapshot.
 *
 * item: NULL, or equal to the partition key, if there is no such item
 */
void
key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
				   const pg_uuid_t *item, Snapshot snapshot)
{
	Relation	leaf = item_scan_relation(scan);

	if (leaf != NULL)
		PredicateLockPage(leaf, key_page(partition_key, item), snapshot);
}

/*
 * Report a conflict with each concurrent transaction that has called
 * key_predicate_lock() with the same partition key and item. Called when a
 * SERIALIZABLE transaction writes an item. Errors: 40001.
 */
void
key_predicate_check(ItemWriter *writer, const pg_uuid_t *partition_key,
					const pg_uuid_t *item)
{
	CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
								   key_page(partition_key, item));
}

/*
 * Called if the current item of a scan is not visible to a snapshot of the
 * current transaction. Reports a conflict between this transaction and the
 * transaction that has inserted the item, if they are SERIALIZABLE and
 * concurrent.
 *
 * snapshot: the snapshot that does not see the item. The scan itself reads
 *     with another snapshot.
 *
 * Works like HeapCheckForSerializableConflictOut(). Errors: 40001.
 */
void
item_scan_unseen(ItemScan *scan, Snapshot snapshot)
{
	TransactionId xid = tuple_writer(item_scan_slot(scan));

	if (!TransactionIdIsNormal(xid) || TransactionIdPrecedes(xid, TransactionXmin))
		return;
	xid = SubTransGetTopmostTransaction(xid);
	if (!TransactionIdPrecedes(xid, TransactionXmin))
		CheckForSerializableConflictOut(item_scan_relation(scan), xid, snapshot);
}
