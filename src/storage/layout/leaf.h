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
 * The reason why a container or one of its tables cannot be used. A request
 * that needs the table raises it as an error (55000).
 */
typedef struct LayoutProblem
{
	char	   *message;
	const char *hint;
	const char *rule;			/* the violated rule, RULE_... */
} LayoutProblem;

/* An open leaf table: its relation, lock mode, columns and indexes. */
typedef struct OpenLeaf
{
	Relation	rel;
	LOCKMODE	lockmode;
	AttrNumber	attno[N_PROPERTIES];	/* by property; 0 if there is no such
										 * column */
	/*
	 * By access path: the index that serves the path. InvalidOid if there is
	 * none, or leaf_open() was not asked for this path.
	 */
	Oid			index[N_PATHS];
	bool		attached;		/* the owner has added code that writing
								 * runs */
} OpenLeaf;

/*
 * Which leaf table leaf_open() opens: the one for items of a type, in the
 * partition of a key or with a number.
 */
typedef struct LeafWanted
{
	Container	container;
	ItemType	type;
	/*
	 * A key whose partition is wanted. NULL: the field partition says which
	 * one.
	 */
	const pg_uuid_t *key;
	int			partition;
	/*
	 * The access path whose index must be looked up. N_PATHS: look up all
	 * indexes.
	 */
	AccessPath	path;
} LeafWanted;

/*
 * Whether the key columns of a unique index contain all columns of an item's
 * key.
 */
typedef enum KeyCover
{
	KEY_NOT_COVERED,
	KEY_COVERED,
	KEY_COVERED_AND_MORE		/* and the index has further key columns */
} KeyCover;

/* access_paths.c: columns and indexes of a leaf table */
extern KeyCover leaf_key_cover(const OpenLeaf *leaf, Container container,
							   ItemType type, Relation index);
extern AccessPath leaf_identity_path(Container container, ItemType type);
extern int	leaf_path_key(Container container, ItemType type, AccessPath path,
						  const BlogItem *item, Datum *key);
extern int	leaf_path_columns(Container container, ItemType type,
							  AccessPath path, const Property **column);

/* table_shape.c */
extern COMPAT_NORETURN void layout_problem_raise(const LayoutProblem *problem);

/* required_values.c: the values that an item must have, as bits */
extern uint32 item_identity(Container container, ItemType type);
extern uint32 item_worked_with(Container container, ItemType type);
extern void item_require(Relation leaf, const BlogItem *item, ItemType type,
						 uint32 needed);

/* leaf.c: opening leaf tables */
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
