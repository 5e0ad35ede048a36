/*
 * key_lock.c
 *		Locks that an item type and a partition key name.
 *
 * A logical partition has no object of its own in the server that could be
 * locked. A number that its key hashes to stands for it, as that of a page of the
 * leaf in which its items lie: no page has such a number, and few other logical
 * partitions. A heavyweight lock on a tuple of that page (pg_locks shows it so)
 * keeps processes apart. A predicate lock on the page tells serializable
 * transactions of each other, where one on a page that exists would bring in
 * all that lies beside. Two keys with one number are in each other's way, and
 * nothing worse.
 *
 * The heavyweight lock has the modes of a table's writers, and of those who want
 * it not to be written to: many can hold either mode, but not one beside the
 * other. It ends with its transaction, or with the savepoint in which it was
 * taken.
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

/* The page that stands for a key: one that no leaf grows to. */
static BlockNumber
key_page(const pg_uuid_t *partition_key)
{
	return UINT32_C(0x80000000) |
		(hash_bytes(partition_key->data, UUID_LEN) & UINT32_C(0x3fffffff));
}

/*
 * Set up the lock that a key names for items of a type. Errors: 55000 if its partition has no
 * leaf for them, or that is not what it should be.
 */
void
key_lock_init(KeyLock *lock, Container container, ItemType type,
			  const pg_uuid_t *partition_key)
{
	lock->table = leaf_of_key(container, type, partition_key);
	lock->number = key_page(partition_key);
}

/* The server's lock, and the server's mode of it. */
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

/* Take a lock; false if others have it in a mode that conflicts, with LockWaitSkip. */
bool
key_lock(const KeyLock *lock, KeyLockMode mode, LockWaitPolicy wait)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	return LockAcquire(&tag, lockmode, false, wait != LockWaitBlock) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/* Release a lock before the transaction ends. */
void
key_unlock(const KeyLock *lock, KeyLockMode mode)
{
	LOCKTAG		tag;
	LOCKMODE	lockmode = key_lock_tag(&tag, lock, mode);

	(void) LockRelease(&tag, lockmode, false);
}

/*
 * What a scan reads in a serializable transaction is of one key: leave the
 * predicate lock of that. The scan leaves others only for an MVCC snapshot.
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
 * An item of a key was written that those who have read by key_predicate_lock()
 * have not seen. Errors: 40001.
 */
void
key_predicate_check(ItemWriter *writer, const pg_uuid_t *partition_key)
{
	CheckForSerializableConflictIn(item_writer_relation(writer), NULL,
								   key_page(partition_key));
}

/*
 * A serializable transaction does not see the scan's present item: if its writer
 * is one, too, and at the same time, that is a conflict
 * (HeapCheckForSerializableConflictOut() says when). Errors: 40001.
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
