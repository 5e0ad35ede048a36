/*
 * rows.h
 *		The interface by which requests and views read and write items in the
 *		containers.
 *
 * A caller names items by container, type and partition, or by a partition key
 * (a user id or post id), but never a table, an index or a tuple. A container
 * is split into partitions by the hash of its partition key, and each
 * partition is split by item type into tables, the leaves.
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
 * The position of a walk through the items of one type in one partition, which
 * can be stored between two transactions. It has the values that the last item
 * has in the columns of an access path: one or two uuids, with at most one
 * date in between.
 */
typedef struct ItemPlace
{
	bool		valid;			/* false at the start of the walk */
	pg_uuid_t	first;			/* value of the path's first column */
	TimestampTz date;
	pg_uuid_t	last;			/* value of the last column, if it is
								 * another */
} ItemPlace;

/*
 * Return whether an author has written an item. author NULL: return true for
 * every item.
 */
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
	/*
	 * there is no such item, or it was changed or deleted after a scan found
	 * it
	 */
	ITEM_NOT_FOUND,
	ITEM_OK,
	/*
	 * another transaction has locked or is changing the item, and the caller
	 * did not want to wait
	 */
	ITEM_LOCKED
} ItemResult;

/* Whether an item exists at this moment, whatever the snapshot shows. */
typedef enum ItemLife
{
	/* there is no such item, or concurrent updates hid it at each attempt */
	ITEM_UNSEEN,
	ITEM_LIVE,
	ITEM_DELETING				/* a running transaction is deleting it */
} ItemLife;

/*
 * A heavyweight lock of the server on all items of a type that belong to one
 * partition key, for example on a post by its id. The fields are private to
 * key_lock.c.
 */
typedef struct KeyLock
{
	Oid			table;
	uint32		number;
} KeyLock;

typedef enum KeyLockMode
{
	KEY_LOCK_SHARED,			/* conflicts with KEY_LOCK_EXCLUSIVE */
	/* conflicts with itself and with KEY_LOCK_EXCLUSIVE */
	KEY_LOCK_SHARED_FIRST,
	KEY_LOCK_EXCLUSIVE			/* conflicts with the other two */
} KeyLockMode;

typedef struct ItemScan ItemScan;
typedef struct ItemWriter ItemWriter;
typedef struct BulkInsert BulkInsert;

/*
 * What a scan reads: items of a type in one partition whose first columns of
 * an access path have given values. Pointers in it must stay valid until the
 * scan ends.
 */
typedef struct ItemQuery
{
	Container	container;
	ItemType	type;
	/*
	 * The key whose partition is read. NULL: the field partition says which
	 * one.
	 */
	const pg_uuid_t *partition_key;
	int			partition;		/* FEED_PARTITION for the feed */
	AccessPath	path;
	const Datum *key;			/* values for the path's first columns */
	int			nkeys;
	/*
	 * If valid, only items that come after this position in the direction of
	 * the scan are returned. (creation_date, id) must be the path's columns
	 * after key.
	 */
	const Cursor *cursor;
	/* If valid, only items that come after this position are returned. */
	const ItemPlace *after;
	bool		backward;
	/*
	 * true if items may lack required values, except those that identify them.
	 * Otherwise such an item is an error.
	 */
	bool		identity;
	bool		shown;			/* leave out hidden items */
	/*
	 * true if a SERIALIZABLE transaction must take no predicate locks for this
	 * scan.
	 */
	bool		no_predicate_locks;
	/*
	 * How many rows the caller expects to read, for prefetching; -1: all; 0:
	 * the caller does not know.
	 */
	int64		rows;
	/*
	 * If > 1: the number of scans that together are expected to return these
	 * rows.
	 */
	int			parts;
	Snapshot	snapshot;		/* NULL for the active snapshot */
} ItemQuery;

/* An item that many_items_read() was asked for; if found, a copy of it. */
typedef struct ManyItem
{
	/* the partition key; it is the last column of the item's own key */
	pg_uuid_t	key;
	int			partition;
	bool		found;
	BlogItem	item;			/* valid only if found is true */
} ManyItem;

typedef struct ManyItems
{
	int			n;
	ManyItem   *item;			/* one element for each distinct key */
	/*
	 * for each key that the caller passed, in the caller's order and with
	 * repetitions: the index of the array element with its result
	 */
	int		   *asked;
	int			leaves;			/* how many tables were read, for EXPLAIN */
	/* the partition, table and index that were read last, for EXPLAIN */
	int			partition;
	Oid			leaf;
	Oid			index;
} ManyItems;

/*
 * item_by_key.c, row_scan.c: reading items by key and as lists. Reads wait for
 * DDL on the table, but for no other transaction. Errors: 55000 if the table
 * cannot be read; 22004 if an item lacks a required value.
 */
/*
 * copy the one item of a query to the current memory context; false if there
 * is none
 */
extern bool item_get(const ItemQuery *query, BlogItem *out);
/* return whether a user or post exists, as a new snapshot shows it */
extern bool item_is_there(Container container, ItemType type,
						  const pg_uuid_t *id);

extern ItemScan *item_scan_begin(const ItemQuery *query);
/* restart a scan with another key, whose items are in the same table */
extern void item_scan_again(ItemScan *scan, const Datum *key, int nkeys);
/*
 * restart a scan if the query's key is in its table; otherwise end it, and
 * begin another one
 */
extern void item_scan_look(ItemScan **scan, const ItemQuery *query);
/* get the next item, which is valid until the next call; false at the end */
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
/* raise an error (22004) if an item lacks a required value */
extern void item_scan_require(const ItemScan *scan, const BlogItem *item);
/*
 * read_ahead.c: prefetch the heap page of a scan's first row. A caller may do
 * so for item_scan_ask_limit() scans at a time.
 */
extern void item_scan_ask(ItemScan *scan);
extern int	item_scan_ask_limit(const ItemScan *scan);
/*
 * return whether a snapshot shows the scan's current item; get this item's
 * position
 */
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
/* get the table and the index that a scan reads, for EXPLAIN */
extern void item_scan_tables(const ItemScan *scan, Oid *leaf, Oid *index);
extern void item_scan_end(ItemScan *scan);

/*
 * items_by_keys.c: read the items of n partition keys, and open each table
 * only once. query has all but the partition key, which is the last column of
 * an item's own key.
 */
extern ManyItems *many_items_read(const ItemQuery *query, const pg_uuid_t *key,
								  int n);
/*
 * For each item that many_items_read() has found, call take with a scan. The
 * scan reads what another query finds by the same key.
 */
typedef void (*ManyTake) (ManyItem *item, ItemScan *scan, void *arg);
extern void many_items_scan(ManyItems *many, const ItemQuery *query,
							ManyTake take, void *arg);

/*
 * row_writer.c: locking, inserting, updating and deleting items. A writer
 * works on the items of one type in one partition. Their table stays locked in
 * RowExclusiveLock mode until the transaction ends. Errors: 55000 if the table
 * cannot be written; and those of the owner's constraints and triggers.
 */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const pg_uuid_t *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
/*
 * return whether the writer's table holds the items of a key; or is the one
 * that a scan reads
 */
extern bool item_writer_takes(const ItemWriter *writer, const pg_uuid_t *key);
extern bool item_writer_has_scan(const ItemWriter *writer, ItemScan *scan);
/*
 * allow items that are locked to lack values, except those that identify an
 * item
 */
extern void item_writer_identity(ItemWriter *writer);
/*
 * Insert an item; return false if its key is taken. Waits for transactions
 * that are inserting or deleting an item with this key. Errors: 40001 if the
 * transaction's snapshot shows an item with this key that was deleted since.
 */
extern bool item_writer_insert(ItemWriter *writer, const BlogItem *item);
/*
 * Insert an item as item_writer_insert() does, but call stands(arg) before the
 * insertion is final. At this moment other transactions can already find the
 * item. If stands() returns false, the insertion is undone, and the result is
 * false. stands() must not wait.
 */
extern bool item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
								  bool (*stands) (void *arg), void *arg);
/*
 * Lock an item, by its key, or as a scan of the writer's table has found it.
 * item_writer_update() and item_writer_delete() then change this item. out is
 * valid until the writer is closed. LockWaitBlock: wait for transactions that
 * have the item locked. Errors: 40001 under REPEATABLE READ and SERIALIZABLE
 * if the item has changed since the snapshot.
 */
extern ItemResult item_writer_lock(ItemWriter *writer, const Datum *key,
								   int nkeys, LockTupleMode mode,
								   LockWaitPolicy wait, BlogItem *out);
extern ItemResult item_writer_lock_found(ItemWriter *writer, ItemScan *scan,
										  LockTupleMode mode,
										  LockWaitPolicy wait, BlogItem *out);
/*
 * rewrite the locked item; columns that the owner has added keep their values
 */
extern void item_writer_update(ItemWriter *writer, const BlogItem *item);
extern void item_writer_delete(ItemWriter *writer);
/* close the writer, which fires AFTER triggers */
extern void item_writer_close(ItemWriter *writer);

/*
 * write_found_row.c: updating or deleting an item as a scan of the writer's
 * table has found it, without a row lock, and without waiting for transactions
 * that have already locked or changed it; see ItemResult. An update still
 * waits for a transaction that locks the row between the check and the update.
 */
/*
 * begin a scan of the writer's table, by the first columns of the key that
 * identifies items
 */
extern ItemScan *item_writer_scan(ItemWriter *writer, const Datum *key,
								  int nkeys);
extern ItemResult item_writer_update_found(ItemWriter *writer, ItemScan *scan,
										   const BlogItem *item);
extern ItemResult item_writer_delete_found(ItemWriter *writer, ItemScan *scan);

/*
 * row_holders.c: which transactions have written or locked the items that a
 * query finds, at this moment. The query's snapshot is ignored. No row is
 * locked, so the answer stays true only if the caller holds another lock that
 * excludes changes. Functions named item_await_ wait for other transactions,
 * and can end in a deadlock (40P01). The others do not wait.
 */
/* return whether an item exists, and whether it is hidden */
extern ItemLife item_look(const ItemQuery *query, bool *hidden);
/* return whether this transaction has written or locked an item */
extern bool item_held_here(const ItemQuery *query);
/*
 * wait for other transactions that have written or locked an item, up to 16 of
 * them
 */
extern void item_await_free(const ItemQuery *query);
/*
 * wait for other transactions that have written or locked the current item of
 * a scan; return false if there were none
 */
extern bool item_scan_await_free(ItemScan *scan);
/* return whether this transaction has written an item */
extern bool item_written_here(const ItemQuery *query);
/*
 * return whether a running transaction, other than this one, is writing an
 * item
 */
extern bool item_written_elsewhere(const ItemQuery *query);
/*
 * return whether a running transaction, other than this one, has inserted an
 * item or a new version of one
 */
extern bool item_inserted_elsewhere(const ItemQuery *query);
/*
 * wait for running transactions that have inserted an item or a new version of
 * one; return false if there were none
 */
extern bool item_await_inserters(const ItemQuery *query);

/* key_lock.c: locks on all items of a type that belong to one partition key */
extern void key_lock_init(KeyLock *lock, Container container, ItemType type,
						  const pg_uuid_t *partition_key);
/*
 * take a lock until the transaction ends; return false if wait is LockWaitSkip
 * and the lock is not available
 */
extern bool key_lock(const KeyLock *lock, KeyLockMode mode,
					 LockWaitPolicy wait);
/* undo one key_lock() before the transaction ends */
extern void key_unlock(const KeyLock *lock, KeyLockMode mode);
/*
 * For SERIALIZABLE transactions; without effect in others.
 * key_predicate_lock() records that what a scan reads depends on all items of
 * a key. key_predicate_check() reports that this transaction has written an
 * item of a key, and item_scan_unseen() that it does not see a scan's current
 * item. Errors: 40001 on a conflict.
 */
extern void key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
							   Snapshot snapshot);
extern void key_predicate_check(ItemWriter *writer,
								const pg_uuid_t *partition_key);
extern void item_scan_unseen(ItemScan *scan, Snapshot snapshot);

/*
 * bulk_insert.c: inserting many items of one type. Rows are collected first,
 * so an error may concern an item that was passed earlier. Errors: 23505, and
 * those of the owner's constraints and triggers.
 */
extern BulkInsert *bulk_insert_begin(Container container, ItemType type);
extern void bulk_insert_item(BulkInsert *bulk, const BlogItem *item);
extern void bulk_insert_end(BulkInsert *bulk);

/* new_id.c: make a new id of version 7 (RFC 9562) */
extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_ROWS_H */
