/*
 * leaf.h
 *		Leaves of the containers: the tables that items of one type in one partition
 *		lie in. For the files of storage/layout/ and storage/rows/ alone.
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

/* What keeps a table from being used: an error with its SQLSTATE. */
typedef struct LayoutProblem
{
	char	   *message;
	const char *hint;
} LayoutProblem;

/* A leaf as opened: its relation, and where its columns and indexes are. */
typedef struct OpenLeaf
{
	Relation	rel;
	LOCKMODE	lockmode;
	AttrNumber	attno[N_PROPERTIES];	/* 0: the leaf has no such column */
	Oid			index[N_PATHS]; /* InvalidOid: no such path, or not wanted */
	bool		attached;		/* is code of the owner's attached? */
} OpenLeaf;

/* Which leaf to open: where a key's items of a type lie, or those of a partition. */
typedef struct LeafWanted
{
	Container	container;
	ItemType	type;
	const pg_uuid_t *key;		/* NULL: that of the partition with the number */
	int			partition;
	AccessPath	path;			/* whose index is used; N_PATHS: any may be */
} LeafWanted;

/* Has a unique index the columns of an item's key? */
typedef enum KeyCover
{
	KEY_NOT_COVERED,
	KEY_COVERED,
	KEY_COVERED_AND_MORE		/* the index has other columns, too */
} KeyCover;

/* access_paths.c: which columns and indexes a leaf has */
extern KeyCover leaf_key_cover(const OpenLeaf *leaf, Container container,
							   ItemType type, Relation index);
extern AccessPath leaf_identity_path(Container container, ItemType type);
extern int	leaf_path_key(Container container, ItemType type, AccessPath path,
						  const BlogItem *item, Datum *key);
extern int	leaf_path_columns(Container container, ItemType type,
							  AccessPath path, const Property **column);

/* table_shape.c: what tables must have */
extern COMPAT_NORETURN void layout_problem_raise(const LayoutProblem *problem);

/* required_values.c: which values an item must have, and for whom */
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
