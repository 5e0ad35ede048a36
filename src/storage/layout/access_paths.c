/*
 * access_paths.c
 *		Finds the column numbers and the indexes of a leaf.
 *
 * Columns are found by name and type, because attached partitions can have
 * them in another order. Indexes are found by their columns, because a restore
 * or the owner may change the names of indexes. Runs in any process.
 */
#include "postgres.h"

#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

typedef struct PathColumns
{
	int			n;
	Property	column[MAX_PATH_COLUMNS];
} PathColumns;

/*
 * The key columns of blogstore's indexes, for each container, item type and
 * kind of index (AccessPath). "n" is 0 if items of this type have no such
 * index.
 */
static const PathColumns path_columns[N_CONTAINERS][N_ITEM_TYPES][N_PATHS] = {
	[CONTAINER_USERS] = {
		[ITEM_USER] = {
			[PATH_KEY] = {1, {PROP_USER_ID}}
		},
		[ITEM_POST] = {
			[PATH_LIST] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}}
		},
		[ITEM_FOLLOW] = {
			[PATH_KEY] = {2, {PROP_USER_ID, PROP_FOLLOWED_ID}},
			[PATH_LIST] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_USER] = {2, {PROP_USER_ID, PROP_FOLLOWED_ID}},
			[PATH_FOLLOWED] = {3, {PROP_FOLLOWED_ID, PROP_CREATION_DATE,
				PROP_ID}}
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
			[PATH_USER] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_REPLIES] = {4, {PROP_POST_ID, PROP_PARENT_ID,
				PROP_CREATION_DATE, PROP_ID}},
			[PATH_REPLY_LIST] = {3, {PROP_POST_ID, PROP_CREATION_DATE, PROP_ID}}
		},
		[ITEM_LIKE] = {
			[PATH_KEY] = {2, {PROP_USER_ID, PROP_POST_ID}},
			[PATH_LIST] = {3, {PROP_POST_ID, PROP_CREATION_DATE, PROP_ID}},
			[PATH_USER] = {2, {PROP_USER_ID, PROP_POST_ID}},
			[PATH_DATE] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}}
		},
		[ITEM_COMMENT_LIKE] = {
			[PATH_KEY] = {3, {PROP_USER_ID, PROP_POST_ID, PROP_COMMENT_ID}},
			[PATH_LIST] = {4, {PROP_POST_ID, PROP_COMMENT_ID,
				PROP_CREATION_DATE, PROP_ID}},
			[PATH_USER] = {3, {PROP_USER_ID, PROP_POST_ID, PROP_COMMENT_ID}},
			[PATH_DATE] = {3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID}}
		},
		[ITEM_DELTA] = {
			[PATH_KEY] = {3, {PROP_POST_ID, PROP_ITEM_ID, PROP_ID}}
		}
	},
	[CONTAINER_FEED] = {
		[ITEM_POST] = {
			[PATH_KEY] = {1, {PROP_POST_ID}},
			[PATH_DATE] = {2, {PROP_CREATION_DATE, PROP_ID}}
		}
	},
	[CONTAINER_TOPICS] = {
		[ITEM_TOPIC] = {
			[PATH_KEY] = {1, {PROP_TOPIC}}
		},
		[ITEM_TOPIC_POST] = {
			[PATH_LIST] = {3, {PROP_TOPIC, PROP_CREATION_DATE, PROP_ID}},
			[PATH_ID] = {1, {PROP_ID}}
		}
	}
};

/*
 * Return which items an index of a given kind (AccessPath) contains: only
 * comments with a parent, only comments without a parent, or all items.
 */
IndexedRows
leaf_path_rows(ItemType type, AccessPath path)
{
	if (path == PATH_REPLIES || path == PATH_REPLY_LIST)
		return INDEXED_REPLIES;
	return type == ITEM_COMMENT && path == PATH_LIST ? INDEXED_TOP_LEVEL :
		INDEXED_ALL;
}

/*
 * Return whether an index contains the items that an index of the kind "path"
 * must contain. A partial index must have the predicate (parent_id IS NOT
 * NULL), for replies, or (parent_id IS NULL), for top-level comments.
 */
static bool
index_has_rows(Relation index, ItemType type, AccessPath path,
			   const AttrNumber *attno)
{
	IndexedRows rows = leaf_path_rows(type, path);

	if (heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return rows == INDEXED_ALL;
	return rows != INDEXED_ALL &&
		index_null_test_of(index, rows == INDEXED_TOP_LEVEL) ==
		attno[PROP_PARENT_ID];
}

/*
 * Return whether an index has exactly the given key columns, in ascending
 * order and with the default comparison. The collation of a topic must be "C".
 *
 * unique: the index must also be unique, and not deferrable
 * attno: the column number of each field
 */
static bool
index_serves(Relation index, const PathColumns *path, bool unique,
			 const AttrNumber *attno)
{
	Form_pg_index form = index->rd_index;

	if (path->n == 0 || IndexRelationGetNumberOfKeyAttributes(index) != path->n)
		return false;
	if (unique && (!form->indisunique || !form->indimmediate))
		return false;
	for (int i = 0; i < path->n; i++)
	{
		Property	prop = path->column[i];

		if (attno[prop] == InvalidAttrNumber ||
			form->indkey.values[i] != attno[prop] ||
			index->rd_opfamily[i] != shape_usual_opfamily(property_type(prop),
															false) ||
			index->rd_opcintype[i] != property_type(prop) ||
			(prop == PROP_TOPIC &&
			 index->rd_indcollation[i] != C_COLLATION_OID) ||
			index->rd_indoption[i] != 0)
			return false;
	}
	return true;
}

/*
 * Return the kind of index (AccessPath) whose key columns identify an item:
 * PATH_LIST for copies of posts and the posts of topics, and PATH_KEY for all
 * other items.
 */
AccessPath
leaf_identity_path(Container container, ItemType type)
{
	return path_columns[container][type][PATH_KEY].n > 0 ? PATH_KEY : PATH_LIST;
}

/*
 * Set "key" to the values that an item has in the key columns of the index of
 * kind "path". Returns the number of key columns; 0 if items of this type have
 * no such index.
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

/*
 * Set "column" to the key columns of the index of kind "path". Returns their
 * number; 0 if items of this type have no such index.
 */
int
leaf_path_columns(Container container, ItemType type, AccessPath path,
				  const Property **column)
{
	*column = path_columns[container][type][path].column;
	return path_columns[container][type][path].n;
}

/*
 * Return whether a field is a key column of an index. In a post, the columns
 * id and post_id have the same value, so id also counts as post_id.
 */
static bool
index_has(const OpenLeaf *leaf, ItemType type, Relation index, Property prop)
{
	Form_pg_index form = index->rd_index;

	for (int i = 0; i < form->indnkeyatts; i++)
		if (form->indkey.values[i] != InvalidAttrNumber &&
			(form->indkey.values[i] == leaf->attno[prop] ||
			 (type == ITEM_POST && prop == PROP_POST_ID &&
			  form->indkey.values[i] == leaf->attno[PROP_ID])))
			return true;
	return false;
}

/*
 * Return whether an index has all columns that identify an item as key
 * columns, and whether it has other key columns.
 */
KeyCover
leaf_key_cover(const OpenLeaf *leaf, Container container, ItemType type,
			   Relation index)
{
	AccessPath	identity = leaf_identity_path(container, type);
	const PathColumns *key = &path_columns[container][type][identity];

	for (int i = 0; i < key->n; i++)
		if (!index_has(leaf, type, index, key->column[i]))
			return KEY_NOT_COVERED;
	return IndexRelationGetNumberOfKeyAttributes(index) == key->n ?
		KEY_COVERED : KEY_COVERED_AND_MORE;
}

/*
 * Return whether an index is one of blogstore's own, according to its key
 * columns. An index that the owner has added could reject rows, for example
 * because an index tuple becomes too long.
 */
static bool
index_is_own(Relation index, const PathColumns *paths, const AttrNumber *attno)
{
	if (index->rd_rel->relam != BTREE_AM_OID ||
		index->rd_index->indisexclusion ||
		index->rd_index->indnatts != index->rd_index->indnkeyatts ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (AccessPath path = 0; path < N_PATHS; path++)
		if (index_serves(index, &paths[path], false, attno))
			return true;
	return false;
}

/*
 * Return whether an index has the given key columns, according to pg_index.
 * The caller then opens the index to check the rest, which costs more.
 */
static bool
index_may_serve(Oid relid, const PathColumns *path, const AttrNumber *attno)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(relid));
	bool		may = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		may = form->indnkeyatts == path->n;
		for (int i = 0; i < path->n && may; i++)
			may = form->indkey.values[i] != InvalidAttrNumber &&
				form->indkey.values[i] == attno[path->column[i]];
		ReleaseSysCache(tuple);
	}
	return may;
}

static bool
path_is_wanted(AccessPath path, AccessPath wanted)
{
	return path == wanted || wanted == N_PATHS;
}

/*
 * Return whether an index has the key columns of the wanted kind of index,
 * according to pg_index. The caller then opens the index to check the rest.
 *
 * wanted: the kind of index; N_PATHS for any kind
 */
static bool
index_may_be_wanted(Oid relid, const PathColumns *paths, AccessPath wanted,
					const AttrNumber *attno)
{
	for (AccessPath path = 0; path < N_PATHS; path++)
		if (path_is_wanted(path, wanted) && paths[path].n > 0 &&
			index_may_serve(relid, &paths[path], attno))
			return true;
	return false;
}

/*
 * Copy a leaf's column numbers to attno. For a post, set the column number of
 * id to that of post_id, which has the same value. On a cluster, the indexes
 * of posts have post_id in place of id: a unique index must contain the column
 * by which the table is distributed.
 */
static void
columns_by_post_id(AttrNumber *attno, const CachedLeaf *leaf,
				   Container container, ItemType type)
{
	memcpy(attno, leaf->attno, sizeof(leaf->attno));
	if (container == CONTAINER_POSTS && type == ITEM_POST)
		attno[PROP_ID] = leaf->attno[PROP_POST_ID];
}

/*
 * Find the index of the wanted kind in an open leaf. Does not evaluate index
 * predicates, because the owner may have written them.
 *
 * wanted: the kind of index. With N_PATHS, finds all indexes, and sets
 *     leaf->attached if inserting into one of them runs code of the owner.
 */
static void
find_indexes(CachedLeaf *leaf, Relation rel, Container container,
			 ItemType type, AccessPath wanted)
{
	AccessPath	identity = leaf_identity_path(container, type);
	const PathColumns *paths = path_columns[container][type];
	List	   *indexes = RelationGetIndexList(rel);
	AttrNumber	by_post_id[N_PROPERTIES];
	ListCell   *lc;

	columns_by_post_id(by_post_id, leaf, container, type);
	foreach(lc, indexes)
	{
		Relation	index;

		if (wanted != N_PATHS &&
			(OidIsValid(leaf->index[wanted]) ||
			 (!index_may_be_wanted(lfirst_oid(lc), paths, wanted, leaf->attno) &&
			  !index_may_be_wanted(lfirst_oid(lc), paths, wanted, by_post_id))))
			continue;
		index = index_open(lfirst_oid(lc), AccessShareLock);
		leaf->attached |= index_is_attached(index);
		if (shape_is_view(container, type) &&
			!index_is_own(index, paths, leaf->attno))
			leaf->added_index = RelationGetRelid(index);
		if (index->rd_index->indisvalid && index->rd_rel->relam == BTREE_AM_OID)
			for (AccessPath path = 0; path < N_PATHS; path++)
				if (path_is_wanted(path, wanted) &&
					!OidIsValid(leaf->index[path]) &&
					index_has_rows(index, type, path, leaf->attno) &&
					(index_serves(index, &paths[path], path == identity,
								  leaf->attno) ||
					 index_serves(index, &paths[path], path == identity,
								  by_post_id)))
					leaf->index[path] = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

/*
 * Return the kind of an index that is missing in a leaf; N_PATHS if none is
 * missing. Likes need no index of the kind PATH_DATE.
 */
AccessPath
leaf_path_missing(const CachedLeaf *leaf, Container container, ItemType type)
{
	for (AccessPath path = 0; path < N_PATHS; path++)
		if (path_columns[container][type][path].n > 0 &&
			!OidIsValid(leaf->index[path]) &&
			!(is_like(type) && path == PATH_DATE))
			return path;
	return N_PATHS;
}

/*
 * Find an index of an open leaf, and cache its OID. Called after
 * leaf_describe() has found no problem. If an invalidation of the leaf arrives
 * meanwhile, nothing is cached.
 *
 * path: the kind of index. N_PATHS, which writers of the leaf pass, stands for
 *     all indexes.
 */
void
leaf_look_for(CachedLeaf *leaf, Relation rel, Container container,
			  ItemType type, AccessPath path)
{
	CachedLeaf	found = *leaf;
	uint32		before = leaf->changes;

	find_indexes(&found, rel, container, type, path);
	for (AccessPath one = 0; one <= N_PATHS; one++)
		found.looked[one] |= one == path || path == N_PATHS;
	if (leaf->known && leaf->changes == before)
		*leaf = found;
}

/*
 * Fill in the cache entry of an open leaf: which columns the leaf has, and
 * what is wrong with the leaf. Allocates in the current memory context.
 * leaf->known becomes false if an invalidation of the leaf arrives meanwhile.
 *
 * owner: the role that must own the leaf
 */
void
leaf_describe(CachedLeaf *leaf, Relation rel, Oid owner,
			  Container container, ItemType type)
{
	CachedLeaf	found = {.relid = leaf->relid,.misplaced = leaf->misplaced};
	uint32		before = leaf->changes;

	found.problem = shape_table_problem(leaf->relid, RELKIND_RELATION, owner);
	if (found.problem == NULL)
		found.problem = shape_columns(&found, rel, container, type);
	if (found.problem == NULL && shape_is_view(container, type))
		found.unwritable = shape_view_problem(rel, container, type);
	found.attached = code_is_attached(rel);
	found.changes = leaf->changes;
	found.known = found.changes == before;
	*leaf = found;
}
