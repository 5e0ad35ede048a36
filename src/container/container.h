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

#include "postgres.h"

#include "access/sdir.h"
#include "access/tupdesc.h"
#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/lockoptions.h"
#include "storage/block.h"
#include "storage/lock.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#define BLOGSTORE_SCHEMA "blogstore"

typedef enum Container
{
	CONTAINER_USERS,
	CONTAINER_POSTS,
	CONTAINER_FEED
} Container;

#define N_CONTAINERS (CONTAINER_FEED + 1)

typedef enum ItemType
{
	ITEM_USER,
	ITEM_POST,
	ITEM_COMMENT,
	ITEM_LIKE,
	ITEM_DELTA					/* of a post's counts; container/delta.c */
} ItemType;

#define N_ITEM_TYPES (ITEM_DELTA + 1)

/* Properties of items, in the order of the containers' columns. */
typedef enum Property
{
	PROP_ID,
	PROP_TYPE,
	PROP_POST_ID,
	PROP_USER_ID,
	PROP_USERNAME,
	PROP_USER_USERNAME,
	PROP_TITLE,
	PROP_CONTENT,
	PROP_COMMENT_COUNT,
	PROP_LIKE_COUNT,
	PROP_CREATION_DATE
} Property;

#define N_PROPERTIES (PROP_CREATION_DATE + 1)

/*
 * An item in memory. Values passed by reference point to where the item was
 * read and hold until the scan moves on or the writer closes; item_copy()
 * makes them the caller's.
 */
typedef struct BlogItem
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
} BlogItem;

/*
 * Ways into a leaf, each served by an index (by its columns, not its name):
 *
 *		PATH_KEY	the item's own key: user_id; post_id; (post_id, id) of a
 *					comment or delta; (user_id, post_id) of a like
 *		PATH_LIST	a logical partition's items by (creation_date, id)
 *		PATH_USER	a user's items in a leaf of posts
 *		PATH_DATE	all posts of a leaf by (creation_date, id)
 */
typedef enum AccessPath
{
	PATH_KEY,
	PATH_LIST,
	PATH_USER,
	PATH_DATE
} AccessPath;

#define N_PATHS (PATH_DATE + 1)

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
typedef struct ItemMerge ItemMerge;
typedef struct ItemWriter ItemWriter;
typedef struct ItemBatch ItemBatch;

/* invalidate.c: definitions of tables that change */
typedef void (*InvalidationListener) (Oid relid);
typedef void (*CatalogListener) (void);

extern void invalidation_listen(InvalidationListener listener);
extern void invalidation_listen_catalog(int cache, CatalogListener listener);

/* leaf.c: what containers there are */
extern void leaf_init(void);
extern bool container_exists(void);
extern bool container_any_exists(void);
extern bool container_usable(Container container);
extern void container_require(void);
extern Oid	container_owner(void);
extern Oid	container_relation(Container container);
extern void container_lock(Container container, bool write);
extern void container_lock_all(bool write);
extern void container_require_columns(Container container);
extern const char *container_table(Container container);
extern Oid	container_lookup(Container container);
extern const char *container_root_problem(Container container, Oid root);
extern int	container_partitions(Container container);
extern int	container_find_partition(Container container, const pg_uuid_t *key);
extern bool container_whole(Container container);
extern void container_require_whole(Container container);
extern uint64 container_loads(void);
extern uint64 container_changes(void);
extern void container_keep_layouts(bool keep);

extern Oid	item_leaf(Container container, ItemType type, int partition);
extern Oid	item_leaf_of(Container container, ItemType type,
						 const pg_uuid_t *key);
extern int64 item_estimate(Container container, ItemType type);

/* left_out.c: what cannot be read */
extern void item_leave_out(void (*tell) (const char *message));
extern void item_left_out(const char *message);
extern uint64 items_left_out(void);
extern bool left_out_any(void);
extern bool left_out_mended(bool *busy);

/* item.c: items in memory */
extern const char *item_type_name(ItemType type);
extern const Property *item_properties(ItemType type, int *n);
extern Oid	property_type(Property prop);
extern void item_init(BlogItem *item, ItemType type);
extern void item_set(BlogItem *item, Property prop, Datum value);
extern void item_copy(BlogItem *dst, const BlogItem *src);
extern bool item_same(const BlogItem *a, const BlogItem *b, Property prop);
extern void item_shorten(BlogItem *item, int characters);

static inline const pg_uuid_t *
item_uuid(const BlogItem *item, Property prop)
{
	return DatumGetUUIDP(item->value[prop]);
}

static inline int64
item_count(const BlogItem *item, Property prop)
{
	return DatumGetInt64(item->value[prop]);
}

/* Add to both counts of a post or a delta. */
static inline void
item_add_counts(BlogItem *item, int64 comments, int64 likes)
{
	item_set(item, PROP_COMMENT_COUNT,
			 Int64GetDatum(item_count(item, PROP_COMMENT_COUNT) + comments));
	item_set(item, PROP_LIKE_COUNT,
			 Int64GetDatum(item_count(item, PROP_LIKE_COUNT) + likes));
}

static inline TimestampTz
item_date(const BlogItem *item)
{
	return DatumGetTimestampTz(item->value[PROP_CREATION_DATE]);
}

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
extern ItemMerge *item_merge_begin(Container container, ItemType type,
								   AccessPath path, const Datum *key,
								   int nkeys, const Cursor *before,
								   Snapshot snapshot);
extern bool item_merge_next(ItemMerge *merge, BlogItem *out);
extern void item_merge_end(ItemMerge *merge);

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

/* gate.c: who counts on a post, and who deletes it */
typedef struct PostGate
{
	pg_uuid_t	post_id;
	LOCKTAG		tag;
	LOCKMODE	mode;			/* as held, or NoLock */
	bool		passed;			/* there is no need to hold it */
	bool		sure;			/* of the post, while it is held */
} PostGate;

extern void gate_init(PostGate *gate, const pg_uuid_t *post_id);
extern LockOutcome gate_enter(PostGate *gate, LockWaitPolicy wait);
extern LockOutcome gate_look(PostGate *gate, LockWaitPolicy wait);
extern LockOutcome gate_visit(PostGate *gate, LockWaitPolicy wait);
extern LockOutcome gate_shut(PostGate *gate, LockTupleMode mode,
							 LockWaitPolicy wait);
extern void gate_settle(PostGate *gate);
extern void gate_leave(PostGate *gate);

/* counter.c: a post's counts */
extern LockOutcome post_count(PostGate *gate, int64 comments, int64 likes,
							  LockWaitPolicy wait);
extern LockOutcome post_join(const pg_uuid_t *post_id);
extern LockOutcome post_fold(const pg_uuid_t *post_id, int64 limit, bool hot,
							 bool merge, int64 *taken, bool *left);
extern void post_fold_locked(BlogItem *post, int64 limit);
extern bool post_counter_repair(const pg_uuid_t *post_id);

/* delta.c: what is to be added to a post's counts */
static inline bool
delta_is_stripe(const pg_uuid_t *id)
{
	return id->data[6] >> 4 == 8;
}

extern bool delta_leaf_exists(int partition);
extern bool delta_possible(const pg_uuid_t *post_id);
extern void delta_add_up(BlogItem *post, Snapshot snapshot);
extern LockOutcome delta_stripe(const pg_uuid_t *post_id, int64 comments,
								int64 likes);
extern void delta_insert(const pg_uuid_t *post_id, int64 comments, int64 likes,
						 bool stripe);
extern int64 delta_take(const pg_uuid_t *post_id, int64 limit, int64 *comments,
						int64 *likes, bool *left);
extern ItemScan *delta_scan(const pg_uuid_t *post_id, Snapshot snapshot);
extern BlockNumber delta_page(const pg_uuid_t *post_id);

/* presence.c: is a post there? */
typedef enum PostLife
{
	POST_UNSEEN,				/* none, or it moves too fast */
	POST_THERE,
	POST_DELETING				/* by another transaction, so far */
} PostLife;

extern PostLife post_look(const pg_uuid_t *post_id);
extern bool post_is_held(const pg_uuid_t *post_id);
extern void item_await_free(ItemType type, const pg_uuid_t *post_id,
							const Datum *key, int nkeys);
extern void post_await_free(const pg_uuid_t *post_id);
extern LockOutcome post_hold(const pg_uuid_t *post_id, LockTupleMode mode,
							 LockWaitPolicy wait);
extern bool post_await(PostGate *gate);

/* removal.c: items with what hangs on them; author NULL: whoever's they are */
extern LockOutcome remove_item(ItemType type, const pg_uuid_t *post_id,
							   const pg_uuid_t *other, const pg_uuid_t *author,
							   LockWaitPolicy wait);
extern LockOutcome remove_child(ItemType type, const pg_uuid_t *post_id,
								const pg_uuid_t *other, const pg_uuid_t *author,
								LockWaitPolicy wait);
extern LockOutcome purge_child(ItemType type, const pg_uuid_t *post_id,
							   const pg_uuid_t *other, const pg_uuid_t *author,
							   LockWaitPolicy wait);
extern LockOutcome remove_post(const pg_uuid_t *post_id,
							   const pg_uuid_t *author, LockWaitPolicy wait);
extern LockOutcome purge_post(const pg_uuid_t *post_id,
							  const pg_uuid_t *author, LockWaitPolicy wait,
							  int64 limit, int64 *removed, bool *more);

/* walk.c: a user's name on the user's items, or the end of them, in steps */
typedef struct LeafWalk
{
	ItemPlace	place;			/* where the next step begins */
	int64		limit;			/* items to change in a step; 0: all */
	LockWaitPolicy wait;		/* LockWaitSkip: leave locked items alone */
	int64		changed;		/* items changed */
	bool		skipped;		/* were any left alone? */
} LeafWalk;

extern void leaf_walk_init(LeafWalk *walk, int64 limit, LockWaitPolicy wait);
extern bool relabel_items(const pg_uuid_t *user_id, Datum username,
						  ItemType type, int partition, LeafWalk *walk);
extern bool purge_items(const pg_uuid_t *user_id, ItemType type, int partition,
						LeafWalk *walk);
extern void relabel_user_items(const pg_uuid_t *user_id, Datum username);
extern void remove_user_copies(const pg_uuid_t *user_id);
extern void remove_user_items(const pg_uuid_t *user_id, int64 limit);

/* deleted.c: users whose items are not served any more */
typedef struct DeletedUsers DeletedUsers;

extern void deleted_init(void);
extern const DeletedUsers *deleted_users(Snapshot snapshot);
extern bool deleted_has(const DeletedUsers *deleted, const pg_uuid_t *user_id);
extern bool deleted_item(const DeletedUsers *deleted, const BlogItem *item);
extern bool being_deleted(const BlogItem *item);
extern bool deleted_post(const DeletedUsers *deleted,
						 const pg_uuid_t *post_id);
extern void deleted_discount(const DeletedUsers *deleted, BlogItem *post);
extern void deleted_changed(void);
extern void deleted_revive(const pg_uuid_t *user_id);

/* registry.c: usernames are unique regardless of case */
extern bool registry_claim(Datum username, const pg_uuid_t *user_id);
extern bool registry_lookup(Datum username, pg_uuid_t *user_id);
extern void registry_release(Datum username, const pg_uuid_t *user_id);
extern bool registry_same_name(Datum a, Datum b);

/* job_queue.c: work that outlives the command that asked for it */
extern void job_enqueue(const char *kind, const pg_uuid_t *user_id);

/* view_state.c: may readers use the views? */
typedef struct ViewState
{
	bool		enabled;		/* false: stopped by stop_worker() */
	bool		ready;			/* the views are complete */
	int			feed_size;		/* the settings they were built with */
	int			short_form_length;
} ViewState;

extern void view_state_init(void);
extern bool views_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);

/* feed_position.c: how far the change feed has come */
typedef struct FeedPosition
{
	XLogRecPtr	applied_lsn;	/* the views show all commits before it */
	TimestampTz applied_at;
	int64		timeline;		/* of the server that applied it */
	int64		system_identifier;
	int64		layout;			/* container_layout() then */
} FeedPosition;

extern void feed_position_read(FeedPosition *position);
extern void feed_position_write(const FeedPosition *position);
extern void feed_position_forget(void);
extern int64 container_layout(void);

/* owner.c: what is done inside a request is done as the containers' owner */
typedef struct OwnerScope
{
	Oid			user;
	int			sec_context;
} OwnerScope;

extern void owner_begin(OwnerScope *scope);
extern void owner_end(const OwnerScope *scope);
extern void need_writable(const char *command);

/*
 * What the change feed wants to know from below, and is asked: set by
 * change_feed/ at load, so that nothing here calls upward.
 */
typedef struct ChangeFeedHooks
{
	/* this process has met containers: is there a worker for them? */
	void		(*containers_found) (void);
	/* this transaction has made containers: start a worker on commit */
	void		(*containers_created) (void);
	/* this transaction has written items: wake the worker when it commits */
	void		(*item_written) (void);
	/* does a worker keep the views up to date right now? */
	bool		(*views_served) (void);
	/* this transaction changes who is being deleted */
	void		(*deletions_changing) (void);
	/* how often that has changed; false while a change is being committed */
	bool		(*deletions) (uint64 *stamp);
	/* what keeps a worker from running on this server; NULL: nothing */
	const char *(*obstacle) (const char **hint);
} ChangeFeedHooks;

extern ChangeFeedHooks change_feed_hooks;

/* new_id.c */
extern void new_id(pg_uuid_t *id);

/* document.c: items as rows and as JSON documents */
extern Datum item_row(const BlogItem *item, ItemType type, TupleDesc tupdesc);

#endif							/* BLOGSTORE_CONTAINER_H */
