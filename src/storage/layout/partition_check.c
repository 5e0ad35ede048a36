/*
 * partition_check.c
 *		Checks that the table named by a hint is the wanted partition or leaf.
 *
 * A hint may be out of date. The check reads the parent and the partition
 * bound from the table's own catalog rows. The parent's partition descriptor
 * (RelationGetPartitionDesc()) has the same information. But to build the
 * descriptor, the server reads all partitions.
 *
 * If in doubt, the check fails, for example while a partition is being
 * detached (DETACH PARTITION ... CONCURRENTLY). The caller then reads the
 * whole layout of the container. Runs in any process.
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

/*
 * Return whether a table is attached to "parent", and is not being detached. A
 * table with several parents is not accepted.
 */
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

/*
 * Return the partition bound of a table. Returns NULL if the table has another
 * relkind or owner than the given ones, or is not a partition, or is a default
 * partition.
 */
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
 * Return whether a table is the partition of "root" that takes keys with the
 * given hash. The table must also have the given owner, and be partitioned by
 * item type. Sets *modulus and *remainder from the table's partition bound.
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
 * Return whether a table is the leaf for the items of a type in a partition,
 * and has the given owner. The caller has checked the partition with
 * proof_of_partition().
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
