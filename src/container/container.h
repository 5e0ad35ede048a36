/*
 * container.h
 *		The containers: the one interface that requests and views call.
 *
 * Nothing above this file knows about leaves, indexes or tuples, so that a
 * second implementation (over SQL, for a distributed engine) can stand beside
 * the one here. Two levels lie below it and are kept apart: a container is
 * split by the hash of its partition key (the engine's shards, were there an
 * engine), and each part is split by item type (ours).
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

/* What came of locking an item that a scan has found. */
typedef enum LockOutcome
{
	LOCK_GONE,					/* it was deleted meanwhile */
	LOCK_HAD,
	LOCK_BUSY					/* LockWaitSkip, and somebody else has it */
} LockOutcome;

typedef struct ItemScan ItemScan;
typedef struct ItemWriter ItemWriter;
typedef struct ItemBatch ItemBatch;

/* read.c: point reads, lists, merged lists */
extern bool item_get(Container container, ItemType type,
					 const pg_uuid_t *partition_key, AccessPath path,
					 const Datum *key, int nkeys, Snapshot snapshot,
					 BlogItem *out);
extern ItemScan *item_scan_begin(Container container, ItemType type,
								 const pg_uuid_t *partition_key,
								 AccessPath path, const Datum *key, int nkeys,
								 const Cursor *before, ScanDirection direction,
								 Snapshot snapshot);
extern ItemScan *item_scan_begin_partition(Container container, ItemType type,
										   int partition, AccessPath path,
										   const Datum *key, int nkeys,
										   const Cursor *before,
										   ScanDirection direction,
										   Snapshot snapshot);
extern ItemScan *item_scan_begin_after(Container container, ItemType type,
									   int partition, AccessPath path,
									   const pg_uuid_t *key,
									   const ItemPlace *after,
									   Snapshot snapshot);
extern ItemScan *item_scan_begin_unwatched(Container container, ItemType type,
										   const pg_uuid_t *partition_key,
										   AccessPath path, const Datum *key,
										   int nkeys, Snapshot snapshot);
extern bool item_scan_shown(ItemScan *scan, Snapshot snapshot);
extern void item_scan_place(const ItemScan *scan, ItemPlace *place);
extern void item_scan_identity(ItemScan *scan, Container container);
extern bool item_scan_next(ItemScan *scan, BlogItem *out);
extern void item_scan_end(ItemScan *scan);
/* write.c: locking, inserting, updating, deleting */
extern ItemWriter *item_writer_open(Container container, ItemType type,
									const pg_uuid_t *partition_key);
extern ItemWriter *item_writer_open_partition(Container container,
											  ItemType type, int partition);
extern void item_writer_identity(ItemWriter *writer);
extern bool item_writer_insert(ItemWriter *writer, const BlogItem *item);
extern bool item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
								  bool (*stands) (void *arg), void *arg);
extern bool item_writer_lock(ItemWriter *writer, AccessPath path,
							 const Datum *key, int nkeys,
							 LockTupleMode mode, BlogItem *out);
extern LockOutcome item_writer_try_lock(ItemWriter *writer, AccessPath path,
										const Datum *key, int nkeys,
										LockTupleMode mode,
										LockWaitPolicy wait, BlogItem *out);
extern LockOutcome item_writer_try_lock_hot(ItemWriter *writer,
											AccessPath path, const Datum *key,
											int nkeys, LockTupleMode mode,
											BlogItem *out);
extern LockOutcome item_writer_lock_found(ItemWriter *writer, ItemScan *scan,
										  LockTupleMode mode,
										  LockWaitPolicy wait, BlogItem *out);
extern void item_writer_update(ItemWriter *writer, const BlogItem *item);
extern void item_writer_delete(ItemWriter *writer);
extern LockOutcome item_writer_delete_found(ItemWriter *writer, ItemScan *scan);
extern void item_writer_close(ItemWriter *writer);

/* batch.c: inserting many */
extern ItemBatch *item_batch_begin(Container container, ItemType type);
extern void item_batch_insert(ItemBatch *batch, const BlogItem *item);
extern void item_batch_end(ItemBatch *batch);

/* new_id.c */
extern void new_id(pg_uuid_t *id);

#endif							/* BLOGSTORE_CONTAINER_H */
