/*
 * leaf.h
 *		Opens leaves of the containers. A leaf is the table that holds the
 *		items of one type in one partition.
 *
 * For the files of storage/layout/ and storage/rows/ only.
 */
#ifndef BLOGSTORE_LEAF_H
#define BLOGSTORE_LEAF_H

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#define MAX_PATH_COLUMNS 4

/*
 * Why a container or one of its tables cannot be used. A request that needs
 * the table raises this as an error (55000).
 */
typedef struct LayoutProblem
{
	char	   *message;
	const char *hint;
	const char *rule;
} LayoutProblem;

typedef struct OpenLeaf
{
	Relation	rel;
	LOCKMODE	lockmode;
	/* The column number of each property; 0 if the leaf has no such column. */
	AttrNumber	attno[N_PROPERTIES];
	/*
	 * For each access path: the index for it. InvalidOid if there is none, or
	 * leaf_open() was not asked to look it up.
	 */
	Oid			index[N_PATHS];
	/* Whether writing to the leaf runs code that the owner has added. */
	bool		attached;
} OpenLeaf;

/*
 * The arguments of leaf_open(): the container and item type of the wanted
 * leaf, and its partition, by key or by number.
 */
typedef struct LeafWanted
{
	Container	container;
	ItemType	type;
	/*
	 * The key whose partition is wanted. NULL: the wanted partition has the
	 * number in the next field.
	 */
	const pg_uuid_t *key;
	int			partition;
	/*
	 * The access path whose index leaf_open() looks up; N_PATHS for all
	 * indexes.
	 */
	AccessPath	path;
} LeafWanted;

/*
 * Whether the key columns of a unique index contain all columns that identify
 * an item.
 */
typedef enum KeyCover
{
	KEY_NOT_COVERED,
	KEY_COVERED,
	KEY_COVERED_AND_MORE
} KeyCover;

/* access_paths.c */
extern KeyCover leaf_key_cover(const OpenLeaf *leaf, Container container,
							   ItemType type, Relation index);
extern AccessPath leaf_identity_path(Container container, ItemType type);
extern int	leaf_path_key(Container container, ItemType type, AccessPath path,
						  const BlogItem *item, Datum *key);
extern int	leaf_path_columns(Container container, ItemType type,
							  AccessPath path, const Property **column);

/* table_shape.c */
extern COMPAT_NORETURN void layout_problem_raise(const LayoutProblem *problem);

/* required_values.c */
extern uint32 item_identity(Container container, ItemType type);
extern uint32 item_worked_with(Container container, ItemType type);
extern void item_require(Relation leaf, const BlogItem *item, ItemType type,
						 uint32 needed);

extern void leaf_open(OpenLeaf *leaf, const LeafWanted *wanted,
					  LOCKMODE lockmode);
extern void leaf_close(OpenLeaf *leaf, bool keep_lock);
extern Oid	leaf_of_key(Container container, ItemType type,
						const pg_uuid_t *key);
extern LayoutProblem *leaf_index_problem(Relation rel, Container container,
										 ItemType type, AccessPath path);
extern Relation leaf_open_index(const OpenLeaf *leaf, Container container,
								ItemType type, AccessPath path);

#endif							/* BLOGSTORE_LEAF_H */
