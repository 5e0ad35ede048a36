/*
 * table_identity.c
 *		Which items a table holds, told from the table: the way back from a leaf to
 *		container and type.
 *
 * The output plugin asks, while the catalogs show the past. So nothing here goes by
 * what layout_cache.c remembers, or calls anything that does.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The table of a name in blogstore's schema, whatever it is; InvalidOid: none. */
Oid
table_lookup(const char *name)
{
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, true);

	return OidIsValid(nsp) ? get_relname_relid(name, nsp) : InvalidOid;
}

/* Is a table in blogstore's schema a container's, or one of its partitions on a cluster? */
static bool
is_of_container(Oid root, Oid nsp, Container container)
{
	const char *name = container_table(container);
	char	   *root_name;

	if (root == table_lookup(name))
		return true;
	if (get_rel_namespace(root) != nsp || container_key(container) == PROP_TYPE)
		return false;
	root_name = get_rel_name(root);
	return root_name != NULL && cluster_library->names_partition_of(root_name, name);
}

/*
 * The container that a table is a partition of; false: of none, or not any more while
 * it is being detached (DETACH PARTITION ... CONCURRENTLY, which may stop half-way).
 * The root of its tree tells, which is the container's table and not another of its
 * name in another schema.
 */
bool
table_container(Oid table, Container *container)
{
	List	   *ancestors = get_partition_ancestors(table);
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, true);

	if (ancestors == NIL)
		return false;
	for (*container = 0; *container < N_CONTAINERS; (*container)++)
		if (is_of_container(llast_oid(ancestors), nsp, *container))
			return true;
	return false;
}

/* Is a table, by its name, the one that holds the users on a node of a cluster? */
bool
table_holds_user_items(const char *name)
{
	return cluster_library->names_partition_of(name, USER_ITEMS_TABLE);
}

/* Is a table a partition for items of a type, by its LIST bound? */
bool
table_takes(Oid table, ItemType type)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool		isnull;
	bool		takes = false;
	Datum		bound;

	if (!HeapTupleIsValid(tuple))
		return false;
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
	{
		PartitionBoundSpec *spec = stringToNode(TextDatumGetCString(bound));
		ListCell   *lc;

		foreach(lc, spec->listdatums)
		{
			const Const *value = lfirst(lc);

			takes |= IsA(value, Const) && value->consttype == TEXTOID &&
				!value->constisnull &&
				strcmp(TextDatumGetCString(value->constvalue),
					   item_type_name(type)) == 0;
		}
	}
	ReleaseSysCache(tuple);
	return takes;
}
