/*
 * partition_check.c
 *		Is a table the partition, or the leaf, that it is said to be?
 *
 * What is asked are the rows that the catalogs have of the one table: what it is
 * attached to, and by which bound. The server's description of the parent
 * (RelationGetPartitionDesc()) would tell as well, but reads all partitions for it.
 *
 * What is in doubt, as a partition that is being detached (DETACH PARTITION ...
 * CONCURRENTLY), is not proven: the caller reads the layout then, as the
 * server sees it. Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

/* Is a table attached to a parent, and to nothing else? */
static bool
is_attached_to(Oid table, Oid parent)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	int			parents = 0;
	bool		attached = false;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true,
							  NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		parents++;
		attached = form->inhparent == parent && !form->inhdetachpending;
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return attached && parents == 1;
}

/* The bound of a partition of a kind and an owner; NULL: it is no such thing. */
static PartitionBoundSpec *
find_bound(Oid table, char kind, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	PartitionBoundSpec *bound = NULL;
	Form_pg_class form;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relispartition && form->relkind == kind && form->relowner == owner)
	{
		value = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound,
								&isnull);
		if (!isnull)
			bound = stringToNode(TextDatumGetCString(value));
	}
	ReleaseSysCache(tuple);
	return bound != NULL && IsA(bound, PartitionBoundSpec) &&
		!bound->is_default ? bound : NULL;
}

/*
 * Is a table a partition of a root, of the same owner, that takes keys with a hash,
 * and that is split by type? *modulus and *remainder become those of its bound.
 */
bool
proof_of_partition(Oid table, Oid root, Oid owner, uint64 hash,
				   int *modulus, int *remainder)
{
	PartitionBoundSpec *bound = find_bound(table, RELKIND_PARTITIONED_TABLE,
										   owner);

	if (bound == NULL || bound->strategy != PARTITION_STRATEGY_HASH ||
		bound->modulus <= 0)
		return false;
	*modulus = bound->modulus;
	*remainder = bound->remainder;
	return hash % (uint64) bound->modulus == (uint64) bound->remainder &&
		is_attached_to(table, root) &&
		shape_key_problem(table, PARTITION_STRATEGY_LIST, PROP_TYPE) == NULL;
}

/*
 * Is a table, of an owner, the leaf for items of a type, and of no other, in a partition
 * that is one?
 */
bool
proof_of_leaf(Oid table, Oid partition, Oid owner, ItemType type)
{
	PartitionBoundSpec *bound = find_bound(table, RELKIND_RELATION, owner);
	const Const *value;

	if (bound == NULL || bound->strategy != PARTITION_STRATEGY_LIST ||
		list_length(bound->listdatums) != 1)
		return false;
	value = linitial(bound->listdatums);
	return IsA(value, Const) && value->consttype == TEXTOID &&
		!value->constisnull &&
		strcmp(TextDatumGetCString(value->constvalue),
			   item_type_name(type)) == 0 &&
		is_attached_to(table, partition);
}
