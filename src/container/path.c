/*
 * path.c
 *		Where a leaf has its columns, and which index serves which access path.
 *
 * Columns are found by name and type, indexes by their columns: names change
 * with a restore or at the owner's wish, and positions differ in partitions
 * that were attached. Runs in any process.
 */
#include "postgres.h"

#include "container/leaf.h"

#include "access/genam.h"
#include "catalog/pg_am.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static const char *const column_name[N_PROPERTIES] = {
	"id", "type", "post_id", "user_id", "username", "user_username", "title",
	"content", "comment_count", "like_count", "creation_date"
};

typedef struct PathColumns
{
	int			n;
	Property	column[MAX_PATH_COLUMNS];
} PathColumns;

/* The key columns that an index must have to serve a path; n = 0: no path. */
static const PathColumns path_columns[N_CONTAINERS][N_ITEM_TYPES][N_PATHS] = {
	[CONTAINER_USERS] = {
		[ITEM_USER] = {
			[PATH_KEY] = {1, {PROP_USER_ID}}
		},
		[ITEM_POST] = {
			[PATH_LIST] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}}
		}
	},
	[CONTAINER_POSTS] = {
		[ITEM_POST] = {
			[PATH_KEY] = {1, {PROP_POST_ID}},
			[PATH_USER] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_DATE] = {2, {PROP_CREATION_DATE, PROP_ID}}
		},
		[ITEM_COMMENT] = {
			[PATH_KEY] = {2, {PROP_POST_ID, PROP_ID}},
			[PATH_LIST] = {3, {PROP_POST_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_USER] = {2, {PROP_USER_ID, PROP_ID}}
		},
		[ITEM_LIKE] = {
			[PATH_KEY] = {2, {PROP_USER_ID, PROP_POST_ID}},
			[PATH_LIST] = {3, {PROP_POST_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_USER] = {2, {PROP_USER_ID, PROP_POST_ID}}
		},
		[ITEM_DELTA] = {
			[PATH_KEY] = {2, {PROP_POST_ID, PROP_ID}}
		}
	},
	[CONTAINER_FEED] = {
		[ITEM_POST] = {
			[PATH_KEY] = {1, {PROP_POST_ID}},
			[PATH_DATE] = {2, {PROP_CREATION_DATE, PROP_ID}}
		}
	}
};

/* Does index have exactly the columns of a path, ascending, for all rows? */
static bool
index_serves(Relation index, const PathColumns *path, const AttrNumber *attno)
{
	Form_pg_index form = index->rd_index;

	if (path->n == 0 || IndexRelationGetNumberOfKeyAttributes(index) != path->n)
		return false;
	for (int i = 0; i < path->n; i++)
		if (form->indkey.values[i] != attno[path->column[i]] ||
			index->rd_indoption[i] != 0)
			return false;
	return true;
}

/*
 * The column of a property, 0 if there is none. The table is its owner's, who
 * may have changed the type: values are read as what they should be, so that
 * must be refused here.
 */
static AttrNumber
find_column(Relation rel, Property prop)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), column_name[prop]);

	if (attno > 0 &&
		TupleDescAttr(RelationGetDescr(rel), attno - 1)->atttypid !=
		property_type(prop))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of \"%s\" has another type than blogstore gave it",
						column_name[prop], RelationGetRelationName(rel)),
				 errhint("Change it back to %s.",
						 format_type_be(property_type(prop)))));
	return Max(attno, 0);
}

/*
 * The values of a path's columns in an item, as a key to look it up. Returns
 * how many; 0 if its leaves have no such path.
 */
int
leaf_path_key(Container container, ItemType type, AccessPath path,
			  const BlogItem *item, Datum *key)
{
	const PathColumns *columns = &path_columns[container][type][path];

	for (int i = 0; i < columns->n; i++)
		key[i] = item->value[columns->column[i]];
	return columns->n;
}

/* The columns of a path; 0 if its leaves have no such path. */
int
leaf_path_columns(Container container, ItemType type, AccessPath path,
				  const Property **column)
{
	*column = path_columns[container][type][path].column;
	return path_columns[container][type][path].n;
}

/* Fill in where rel has its columns and which index serves which path. */
void
leaf_describe(CachedLeaf *leaf, Relation rel, Container container,
			  ItemType type)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;
	CachedLeaf	found = {.relid = leaf->relid};

	/* before the look: an invalidation during it must not be lost */
	leaf->known = true;
	for (int p = 0; p < N_PROPERTIES; p++)
		found.attno[p] = find_column(rel, p);

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID &&
			RelationGetIndexPredicate(index) == NIL)
			for (int path = 0; path < N_PATHS; path++)
				if (!OidIsValid(found.index[path]) &&
					index_serves(index, &path_columns[container][type][path],
								 found.attno))
					found.index[path] = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	memcpy(leaf->attno, found.attno, sizeof(leaf->attno));
	memcpy(leaf->index, found.index, sizeof(leaf->index));
}
