/*
 * table_identity.c
 *		Finds the container and the item type to which a table's rows belong.
 *
 * The output plugin calls these functions during logical decoding, when the
 * catalogs show a state of the past. They therefore do not use the cached
 * layout (layout_cache.c), which shows the present state.
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

/*
 * Return the OID of the relation in blogstore's schema that has the given
 * name, whatever its relkind; InvalidOid if there is none.
 */
Oid
table_lookup(const char *name)
{
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, true);

	return OidIsValid(nsp) ? get_relname_relid(name, nsp) : InvalidOid;
}

/*
 * Return whether a table is the root table of a container. On a cluster, also
 * return true for a partition of the root table.
 *
 * nsp: the OID of blogstore's schema
 */
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
 * Set *container to the container to which a partition or leaf belongs.
 * Returns false if the table belongs to no container of blogstore's schema.
 * Also returns false if the table is being detached (DETACH PARTITION ...
 * CONCURRENTLY).
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

/*
 * Return whether "name" is the name of a partition of USER_ITEMS_TABLE. On a
 * cluster, this table holds the users.
 */
bool
table_holds_user_items(const char *name)
{
	return cluster_library->names_partition_of(name, USER_ITEMS_TABLE);
}

/*
 * Return whether a table is a partition that takes the items of a type,
 * according to the table's LIST bound.
 */
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
