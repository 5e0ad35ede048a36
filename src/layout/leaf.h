/*
 * leaf.h
 *		Leaves of the containers, for read.c, write.c, delta.c, gate.c and
 *		presence.c alone.
 */
#ifndef BLOGSTORE_LEAF_H
#define BLOGSTORE_LEAF_H

#include "compat.h"
#include "layout/item.h"
#include "layout/layout.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#define MAX_PATH_COLUMNS 3

/* What keeps a table from being used: an error with its SQLSTATE. */
typedef struct LayoutProblem
{
	int			code;
	char	   *message;
	const char *hint;
} LayoutProblem;

/* What is known of a leaf. */
typedef struct CachedLeaf
{
	Oid			relid;			/* InvalidOid: there is none */
	LayoutProblem *misplaced;	/* what is wrong with its place; NULL: nothing */
	uint32		changes;		/* invalidations so far */
	bool		known;			/* is all that follows filled in? */
	LayoutProblem *problem;		/* what is wrong with itself; NULL: nothing */
	AttrNumber	attno[N_PROPERTIES];
	Oid			index[N_PATHS];
	bool		attached;		/* do types or indexes run the owner's code? */
} CachedLeaf;

/* A leaf as opened: its relation, and where its columns and indexes are. */
typedef struct OpenLeaf
{
	Relation	rel;
	LOCKMODE	lockmode;
	AttrNumber	attno[N_PROPERTIES];	/* 0: the leaf has no such column */
	Oid			index[N_PATHS]; /* InvalidOid: no such path */
	bool		attached;		/* do types or indexes run the owner's code? */
} OpenLeaf;

/* Has a unique index the columns of an item's key? */
typedef enum KeyCover
{
	KEY_NOT_COVERED,
	KEY_COVERED,
	KEY_COVERED_AND_MORE		/* it has others, too */
} KeyCover;

/* path.c: which columns and indexes a leaf has */
extern KeyCover leaf_key_cover(const OpenLeaf *leaf, Container container,
							   ItemType type, Relation index);
extern const char *property_column(Property prop);
extern AccessPath leaf_identity_path(Container container, ItemType type);
extern void leaf_describe(CachedLeaf *leaf, Relation rel, Oid owner,
						  Container container, ItemType type);
extern int	leaf_path_key(Container container, ItemType type, AccessPath path,
						  const BlogItem *item, Datum *key);
extern int	leaf_path_columns(Container container, ItemType type,
							  AccessPath path, const Property **column);

/* shape.c: are tables what they should be? */
extern COMPAT_NORETURN void layout_problem_raise(const LayoutProblem *problem);
extern LayoutProblem *shape_table_problem(Oid relid, char kind, Oid owner);
extern LayoutProblem *shape_key_problem(Oid relid, Property column);
extern LayoutProblem *shape_mixed_problem(Oid relid);
extern LayoutProblem *shape_problem(char *message, const char *hint);
extern LayoutProblem *shape_missing_problem(char *message);
extern LayoutProblem *shape_columns(CachedLeaf *leaf, Relation rel,
									Container container, ItemType type);
extern LayoutProblem *shape_root_columns(Relation root, Container container);
extern uint32 item_required(ItemType type);
extern uint32 item_identity(Container container, ItemType type);
extern uint32 item_worked_with(Container container, ItemType type);

/* left_out.c: what cannot be used is an error, or left out */
extern bool container_leave_out(Container container,
								const LayoutProblem *problem);
extern void leaf_leave_out(Container container, ItemType type, int partition,
						   AccessPath path, const LayoutProblem *problem);
extern bool item_complete(const BlogItem *item, ItemType type, uint32 needed);

/* leaf.c, layout.c: has what was left out been mended? */
extern bool container_is_fine(Container container);
extern bool leaf_is_fine(Container container, ItemType type, int partition,
						 AccessPath path, bool *busy);

/* leaf.c: opening leaves */
extern bool leaf_open(OpenLeaf *leaf, Container container, ItemType type,
					  const pg_uuid_t *key, int partition, LOCKMODE lockmode);
extern void leaf_close(OpenLeaf *leaf, bool keep_lock);
extern LayoutProblem *leaf_index_problem(const OpenLeaf *leaf);
extern Relation leaf_open_index(const OpenLeaf *leaf, AccessPath path);

extern uint32 item_from_slot(BlogItem *item, struct TupleTableSlot *slot,
							 const AttrNumber *attno);

#endif							/* BLOGSTORE_LEAF_H */
