/*
 * leaf.h
 *		Opens leaves of the containers.
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
 * that needs the table raises the reason as an error (55000).
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
	/* the column number of each field; 0 if there is no such column */
	AttrNumber	attno[N_PROPERTIES];
	/*
	 * For each kind of index (AccessPath): the OID of the leaf's index.
	 * InvalidOid if the leaf has no such index, or the caller of leaf_open()
	 * has not asked for this kind.
	 */
	Oid			index[N_PATHS];
	/* whether a write to the leaf runs attached code */
	bool		attached;
} OpenLeaf;

typedef struct LeafWanted
{
	Container	container;
	ItemType	type;
	/*
	 * A key of the wanted partition: a pg_uuid_t, in topics a text. NULL if
	 * "partition" gives the partition's number instead.
	 */
	const void *key;
	int			partition;
	/*
	 * The kind of index that leaf_open() looks up; N_PATHS to look up all
	 * indexes.
	 */
	AccessPath	path;
} LeafWanted;

/*
 * Whether the key columns of a unique index include all columns that identify
 * an item.
 */
typedef enum KeyCover
{
	KEY_NOT_COVERED,			/* the index lacks a column that identifies an
								 * item */
	KEY_COVERED,				/* the index has exactly the columns that
								 * identify an item */
	KEY_COVERED_AND_MORE		/* the index has the columns that identify an
								 * item, and other columns */
} KeyCover;

/* Which items an index contains. */
typedef enum IndexedRows
{
	INDEXED_ALL,
	INDEXED_TOP_LEVEL,			/* comments without a parent */
	INDEXED_REPLIES
} IndexedRows;

/* access_paths.c */
extern IndexedRows leaf_path_rows(ItemType type, AccessPath path);
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
						const void *key);
extern LayoutProblem *leaf_index_problem(Relation rel, Container container,
										 ItemType type, AccessPath path);
extern Relation leaf_open_index(const OpenLeaf *leaf, Container container,
								ItemType type, AccessPath path);

#endif							/* BLOGSTORE_LEAF_H */
