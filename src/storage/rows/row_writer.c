/*
 * row_writer.c
 *		Locks, updates and deletes items through an ItemWriter. row_insert.c
 *		inserts items.
 *
 * An ItemWriter holds one leaf open: the table for the items of one type in
 * one partition. It writes the table without SQL, as the apply worker of
 * logical replication does (execReplication.c). Triggers, generated columns,
 * constraints and indexes work as for SQL.
 *
 * Several writers can be open at a time. They must be closed in reverse order.
 * Runs in backends and in the worker, in a transaction with an active
 * snapshot.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/worker_hooks.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/row_writer.h"
#include "storage/rows/rows.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/trigger.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

static void
open_index(ResultRelInfo *rri, Oid relid)
{
	Relation	index = index_open(relid, RowExclusiveLock);

	rri->ri_IndexRelationDescs[rri->ri_NumIndices] = index;
	rri->ri_IndexRelationInfo[rri->ri_NumIndices++] = BuildIndexInfo(index);
}

/*
 * Return whether an index has entries for replies only, or for top-level
 * comments only. If so, set *path to the kind of index (AccessPath).
 */
static bool
index_is_of_some(const ItemWriter *writer, Oid index, AccessPath *path)
{
	for (*path = 0; *path < N_PATHS; (*path)++)
		if (writer->leaf.index[*path] == index &&
			leaf_path_rows(writer->type, *path) != INDEXED_ALL)
			return true;
	return false;
}

/*
 * Open the indexes of the writer's table like ExecOpenIndices(). An index that
 * has entries for replies only, or for top-level comments only, is not opened.
 * writer_open_indexes_for() opens it when such a comment is written.
 */
void
writer_open_indexes(ItemWriter *writer)
{
	ResultRelInfo *rri = writer->rri;
	MemoryContext old;
	List	   *indexes;
	ListCell   *lc;
	int			n;

	if (writer->indexes)
		return;
	old = MemoryContextSwitchTo(writer->context);
	indexes = RelationGetIndexList(writer->leaf.rel);
	n = list_length(indexes);
	rri->ri_IndexRelationDescs = palloc(sizeof(Relation) * Max(n, 1));
	rri->ri_IndexRelationInfo = palloc(sizeof(IndexInfo *) * Max(n, 1));
	foreach(lc, indexes)
	{
		AccessPath	path;

		if (index_is_of_some(writer, lfirst_oid(lc), &path))
			writer->closed[path] = lfirst_oid(lc);
		else
			open_index(rri, lfirst_oid(lc));
	}
	list_free(indexes);
	writer->indexes = true;
	MemoryContextSwitchTo(old);
}

/*
 * Open the indexes in which the row version in "slot" needs entries. Some
 * indexes of comments have entries for replies only, others for top-level
 * comments only. If slot is NULL, open all indexes.
 */
void
writer_open_indexes_for(ItemWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old;
	IndexedRows rows = INDEXED_ALL;

	writer_open_indexes(writer);
	if (writer->type != ITEM_COMMENT)
		return;
	if (slot != NULL)
		rows = slot_attisnull(slot, writer->leaf.attno[PROP_PARENT_ID]) ?
			INDEXED_TOP_LEVEL : INDEXED_REPLIES;
	old = MemoryContextSwitchTo(writer->context);
	for (AccessPath path = 0; path < N_PATHS; path++)
		if (OidIsValid(writer->closed[path]) &&
			(slot == NULL || leaf_path_rows(writer->type, path) == rows))
		{
			open_index(writer->rri, writer->closed[path]);
			writer->closed[path] = InvalidOid;
		}
	MemoryContextSwitchTo(old);
}

/*
 * Open a writer for the items of a type in the partition of partition_key. If
 * partition_key is NULL, "partition" is the number of the partition.
 */
static ItemWriter *
writer_open(Container container, ItemType type,
			const void *partition_key, int partition)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore item writer",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ItemWriter *writer = palloc0(sizeof(ItemWriter));
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	writer->context = context;
	writer->container = container;
	writer->type = type;
	leaf_open(&writer->leaf, &(LeafWanted) {
		.container = container, .type = type, .key = partition_key,
		.partition = partition, .path = N_PATHS
	}, RowExclusiveLock);
	writer->by_key = partition_key != NULL;
	writer->triggers = writer->leaf.rel->trigdesc != NULL;
	if (writer->leaf.attached)
		writer->guard = guard_enter();

	writer->estate = CreateExecutorState();
	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(writer->leaf.rel);
	rte->relkind = writer->leaf.rel->rd_rel->relkind;
	rte->rellockmode = RowExclusiveLock;
	compat_init_range_table(writer->estate, rte);
	writer->estate->es_output_cid = GetCurrentCommandId(true);
	compat_epq_init(&writer->epqstate, writer->estate);

	writer->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->rri, writer->leaf.rel, 1, NULL, 0);
	/* ExecGetTriggerResultRel() finds the table in this list */
	writer->estate->es_opened_result_relations = list_make1(writer->rri);
	writer->found = table_slot_create(writer->leaf.rel, NULL);
	writer->fresh = MakeSingleTupleTableSlot(RelationGetDescr(writer->leaf.rel),
											 &TTSOpsVirtual);
	if (writer->triggers)
		AfterTriggerBeginQuery();

	MemoryContextSwitchTo(old);
	return writer;
}

/*
 * Open a writer for the items of a type in partition number "partition".
 * Errors: 55000 if the items' table cannot be written. Locks: RowExclusiveLock
 * on this table and on the container's root table, to the end of the
 * transaction.
 */
ItemWriter *
item_writer_open_partition(Container container, ItemType type, int partition)
{
	return writer_open(container, type, NULL, partition);
}

/*
 * Open a writer for the items of a type in the partition of a key. Errors and
 * locks: those of item_writer_open_partition().
 */
ItemWriter *
item_writer_open(Container container, ItemType type,
				 const void *partition_key)
{
	return writer_open(container, type, partition_key, NO_PARTITION);
}

/*
 * Let a writer lock items in which required fields are NULL. The fields that
 * identify an item must not be NULL. Used by callers that only lock the items,
 * or delete them.
 */
void
item_writer_identity(ItemWriter *writer)
{
	writer->identity = true;
}

Relation
item_writer_relation(ItemWriter *writer)
{
	return writer->leaf.rel;
}

/*
 * Return whether the items of a partition key are in the writer's table.
 * Errors: 55000 if there is no table for them.
 */
bool
item_writer_takes(const ItemWriter *writer, const void *key)
{
	return RelationGetRelid(writer->leaf.rel) ==
		leaf_of_key(writer->container, writer->type, key);
}

bool
item_writer_has_scan(const ItemWriter *writer, ItemScan *scan)
{
	return RelationGetRelid(writer->leaf.rel) ==
		RelationGetRelid(item_scan_relation(scan));
}

/*
 * Take a row lock on the newest version of a scan's current item, and read
 * that version into *out. The scan must read the writer's table. Returns
 * ITEM_OK, or
 *
 *		ITEM_LOCKED		if wait is LockWaitSkip and another transaction has a
 *						conflicting row lock on the item
 *		ITEM_NOT_FOUND	if the item was deleted
 *
 * Errors: 22004 if one of the fields that item_worked_with() returns is NULL.
 * After item_writer_identity(), fewer fields are required. 40001 under
 * REPEATABLE READ and SERIALIZABLE if the item was changed after the snapshot
 * was taken, as for UPDATE.
 */
ItemResult
item_writer_lock_found(ItemWriter *writer, ItemScan *scan, LockTupleMode mode,
					   LockWaitPolicy wait, BlogItem *out)
{
	TM_FailureData failure;
	TM_Result	result;
	ItemPointerData tid = item_scan_slot(scan)->tts_tid;
	uint8		flags = 0;
	uint32		needed = writer->identity ?
		item_identity(writer->container, writer->type) :
		item_worked_with(writer->container, writer->type);

	Assert(item_writer_has_scan(writer, scan));
	if (!IsolationUsesXactSnapshot())
		flags |= TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
	/*
	 * Without this flag, a key share lock would cover only the old version of
	 * an item that another transaction is updating.
	 */
	if (wait == LockWaitBlock)
		flags |= TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	result = table_tuple_lock(writer->leaf.rel, &tid, GetActiveSnapshot(),
							  writer->found, GetCurrentCommandId(false), mode,
							  wait, flags, &failure);
	switch (result)
	{
		case TM_Ok:
			(void) item_from_slot(out, writer->found, writer->leaf.attno);
			item_require(writer->leaf.rel, out, writer->type, needed);
			return ITEM_OK;
		case TM_WouldBlock:
			return ITEM_LOCKED;
		case TM_Deleted:
			if (!IsolationUsesXactSnapshot())
				return ITEM_NOT_FOUND;
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent delete")));
			break;
		case TM_Updated:
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent update")));
			break;
		case TM_SelfModified:
			/* the current command has deleted the item */
			return ITEM_NOT_FOUND;
		default:
			elog(ERROR, "unexpected result of table_tuple_lock: %d", result);
	}
	return ITEM_NOT_FOUND;			/* not reached */
}

/*
 * Find an item by its key, with the active snapshot, and take a row lock on
 * the item. item_writer_update() and item_writer_delete() then change this
 * item. *out is valid until the writer is closed. Results and errors: those of
 * item_writer_lock_found().
 */
ItemResult
item_writer_lock(ItemWriter *writer, const Datum *key, int nkeys,
				 LockTupleMode mode, LockWaitPolicy wait, BlogItem *out)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ItemQuery	query = {
		.container = writer->container,.type = writer->type,
		.path = leaf_identity_path(writer->container, writer->type),
		.key = key,.nkeys = nkeys,.identity = true
	};
	ItemScan   *scan = leaf_scan_begin(&writer->leaf, &query);
	BlogItem	item;
	ItemResult	result = ITEM_NOT_FOUND;

	while (result == ITEM_NOT_FOUND && item_scan_next(scan, &item))
		result = item_writer_lock_found(writer, scan, mode, wait, out);
	item_scan_end(scan);
	MemoryContextSwitchTo(old);
	return result;
}

/*
 * Update the item that the writer has locked. Columns that the owner has added
 * to the table keep their values. Errors: 09000 if a BEFORE trigger suppresses
 * the update, and those of constraints and triggers.
 */
void
item_writer_update(ItemWriter *writer, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	TupleTableSlot *slot = writer->fresh;

	writer_form_update(writer, slot, item);
	/* if there are triggers, open all indexes: a trigger may set parent_id */
	writer_open_indexes_for(writer, writer->triggers ? NULL : slot);
	if (writer->triggers)
		MemoryContextSwitchTo(writer->context);
	ExecSimpleRelationUpdate(writer->rri, writer->estate, &writer->epqstate,
							 writer->found, slot);
	compat_set_updated_columns(writer->estate, NULL);
	if (!ItemPointerIsValid(&slot->tts_tid))
		writer_suppressed(writer);
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

/*
 * Return whether the item that the writer has locked still exists. After a
 * deletion, the item still exists if a BEFORE trigger has suppressed the
 * deletion.
 */
static bool
found_is_there(ItemWriter *writer)
{
	TupleTableSlot *slot = table_slot_create(writer->leaf.rel, NULL);
	bool		there = table_tuple_fetch_row_version(writer->leaf.rel,
													  &writer->found->tts_tid,
													  SnapshotSelf, slot);

	ExecDropSingleTupleTableSlot(slot);
	return there;
}

/*
 * Delete the item that the writer has locked. Errors: 09000 if a BEFORE
 * trigger suppresses the deletion, and those of triggers.
 */
void
item_writer_delete(ItemWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));

	writer->estate->es_snapshot = GetActiveSnapshot();
	if (writer->triggers)
		MemoryContextSwitchTo(writer->context);
	ExecSimpleRelationDelete(writer->rri, writer->estate, &writer->epqstate,
							 writer->found);
	if (writer->triggers && writer->rri->ri_TrigDesc->trig_delete_before_row &&
		found_is_there(writer))
		writer_suppressed(writer);
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

/*
 * Close a writer. Fires AFTER triggers, and increments the command counter:
 * later snapshots of the current transaction show what was written.
 */
void
item_writer_close(ItemWriter *writer)
{
	if (writer->triggers)
		AfterTriggerEndQuery(writer->estate);
	EvalPlanQualEnd(&writer->epqstate);
	ExecDropSingleTupleTableSlot(writer->found);
	ExecDropSingleTupleTableSlot(writer->fresh);
	if (writer->indexes)
		ExecCloseIndices(writer->rri);
	ExecResetTupleTable(writer->estate->es_tupleTable, false);
	FreeExecutorState(writer->estate);
	leaf_close(&writer->leaf, true);
	if (writer->guard != NULL)
		guard_leave(writer->guard);
	if (writer->wrote)
	{
		CommandCounterIncrement();
		worker_hooks.item_written(writer->container == CONTAINER_POSTS &&
								  (writer->type == ITEM_POST ||
								   writer->type == ITEM_DELTA));
	}
	MemoryContextDelete(writer->context);
}
