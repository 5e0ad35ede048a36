/*
 * container.h
 *		The containers: the one interface that requests and views call.
 *
 * Nothing above this file knows about leaves, indexes or tuples, so that a
 * second implementation (over SQL, for a distributed engine) can stand beside
 * the one here. Two levels lie below it and are kept apart: a container is
 * split into partitions by the hash of its partition key (the engine's shards, were
 * there an engine), and each partition into leaves by item type (ours).
 *
 * Runs in backends, parallel workers (reads only) and the blogstore worker.
 */
#ifndef BLOGSTORE_CONTAINER_H
#define BLOGSTORE_CONTAINER_H

#include "layout/item.h"
#include "layout/layout.h"

#include "postgres.h"

#include "access/sdir.h"
#include "nodes/lockoptions.h"
#include "utils/snapshot.h"

/* A place in a list ordered by (creation_date, id): items before it follow. */
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

/* What came of looking for an item, locking it, or doing something with it. */
typedef enum ItemResult
{
	ITEM_NOT_FOUND,				/* there is none, or none any more */
	ITEM_OK,
	ITEM_LOCKED,				/* LockWaitSkip, and somebody else has it; or it
								 * lacks values, and this process leaves such items
								 * out instead of raising an error (left_out.c) */
	ITEM_NO_ROOM				/* item_writer_need_room(), and its page has none */
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
	Oid			place;
	uint32		number;
} KeyLock;

typedef enum KeyLockMode
{
	KEY_LOCK_SHARED,			/* beside others who have it shared */
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
	const Cursor *before;		/* where valid: items before it, in (creation_date,
								 * id), the path's next columns */
	const ItemPlace *after;		/* where valid: items behind it */
	bool		backward;
	bool		identity;		/* items may lack all values but those by which
								 * they are found */
	bool		no_predicate_locks; /* no serialization conflict arises from it */
	Snapshot	snapshot;		/* NULL: the active one */
} ItemQuery;

/* scan.c: point reads and lists */
extern bool item_get(const ItemQuery *query, BlogItem *out);
extern bool item_is_there(Container container, ItemType type,
						  const pg_uuid_t *id, bool *unknown);
extern ItemScan *item_scan_begin(const ItemQuery *query);
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
extern void item_scan_end(ItemScan *scan);

/* writer.c: locking, inserting, updating, deleting */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const pg_uuid_t *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
extern void item_writer_identity(ItemWriter *writer);
extern void item_writer_need_room(ItemWriter *writer);
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
extern ItemResult item_writer_delete_found(ItemWriter *writer, ItemScan *scan);
extern void item_writer_close(ItemWriter *writer);

/* holders.c: who has written or locked what a query finds, at this moment */
extern ItemLife item_look(const ItemQuery *query);
extern bool item_held_here(const ItemQuery *query);
extern void item_await_free(const ItemQuery *query);
extern bool item_written_here(const ItemQuery *query);
extern bool item_written_elsewhere(const ItemQuery *query);
extern bool item_inserted_elsewhere(const ItemQuery *query);
extern bool item_await_inserters(const ItemQuery *query);
extern bool item_scan_written_here(ItemScan *scan);

/* key_lock.c: locks named by a partition key */
extern bool item_place_exists(Container container, ItemType type,
							  int partition);
extern bool item_place_exists_for(Container container, ItemType type,
								  const pg_uuid_t *partition_key);
extern bool key_lock_init(KeyLock *lock, Container container, ItemType type,
						  const pg_uuid_t *partition_key);
extern bool key_lock(const KeyLock *lock, KeyLockMode mode,
					 LockWaitPolicy wait);
extern void key_unlock(const KeyLock *lock, KeyLockMode mode);
extern void key_predicate_lock(ItemScan *scan, const pg_uuid_t *partition_key,
							   Snapshot snapshot);
extern void key_predicate_check(ItemWriter *writer,
								const pg_uuid_t *partition_key);
extern void item_scan_unseen(ItemScan *scan, Snapshot snapshot);

/* bulk_insert.c: inserting many */
extern BulkInsert *bulk_insert_begin(Container container, ItemType type);
extern void bulk_insert_item(BulkInsert *bulk, const BlogItem *item);
extern void bulk_insert_end(BulkInsert *bulk);

/* new_id.c */
extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_CONTAINER_H */
