/*
 * writer.c
 *		Writing items: insert unless there, lock, update, delete.
 *
 * As the logical replication apply worker does (execReplication.c): the leaf
 * is written directly, and user triggers, generated columns, constraints and
 * all indexes are served. Inserting tells a taken key by return value instead
 * of an error, by speculative insertion as ON CONFLICT DO NOTHING does
 * (ExecInsert()), so that a repeated command can answer with what is there.
 *
 * Writers nest, and must be closed in reverse order. Runs in backends and in
 * the worker, in a transaction with an active snapshot.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "container/tuple.h"
#include "container/writer.h"
#include "guard/guard.h"
#include "hooks.h"
#include "layout/item.h"
#include "layout/leaf.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* Open a leaf, by its partition's key or number. */
static ItemWriter *
writer_open(Container container, ItemType type,
			const pg_uuid_t *partition_key, int partition)
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
	(void) leaf_open(&writer->leaf, &(LeafWanted) {
		.container = container, .type = type, .key = partition_key,
		.partition = partition, .path = N_PATHS
	}, RowExclusiveLock);
	writer->by_key = partition_key != NULL;
	writer->triggers = writer->leaf.rel->trigdesc != NULL;
	if (writer->triggers || writer->leaf.attached ||
		expressions_are_attached(writer->leaf.rel))
		writer->guard = guard_enter(writer->triggers ? GUARD_TRIGGERS :
									GUARD_EXPRESSIONS);

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
	/* where AFTER triggers look for it (ExecGetTriggerResultRel()) */
	writer->estate->es_opened_result_relations = list_make1(writer->rri);
	ExecOpenIndices(writer->rri, true);
	writer->found = table_slot_create(writer->leaf.rel, NULL);
	writer->fresh = MakeSingleTupleTableSlot(RelationGetDescr(writer->leaf.rel),
											 &TTSOpsVirtual);
	if (writer->triggers)
	{
		defer_nothing(writer->rri);
		AfterTriggerBeginQuery();
	}

	MemoryContextSwitchTo(old);
	return writer;
}

/* Open a partition's leaf for writing; RowExclusiveLock to the end of xact. */
ItemWriter *
item_writer_open_partition(Container container, ItemType type, int partition)
{
	return writer_open(container, type, NULL, partition);
}

/* Open the leaf that holds, or will hold, a logical partition's items. */
ItemWriter *
item_writer_open(Container container, ItemType type,
				 const pg_uuid_t *partition_key)
{
	return writer_open(container, type, partition_key, NO_PARTITION);
}

/* Items that are to be deleted, or just held, may lack what others work with. */
void
item_writer_identity(ItemWriter *writer)
{
	writer->identity = true;
}

/* The leaf that is written. */
Relation
item_writer_relation(ItemWriter *writer)
{
	return writer->leaf.rel;
}

/* Is the leaf that is written the one that holds a key? Errors: there is none. */
bool
item_writer_takes(const ItemWriter *writer, const pg_uuid_t *key)
{
	return RelationGetRelid(writer->leaf.rel) ==
		leaf_of_key(writer->container, writer->type, key);
}

/* Does a scan read the leaf that is written? */
bool
item_writer_has_scan(const ItemWriter *writer, ItemScan *scan)
{
	return RelationGetRelid(writer->leaf.rel) ==
		RelationGetRelid(item_scan_relation(scan));
}

/* A scan for the item that has a key, which leaves no predicate lock. */
static ItemScan *
key_scan(ItemWriter *writer, const Datum *key, int n, Snapshot snapshot)
{
	ItemQuery	query = {
		.container = writer->container,.type = writer->type,.path = PATH_KEY,
		.key = key,.nkeys = n,.identity = true,.no_predicate_locks = true,
		.snapshot = snapshot
	};

	return leaf_scan_begin(&writer->leaf, &query);
}

/* Is what a scan has found by a key still so, and nobody about to change it? */
static bool
found_is_settled(ItemWriter *writer, ItemScan *found, const Datum *key, int n)
{
	SnapshotData dirty;
	BlogItem	there;
	ItemScan   *scan;
	bool		settled;

	InitDirtySnapshot(dirty);
	scan = key_scan(writer, key, n, &dirty);
	settled = item_scan_next(scan, &there) &&
		!TransactionIdIsValid(dirty.xmin) &&
		!TransactionIdIsValid(dirty.xmax) &&
		ItemPointerEquals(&item_scan_slot(scan)->tts_tid,
						  &item_scan_slot(found)->tts_tid);
	item_scan_end(scan);
	return settled;
}

/*
 * Does the transaction's snapshot show an item with this one's key? A unique
 * index does not stop the key of an item that was deleted since, so that a
 * transaction that still sees it would see two. 40001 if it was. An item that
 * nobody is changing is not locked, which would be in the way of who deletes it.
 */
static bool
key_in_snapshot(ItemWriter *writer, const BlogItem *item)
{
	Datum		key[MAX_PATH_COLUMNS];
	BlogItem	there;
	ItemScan   *scan;
	bool		found;
	int			n = leaf_path_key(writer->container, writer->type, PATH_KEY,
								  item, key);

	if (n == 0)
		return false;
	scan = key_scan(writer, key, n, GetActiveSnapshot());
	found = item_scan_next(scan, &there) &&
		(found_is_settled(writer, scan, key, n) ||
		 item_writer_lock_found(writer, scan, LockTupleKeyShare,
								LockWaitBlock, &there) == ITEM_OK);
	item_scan_end(scan);
	return found;
}

/*
 * Tell which indexes say that an item's key is taken (ExecInsert() calls them
 * arbiters): those that are unique in its columns, and those in more columns,
 * which can only meet a row that has the key, too. Any other unique index or
 * exclusion constraint is its owner's, and its conflicts are errors.
 *
 * Errors: 55000 if there is none in the key's columns.
 */
static void
find_arbiters(ItemWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ResultRelInfo *rri = writer->rri;

	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		Relation	index = rri->ri_IndexRelationDescs[i];
		IndexInfo  *info = rri->ri_IndexRelationInfo[i];
		KeyCover	cover;

		if (!info->ii_Unique || !info->ii_ReadyForInserts ||
			!index->rd_index->indimmediate || info->ii_Expressions != NIL ||
			info->ii_Predicate != NIL)
			continue;
		cover = leaf_key_cover(&writer->leaf, writer->container, writer->type,
							   index);
		if (cover == KEY_COVERED)
			writer->key_arbiters = lappend_oid(writer->key_arbiters,
											   RelationGetRelid(index));
		if (cover != KEY_NOT_COVERED)
			writer->arbiters = lappend_oid(writer->arbiters,
										   RelationGetRelid(index));
	}
	MemoryContextSwitchTo(old);
	if (writer->key_arbiters == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" has no unique index on its items' key",
						RelationGetRelationName(writer->leaf.rel)),
				 errhint("Restore the primary key, NOT DEFERRABLE, as docs/ARCHITECTURE.md lists it.")));
}

/*
 * Is the key of a row to insert free? Waits for those who are about to take it.
 * A row that has more than the key in common with it, but not the key, as only a
 * row written past blogstore can, is left to be an error: *arbiters becomes the
 * indexes of the key alone.
 */
static bool
key_is_free(ItemWriter *writer, TupleTableSlot *slot, List **arbiters)
{
	if (compat_check_index_constraints(writer->rri, slot, writer->estate,
									   *arbiters))
		return true;
	if (*arbiters == writer->key_arbiters)
		return false;
	*arbiters = writer->key_arbiters;
	return compat_check_index_constraints(writer->rri, slot, writer->estate,
										  *arbiters);
}

/*
 * Insert an item. Returns false, having written nothing, if its key is taken by
 * a committed row or by a transaction that then commits (this waits for it).
 * What a unique index or exclusion constraint of the owner's refuses is an error
 * (23505, 23P01).
 *
 * stands, where given, is asked when the item can be found by others but is not
 * confirmed yet: it must not wait, and false takes the item back.
 */
bool
item_writer_insert_if(ItemWriter *writer, const BlogItem *item,
					  bool (*stands) (void *arg), void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	Relation	rel = writer->leaf.rel;
	TupleTableSlot *slot = writer->fresh;
	InsertRoom	room;
	List	   *recheck = NIL;
	List	   *arbiters;
	bool		inserted = false;
	bool		refused = false;

	if (IsolationUsesXactSnapshot() && key_in_snapshot(writer, item))
	{
		MemoryContextSwitchTo(old);
		return false;
	}
	if (writer->key_arbiters == NIL)
		find_arbiters(writer);
	arbiters = writer->arbiters;
	writer_form(writer, slot, item);
	while (!inserted && !refused && key_is_free(writer, slot, &arbiters))
	{
		TransactionId xid = GetCurrentTransactionId();
		bool		conflict = false;
		uint32		token = SpeculativeInsertionLockAcquire(xid);

		insert_room_begin(&room, writer);
		table_tuple_insert_speculative(rel, slot, GetCurrentCommandId(true),
									   0, NULL, token);
		insert_room_end(&room, writer);
		recheck = compat_insert_index_tuples(writer->rri, slot, writer->estate,
											 arbiters, &conflict);
		refused = !conflict && stands != NULL && !stands(arg);
		inserted = !conflict && !refused;
		table_tuple_complete_speculative(rel, slot, token, inserted);
		SpeculativeInsertionLockRelease(xid);
		CHECK_FOR_INTERRUPTS();
	}

	if (inserted)
	{
		if (writer->triggers)
			ExecARInsertTriggers(writer->estate, writer->rri, slot, recheck,
								 NULL);
		writer->wrote = true;
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
	return inserted;
}

/*
 * Insert an item. Returns false, having written nothing, if its key is taken.
 * Errors and waits: those of item_writer_insert_if().
 */
bool
item_writer_insert(ItemWriter *writer, const BlogItem *item)
{
	return item_writer_insert_if(writer, item, NULL, NULL);
}

/*
 * Lock the tuple that a scan of the same leaf has found, in its newest version.
 * Under REPEATABLE READ and SERIALIZABLE a version newer than the snapshot is an
 * error (40001), as for UPDATE.
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
	/* a shared lock on a version is none on what it is being updated to */
	if (wait == LockWaitBlock)
		flags |= TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	result = table_tuple_lock(writer->leaf.rel, &tid, GetActiveSnapshot(),
							  writer->found, GetCurrentCommandId(false), mode,
							  wait, flags, &failure);
	switch (result)
	{
		case TM_Ok:
			(void) item_from_slot(out, writer->found, writer->leaf.attno);
			return item_complete(out, writer->type, needed) ?
				ITEM_OK : ITEM_LOCKED;
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
			return ITEM_NOT_FOUND;	/* deleted earlier in this very command */
		default:
			elog(ERROR, "unexpected result of table_tuple_lock: %d", result);
	}
	return ITEM_NOT_FOUND;			/* not reached */
}

/*
 * Find one item by its key in the active snapshot and lock it; it is then what
 * update and delete work on. out's values hold until the writer closes.
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

/* Write the locked item anew; columns that are not properties stay. */
void
item_writer_update(ItemWriter *writer, const BlogItem *item)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
	TupleTableSlot *slot = writer->fresh;

	writer_form_update(writer, slot, item);
	ExecSimpleRelationUpdate(writer->rri, writer->estate, &writer->epqstate,
							 writer->found, slot);
	compat_set_updated_columns(writer->estate, NULL);
	if (!ItemPointerIsValid(&slot->tts_tid))
		writer_suppressed(writer);
	writer->wrote = true;
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(writer->estate);
}

/* Is the locked item still there? */
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

/* Delete the locked item. */
void
item_writer_delete(ItemWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));

	writer->estate->es_snapshot = GetActiveSnapshot();
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
 * Close a writer: fire AFTER triggers, and make what was written visible to
 * the snapshots taken from now on.
 */
void
item_writer_close(ItemWriter *writer)
{
	if (writer->triggers)
		AfterTriggerEndQuery(writer->estate);
	EvalPlanQualEnd(&writer->epqstate);
	ExecDropSingleTupleTableSlot(writer->found);
	ExecDropSingleTupleTableSlot(writer->fresh);
	ExecCloseIndices(writer->rri);
	ExecResetTupleTable(writer->estate->es_tupleTable, false);
	FreeExecutorState(writer->estate);
	leaf_close(&writer->leaf, true);
	if (writer->guard != NULL)
		guard_leave(writer->guard);
	if (writer->wrote)
	{
		CommandCounterIncrement();
		worker_hooks.item_written();
	}
	MemoryContextDelete(writer->context);
}
