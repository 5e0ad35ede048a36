/*
 * layout.h
 *		The layout of the containers: which of the tables users, posts, feed
 *		and topics exist, and which partitions and leaves they have.
 *
 * The table users is hash-partitioned by user id, the table posts by post id,
 * the table topics by topic.
 * Each hash partition is list-partitioned by the column "type", so that every
 * item type has a table of its own, a leaf. The feed is list-partitioned only.
 * Code outside of storage/layout/ and storage/rows/ does not use leaves. Such
 * code names a hash partition by a number:
 *
 *		for (int p = partition_first(container, type); p != NO_PARTITION;
 *			 p = partition_after(container, type, p))
 */
#ifndef BLOGSTORE_LAYOUT_H
#define BLOGSTORE_LAYOUT_H

#include "storage/blog_item.h"
#include "storage/layout/cluster_calls.h"

#include "access/attnum.h"
#include "storage/lock.h"
#include "utils/relcache.h"

/* layout_cache.c */
extern void layout_init(void);
extern uint64 layout_loads(void);
extern uint64 layout_invalidations(void);

/*
 * Return a number that grows whenever partitions may have got other numbers. A
 * caller that has kept a partition's number must then look it up again.
 */
static inline uint64
layout_stamp(void)
{
	return layout_loads() + layout_invalidations();
}

/*
 * The tables that SQL statements of blogstore name. On one machine, the table
 * users holds both users and copies of posts, with different values of the
 * column "type". On a cluster, users are in USER_ITEMS_TABLE instead. Every
 * node has all rows of that table.
 */
#define USER_ITEMS_TABLE "user_items"
#define USERS_SQL BLOGSTORE_SCHEMA ".users"
#define COPIES_SQL BLOGSTORE_SCHEMA ".users"
#define POSTS_SQL BLOGSTORE_SCHEMA ".posts"
#define FEED_SQL BLOGSTORE_SCHEMA ".feed"
#define TOPICS_SQL BLOGSTORE_SCHEMA ".topics"

/* table_shape.c */
extern Oid	shape_table_owner(Oid relid);
extern AttrNumber shape_column(Relation rel, const char *name);

extern bool shape_is_view(Container container, ItemType type);
extern char *shape_addition(Relation rel, const char *own_check);

/* required_values.c */
extern uint32 item_required(ItemType type);
extern void item_require_values(const BlogItem *item, ItemType type);

/* table_identity.c */
extern Oid	table_lookup(const char *name);
extern bool table_container(Oid table, Container *container);
extern bool table_takes(Oid table, ItemType type);
extern bool table_holds_user_items(const char *name);

/* shared_hints.c */
extern Size layout_hints_size(void);
extern void layout_hints_attach(void *memory, bool fresh);

/* layout_cache.c, containers.c */
extern Oid	container_table_lookup(Container container);
extern Oid	container_table_oid(Container container);
extern const char *container_table_problem(Container container, Oid relid);

/* containers.c */
extern bool container_exists(void);
extern bool container_any_exists(void);
extern bool container_usable(Container container);
extern void container_require(void);
extern void container_require_columns(Container container);
extern bool container_has_property(Container container, Property prop);
extern Oid	container_owner(void);
extern void container_lock(Container container, bool write);
extern void container_lock_all(bool write);
extern int64 container_layout(void);

/* containers.c */
#define NO_PARTITION (-1)
#define FEED_PARTITION 0

extern int	partition_of(Container container, ItemType type,
						 const void *key);
extern int	partition_first(Container container, ItemType type);
extern int	partition_taking(Container container, ItemType type,
							 const void *key);
extern Oid	partition_table(Container container, int partition);
extern int	partition_with_table(Container container, Oid table);
extern int	partition_after(Container container, ItemType type, int partition);
extern int	partition_from(Container container, ItemType type, int number);
extern int	partition_count(Container container, ItemType type);
extern const void *container_map(Container container);

/* leaf.c */
extern Oid	partition_leaf(Container container, ItemType type, int partition);
extern int	partition_of_items(Container container, ItemType type,
							   const void *key);
extern bool partition_has_path(Container container, ItemType type,
							   int partition, AccessPath path);
extern bool partition_exists_for(Container container, ItemType type,
								 const void *key);
extern VirtualTransactionId *partition_writers(Container container,
											   ItemType type, int partition);
extern int64 item_estimate(Container container, ItemType type);

extern void table_require_served(Oid relid, bool write);
extern void container_require_served(Container container, bool write);
extern List *container_unpinned(Container container);

/* container_damage.c */
extern void container_require_whole(Container container);
extern bool containers_check(void);

#endif							/* BLOGSTORE_LAYOUT_H */
