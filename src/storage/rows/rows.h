/*
 * rows.h
 *		The functions by which all other code reads and writes items in the
 *		containers.
 *
 * A caller names items by container, type and partition key (a user id, post
 * id or topic), or by the number of the partition. Callers do not know tables,
 * indexes and tuples.
 *
 * Runs in backends, in the worker and in parallel workers, which only read.
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

/* A place in a list that is ordered by (creation_date, id). */
typedef struct Cursor
{
	bool		valid;
	TimestampTz date;
	pg_uuid_t	id;
} Cursor;

/*
 * The place of an item in an index: the item's values in the key columns of
 * the index. These are one or two uuids, and possibly a date or a further uuid
 * between them. A transaction can store the place of the last item that it has
 * read. A later transaction can continue after this place.
 */
typedef struct ItemPlace
{
	bool		valid;			/* false: the place before the first item */
	pg_uuid_t	first;
	TimestampTz date;
	pg_uuid_t	middle;			/* the value of a uuid column between the first
								 * and the last */
	/* the value of the last key column, if the index has several */
	pg_uuid_t	last;
} ItemPlace;

/*
 * Return whether an item was written by the user "author". If author is NULL,
 * return true.
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
	 * The item does not exist, or was changed or deleted after the caller's
	 * scan had found it.
	 */
	ITEM_NOT_FOUND,
	ITEM_OK,					/* the item was locked, updated or deleted */
	/*
	 * Another transaction is changing the item or has a row lock on the item.
	 * The caller has asked not to wait.
	 */
	ITEM_LOCKED
} ItemResult;

/*
 * Whether an item exists, according to its newest version. The snapshot of the
 * transaction is not used.
 */
typedef enum ItemLife
{
	/*
	 * The item does not exist, or another running transaction has inserted it.
	 */
	ITEM_UNSEEN,
	ITEM_LIVE,					/* the newest version is not deleted */
	ITEM_DELETING				/* the newest version is deleted, perhaps by a
								 * transaction that is still running */
} ItemLife;

/*
 * A lock on all items of a type that belong to one partition key, for example
 * to a post. Or a lock on the items that belong to one comment of a post. Only
 * key_lock.c uses the fields of the struct.
 */
typedef struct KeyLock
{
	Oid			table;
	uint32		number;
} KeyLock;

typedef enum KeyLockMode
{
	KEY_LOCK_SHARED,			/* conflicts with KEY_LOCK_EXCLUSIVE */
	KEY_LOCK_SHARED_FIRST,		/* conflicts with itself and
								 * KEY_LOCK_EXCLUSIVE */
	KEY_LOCK_EXCLUSIVE			/* conflicts with both shared modes, but not
								 * with itself */
} KeyLockMode;

typedef struct ItemScan ItemScan;
typedef struct ItemWriter ItemWriter;
typedef struct BulkInsert BulkInsert;

/*
 * A query for the items of one type in one partition that have given values in
 * the first key columns of an index. The data that the struct points to must
 * stay valid until the scan ends.
 */
typedef struct ItemQuery
{
	Container	container;
	ItemType	type;
	/*
	 * A key of the partition to read: a pg_uuid_t, in topics a text. NULL if
	 * "partition" gives the partition's number instead.
	 */
	const void *partition_key;
	int			partition;		/* for the feed: FEED_PARTITION */
	AccessPath	path;
	const Datum *key;			/* values of the first key columns */
	int			nkeys;
	/*
	 * If not NULL and valid, the scan returns only items that come after this
	 * (creation_date, id) in the direction of the scan. In the index, these
	 * two columns must follow the key columns that are given in "key".
	 */
	const Cursor *cursor;
	/*
	 * If not NULL and valid, the scan returns only items that come after this
	 * place in the index.
	 */
	const ItemPlace *after;
	/*
	 * For topics. If not NULL, the scan returns only topics that are not less
	 * than this one; if beyond_topic is true, only greater ones.
	 */
	const text *from_topic;
	bool		beyond_topic;
	bool		backward;
	/*
	 * If false, NULL in a required field of an item is an error (22004). If
	 * true, only the fields that identify the item are required.
	 */
	bool		identity;
	bool		shown;			/* true to skip hidden items */
	/* true: the scan takes no predicate locks in a SERIALIZABLE transaction */
	bool		no_predicate_locks;
	/*
	 * Number of rows that the caller expects to read: -1 for all rows, 0 if
	 * the number is not known. If 0, no heap page is prefetched, except the
	 * first one if the caller calls item_scan_ask().
	 */
	int64		rows;
	/*
	 * Number of scans that are merged into one list. If several, "rows" is the
	 * number of rows expected from all scans together.
	 */
	int			parts;
	Snapshot	snapshot;		/* if NULL, the active snapshot is used */
} ItemQuery;

/* The result of many_items_read() for one key. */
typedef struct ManyItem
{
	/* the partition key, as passed to many_items_read() */
	pg_uuid_t	key;
	int			partition;
	bool		found;
	BlogItem	item;
} ManyItem;

typedef struct ManyItems
{
	int			n;
	ManyItem   *item;			/* n elements, one for each distinct key */
	/* The caller's key key[i] has its result in item[asked[i]]. */
	int		   *asked;
	/* for EXPLAIN: number of tables that were read */
	int			leaves;
	/* For EXPLAIN: the partition, table and index that were read last. */
	int			partition;
	Oid			leaf;
	Oid			index;
} ManyItems;

/*
 * item_by_key.c, row_scan.c: reading items by key and as lists. Reading waits
 * for DDL on the table, but for no other transaction. Errors: 55000 if the
 * table cannot be read; 22004 if a required field of an item is NULL.
 */
extern bool item_get(const ItemQuery *query, BlogItem *out);
extern bool item_is_there(Container container, ItemType type,
						  const pg_uuid_t *id);

extern ItemScan *item_scan_begin(const ItemQuery *query);
extern void item_scan_again(ItemScan *scan, const Datum *key, int nkeys);
extern void item_scan_look(ItemScan **scan, const ItemQuery *query);
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
extern void item_scan_require(const ItemScan *scan, const BlogItem *item);
/*
 * read_ahead.c: prefetching the heap pages of the first rows of several scans.
 * A caller may prefetch for item_scan_ask_limit() scans before it reads from
 * them.
 */
extern void item_scan_ask(ItemScan *scan);
extern int	item_scan_ask_limit(const ItemScan *scan);
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
extern void item_scan_tables(const ItemScan *scan, Oid *leaf, Oid *index);
extern void item_scan_end(ItemScan *scan);

extern ManyItems *many_items_read(const ItemQuery *query, const pg_uuid_t *key,
								  int n);
/*
 * A function that many_items_scan() calls for each item that many_items_read()
 * has found.
 *
 * scan: returns the items that match the query of many_items_scan() and have
 *     the partition key of "item"
 */
typedef void (*ManyTake) (ManyItem *item, ItemScan *scan, void *arg);
extern void many_items_scan(ManyItems *many, const ItemQuery *query,
							int columns, ManyTake take, void *arg);

/*
 * row_writer.c: locking, updating and deleting items. row_insert.c: inserting
 * items. A writer writes items of one type in one partition. The table of
 * these items is locked in RowExclusiveLock mode until the transaction ends.
 * Errors: 55000 if the table cannot be written; and those of the owner's
 * constraints and triggers.
 */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const void *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
extern bool item_writer_takes(const ItemWriter *writer, const void *key);
extern bool item_writer_has_scan(const ItemWriter *writer, ItemScan *scan);
extern void item_writer_identity(ItemWriter *writer);
extern bool item_writer_insert(ItemWriter *writer, const BlogItem *item);
extern bool item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
								  bool (*stands) (void *arg), void *arg);
extern ItemResult item_writer_lock(ItemWriter *writer, const Datum *key,
								   int nkeys, LockTupleMode mode,
								   LockWaitPolicy wait, BlogItem *out);
extern ItemResult item_writer_lock_found(ItemWriter *writer, ItemScan *scan,
										  LockTupleMode mode,
										  LockWaitPolicy wait, BlogItem *out);
extern void item_writer_update(ItemWriter *writer, const BlogItem *item);
extern void item_writer_delete(ItemWriter *writer);
extern void item_writer_close(ItemWriter *writer);

/*
 * write_found_row.c: updating or deleting an item that a scan of the writer's
 * table has found, without a row lock. If another transaction has locked or
 * changed the item, the functions do not wait, but return ITEM_LOCKED or
 * ITEM_NOT_FOUND.
 */
extern ItemScan *item_writer_scan(ItemWriter *writer, const Datum *key,
								  int nkeys);
extern ItemResult item_writer_update_found(ItemWriter *writer, ItemScan *scan,
										   const BlogItem *item);
extern ItemResult item_writer_delete_found(ItemWriter *writer, ItemScan *scan);

/*
 * row_holders.c: which transactions have written or locked an item at this
 * moment. The snapshot of "query" is ignored. No row lock is taken, so a
 * result may be out of date at once. A result is reliable only if the caller
 * holds a lock that excludes changes. The functions named *_await_* wait for
 * other transactions, and can raise a deadlock error (40P01).
 */
extern ItemLife item_look(const ItemQuery *query, bool *hidden);
extern bool item_held_here(const ItemQuery *query);
extern void item_await_free(const ItemQuery *query);
extern bool item_scan_await_free(ItemScan *scan);
extern bool item_written_here(const ItemQuery *query);
extern bool item_written_elsewhere(const ItemQuery *query);
extern bool item_inserted_elsewhere(const ItemQuery *query);
extern bool item_await_inserters(const ItemQuery *query);
extern void item_await_outcome(const ItemQuery *query);

extern void key_lock_init(KeyLock *lock, Container container, ItemType type,
						  const pg_uuid_t *partition_key,
						  const pg_uuid_t *item);
extern bool key_lock(const KeyLock *lock, KeyLockMode mode,
					 LockWaitPolicy wait);
extern void key_unlock(const KeyLock *lock, KeyLockMode mode);
/*
 * Functions by which SERIALIZABLE transactions detect conflicts with each
 * other (40001). They have no effect in other transactions.
 */
extern void key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
							   const pg_uuid_t *item, Snapshot snapshot);
extern void key_predicate_check(ItemWriter *writer,
								const pg_uuid_t *partition_key,
								const pg_uuid_t *item);
extern void item_scan_unseen(ItemScan *scan, Snapshot snapshot);

/*
 * bulk_insert.c: inserting many items of one type. Rows are collected and
 * written later, so an error may concern an item of an earlier call. Errors:
 * 23505, and those of the owner's constraints and triggers.
 */
extern BulkInsert *bulk_insert_begin(Container container, ItemType type);
extern void bulk_insert_item(BulkInsert *bulk, const BlogItem *item);
extern void bulk_insert_end(BulkInsert *bulk);

extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_ROWS_H */
