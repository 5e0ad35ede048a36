/*
 * key_lock.c
 *		Locks on all items of a type that belong to one partition key, for
 *		example on a post by its id.
 *
 * The items of a key are not an object of the server, which it could lock. So
 * a number that the key hashes to stands for them. This number is used as a
 * block number of the items' table, in a range that no table grows to. A
 * heavyweight lock on a tuple of that block excludes other processes; pg_locks
 * shows it so. A predicate lock on that block as a page lets serializable
 * transactions detect conflicts; a predicate lock on a real page would also
 * cover the items of other keys. Two keys with the same number block each
 * other, and nothing worse happens.
 *
 * For the modes of the heavyweight lock see KeyLockMode. The lock is released
 * at the end of the transaction, or at a rollback to a savepoint that was set
 * before the lock was taken.
 *
 * Runs in any process. Backends and the worker take heavyweight locks.
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
 * Return the block number that stands for a key. It is in a range that no
 * table grows to.
 */
static BlockNumber
key_page(const pg_uuid_t *partition_key)
{
	return UINT32_C(0x80000000) |
		(hash_bytes(partition_key->data, UUID_LEN) & UINT32_C(0x3fffffff));
}

/*
 * Set up the lock on the items of a type that belong to a key, without taking
 * it. Errors: 55000 if the key's partition has no table for the type, or the
 * table cannot be used.
 */
void
key_lock_init(KeyLock *lock, Container container, ItemType type,
			  const pg_uuid_t *partition_key)
{
	lock->table = leaf_of_key(container, type, partition_key);
	lock->number = key_page(partition_key);
}

/*
 * Set tag to the lock of the server that stands for a key lock, and return the
 * server's mode for it.
 */
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
 * Take a lock on the items of a key, until the transaction ends. wait:
 * LockWaitBlock, or LockWaitSkip to return false if another transaction holds
 * the lock in a conflicting mode. Errors: 40P01 (deadlock), 55P03
 * (lock_timeout).
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
 * Release a lock on the items of a key before the transaction ends. If the
 * transaction has taken it several times, it stays locked until each is
 * released.
 */
void
key_unlock(const KeyLock *lock, KeyLockMode mode)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	(void) LockRelease(&tag, lockmode, false);
}

/*
 * Record, in a serializable transaction, that what a scan reads depends on all
 * items of a key, by a predicate lock. Has no effect if the snapshot is not an
 * MVCC snapshot.
 */
void
key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
				   Snapshot snapshot)
{
	Relation	leaf = item_scan_relation(scan);

	if (leaf != NULL)
		PredicateLockPage(leaf, key_page(partition_key), snapshot);
}

/*
 * Report, in a serializable transaction, that it has written an item of a key.
 * This conflicts with transactions that have called key_predicate_lock() for
 * this key. Errors: 40001.
 */
void
key_predicate_check(ItemWriter *writer, const pg_uuid_t *partition_key)
{
	CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
								   key_page(partition_key));
}

/*
 * Report, in a serializable transaction, that its snapshot does not show the
 * scan's current item. If the transaction that inserted the item is a
 * concurrent serializable one, this is a conflict (see
 * HeapCheckForSerializableConflictOut()). Errors: 40001.
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
