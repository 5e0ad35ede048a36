/*
 * upgrade_index.c
 *		Giving leaves of an older version the indexes that create_containers() makes, in
 *		steps.
 *
 * An index is built under a name of its own, and gets the final one when it is valid; that of an
 * older version which had this name goes in the same transaction. So what is still to be
 * done is seen from the catalogs: what is left of a build that was cut short is an index of
 * the first name that is not valid, which is dropped and built anew. What else the owner has
 * made, by whatever name, stays as it is.
 *
 * A leaf of few pages is locked against writers for the moment that this takes. The index of
 * another is built beside them, as CREATE INDEX CONCURRENTLY does, by a process of its own
 * (upgrade_builder.c), which waits for transactions that were there before.
 *
 * DefineIndex() works as the leaf's owner, whoever calls it, and runs nothing of the
 * owner's: columns are of the types that blogstore gave them, and the predicate is ours. It is
 * not asked for rights, since an owner need not be allowed to create anything in the
 * schema. Runs in backends, and where indexes are built.
 */
#include "postgres.h"

#include "compat.h"
#include "layout/layout.h"
#include "state/state.h"
#include "upgrade/upgrade.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* The index of a leaf of more pages is built beside writers. */
#define FEW_PAGES 64

/* Columns of an index, at most. */
#define MAX_COLUMNS 4

typedef struct NewIndex
{
	Container	container;
	ItemType	type;
	AccessPath	path;
	const char *name;			/* behind the leaf's */
	const char *definition;
	int			ncolumns;
	Property	columns[MAX_COLUMNS];
	int			nbefore;		/* columns of that of an older version; 0: none */
	Property	before[MAX_COLUMNS];
} NewIndex;

static const NewIndex new_indexes[] = {
	{CONTAINER_POSTS, ITEM_COMMENT, PATH_USER, "by_user",
		"(user_id, creation_date, id)",
		3, {PROP_USER_ID, PROP_CREATION_DATE, PROP_ID},
	2, {PROP_USER_ID, PROP_ID}},
	{CONTAINER_POSTS, ITEM_COMMENT, PATH_REPLIES, "replies",
		"(post_id, parent_id, creation_date, id) WHERE parent_id IS NOT NULL",
		4, {PROP_POST_ID, PROP_PARENT_ID, PROP_CREATION_DATE, PROP_ID},
	0, {0}}
};

/* Are there any for items of a type? */
bool
leaf_has_new_indexes(Container container, ItemType type)
{
	for (int i = 0; i < lengthof(new_indexes); i++)
		if (new_indexes[i].container == container && new_indexes[i].type == type)
			return true;
	return false;
}

/* The name that a leaf's index has at last. */
static char *
index_name(Oid leaf, const NewIndex *index)
{
	return makeObjectName(get_rel_name(leaf), NULL, index->name);
}

/* A copy of the catalog's row of a leaf's index of a name; NULL: it has none. */
static HeapTuple
find_index(Oid leaf, const char *name)
{
	Oid			relid = get_relname_relid(name, get_rel_namespace(leaf));
	HeapTuple	tuple = SearchSysCacheCopy1(INDEXRELID, ObjectIdGetDatum(relid));

	if (HeapTupleIsValid(tuple) &&
		((Form_pg_index) GETSTRUCT(tuple))->indrelid == leaf)
		return tuple;
	return NULL;
}

static bool
is_valid(HeapTuple tuple)
{
	return ((Form_pg_index) GETSTRUCT(tuple))->indisvalid;
}

/* Is an index on these columns, not unique, and on all rows or not? */
static bool
is_on(HeapTuple tuple, Oid leaf, int n, const Property *columns, bool all_rows)
{
	Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

	if (n == 0 || form->indnatts != n || form->indisunique ||
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL) != all_rows)
		return false;
	for (int i = 0; i < n; i++)
		if (form->indkey.values[i] !=
			get_attnum(leaf, property_column(columns[i])))
			return false;
	return true;
}

/* Is it the index that an older version has made? The owner's own stays. */
static bool
is_before(HeapTuple tuple, Oid leaf, const NewIndex *index)
{
	return is_on(tuple, leaf, index->nbefore, index->before, true);
}

/*
 * The index that was begun, a copy of the catalog's row; else NULL, and the name under which
 * to begin it. That has the leaf's OID in it where the owner has the plain one for something
 * else, or another leaf whose name begins as this one's.
 */
static HeapTuple
find_begun(Oid leaf, const NewIndex *index, char **name)
{
	char	   *label = psprintf("%s_new", index->name);
	char	   *names[] = {
		makeObjectName(get_rel_name(leaf), NULL, label),
		makeObjectName(get_rel_name(leaf), psprintf("%u", leaf), label)
	};

	for (int i = 0; i < lengthof(names); i++)
	{
		HeapTuple	tuple = find_index(leaf, names[i]);

		if (tuple != NULL && is_on(tuple, leaf, index->ncolumns, index->columns,
								   index->path != PATH_REPLIES))
			return tuple;
	}
	*name = names[OidIsValid(get_relname_relid(names[0],
											   get_rel_namespace(leaf))) ? 1 : 0];
	return NULL;
}

/*
 * Can a leaf's index have its final name? What has it may have to go for that, which it
 * cannot while it is part of an index of the owner's on the whole container.
 */
static bool
name_is_free(Oid leaf, const NewIndex *index, HeapTuple *before)
{
	char	   *name = index_name(leaf, index);

	*before = find_index(leaf, name);
	if (*before == NULL)
		return !OidIsValid(get_relname_relid(name, get_rel_namespace(leaf)));
	return !get_rel_relispartition(((Form_pg_index) GETSTRUCT(*before))->indexrelid) &&
		(!is_valid(*before) || is_before(*before, leaf, index));
}

static BlockNumber
leaf_pages(Oid leaf)
{
	Relation	rel = table_open(leaf, NoLock);
	BlockNumber pages = RelationGetNumberOfBlocks(rel);

	table_close(rel, NoLock);
	return pages;
}

/*
 * Lock a leaf, which is locked weakly, for what is to be done with it: LEAF_DONE; the other
 * lock would be in the way of who does the same.
 */
static LeafStep
lock_instead(Oid leaf, LOCKMODE mode, int *patience)
{
	UnlockRelationOid(leaf, AccessShareLock);
	if (!leaf_lock_alone(leaf, mode, patience))
		return LEAF_IN_USE;
	/* else it has gone: look again */
	return get_rel_relkind(leaf) == RELKIND_RELATION ? LEAF_DONE : LEAF_ALTERED;
}

/*
 * An index was built: give it its name. LEAF_LARGE: that was begun, and somebody is at it
 * still, or was cut short.
 */
static LeafStep
put_in_place(Oid leaf, const NewIndex *index, int *patience)
{
	char	   *name;
	HeapTuple	made = find_begun(leaf, index, &name);
	HeapTuple	before;
	LeafStep	result;

	if (made == NULL)
		return LEAF_ALTERED;	/* DROP INDEX CONCURRENTLY has come between */
	if (!is_valid(made))
		return LEAF_LARGE;
	if (!name_is_free(leaf, index, &before))
		return LEAF_DONE;		/* it serves under the other name, too */
	result = lock_instead(leaf, AccessExclusiveLock, patience);
	/* others may have come before, and be building another by now */
	made = find_begun(leaf, index, &name);
	if (result != LEAF_DONE)
		return made == NULL ? LEAF_ALTERED : result;
	if (made != NULL && is_valid(made) && name_is_free(leaf, index, &before))
	{
		if (before != NULL)
			run_on_leaf(psprintf("DROP INDEX %s",
								 leaf_sql_name(((Form_pg_index) GETSTRUCT(before))->indexrelid)));
		RenameRelationInternal(((Form_pg_index) GETSTRUCT(made))->indexrelid,
							   index_name(leaf, index), false, true);
	}
	return LEAF_ALTERED;
}

/* The index that was begun, and whether it is valid; or InvalidOid. */
Oid
leaf_index_begun(Oid leaf, int number, bool *valid)
{
	char	   *name;
	HeapTuple	tuple = find_begun(leaf, &new_indexes[number], &name);

	if (tuple == NULL)
		return InvalidOid;
	*valid = is_valid(tuple);
	return ((Form_pg_index) GETSTRUCT(tuple))->indexrelid;
}

static bool
is_begun(Oid leaf, int number)
{
	bool		valid;

	return OidIsValid(leaf_index_begun(leaf, number, &valid));
}

/*
 * Build an index of a leaf that is locked. Beside writers: in a transaction that has done
 * nothing else and no snapshot; it ends, and another has begun.
 */
void
leaf_build_index(Oid leaf, int number, bool beside)
{
	const NewIndex *index = &new_indexes[number];
	Oid			tablespace = get_rel_tablespace(leaf);
	char	   *name;
	char	   *sql;
	IndexStmt  *stmt;

	if (find_begun(leaf, index, &name) != NULL)
		return;
	sql = psprintf("CREATE INDEX %s%s ON %s %s", beside ? "CONCURRENTLY " : "",
				   quote_identifier(name), leaf_sql_name(leaf), index->definition);
	stmt = castNode(IndexStmt,
					linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT))->stmt);
	/* not in that which the session has set */
	stmt->tableSpace = get_tablespace_name(OidIsValid(tablespace) ? tablespace :
										   MyDatabaseTableSpace);
	PushActiveSnapshot(GetTransactionSnapshot());
	(void) compat_define_index(leaf, transformIndexStmt(leaf, stmt, sql));
	if (!beside)
		PopActiveSnapshot();
}

/*
 * Is a leaf to be given an index? Not if any serves, whatever its name, if the leaf has not
 * got the column so far, or if it is not what it should be, which is told of.
 */
static bool
lacks_index(Oid leaf, const NewIndex *index, int partition)
{
	uint64		left_out = left_out_count();

	return (index->path != PATH_REPLIES ||
			get_attnum(leaf, property_column(PROP_PARENT_ID)) != InvalidAttrNumber) &&
		!partition_has_path(index->container, index->type, partition,
							index->path) &&
		left_out_count() == left_out;
}

/*
 * Does a leaf, which is locked, still lack an index that is to be built? It may have come, or
 * the leaf may have gone.
 */
bool
leaf_lacks_index(const LargeBuild *build)
{
	const NewIndex *index = &new_indexes[build->index];

	return upgraded_leaf(index->container, index->type,
						 build->partition) == build->leaf &&
		lacks_index(build->leaf, index, build->partition);
}

/* Build an index that a leaf lacks, if its writers can be kept out for so long. */
static LeafStep
build_at_once(Oid leaf, int number, int partition, int *patience)
{
	LeafStep	result;

	if (leaf_pages(leaf) > FEW_PAGES)
		return LEAF_LARGE;
	/* in this mode, of two who do the same one comes first */
	result = lock_instead(leaf, ShareRowExclusiveLock, patience);
	if (result != LEAF_DONE)
		return result;
	if (!is_begun(leaf, number) &&
		lacks_index(leaf, &new_indexes[number], partition))
		leaf_build_index(leaf, number, false);
	return LEAF_ALTERED;
}

/* Go a step towards a leaf that has an index. */
static LeafStep
upgrade_index(Oid leaf, int number, int partition, IndexRound *round)
{
	LeafStep	result;

	if (is_begun(leaf, number))
		result = put_in_place(leaf, &new_indexes[number], round->patience);
	else if (!lacks_index(leaf, &new_indexes[number], partition))
		return LEAF_DONE;
	else
	{
		/*
		 * How far jobs have come in a user's comments was noted by the index that there is.
		 * An older library has noted it so that it means something else by the new one.
		 */
		if (new_indexes[number].path == PATH_USER && !round->jobs_begin_anew)
			jobs_restart_sweeps();
		round->jobs_begin_anew |= new_indexes[number].path == PATH_USER;
		result = build_at_once(leaf, number, partition, round->patience);
	}
	round->large.leaf = leaf;
	round->large.partition = partition;
	round->large.index = number;
	return result;
}

/*
 * Go a step towards a leaf that has all indexes. LEAF_LARGE: leaf_build_beside() is the
 * next, with what *round says. Locks on the leaf, by leaf_lock_alone():
 * ShareRowExclusiveLock while an index of few pages is built; AccessExclusiveLock while it
 * takes another's name.
 */
LeafStep
leaf_upgrade_index(Container container, ItemType type, int partition,
				   IndexRound *round)
{
	Oid			leaf = upgraded_leaf(container, type, partition);
	LeafStep	result = LEAF_DONE;

	if (!OidIsValid(leaf))
		return LEAF_DONE;
	/* once: lock_instead() unlocks it */
	LockRelationOid(leaf, AccessShareLock);
	if (upgraded_leaf(container, type, partition) != leaf)
		return LEAF_DONE;
	for (int i = 0; i < lengthof(new_indexes) && result == LEAF_DONE; i++)
		if (new_indexes[i].container == container && new_indexes[i].type == type)
			result = upgrade_index(leaf, i, partition, round);
	return result;
}
