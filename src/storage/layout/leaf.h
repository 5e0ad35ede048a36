/*
 * leaf.h
 *		Leaves of the containers. A leaf is the table that holds the items of
 *		one type in one partition.
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

/* The reason why a table cannot be used, to be raised as an error (55000). */
typedef struct LayoutProblem
{
	char	   *message;
	const char *hint;
	const char *rule;			/* what does not hold (base/error_fields.h) */
} LayoutProblem;

/* An open leaf: its relation, and where its columns and indexes are. */
typedef struct OpenLeaf
{
	Relation	rel;
	LOCKMODE	lockmode;
	AttrNumber	attno[N_PROPERTIES];	/* 0 if the leaf has no such column */
	Oid			index[N_PATHS]; /* InvalidOid if the path has no index, or was
								 * not requested */
	bool		attached;		/* true if the owner has attached code */
} OpenLeaf;

/* Which leaf to open: that of a key, or that of a partition number. */
typedef struct LeafWanted
{
	Container	container;
	ItemType	type;
	const pg_uuid_t *key;		/* NULL: use the partition number */
	int			partition;
	AccessPath	path;			/* the path to be used; N_PATHS: any of them */
} LeafWanted;

/* Whether a unique index contains all columns of an item's key. */
typedef enum KeyCover
{
	KEY_NOT_COVERED,
	KEY_COVERED,
	KEY_COVERED_AND_MORE		/* the index has other key columns as well */
} KeyCover;

/* access_paths.c: columns and indexes of a leaf */
extern KeyCover leaf_key_cover(const OpenLeaf *leaf, Container container,
							   ItemType type, Relation index);
extern AccessPath leaf_identity_path(Container container, ItemType type);
extern int	leaf_path_key(Container container, ItemType type, AccessPath path,
						  const BlogItem *item, Datum *key);
extern int	leaf_path_columns(Container container, ItemType type,
							  AccessPath path, const Property **column);

/* table_shape.c */
extern COMPAT_NORETURN void layout_problem_raise(const LayoutProblem *problem);

/* required_values.c: the values that an item must have, by purpose */
extern uint32 item_identity(Container container, ItemType type);
extern uint32 item_worked_with(Container container, ItemType type);
extern void item_require(Relation leaf, const BlogItem *item, ItemType type,
						 uint32 needed);

/* leaf.c: opening leaves */
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
