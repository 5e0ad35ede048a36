/*
 * layout.h
 *		Which tables the containers are made of.
 */
#ifndef BLOGSTORE_LAYOUT_H
#define BLOGSTORE_LAYOUT_H

#include "layout/item.h"

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

#endif							/* BLOGSTORE_LAYOUT_H */
