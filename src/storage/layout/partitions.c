/*
 * partitions.c
 *		The first level of a container: which partitions it has on this server, and
 *		which of them holds a key.
 *
 * On one machine a container is PARTITION BY HASH of its partition key, and the feed, which
 * has no such key, is its own only partition. On a cluster src/cluster/ tells which partitions
 * there are; some of them are on this node, and each node has all users. No other file knows
 * that. All others have a partition named by a number, and may not assume more of the numbers
 * than that they are not negative and hold as long as the layout does: on a cluster they have
 * gaps, where partitions are on other nodes.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
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
 * What is wrong with how a container's root is partitioned; NULL: nothing. One that is not
 * split by the hash of its key, but by type, may be spread over a cluster instead.
 */
LayoutProblem *
partitions_problem(Container container, Oid root)
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

/* Read how keys are spread over partitions from the description of the root. */
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

/* Read the partitions of a root that is spread over a cluster. */
static void
load_spread(Partitions *partitions, Container container, Relation root)
{
	SpreadTable spread;

	if (!cluster_library->read_partitions(RelationGetRelid(root), &spread))
		return;					/* no more: an invalidation is on its way */
	partitions->map = spread.map;
	if (container == CONTAINER_USERS)
		partitions->everywhere = UINT32_C(1) << ITEM_USER;
	partitions->n = Max(spread.n, 1);	/* users are in the first */
	partitions->table = spread.table;
	for (int t = 0; t < N_ITEM_TYPES; t++)
		partitions->leaf[t] = palloc0(sizeof(CachedLeaf) * partitions->n);
}

/*
 * Read which partitions a container has, whose root is open and has no problem.
 * Of their leaves nothing is known yet. All is made in the current memory context.
 */
void
partitions_load(Partitions *partitions, Container container, Relation root)
{
	PartitionDesc desc = RelationGetPartitionDesc(root, true);
	bool		hashed = container_key(container) != PROP_TYPE;
	int			n = hashed ? desc->nparts : FEED_PARTITION + 1;

	partitions->hashed = hashed;
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
 * Make a sparse map of a container whose root has no problem. modulus: the
 * greatest of its partitions, as far as anybody has heard. In the current context.
 */
void
partitions_expect(Partitions *partitions, Container container, Oid root,
				  int modulus)
{
	bool		hashed = container_key(container) != PROP_TYPE;
	int			n = hashed ? modulus : FEED_PARTITION + 1;

	partitions->sparse = true;
	partitions->hashed = hashed;
	partitions->modulus = modulus;
	partitions->n = n;
	partitions->table = palloc0(sizeof(Oid) * n);
	if (!hashed)
	{
		partitions->table[FEED_PARTITION] = root;
		return;
	}
	/* what the usual way of hashing a uuid comes to (shape_usual_opfamily()) */
	fmgr_info(F_UUID_HASH_EXTENDED, &partitions->hash_proc);
	partitions->hash_collation = InvalidOid;
	partitions->of_remainder = palloc(sizeof(int) * n);
	for (int i = 0; i < n; i++)
		partitions->of_remainder[i] = UNPROVEN;
}

/*
 * A table has been proven to be the partition with a bound, which takes keys with a
 * hash: add it to a sparse map. Returns its number, or UNPROVEN if it does not fit
 * in, because its keys are not those of some of the map's remainders.
 */
int
partitions_add(Partitions *partitions, uint64 hash, Oid table, int modulus,
			   int remainder)
{
	if (partitions->modulus % modulus != 0)
		return UNPROVEN;
	/* its least remainder is its own alone */
	partitions->table[remainder] = table;
	partitions->of_remainder[hash % (uint64) partitions->modulus] = remainder;
	return remainder;
}

/* The table that is said to hold keys with a hash; InvalidOid: nothing is said. */
Oid
partitions_hint(const Partitions *partitions, Oid root, uint64 hash)
{
	return hint_find(HINT_PARTITION, root,
					 hash % (uint64) partitions->modulus);
}

/*
 * The partitions of a root, and their leaves, have been read by the whole: leave hints
 * of them for other sessions.
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
	/* the last, because it is what the others are found by */
	if (!partitions->hashed || partitions->modulus > 0)
		hint_leave(HINT_MODULUS, root, 0, Max(partitions->modulus, 1));
}

/* The place of a leaf in a sparse map, in the current memory context. */
CachedLeaf *
partitions_leaf_place(Partitions *partitions, ItemType type, int number)
{
	if (partitions->leaf[type] == NULL)
		partitions->leaf[type] = palloc0(sizeof(CachedLeaf) * partitions->n);
	return &partitions->leaf[type][number];
}

/* Is there a partition for each key? */
bool
partitions_whole(const Partitions *partitions)
{
	return partitions->whole;
}

/* A container that is not whole: which partition is missing? */
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

/* How many partitions are there? */
int
partitions_count(const Partitions *partitions)
{
	return partitions->n;
}

/*
 * The hash of a key, by which partitions are told. A request asks for the same ones
 * several times.
 */
uint64
partitions_hash(Partitions *partitions, const pg_uuid_t *key)
{
	KeptHash   *kept = &partitions->kept[key->data[UUID_LEN - 1] % KEPT_HASHES];
	Datum		value = UUIDPGetDatum(key);
	bool		isnull = false;

	if (kept->known && memcmp(&kept->key, key, sizeof(pg_uuid_t)) == 0)
		return kept->hash;
	kept->known = false;
	kept->hash =
		compute_partition_hash_value(1, &partitions->hash_proc,
									 &partitions->hash_collation, &value,
									 &isnull);
	kept->key = *key;
	kept->known = true;
	return kept->hash;
}

/* Does each node have all items of a type? They are in one partition then. */
static bool
is_everywhere(const Partitions *partitions, ItemType type)
{
	return (partitions->everywhere & (UINT32_C(1) << type)) != 0;
}

/*
 * Return the partition that takes a key's items of a type, on this node or on another;
 * NO_PARTITION: none does; UNPROVEN: a sparse map does not tell.
 */
int
partitions_taking(Partitions *partitions, ItemType type, const pg_uuid_t *key)
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
 * The partition that holds a key's items of a type; NO_PARTITION: none on this server does;
 * UNPROVEN: a sparse map does not tell.
 */
int
partitions_of_key(Partitions *partitions, ItemType type, const pg_uuid_t *key)
{
	int			number = partitions_taking(partitions, type, key);

	if (partitions->map != NULL && number >= 0 && !is_everywhere(partitions, type) &&
		!OidIsValid(partitions->table[number]))
		return NO_PARTITION;	/* it is on another node */
	return number;
}

/*
 * The partition with the lowest number from a number on that is a table here;
 * NO_PARTITION: none.
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

/* The same among those for items of a type. */
int
partitions_from(const Partitions *partitions, ItemType type, int number)
{
	if (is_everywhere(partitions, type))
		return number <= 0 ? 0 : NO_PARTITION;
	return partitions_next_table(partitions, number);
}

/*
 * Keep a partition where it is, before it is written to. Returns true if the caller has to ask
 * again which partition it wants; false: partitions stay where they are.
 */
bool
partitions_hold(const Partitions *partitions, int number)
{
	if (partitions->map == NULL)
		return false;
	cluster_library->hold_partition(partitions->map, number);
	return true;
}

/*
 * The table of a partition, which is split by type: of the feed, its root. InvalidOid: it is
 * not on this node, or there is no such partition.
 */
Oid
partitions_table(const Partitions *partitions, int number)
{
	return number >= 0 && number < partitions->n ?
		partitions->table[number] : InvalidOid;
}

/* A table that belongs to a parent, and the transaction that has attached it. */
typedef struct Attachment
{
	Oid			table;
	Oid			parent;
	TransactionId by;
} Attachment;

/* Add what is attached to a parent, by the active snapshot. */
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
 * Add what is attached to those partitions of a root that are on this node of a cluster, and
 * the partitions themselves to the text.
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
 * A number for which tables make up the containers with these roots, and since
 * when: attaching a partition makes a new row of pg_inherits, even if it was
 * attached before. None of them is locked, by pg_partition_tree() say, which would
 * be in the way of DDL.
 *
 * The worker stores the number. Whatever comes to be computed otherwise here makes
 * every server build its views anew once.
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
	/* the list grows by what is attached to its members */
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
