/*
 * rows.h
 *		The containers: the one interface that requests and views call.
 *
 * What is above this file names items of one type in one partition, and never the
 * leaf that they lie in, an index or a tuple. So a second implementation, over SQL
 * for a distributed engine, can stand beside the one here. Two levels lie below it
 * and are kept apart: a container is split into partitions by the hash of its
 * partition key, and each partition into
 * leaves by item type (ours).
 *
 * Runs in backends, parallel workers (reads only) and the blogstore worker.
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

/* A place in a list ordered by (creation_date, id). */
typedef struct Cursor
{
	bool		valid;
	TimestampTz date;
	pg_uuid_t	id;
} Cursor;

/*
 * How far a walk through a leaf by an access path has come: the path's columns
 * of the last item, which are one or two uuids, and maybe a date between.
 */
typedef struct ItemPlace
{
	bool		valid;			/* false: at the start */
	pg_uuid_t	first;			/* the first column */
	TimestampTz date;
	pg_uuid_t	last;			/* the last column, if it is not the first */
} ItemPlace;

/* Is an item an author's (NULL: anybody's)? */
static inline bool
item_is_by(const BlogItem *item, const pg_uuid_t *author)
{
	return author == NULL ||
		(!item->isnull[PROP_USER_ID] &&
		 memcmp(item_uuid(item, PROP_USER_ID), author, UUID_LEN) == 0);
}

/* What came of locking an item, or of deleting it. */
typedef enum ItemResult
{
	ITEM_NOT_FOUND,				/* there is none, or none any more */
	ITEM_OK,
	ITEM_LOCKED					/* LockWaitSkip, and another transaction has it */
} ItemResult;

/* What becomes of an item's newest version, as of this moment. */
typedef enum ItemLife
{
	ITEM_UNSEEN,				/* there is none, or it moves too fast */
	ITEM_LIVE,
	ITEM_DELETING				/* by a transaction that has not ended */
} ItemLife;

/*
 * A lock that an item type and a partition key name, and nothing else in the
 * server takes. What is in it is key_lock.c's.
 */
typedef struct KeyLock
{
	Oid			table;
	uint32		number;
} KeyLock;

typedef enum KeyLockMode
{
	KEY_LOCK_SHARED,			/* beside others who have it shared */
	KEY_LOCK_SHARED_FIRST,		/* beside others who have it shared, but nobody
								 * else in this mode */
	KEY_LOCK_EXCLUSIVE			/* beside others who have it exclusively, but
								 * nobody who has it shared */
} KeyLockMode;

typedef struct ItemScan ItemScan;
typedef struct ItemWriter ItemWriter;
typedef struct BulkInsert BulkInsert;

/*
 * What to read: items of a type in one partition, by the first columns of an access
 * path. What it points to must outlive the scan.
 */
typedef struct ItemQuery
{
	Container	container;
	ItemType	type;
	const pg_uuid_t *partition_key; /* NULL: partition says which */
	int			partition;		/* FEED_PARTITION of the feed */
	AccessPath	path;
	const Datum *key;			/* nkeys values for the path's first columns */
	int			nkeys;
	const Cursor *cursor;		/* where valid: items beyond it, to where the scan
								 * goes, in (creation_date, id), the path's next
								 * columns */
	const ItemPlace *after;		/* where valid: items behind it */
	bool		backward;
	bool		identity;		/* items may lack all values but those by which
								 * they are found */
	bool		shown;			/* without items that are hidden */
	bool		no_predicate_locks; /* no serialization conflict arises from it */
	int64		rows;			/* as many may well be read; -1: all, 0: not known */
	int			parts;			/* of so many scans together, if there are others */
	Snapshot	snapshot;		/* NULL: the active one */
} ItemQuery;

/* One of the items that are read together, as a copy. */
typedef struct ManyItem
{
	pg_uuid_t	key;			/* its partition key; the last column of its key */
	int			partition;
	bool		found;
	BlogItem	item;			/* where it was found */
} ManyItem;

typedef struct ManyItems
{
	int			n;
	ManyItem   *item;			/* one for each different key, n in all */
	int		   *asked;			/* which of them each key is that was asked for */
	int			leaves;			/* how many were visited */
	int			partition;		/* of the last of them */
	Oid			leaf;			/* which it is, and its index */
	Oid			index;
} ManyItems;

/*
 * item_by_key.c, row_scan.c: point reads and lists. They wait for DDL that has the leaf
 * locked, and for nobody else. An item that lacks a value is an error (22004).
 */
/* the one item of a query, copied to the current context; false: none shows */
extern bool item_get(const ItemQuery *query, BlogItem *out);
/* is a user or post there? By a snapshot of its own */
extern bool item_is_there(Container container, ItemType type,
						  const pg_uuid_t *id);

extern ItemScan *item_scan_begin(const ItemQuery *query);
/* begin again in the same leaf, with another key */
extern void item_scan_again(ItemScan *scan, const Datum *key, int nkeys);
/* begin a scan that is kept, or begin it again where the key lies in the same leaf */
extern void item_scan_look(ItemScan **scan, const ItemQuery *query);
/* the next item, which holds until the next call; false: there is none */
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
/* an error (22004) if an item, read by identity, lacks a value that it must have */
extern void item_scan_require(const ItemScan *scan, const BlogItem *item);
/* read_ahead.c: have the page of the first row read; of how many scans at a time? */
extern void item_scan_ask(ItemScan *scan);
extern int	item_scan_ask_limit(const ItemScan *scan);
/* of the present item: does another snapshot show it? where is it? */
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
/* its leaf and index; EXPLAIN shows them */
extern void item_scan_tables(const ItemScan *scan, Oid *leaf, Oid *index);
extern void item_scan_end(ItemScan *scan);

/*
 * items_by_keys.c: those that show of the items of n partition keys, each leaf visited
 * once; query: all else, its key the columns that come before the partition's
 */
extern ManyItems *many_items_read(const ItemQuery *query, const pg_uuid_t *key,
								  int n);
/* for each item that was found, what another query finds by its key */
typedef void (*ManyTake) (ManyItem *item, ItemScan *scan, void *arg);
extern void many_items_scan(ManyItems *many, const ItemQuery *query,
							ManyTake take, void *arg);

/*
 * row_writer.c: locking, inserting, updating, deleting. A writer is of one leaf, which
 * stays locked against DDL to the end of the transaction. Errors of all that
 * write: what constraints and triggers of the owner's raise.
 */
/* the leaf is that of a key, or of a partition; 55000: it is not as it should be */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const pg_uuid_t *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
/* is it the leaf that holds a key; and the one that a scan reads? */
extern bool item_writer_takes(const ItemWriter *writer, const pg_uuid_t *key);
extern bool item_writer_has_scan(const ItemWriter *writer, ItemScan *scan);
/* from here on items may lack all values but those by which they are found */
extern void item_writer_identity(ItemWriter *writer);
/*
 * Insert; false, nothing written: the key is taken. Waits for transactions that are
 * about to take or free the key. Errors: 40001 if the snapshot that the transaction
 * keeps shows an item of this key that was deleted since.
 */
extern bool item_writer_insert(ItemWriter *writer, const BlogItem *item);
/*
 * The same; stands() is asked when others can find the item, which can still be
 * taken back. It must not wait; false takes the item back.
 */
extern bool item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
								  bool (*stands) (void *arg), void *arg);
/*
 * Lock an item, which update and delete then work on, by its key or as a scan of
 * this leaf has found it; out holds until the close. With LockWaitBlock waits for
 * who has it locked. Errors: 40001 under REPEATABLE READ and SERIALIZABLE if it
 * has changed since the snapshot.
 */
extern ItemResult item_writer_lock(ItemWriter *writer, const Datum *key,
								   int nkeys, LockTupleMode mode,
								   LockWaitPolicy wait, BlogItem *out);
extern ItemResult item_writer_lock_found(ItemWriter *writer, ItemScan *scan,
										  LockTupleMode mode,
										  LockWaitPolicy wait, BlogItem *out);
/* write the locked item anew; columns that are not properties stay */
extern void item_writer_update(ItemWriter *writer, const BlogItem *item);
extern void item_writer_delete(ItemWriter *writer);
/* AFTER triggers fire; snapshots taken from now on show what was written */
extern void item_writer_close(ItemWriter *writer);

/*
 * write_found_row.c: changing what a scan of the leaf that is written has found, without
 * a row lock: see ItemResult. Only the updates may wait, for who comes to the row between
 * their look and their change.
 */
/* begin a scan by the first columns of what tells items apart */
extern ItemScan *item_writer_scan(ItemWriter *writer, const Datum *key,
								  int nkeys);
extern ItemResult item_writer_update_found(ItemWriter *writer, ItemScan *scan,
										   const BlogItem *item);
extern ItemResult item_writer_delete_found(ItemWriter *writer, ItemScan *scan);

/*
 * row_holders.c: who has written or locked what a query finds, at this moment. The
 * query's snapshot does not count, and no row is locked: the answer holds only
 * as long as some other lock keeps it from changing. Those named item_await_ wait
 * for the ends of other transactions, and can end in a deadlock (40P01); no other
 * waits.
 */
/* is an item there, is somebody deleting it, and is it hidden? */
extern ItemLife item_look(const ItemQuery *query, bool *hidden);
/* has this transaction written or locked one of the items? */
extern bool item_held_here(const ItemQuery *query);
/* wait for the others who have written or locked one, up to 16 of them */
extern void item_await_free(const ItemQuery *query);
/* the same for the scan's present item; false: there were none */
extern bool item_scan_await_free(ItemScan *scan);
/* has this transaction written one, and not only locked it? */
extern bool item_written_here(const ItemQuery *query);
/* is another, which has not ended, inserting, updating or deleting one? */
extern bool item_written_elsewhere(const ItemQuery *query);
/* has another, which has not ended, inserted one, or a newer version of one? */
extern bool item_inserted_elsewhere(const ItemQuery *query);
/* wait for all such; false: there were none */
extern bool item_await_inserters(const ItemQuery *query);

/* key_lock.c: locks named by a partition key */
/* set up the lock of a key for items of a type */
extern void key_lock_init(KeyLock *lock, Container container, ItemType type,
						  const pg_uuid_t *partition_key);
/* lock to the end of the transaction; false, with LockWaitSkip: others have it */
extern bool key_lock(const KeyLock *lock, KeyLockMode mode,
					 LockWaitPolicy wait);
/* release it earlier, once for each time that it was taken */
extern void key_unlock(const KeyLock *lock, KeyLockMode mode);
/*
 * For SERIALIZABLE, and nothing elsewhere: what a scan reads depends on all items
 * of a key; an item of a key was written; the scan's present item, written
 * meanwhile, was not seen. The last two raise 40001 where transactions are in conflict.
 */
extern void key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
							   Snapshot snapshot);
extern void key_predicate_check(ItemWriter *writer,
								const pg_uuid_t *partition_key);
extern void item_scan_unseen(ItemScan *scan, Snapshot snapshot);

/*
 * bulk_insert.c: inserting many of one type. Errors come late, of earlier items,
 * too: 23505, and what constraints and triggers of the owner's raise.
 */
extern BulkInsert *bulk_insert_begin(Container container, ItemType type);
extern void bulk_insert_item(BulkInsert *bulk, const BlogItem *item);
extern void bulk_insert_end(BulkInsert *bulk);

/* new_id.c: a new id, of version 7 (RFC 9562) */
extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_ROWS_H */
