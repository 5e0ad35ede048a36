/*
 * shards.c
 *		The shards of a Citus table, the nodes where they are placed, and the
 *		lock that keeps a shard from being moved.
 *
 * The shards and nodes are read from Citus's catalogs pg_dist_partition,
 * pg_dist_shard, pg_dist_placement and pg_dist_node. Columns are looked up by
 * name, because their numbers differ between versions of Citus.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "cluster/citus/citus.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * The value of locktag_field4 in the advisory locks by which Citus protects
 * shards from being moved.
 */
#define CITUS_SHARDS_METADATA_LOCK 8

/*
 * The value of pg_dist_placement.shardstate for a placement that can be used.
 */
#define CITUS_PLACEMENT_ACTIVE 1

typedef struct CatalogScan
{
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;			/* the current row, set by catalog_next() */
} CatalogScan;

static Oid
citus_catalog(const char *name)
{
	return get_relname_relid(name, PG_CATALOG_NAMESPACE);
}

bool
cluster_has_citus(void)
{
	return OidIsValid(citus_catalog("pg_dist_partition"));
}

/*
 * Begin a scan of a catalog of Citus. Errors: 55000 if Citus has no such
 * catalog.
 *
 * catalog: the name of the catalog
 * index: the name of an index on "column", or NULL
 * column, value: return only rows where this column equals "value". If
 * "column" is NULL, return all rows.
 * equal: the function that compares the column with "value"
 */
static void
catalog_begin(CatalogScan *scan, const char *catalog, const char *index,
			  const char *column, Oid equal, Datum value)
{
	Oid			relid = citus_catalog(catalog);
	Oid			index_id = index ? citus_catalog(index) : InvalidOid;
	ScanKeyData key;

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this version of Citus has no table \"%s\"", catalog),
				 errhint("blogstore supports Citus 13."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	scan->rel = table_open(relid, AccessShareLock);
	if (column != NULL)
		ScanKeyInit(&key, get_attnum(relid, column), BTEqualStrategyNumber,
					equal, value);
	scan->scan = systable_beginscan(scan->rel, index_id, OidIsValid(index_id),
									NULL, column ? 1 : 0, &key);
	scan->tuple = NULL;
}

static bool
catalog_next(CatalogScan *scan)
{
	scan->tuple = systable_getnext(scan->scan);
	return HeapTupleIsValid(scan->tuple);
}

static void
catalog_end(CatalogScan *scan)
{
	systable_endscan(scan->scan);
	table_close(scan->rel, AccessShareLock);
}

/*
 * Return a column of the scan's current row. Errors: 55000 if there is no such
 * column.
 */
static Datum
catalog_value(const CatalogScan *scan, const char *column, bool *isnull)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(scan->rel), column);

	if (attno == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of this version of Citus has no column \"%s\"",
						RelationGetRelationName(scan->rel), column),
				 errhint("blogstore supports Citus 13."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return heap_getattr(scan->tuple, attno, RelationGetDescr(scan->rel), isnull);
}

/*
 * Return a bound of a shard's range of hash values as a number; Citus stores
 * it as text.
 *
 * none: the value to return if the bound is NULL
 */
static int32
catalog_bound(const CatalogScan *scan, const char *column, int32 none)
{
	bool		isnull;
	Datum		value = catalog_value(scan, column, &isnull);

	return isnull ? none :
		DatumGetInt32(DirectFunctionCall1(int4in,
										  CStringGetDatum(TextDatumGetCString(value))));
}

/* Return the node group of this node. The coordinator's is 0. */
int
cluster_local_group(void)
{
	CatalogScan scan;
	int			group = 0;
	bool		isnull;

	catalog_begin(&scan, "pg_dist_local_group", NULL, NULL, InvalidOid, (Datum) 0);
	if (catalog_next(&scan))
		group = DatumGetInt32(catalog_value(&scan, "groupid", &isnull));
	catalog_end(&scan);
	return group;
}

/*
 * Return the full xid of the transaction that wrote a row; 0 if the row is
 * frozen. Unlike an xid, a full xid is never reused.
 */
static uint64
writer_of(HeapTuple row)
{
	TransactionId by = HeapTupleHeaderGetXmin(row->t_data);
	FullTransactionId next = ReadNextFullTransactionId();

	if (!TransactionIdIsNormal(by))
		return 0;
	return U64FromFullTransactionId(next) - (uint32) (XidFromFullTransactionId(next) - by);
}

/*
 * Read into *map how a table is distributed, but not its shards. Returns false
 * if the table is neither distributed by hash nor a reference table.
 */
static bool
read_distribution(ShardMap *map, Oid table)
{
	CatalogScan scan;
	char		method = '\0';
	bool		isnull;

	catalog_begin(&scan, "pg_dist_partition",
				  "pg_dist_partition_logical_relid_index", "logicalrelid",
				  F_OIDEQ, ObjectIdGetDatum(table));
	if (catalog_next(&scan))
	{
		method = DatumGetChar(catalog_value(&scan, "partmethod", &isnull));
		map->colocation = DatumGetInt32(catalog_value(&scan, "colocationid",
													  &isnull));
		map->by = writer_of(scan.tuple);
	}
	catalog_end(&scan);
	map->everywhere = method == 'n';
	return method == 'n' || method == 'h';
}

static int
compare_shards(const void *a, const void *b)
{
	int32		first_a = ((const Shard *) a)->first;
	int32		first_b = ((const Shard *) b)->first;

	return first_a < first_b ? -1 : first_a > first_b;
}

static void
read_shards(ShardMap *map, Oid table)
{
	CatalogScan scan;
	int			room = 32;

	map->n = 0;
	map->shard = palloc(sizeof(Shard) * room);
	catalog_begin(&scan, "pg_dist_shard", "pg_dist_shard_logical_relid_index",
				  "logicalrelid", F_OIDEQ, ObjectIdGetDatum(table));
	while (catalog_next(&scan))
	{
		bool		isnull;
		Shard	   *shard;

		if (map->n == room)
			map->shard = repalloc(map->shard, sizeof(Shard) * (room *= 2));
		shard = &map->shard[map->n++];
		shard->id = DatumGetInt64(catalog_value(&scan, "shardid", &isnull));
		shard->first = catalog_bound(&scan, "shardminvalue", PG_INT32_MIN);
		shard->last = catalog_bound(&scan, "shardmaxvalue", PG_INT32_MAX);
		shard->group = -1;
		shard->by = 0;
		shard->table = InvalidOid;
	}
	catalog_end(&scan);
	qsort(map->shard, map->n, sizeof(Shard), compare_shards);
	for (int i = 0; i < map->n; i++)
		map->shard[i].number = i;
}

/*
 * Set shard->group to the node group on which a shard is placed, and shard->by
 * to the transaction that placed the shard. If the shard has several
 * placements, prefer the one on this node.
 *
 * here: the node group of this node
 */
static void
read_placement(Shard *shard, int here)
{
	CatalogScan scan;

	catalog_begin(&scan, "pg_dist_placement", "pg_dist_placement_shardid_index",
				  "shardid", F_INT8EQ, Int64GetDatum(shard->id));
	while (catalog_next(&scan))
	{
		bool		isnull;
		int			group = DatumGetInt32(catalog_value(&scan, "groupid",
														&isnull));

		if (DatumGetInt32(catalog_value(&scan, "shardstate", &isnull)) !=
			CITUS_PLACEMENT_ACTIVE || shard->group == here)
			continue;
		shard->group = group;
		shard->by = writer_of(scan.tuple);
	}
	catalog_end(&scan);
}

/*
 * Read into *map how a table is distributed, and the table's shards. Memory is
 * allocated in the current context. For a shard on another node, Shard.table
 * is InvalidOid. Returns false if the table is neither distributed by hash nor
 * a reference table.
 */
bool
shard_map_read(ShardMap *map, Oid table)
{
	int			here;

	if (!cluster_has_citus() || !read_distribution(map, table))
		return false;
	here = cluster_local_group();
	read_shards(map, table);
	for (int i = 0; i < map->n; i++)
	{
		Shard	   *shard = &map->shard[i];

		read_placement(shard, here);
		if (shard->group == here)
			shard->table = get_relname_relid(psprintf("%s_" INT64_FORMAT,
													  get_rel_name(table),
													  shard->id),
											 get_rel_namespace(table));
	}
	return true;
}

/* Return the number of the shard to which a key belongs, or NO_SHARD. */
int
shard_of_key(const ShardMap *map, const pg_uuid_t *key)
{
	int32		hash = DatumGetInt32(DirectFunctionCall1(uuid_hash,
														 UUIDPGetDatum(key)));
	int			low = 0;
	int			high = map->n - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;

		if (hash < map->shard[middle].first)
			high = middle - 1;
		else if (hash > map->shard[middle].last)
			low = middle + 1;
		else
			return middle;
	}
	return NO_SHARD;
}

/*
 * Return a hash of the ids of a table's shards. The hash changes when a shard
 * is split or added. The hash is never 0.
 *
 * group: the node group whose shards are hashed; ALL_GROUPS for all shards.
 * The hash of a group's shards also changes when a shard is moved to the group
 * or from it.
 */
int64
shards_number(const ShardMap *map, int group)
{
	uint64		number = 1;

	for (int i = 0; i < map->n; i++)
		if (group == ALL_GROUPS || map->shard[i].group == group)
			number = hash_combine64(number, (uint64) map->shard[i].id);
	return number == 0 ? 1 : (int64) number;
}

/*
 * Return whether a name has the form of a shard's name: the table's name, an
 * underscore and a number.
 */
bool
shard_has_name_of(const char *name, const char *table)
{
	size_t		length = strlen(table);
	const char *number = name + length + 1;

	return strncmp(name, table, length) == 0 && name[length] == '_' &&
		*number != '\0' && strspn(number, "0123456789") == strlen(number);
}

/*
 * Return the tag of the lock that protects a shard from being moved or split.
 * All colocated shards share this lock.
 */
static LOCKTAG
lock_of(const ShardMap *map, int shard)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) shard,
						 (uint32) map->colocation, CITUS_SHARDS_METADATA_LOCK);
	return tag;
}

/*
 * Lock a shard of a hash-distributed table in share mode until the transaction
 * ends, as Citus does for its own writes. To move or split the shard, Citus
 * takes the same lock in exclusive mode on every node before it changes its
 * catalogs.
 *
 * The shard may be moved while this function waits for the lock. So the caller
 * must check afterwards where the shard is.
 */
void
shard_hold(const ShardMap *map, int shard)
{
	LOCKTAG		tag = lock_of(map, shard);

	(void) LockAcquire(&tag, ShareLock, false, false);
	AcceptInvalidationMessages();
}

/*
 * Release the lock that shard_hold() has taken on a shard. The transaction
 * must not have written to the shard.
 */
void
shard_let_go(const ShardMap *map, int shard)
{
	LOCKTAG		tag = lock_of(map, shard);

	(void) LockRelease(&tag, ShareLock, false);
}

/*
 * Set *node to the node of the current row of pg_dist_node. Returns false if
 * that node is not a primary.
 */
static bool
take_node(const CatalogScan *scan, ClusterNode *node)
{
	bool		isnull;
	Datum		role = catalog_value(scan, "noderole", &isnull);

	if (isnull || strcmp(DatumGetCString(DirectFunctionCall1(enum_out, role)), "primary") != 0)
		return false;
	node->group = DatumGetInt32(catalog_value(scan, "groupid", &isnull));
	node->id = DatumGetInt32(catalog_value(scan, "nodeid", &isnull));
	node->host = TextDatumGetCString(catalog_value(scan, "nodename", &isnull));
	node->port = DatumGetInt32(catalog_value(scan, "nodeport", &isnull));
	return true;
}

/* Set *node to the primary node of a group. Returns false if there is none. */
bool
cluster_node_of_group(int group, ClusterNode *node)
{
	CatalogScan scan;
	bool		found = false;

	catalog_begin(&scan, "pg_dist_node", NULL, NULL, InvalidOid, (Datum) 0);
	while (!found && catalog_next(&scan))
		found = take_node(&scan, node) && node->group == group;
	catalog_end(&scan);
	return found;
}

/*
 * Set nodes[] to the active primary nodes except this one; the coordinator
 * counts as a node. Returns how many there are, at most "limit".
 */
int
cluster_other_nodes(ClusterNode *nodes, int limit)
{
	CatalogScan scan;
	int			here = cluster_local_group();
	int			n = 0;

	catalog_begin(&scan, "pg_dist_node", NULL, NULL, InvalidOid, (Datum) 0);
	while (n < limit && catalog_next(&scan))
	{
		bool		isnull;

		if (DatumGetBool(catalog_value(&scan, "isactive", &isnull)) &&
			take_node(&scan, &nodes[n]) && nodes[n].group != here)
			n++;
	}
	catalog_end(&scan);
	return n;
}

bool
cluster_has_nodes(void)
{
	CatalogScan scan;
	int			here = cluster_local_group();
	bool		found = false;

	catalog_begin(&scan, "pg_dist_node", NULL, NULL, InvalidOid, (Datum) 0);
	while (!found && catalog_next(&scan))
	{
		bool		isnull;

		found = DatumGetInt32(catalog_value(&scan, "groupid", &isnull)) != here;
	}
	catalog_end(&scan);
	return found;
}

/*
 * Return the address of a C function of Citus, given its name. Errors: 55000
 * if the function does not exist or is not exported.
 */
void *
cluster_function(const char *name)
{
	void	   *function = load_external_function("$libdir/citus", name, false,
												  NULL);

	if (function == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this version of Citus has no function \"%s\"", name),
				 errhint("blogstore supports Citus 13. With PostgreSQL 16 and later, build Citus with an empty CFLAGS_SL_MODULE, because its functions are hidden otherwise."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return function;
}

/*
 * Called before this process writes to a shard on this node directly, not
 * through Citus. The transaction may also write to other nodes through Citus.
 * If the local commit fails, the writes to other nodes must not be committed.
 * So this function makes Citus use two-phase commit. This function does
 * nothing in the worker, which repeats all writes of a failed transaction.
 * Errors: 55000 if Citus has no C function named CITUS_PREPARE_FIRST.
 */
void
cluster_writes_here(void)
{
	static void (*prepare_first) (void) = NULL;

	if (MyBackendType == B_BG_WORKER)
		return;
	if (prepare_first == NULL)
		prepare_first = (void (*) (void))
			cluster_function(CITUS_PREPARE_FIRST);
	prepare_first();
}
