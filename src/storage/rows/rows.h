/*
 * rows.h
 *		The interface for reading and writing items in the containers, used by
 *		requests and views.
 *
 * Callers name items of one type in one partition, and never a leaf, an index
 * or a tuple. Below this interface there are two levels: a container is split
 * into partitions by the hash of its partition key, and each partition is
 * split into leaves by item type.
 *
 * Runs in backends, in parallel workers (reads only) and in the blogstore
 * worker.
 */
#ifndef BLOGSTORE_ROWS_H
#define BLOGSTORE_ROWS_H

#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "postgres.h"

#include "access/sdir.h"
#include "nodes/lockoptions.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

/* A position in a list that is ordered by (creation_date, id). */
typedef struct Cursor
{
	bool		valid;
	TimestampTz date;
	pg_uuid_t	id;
} Cursor;

/*
 * The position of a walk through a leaf by an access path: the values of the
 * path's columns in the last item. These are one or two uuids, with at most
 * one date in between.
 */
typedef struct ItemPlace
{
	bool		valid;			/* false: at the start */
	pg_uuid_t	first;			/* the first column */
	TimestampTz date;
	pg_uuid_t	last;			/* the last column, if it is not the first */
} ItemPlace;

/* Return whether an item's author is author; NULL matches every author. */
static inline bool
item_is_by(const BlogItem *item, const pg_uuid_t *author)
{
	return author == NULL ||
		(!item->isnull[PROP_USER_ID] &&
		 memcmp(item_uuid(item, PROP_USER_ID), author, UUID_LEN) == 0);
}

/* The result of locking, updating or deleting an item. */
typedef enum ItemResult
{
	ITEM_NOT_FOUND,				/* absent, or changed or deleted since it was
								 * found */
	ITEM_OK,
	ITEM_LOCKED					/* another transaction holds it, and the call
								 * does not wait */
} ItemResult;

/* The state of an item's newest version at this moment. */
typedef enum ItemLife
{
	ITEM_UNSEEN,				/* absent, or updated at each attempt to look
								 * at it */
	ITEM_LIVE,
	ITEM_DELETING				/* being deleted by a transaction that has not
								 * ended */
} ItemLife;

/*
 * A heavyweight lock named by an item type and a partition key. The fields are
 * private to key_lock.c.
 */
typedef struct KeyLock
{
	Oid			table;
	uint32		number;
} KeyLock;

typedef enum KeyLockMode
{
	KEY_LOCK_SHARED,			/* does not conflict with itself */
	KEY_LOCK_SHARED_FIRST,		/* conflicts with itself, but not with
								 * KEY_LOCK_SHARED */
	KEY_LOCK_EXCLUSIVE			/* conflicts with both shared modes, but not
								 * with itself */
} KeyLockMode;

typedef struct ItemScan ItemScan;
typedef struct ItemWriter ItemWriter;
typedef struct BulkInsert BulkInsert;

/*
 * What to read: items of a type in one partition that match the first columns
 * of an access path. Pointers in it must stay valid until the scan ends.
 */
typedef struct ItemQuery
{
	Container	container;
	ItemType	type;
	const pg_uuid_t *partition_key; /* NULL: use partition */
	int			partition;		/* FEED_PARTITION of the feed */
	AccessPath	path;
	const Datum *key;			/* nkeys values for the first columns of the
								 * path */
	int			nkeys;
	const Cursor *cursor;		/* if valid: return only items beyond it in the
								 * direction of the scan; the path's next
								 * columns are (creation_date, id) */
	const ItemPlace *after;		/* if valid: return only items after it */
	bool		backward;
	bool		identity;		/* items may lack values, except those that
								 * identify them */
	bool		shown;			/* leave out hidden items */
	bool		no_predicate_locks; /* take no predicate locks
									 * (SERIALIZABLE) */
	int64		rows;			/* expected number of rows to read; -1: all; 0:
								 * unknown */
	int			parts;			/* number of scans that share these rows, if >
								 * 1 */
	Snapshot	snapshot;		/* NULL: the active snapshot */
} ItemQuery;

/* One of several items that are read together, as a copy. */
typedef struct ManyItem
{
	pg_uuid_t	key;			/* partition key, which is the last column of
								 * the item's key */
	int			partition;
	bool		found;
	BlogItem	item;			/* valid if found */
} ManyItem;

typedef struct ManyItems
{
	int			n;
	ManyItem   *item;			/* one entry for each distinct key, n in all */
	int		   *asked;			/* for each key that was asked for: its index
								 * in item */
	int			leaves;			/* number of leaves that were visited */
	int			partition;		/* partition, leaf and index of the last leaf
								 * visited */
	Oid			leaf;
	Oid			index;
} ManyItems;

/*
 * item_by_key.c, row_scan.c: point reads and lists. They wait for DDL on the
 * leaf, but for no other transaction. Errors: 55000 if the leaf cannot be
 * read; 22004 if an item lacks a value.
 */
/* read the one item of a query into the current memory context */
extern bool item_get(const ItemQuery *query, BlogItem *out);
/* return whether a user or post exists, by a new snapshot */
extern bool item_is_there(Container container, ItemType type,
						  const pg_uuid_t *id);

extern ItemScan *item_scan_begin(const ItemQuery *query);
/* restart a scan of the same leaf with another key */
extern void item_scan_again(ItemScan *scan, const Datum *key, int nkeys);
/* start a scan, or restart it if the key is in the same leaf */
extern void item_scan_look(ItemScan **scan, const ItemQuery *query);
/* get the next item, which is valid until the next call */
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
/* raise an error (22004) if an item lacks a required value */
extern void item_scan_require(const ItemScan *scan, const BlogItem *item);
/*
 * read_ahead.c: prefetch the page of a scan's first row; the number of scans
 * that may do so at a time
 */
extern void item_scan_ask(ItemScan *scan);
extern int	item_scan_ask_limit(const ItemScan *scan);
/* the current item: whether a snapshot shows it, and its position */
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
/* the leaf and the index of a scan, for EXPLAIN */
extern void item_scan_tables(const ItemScan *scan, Oid *leaf, Oid *index);
extern void item_scan_end(ItemScan *scan);

/*
 * items_by_keys.c: read the items of n partition keys, visiting each leaf
 * once. The query gives everything else, including the columns of the item's
 * key that precede the partition key.
 */
extern ManyItems *many_items_read(const ItemQuery *query, const pg_uuid_t *key,
								  int n);
/*
 * for each item that was found, call take with a scan of another query for its
 * key
 */
typedef void (*ManyTake) (ManyItem *item, ItemScan *scan, void *arg);
extern void many_items_scan(ManyItems *many, const ItemQuery *query,
							ManyTake take, void *arg);

/*
 * row_writer.c: locking, inserting, updating, deleting. A writer works on one
 * leaf, which stays locked (RowExclusiveLock) to the end of the transaction.
 * Errors: 55000 if the leaf cannot be written, and those that the owner's
 * constraints and triggers raise.
 */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const pg_uuid_t *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
/* return whether the writer's leaf holds a key; or is read by a scan */
extern bool item_writer_takes(const ItemWriter *writer, const pg_uuid_t *key);
extern bool item_writer_has_scan(const ItemWriter *writer, ItemScan *scan);
/* allow locked items to lack values, except those that identify them */
extern void item_writer_identity(ItemWriter *writer);
/*
 * Insert an item; return false if its key is taken. Waits for transactions
 * that are inserting or deleting an item with this key. Errors: 40001 if the
 * transaction's snapshot shows an item with this key that was deleted since.
 */
extern bool item_writer_insert(ItemWriter *writer, const BlogItem *item);
/*
 * Insert an item as item_writer_insert() does, but call stands(arg) before the
 * insertion is final. Other transactions can already find the item then. If
 * stands() returns false, the item is withdrawn, and the result is false.
 * stands() must not wait.
 */
extern bool item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
								  bool (*stands) (void *arg), void *arg);
/*
 * Lock an item, by its key or as found by a scan of this leaf. update and
 * delete then work on this item. out is valid until the writer is closed.
 * LockWaitBlock: wait for transactions that have the item locked. Errors:
 * 40001 under REPEATABLE READ and SERIALIZABLE if the item has changed since
 * the snapshot.
 */
extern ItemResult item_writer_lock(ItemWriter *writer, const Datum *key,
								   int nkeys, LockTupleMode mode,
								   LockWaitPolicy wait, BlogItem *out);
extern ItemResult item_writer_lock_found(ItemWriter *writer, ItemScan *scan,
										  LockTupleMode mode,
										  LockWaitPolicy wait, BlogItem *out);
/*
 * rewrite the locked item; columns that are not properties keep their values
 */
extern void item_writer_update(ItemWriter *writer, const BlogItem *item);
extern void item_writer_delete(ItemWriter *writer);
/* close the writer, which fires AFTER triggers */
extern void item_writer_close(ItemWriter *writer);

/*
 * write_found_row.c: update or delete an item as found by a scan of the
 * writer's leaf, without a row lock; see ItemResult. An update may wait, for a
 * transaction that locks the row between the check and the update.
 */
/* start a scan by the first columns of the key that identifies items */
extern ItemScan *item_writer_scan(ItemWriter *writer, const Datum *key,
								  int nkeys);
extern ItemResult item_writer_update_found(ItemWriter *writer, ItemScan *scan,
										   const BlogItem *item);
extern ItemResult item_writer_delete_found(ItemWriter *writer, ItemScan *scan);

/*
 * row_holders.c: the transactions that have written or locked what a query
 * finds, at this moment. The query's snapshot is ignored, and no row is
 * locked, so the answer stays true only while another lock protects it.
 * Functions named item_await_ wait for other transactions and can end in a
 * deadlock (40P01). The others do not wait.
 */
/* return the state of an item, and whether it is hidden */
extern ItemLife item_look(const ItemQuery *query, bool *hidden);
/* return whether this transaction has written or locked an item */
extern bool item_held_here(const ItemQuery *query);
/* wait for up to 16 others that have written or locked an item */
extern void item_await_free(const ItemQuery *query);
/* the same for the scan's current item; false if there were none */
extern bool item_scan_await_free(ItemScan *scan);
/* return whether this transaction has written an item */
extern bool item_written_here(const ItemQuery *query);
/* return whether another, unfinished transaction is writing an item */
extern bool item_written_elsewhere(const ItemQuery *query);
/*
 * return whether another, unfinished transaction has inserted an item or a new
 * version of one
 */
extern bool item_inserted_elsewhere(const ItemQuery *query);
/* wait for such transactions; false if there were none */
extern bool item_await_inserters(const ItemQuery *query);

/* key_lock.c: locks named by a partition key */
extern void key_lock_init(KeyLock *lock, Container container, ItemType type,
						  const pg_uuid_t *partition_key);
/*
 * lock to the end of the transaction; false if LockWaitSkip and not available
 */
extern bool key_lock(const KeyLock *lock, KeyLockMode mode,
					 LockWaitPolicy wait);
/* release one acquisition of the lock */
extern void key_unlock(const KeyLock *lock, KeyLockMode mode);
/*
 * For SERIALIZABLE transactions; no effect in others. The first records that a
 * scan depends on all items of a key. The others report that an item of a key
 * was written, and that the scan's current item was not seen; they raise 40001
 * on a conflict.
 */
extern void key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
							   Snapshot snapshot);
extern void key_predicate_check(ItemWriter *writer,
								const pg_uuid_t *partition_key);
extern void item_scan_unseen(ItemScan *scan, Snapshot snapshot);

/*
 * bulk_insert.c: inserting many items of one type. An error may concern an
 * item passed earlier: 23505, and those that the owner's constraints and
 * triggers raise.
 */
extern BulkInsert *bulk_insert_begin(Container container, ItemType type);
extern void bulk_insert_item(BulkInsert *bulk, const BlogItem *item);
extern void bulk_insert_end(BulkInsert *bulk);

/* new_id.c: make a new id of version 7 (RFC 9562) */
extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_ROWS_H */
