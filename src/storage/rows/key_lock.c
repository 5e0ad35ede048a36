/*
 * key_lock.c
 *		Locks that are named by an item type and a partition key.
 *
 * The items of a partition key are not an object in the server that could be
 * locked. A number that the key hashes to stands for them. It is used as a
 * block number of the leaf, in a range that no leaf grows to. A heavyweight
 * lock on a tuple of that block (pg_locks shows it so) excludes other
 * processes. A predicate lock on that page lets serializable transactions
 * detect conflicts; a predicate lock on a real page would also cover the items
 * of other keys. If two keys have the same number, they block each other, and
 * nothing worse.
 *
 * For the modes of the heavyweight lock see KeyLockMode. It is released at the
 * end of the transaction, or with the savepoint in which it was taken.
 *
 * Runs in any process; takes heavyweight locks in backends and in the worker.
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
 * Return the block number that stands for a key, in a range that no leaf grows
 * to.
 */
static BlockNumber
key_page(const pg_uuid_t *partition_key)
{
	return UINT32_C(0x80000000) |
		(hash_bytes(partition_key->data, UUID_LEN) & UINT32_C(0x3fffffff));
}

/*
 * Set up the lock of a key for items of a type, without taking it. Errors:
 * 55000 if the key's partition has no leaf for the type, or it cannot be used.
 */
void
key_lock_init(KeyLock *lock, Container container, ItemType type,
			  const pg_uuid_t *partition_key)
{
	lock->table = leaf_of_key(container, type, partition_key);
	lock->number = key_page(partition_key);
}

/* Set tag to the server's lock, and return the server's lock mode. */
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
 * Take a lock, which lasts to the end of the transaction. wait: LockWaitSkip
 * makes the function return false if another transaction holds it in a
 * conflicting mode. Errors: 40P01, 55P03.
 */
bool
key_lock(const KeyLock *lock, KeyLockMode mode, LockWaitPolicy wait)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	return LockAcquire(&tag, lockmode, false, wait != LockWaitBlock) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/* Release one acquisition of a lock before the transaction ends. */
void
key_unlock(const KeyLock *lock, KeyLockMode mode)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	(void) LockRelease(&tag, lockmode, false);
}

/*
 * Take the predicate lock of a key for what a scan reads in a serializable
 * transaction. Has no effect if the snapshot is not an MVCC snapshot.
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
 * Report that an item of a key was written, which transactions that called
 * key_predicate_lock() have not seen. Errors: 40001 on a conflict.
 */
void
key_predicate_check(ItemWriter *writer, const pg_uuid_t *partition_key)
{
	CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
								   key_page(partition_key));
}

/*
 * Report that a serializable transaction does not see the scan's current item.
 * If the item's inserter is a concurrent serializable transaction, this is a
 * conflict (see HeapCheckForSerializableConflictOut()). Errors: 40001.
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
