/*
 * partitions.c
 *		The partitions of a container on this server, and which of them holds
 *		the items with a given key.
 *
 * On one machine, users, posts and topics are partitioned BY HASH of a key.
 * The feed has no key, and is treated as a single partition. On a cluster,
 * src/cluster/ finds the partitions and their nodes.
 *
 * Other files name a partition by a number, which is valid as long as the
 * cached layout is valid. On a cluster the numbers have gaps, because some
 * partitions are on other nodes.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/fmgroids.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Return a LayoutProblem if a container's root table has the wrong partition
 * key; else NULL. On a cluster, the root table is partitioned by item type
 * instead of by hash.
 */
static LayoutProblem *
key_problem(Container container, Oid root)
{
	Property	key = container_key(container);
	LayoutProblem *problem;
	SpreadTable spread;

	if (key == PROP_TYPE)
		return shape_key_problem(root, PARTITION_STRATEGY_LIST, PROP_TYPE);
	problem = shape_key_problem(root, PARTITION_STRATEGY_HASH, key);
	if (problem != NULL &&
		shape_is_split_by_type(root) &&
		cluster_library->read_partitions(root, &spread) && !spread.everywhere)
		return NULL;
	return problem;
}

/*
 * Return why a table cannot be the root table of a container; NULL if it can.
 * Does not check the owner.
 */
LayoutProblem *
partitions_root_problem(Container container, Oid root)
{
	LayoutProblem *problem = shape_table_problem(root, RELKIND_PARTITIONED_TABLE,
												 InvalidOid);

	return problem ? problem : key_problem(container, root);
}

/*
 * Fill in the hash function of a container's table. For each remainder, also
 * fill in the number of the partition that takes keys with this remainder.
 */
static void
load_hash(Partitions *partitions, PartitionKey key, PartitionDesc desc)
{
	fmgr_info_copy(&partitions->hash_proc, &key->partsupfunc[0],
				   CurrentMemoryContext);
	partitions->hash_collation = key->partcollation[0];
	partitions->modulus = desc->nparts > 0 ? desc->boundinfo->nindexes : 0;
	partitions->of_remainder = palloc(sizeof(int) * (partitions->modulus + 1));
	partitions->whole = partitions->modulus > 0;
	for (int i = 0; i < partitions->modulus; i++)
	{
		partitions->of_remainder[i] = desc->boundinfo->indexes[i];
		partitions->whole &= partitions->of_remainder[i] >= 0;
	}
}

static void
load_spread(Partitions *partitions, Container container, Relation root)
{
	SpreadTable spread;

	if (!cluster_library->read_partitions(RelationGetRelid(root), &spread))
		/*
		 * The table is no longer spread over a cluster. The transaction that
		 * changed the table has sent a relcache invalidation. So the layout
		 * that is being read becomes invalid.
		 */
		return;
	partitions->map = spread.map;
	if (container == CONTAINER_USERS)
		partitions->everywhere = UINT32_C(1) << ITEM_USER;
	/* at least 1: load_user_items() adds the leaf for users to partition 0 */
	partitions->n = Max(spread.n, 1);
	partitions->table = spread.table;
	for (int t = 0; t < N_ITEM_TYPES; t++)
		partitions->leaf[t] = palloc0(sizeof(CachedLeaf) * partitions->n);
}

/*
 * Read the partitions of a container into *partitions, and allocate arrays for
 * their leaves. The caller has opened the container's table "root", and
 * checked it with partitions_root_problem(). Allocates in the current memory
 * context.
 */
void
partitions_load(Partitions *partitions, Container container, Relation root)
{
	PartitionDesc desc = RelationGetPartitionDesc(root, true);
	bool		hashed = container_key(container) != PROP_TYPE;
	int			n = hashed ? desc->nparts : FEED_PARTITION + 1;

	partitions->hashed = hashed;
	partitions->by_text = container_key(container) == PROP_TOPIC;
	partitions->whole = true;
	if (hashed && RelationGetPartitionKey(root)->strategy !=
		PARTITION_STRATEGY_HASH)
	{
		load_spread(partitions, container, root);
		return;
	}
	if (hashed)
		load_hash(partitions, RelationGetPartitionKey(root), desc);
	partitions->table = palloc(sizeof(Oid) * (n + 1));
	for (int i = 0; i < n; i++)
		partitions->table[i] = hashed ? desc->oids[i] : RelationGetRelid(root);
	for (int t = 0; t < N_ITEM_TYPES; t++)
		partitions->leaf[t] = palloc0(sizeof(CachedLeaf) * (n + 1));
	partitions->n = n;
}

/*
 * Initialize a sparse layout. partitions_add() later adds each partition when
 * it is used. The feed gets its only partition at once. The caller has checked
 * the table "root" with partitions_root_problem(). Allocates in the current
 * memory context.
 *
 * modulus: the largest modulus of the partitions, from a hint
 */
void
partitions_expect(Partitions *partitions, Container container, Oid root,
				  int modulus)
{
	bool		hashed = container_key(container) != PROP_TYPE;
	int			n = hashed ? modulus : FEED_PARTITION + 1;

	partitions->sparse = true;
	partitions->hashed = hashed;
	partitions->by_text = container_key(container) == PROP_TOPIC;
	partitions->modulus = modulus;
	partitions->n = n;
	partitions->table = palloc0(sizeof(Oid) * n);
	if (!hashed)
	{
		partitions->table[FEED_PARTITION] = root;
		return;
	}
	/*
	 * Use the default hash function of the key's type.
	 * partitions_root_problem() has checked that the container uses this
	 * function, too.
	 */
	fmgr_info(partitions->by_text ? F_HASHTEXTEXTENDED : F_UUID_HASH_EXTENDED,
			  &partitions->hash_proc);
	partitions->hash_collation = partitions->by_text ? C_COLLATION_OID :
		InvalidOid;
	partitions->of_remainder = palloc(sizeof(int) * n);
	for (int i = 0; i < n; i++)
		partitions->of_remainder[i] = UNPROVEN;
}

/*
 * Add a partition to a sparse layout, which has only the partitions used so
 * far. Returns the partition's number. Returns UNPROVEN if partitions->modulus
 * is not a multiple of the partition's modulus. This can happen because
 * partitions->modulus comes from a hint, which may be wrong.
 *
 * hash: the hash of a key that the partition takes
 * table: the partition's table, which the caller has checked
 * modulus, remainder: from the partition's bound
 */
int
partitions_add(Partitions *partitions, uint64 hash, Oid table, int modulus,
			   int remainder)
{
	if (partitions->modulus % modulus != 0)
		return UNPROVEN;
	/*
	 * The remainder serves as the partition's number. Two hash partitions of a
	 * table never have the same remainder, even with different moduli.
	 */
	partitions->table[remainder] = table;
	partitions->of_remainder[hash % (uint64) partitions->modulus] = remainder;
	return remainder;
}

/*
 * Return the hint for the partition that takes keys with the given hash;
 * InvalidOid if there is none. The caller must check the hint.
 */
Oid
partitions_hint(const Partitions *partitions, Oid root, uint64 hash)
{
	return hint_find(HINT_PARTITION, root,
					 hash % (uint64) partitions->modulus);
}

/*
 * Leave the OIDs of all partitions and leaves in shared memory as hints.
 * Called after the whole layout of a container was read. Does nothing on a
 * cluster.
 */
void
partitions_leave_hints(const Partitions *partitions, Oid root)
{
	if (partitions->map != NULL)
		return;
	for (int p = 0; p < partitions->n; p++)
		for (ItemType type = 0; type < N_ITEM_TYPES; type++)
		{
			const CachedLeaf *leaf = partitions_leaf(partitions, type, p);

			if (leaf != NULL && OidIsValid(leaf->relid) && leaf->misplaced == NULL)
				hint_leave(HINT_LEAF, partitions->table[p], type, leaf->relid);
		}
	for (int i = 0; partitions->hashed && i < partitions->modulus; i++)
		if (partitions->of_remainder[i] >= 0)
			hint_leave(HINT_PARTITION, root, i,
					   partitions->table[partitions->of_remainder[i]]);
	/* The modulus comes last, because other backends look for it first. */
	if (!partitions->hashed || partitions->modulus > 0)
		hint_leave(HINT_MODULUS, root, 0, Max(partitions->modulus, 1));
}

/*
 * Return the cache entry for the leaf of a type in a partition. Allocates the
 * entry in the current memory context if it does not exist. Only for a sparse
 * layout, one that has only the tables used so far.
 */
CachedLeaf *
partitions_leaf_place(Partitions *partitions, ItemType type, int number)
{
	if (partitions->leaf[type] == NULL)
		partitions->leaf[type] = palloc0(sizeof(CachedLeaf) * partitions->n);
	return &partitions->leaf[type][number];
}

bool
partitions_whole(const Partitions *partitions)
{
	return partitions->whole;
}

LayoutProblem *
partitions_gap_problem(const Partitions *partitions, Container container)
{
	int			gap = 0;

	while (gap < partitions->modulus && partitions->of_remainder[gap] >= 0)
		gap++;
	return shape_missing_problem(psprintf("container \"%s\" has no partition WITH (MODULUS %d, REMAINDER %d)",
										  container_table(container),
										  Max(partitions->modulus, 1), gap));
}

int
partitions_count(const Partitions *partitions)
{
	return partitions->n;
}

static uint64
hash_of(Partitions *partitions, const void *key)
{
	Datum		value = PointerGetDatum(key);
	bool		isnull = false;

	return compute_partition_hash_value(1, &partitions->hash_proc,
										&partitions->hash_collation, &value,
										&isnull);
}

/*
 * Return the hash of a key, as the server computes it to choose a partition.
 * Caches recent results, because a request uses the same keys several times.
 */
uint64
partitions_hash(Partitions *partitions, const void *key)
{
	const pg_uuid_t *id = key;
	KeptHash   *kept;

	if (partitions->by_text)
		return hash_of(partitions, key);
	kept = &partitions->kept[id->data[UUID_LEN - 1] % KEPT_HASHES];
	if (kept->known && memcmp(&kept->key, id, sizeof(pg_uuid_t)) == 0)
		return kept->hash;
	kept->known = false;
	kept->hash = hash_of(partitions, key);
	kept->key = *id;
	kept->known = true;
	return kept->hash;
}

/*
 * Return whether every node of a cluster has all items of a type, in a single
 * partition.
 */
static bool
is_everywhere(const Partitions *partitions, ItemType type)
{
	return (partitions->everywhere & (UINT32_C(1) << type)) != 0;
}

/*
 * Return the number of the partition that takes the items of a type with a
 * given key; NO_PARTITION if there is none. The partition may be on another
 * node of a cluster. Returns UNPROVEN if the partition may exist, but has not
 * been used so far.
 */
int
partitions_taking(Partitions *partitions, ItemType type, const void *key)
{
	uint64		hash;

	if (!partitions->hashed)
		return FEED_PARTITION;
	if (partitions->map != NULL)
		return is_everywhere(partitions, type) ? 0 :
			cluster_library->partition_of_key(partitions->map, key);
	if (partitions->modulus <= 0)
		return NO_PARTITION;
	hash = partitions_hash(partitions, key);
	return partitions->of_remainder[hash % (uint64) partitions->modulus];
}

/*
 * Return the number of the partition on this server that holds the items of a
 * type with a given key. Returns NO_PARTITION if there is none. Returns
 * UNPROVEN if the partition may exist, but has not been used so far.
 */
int
partitions_of_key(Partitions *partitions, ItemType type, const void *key)
{
	int			number = partitions_taking(partitions, type, key);

	if (partitions->map != NULL && number >= 0 && !is_everywhere(partitions, type) &&
		!OidIsValid(partitions->table[number]))
		return NO_PARTITION;
	return number;
}

/*
 * Starting at partition number "number", return the number of the first
 * partition that is on this server. Returns NO_PARTITION if there is none.
 */
int
partitions_next_table(const Partitions *partitions, int number)
{
	number = Max(number, 0);
	while (partitions->map != NULL && number < partitions->n &&
		   !OidIsValid(partitions->table[number]))
		number++;
	return number < partitions->n ? number : NO_PARTITION;
}

/*
 * Starting at partition number "number", return the number of the first
 * partition that is on this server and holds items of the type. Returns
 * NO_PARTITION if there is none.
 */
int
partitions_from(const Partitions *partitions, ItemType type, int number)
{
	if (is_everywhere(partitions, type))
		return number <= 0 ? 0 : NO_PARTITION;
	return partitions_next_table(partitions, number);
}

/*
 * Keep the cluster from moving the partition of items of a type off this node
 * until the transaction ends. Called before a write. Returns true if the
 * partition could move. The caller must then look up the partition again,
 * because the cluster may have moved it before the call. Returns false on one
 * machine, and if every node has all items of the type.
 */
bool
partitions_hold(const Partitions *partitions, ItemType type, int number)
{
	if (partitions->map == NULL || is_everywhere(partitions, type))
		return false;
	cluster_library->hold_partition(partitions->map, number);
	return true;
}

/*
 * Return the table of a partition. This table is itself partitioned by item
 * type. The feed's only partition is the table feed itself. Returns InvalidOid
 * if the partition does not exist, or is on another node of a cluster.
 */
Oid
partitions_table(const Partitions *partitions, int number)
{
	return number >= 0 && number < partitions->n ?
		partitions->table[number] : InvalidOid;
}

typedef struct Attachment
{
	Oid			table;
	Oid			parent;
	TransactionId by;
} Attachment;

/*
 * For each partition of "parent" that the active snapshot shows in
 * pg_inherits, append a struct Attachment to the list.
 */
static List *
add_attached(List *attached, Relation inherits, Oid parent)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(parent));
	scan = systable_beginscan(inherits, InheritsParentIndexId, true,
							  GetActiveSnapshot(), 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);
		Attachment *one;

		if (form->inhdetachpending)
			continue;
		one = palloc(sizeof(Attachment));
		one->table = form->inhrelid;
		one->parent = form->inhparent;
		one->by = HeapTupleHeaderGetRawXmin(tuple->t_data);
		attached = lappend(attached, one);
	}
	systable_endscan(scan);
	return attached;
}

/*
 * If a container's table is spread over a cluster, append the OIDs of its
 * partitions on this node to "text". For each leaf in these partitions, append
 * a struct Attachment to the list.
 */
static List *
add_spread(List *attached, Relation inherits, Oid root, StringInfo text)
{
	SpreadTable spread;

	if (!shape_is_split_by_type(root) ||
		!cluster_library->read_partitions(root, &spread))
		return attached;
	for (int i = 0; i < spread.n; i++)
		if (OidIsValid(spread.table[i]))
		{
			attached = add_attached(attached, inherits, spread.table[i]);
			appendStringInfo(text, "%u,", spread.table[i]);
		}
	return attached;
}

static int
compare_attached(const ListCell *a, const ListCell *b)
{
	Oid			ta = ((const Attachment *) lfirst(a))->table;
	Oid			tb = ((const Attachment *) lfirst(b))->table;

	return ta < tb ? -1 : ta > tb;
}

/*
 * Return a hash of all partitions and leaves of the tables in the array
 * "root". The hash includes the xmin of each partition's row in pg_inherits.
 * So the hash also changes if a partition is detached and attached again.
 * Unlike pg_partition_tree(), this function locks no partition, so it does not
 * block DDL.
 *
 * The worker stores the hash, and rebuilds the views when the hash changes. So
 * if you change this function, every server rebuilds its views once.
 */
int64
partitions_number(const Oid *root, int nroots)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	List	   *attached = NIL;
	ListCell   *lc;
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < nroots; i++)
	{
		attached = add_attached(attached, inherits, root[i]);
		attached = add_spread(attached, inherits, root[i], &text);
	}
	/* add_attached() appends leaves to this list; the loop visits them, too */
	for (int i = 0; i < list_length(attached); i++)
		attached = add_attached(attached, inherits,
								((Attachment *) list_nth(attached, i))->table);
	table_close(inherits, AccessShareLock);

	list_sort(attached, compare_attached);
	foreach(lc, attached)
	{
		const Attachment *one = lfirst(lc);

		appendStringInfo(&text, "%s%u %u %u", text.len > 0 ? "," : "",
						 one->table, one->parent, one->by);
	}
	return DatumGetInt64(hash_any_extended((unsigned char *) text.data,
										   text.len, 0));
}
