/*
 * compat.h
 *		Hides the differences between the supported server versions, 15 to 19.
 *
 * No other file tests PG_VERSION_NUM. Runs in any process.
 */
#ifndef BLOGSTORE_COMPAT_H
#define BLOGSTORE_COMPAT_H

#include "access/genam.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_tablespace.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "portability/instr_time.h"
#include "replication/logical.h"
#include "replication/message.h"
#include "replication/origin.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_proc.h"
#include "nodes/miscnodes.h"
#include "varatt.h"
#endif
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#if PG_VERSION_NUM >= 190000
#include "replication/logicalctl.h"
#endif

#if PG_VERSION_NUM < 150000
#error "blogstore needs PostgreSQL 15 or later"
#endif

#define COMPAT_NORETURN __attribute__((noreturn))

/*
 * blogstore is compiled with -fvisibility=hidden, and exports only the symbols
 * that the server looks up in the library. The headers of PostgreSQL 16 and
 * later give these symbols default visibility. For 15, the macros are
 * redefined here to do the same. So every file that defines such a symbol must
 * include this header.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_,funcname)(void); \
const Pg_finfo_record * \
CppConcat(pg_finfo_,funcname) (void) \
{ \
	static const Pg_finfo_record my_finfo = { 1 }; \
	return &my_finfo; \
} \
extern int no_such_variable
#endif

/*
 * The lowest wal_level at which WAL can be decoded. From PostgreSQL 19 on,
 * "replica" suffices: the server enables logical decoding as long as it has a
 * logical slot.
 */
#if PG_VERSION_NUM >= 190000
#define COMPAT_DECODING_LEVEL "replica"
#else
#define COMPAT_DECODING_LEVEL "logical"
#endif

static inline bool
compat_can_decode(void)
{
#if PG_VERSION_NUM >= 190000
	return wal_level >= WAL_LEVEL_REPLICA;
#else
	return wal_level >= WAL_LEVEL_LOGICAL;
#endif
}

static inline IndexScanDesc
compat_index_beginscan(Relation heap, Relation index, Snapshot snapshot,
					   int nkeys)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, 0);
#else
	return index_beginscan(heap, index, snapshot, nkeys, 0);
#endif
}

static inline TableScanDesc
compat_table_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

static inline IndexFetchTableData *
compat_index_fetch_begin(Relation rel)
{
#if PG_VERSION_NUM >= 190000
	return table_index_fetch_begin(rel, SO_NONE);
#else
	return table_index_fetch_begin(rel);
#endif
}

/*
 * Complete a tuple descriptor from CreateTemplateTupleDesc(), after the last
 * TupleDescInitEntry(). Without this, tuples of that descriptor crash a server
 * of version 19.
 */
static inline void
compat_tuple_desc_finalize(TupleDesc desc)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(desc);
#endif
}

/*
 * Initialize an executor state's range table with a single relation, which
 * gets the range table index 1.
 */
static inline void
compat_init_range_table(EState *estate, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	List	   *perminfos = NIL;

	addRTEPermissionInfo(&perminfos, rte);
#endif
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(estate, list_make1(rte), perminfos,
					   bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(estate, list_make1(rte), perminfos);
#else
	ExecInitRangeTable(estate, list_make1(rte));
#endif
}

/*
 * Tell the executor which columns an UPDATE changes, in the relation that was
 * passed to compat_init_range_table().
 */
static inline void
compat_set_updated_columns(EState *estate, Bitmapset *columns)
{
	RangeTblEntry *rte = exec_rt_fetch(1, estate);

#if PG_VERSION_NUM >= 160000
	getRTEPermissionInfo(estate->es_rteperminfos, rte)->updatedCols = columns;
#else
	rte->updatedCols = columns;
#endif
}

static inline void
compat_epq_init(EPQState *epqstate, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	EvalPlanQualInit(epqstate, estate, NULL, NIL, -1, NIL);
#else
	EvalPlanQualInit(epqstate, estate, NULL, NIL, -1);
#endif
}

/*
 * Insert a row's entries into all indexes of the row's table.
 *
 * arbiters: the indexes in which a conflict sets *spec_conflict, as for ON
 * CONFLICT. A conflict in any other index is an error (23505, 23P01).
 * spec_conflict: may be NULL if arbiters is NIL.
 */
static inline List *
compat_insert_index_tuples(ResultRelInfo *rri, TupleTableSlot *slot,
						   EState *estate, List *arbiters, bool *spec_conflict)
{
	bool		tell = spec_conflict != NULL;

#if PG_VERSION_NUM >= 190000
	return ExecInsertIndexTuples(rri, estate, tell ? EIIT_NO_DUPE_ERROR : 0,
								 slot, arbiters, spec_conflict);
#elif PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(rri, slot, estate, false, tell,
								 spec_conflict, arbiters, false);
#else
	return ExecInsertIndexTuples(rri, slot, estate, false, tell,
								 spec_conflict, arbiters);
#endif
}

/*
 * The type of the variable in which table_tuple_update() tells which indexes
 * need entries for the new row version. The value 0 means that no index needs
 * entries.
 */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatIndexes;
#else
typedef bool CompatIndexes;
#endif

/*
 * Insert the index entries of a row version that table_tuple_update() has
 * written.
 *
 * indexes: the value that table_tuple_update() has set; must not be 0
 */
static inline void
compat_update_index_tuples(ResultRelInfo *rri, EState *estate,
						   TupleTableSlot *slot, CompatIndexes indexes)
{
#if PG_VERSION_NUM >= 190000
	uint32		flags = EIIT_IS_UPDATE;

	if (indexes == TU_Summarizing)
		flags |= EIIT_ONLY_SUMMARIZING;
	(void) ExecInsertIndexTuples(rri, estate, flags, slot, NIL, NULL);
#elif PG_VERSION_NUM >= 160000
	(void) ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL,
								 indexes == TU_Summarizing);
#else
	(void) ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL);
#endif
}

/*
 * Update a row version. If another transaction is updating the row, wait for
 * the end of that transaction.
 */
static inline TM_Result
compat_table_tuple_update(Relation rel, ItemPointer tid, TupleTableSlot *slot,
						  TM_FailureData *failure, LockTupleMode *mode,
						  CompatIndexes *indexes)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_update(rel, tid, slot, GetCurrentCommandId(true), 0,
							  GetActiveSnapshot(), InvalidSnapshot, true,
							  failure, mode, indexes);
#else
	return table_tuple_update(rel, tid, slot, GetCurrentCommandId(true),
							  GetActiveSnapshot(), InvalidSnapshot, true,
							  failure, mode, indexes);
#endif
}

/*
 * Delete a row version. If another transaction is changing or locking the row,
 * return TM_BeingModified without waiting.
 */
static inline TM_Result
compat_table_tuple_delete(Relation rel, ItemPointer tid, TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_delete(rel, tid, GetCurrentCommandId(true), 0,
							  GetActiveSnapshot(), InvalidSnapshot, false,
							  failure);
#else
	return table_tuple_delete(rel, tid, GetCurrentCommandId(true),
							  GetActiveSnapshot(), InvalidSnapshot, false,
							  failure, false);
#endif
}

/*
 * Return whether a row can be inserted without a conflict in the indexes
 * "arbiters". INSERT ... ON CONFLICT makes the same check. Waits for
 * transactions that are inserting or deleting a conflicting row.
 */
static inline bool
compat_check_index_constraints(ResultRelInfo *rri, TupleTableSlot *slot,
							   EState *estate, List *arbiters)
{
	ItemPointerData conflict;
#if PG_VERSION_NUM >= 180000
	ItemPointerData invalid;

	ItemPointerSetInvalid(&invalid);
	return ExecCheckIndexConstraints(rri, slot, estate, &conflict, &invalid,
									 arbiters);
#else
	return ExecCheckIndexConstraints(rri, slot, estate, &conflict, arbiters);
#endif
}

static inline bool
compat_is_database_owner(Oid dbid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(DatabaseRelationId, dbid, roleid);
#else
	return pg_database_ownercheck(dbid, roleid);
#endif
}

static inline AclResult
compat_function_aclcheck(Oid funcid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, funcid, roleid, ACL_EXECUTE);
#else
	return pg_proc_aclcheck(funcid, roleid, ACL_EXECUTE);
#endif
}

static inline bool
compat_may_use_tablespace(Oid tablespace, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(TableSpaceRelationId, tablespace, roleid,
						   ACL_CREATE) == ACLCHECK_OK;
#else
	return pg_tablespace_aclcheck(tablespace, roleid,
								  ACL_CREATE) == ACLCHECK_OK;
#endif
}

/*
 * Create a logical replication slot with RS_EPHEMERAL: the server drops the
 * slot on an error, unless the caller has made the slot persistent.
 *
 * From PostgreSQL 17 on, the slot is a failover slot: a standby that
 * synchronizes slots keeps the slot after a promotion. On PostgreSQL 19 with
 * wal_level "replica", logical decoding is disabled until a logical slot
 * exists. So the function also enables logical decoding.
 */
static inline void
compat_slot_create(const char *name)
{
#if PG_VERSION_NUM >= 190000
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false, false, true, false);
	EnsureLogicalDecodingEnabled();
#elif PG_VERSION_NUM >= 170000
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false, true, false);
#else
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false);
#endif
}

/*
 * Create a decoding context for a new slot. The caller passes the context to
 * DecodingContextFindStartpoint().
 */
static inline LogicalDecodingContext *
compat_init_decoding(const char *plugin, XLogReaderRoutine *routine)
{
#if PG_VERSION_NUM >= 190000
	return CreateInitDecodingContext(plugin, NIL, false, false,
									 InvalidXLogRecPtr, routine, NULL, NULL,
									 NULL);
#else
	return CreateInitDecodingContext(plugin, NIL, false, InvalidXLogRecPtr,
									 routine, NULL, NULL, NULL);
#endif
}

/*
 * CompatOrigin: the type of a replication origin's id
 * COMPAT_NO_ORIGIN: the id that means "no origin"
 * compat_write_origin: the variable with the origin that the server writes to
 * the WAL records of the current transaction
 */
#if PG_VERSION_NUM >= 190000
typedef ReplOriginId CompatOrigin;
#define COMPAT_NO_ORIGIN InvalidReplOriginId
#define compat_write_origin replorigin_xact_state.origin
#else
typedef RepOriginId CompatOrigin;
#define COMPAT_NO_ORIGIN InvalidRepOriginId
#define compat_write_origin replorigin_session_origin
#endif

static inline void
compat_slot_acquire(const char *name)
{
#if PG_VERSION_NUM >= 180000
	ReplicationSlotAcquire(name, true, true);
#else
	ReplicationSlotAcquire(name, true);
#endif
}

/* Why the server has invalidated a replication slot, if it has. */
typedef enum CompatInvalidation
{
	COMPAT_SLOT_VALID,
	COMPAT_WAL_REMOVED,
	COMPAT_ROWS_REMOVED,		/* catalog rows that the slot needs were
								 * removed */
	COMPAT_DECODING_DISABLED,	/* logical decoding was disabled on the
								 * primary of this standby */
	COMPAT_SLOT_IDLE
} CompatInvalidation;

static inline CompatInvalidation
compat_slot_invalidation(const ReplicationSlotPersistentData *data)
{
#if PG_VERSION_NUM >= 160000
	switch (data->invalidated)
	{
		case RS_INVAL_NONE:
			return COMPAT_SLOT_VALID;
		case RS_INVAL_HORIZON:
			return COMPAT_ROWS_REMOVED;
		case RS_INVAL_WAL_LEVEL:
			return COMPAT_DECODING_DISABLED;
#if PG_VERSION_NUM >= 180000
		case RS_INVAL_IDLE_TIMEOUT:
			return COMPAT_SLOT_IDLE;
#endif
		case RS_INVAL_WAL_REMOVED:
			break;
	}
	return COMPAT_WAL_REMOVED;
#else
	return data->invalidated_at != InvalidXLogRecPtr ? COMPAT_WAL_REMOVED :
		COMPAT_SLOT_VALID;
#endif
}

/*
 * Return the process that runs a virtual transaction. NULL if that process has
 * exited, or the transaction is a prepared one, which has no process.
 */
static inline PGPROC *
compat_vxid_proc(VirtualTransactionId vxid)
{
#if PG_VERSION_NUM >= 170000
	return ProcNumberGetProc(vxid.procNumber);
#else
	return BackendIdGetProc(vxid.backendId);
#endif
}

/*
 * Return this process's number, from 0 to MaxBackends - 1. An array in shared
 * memory with an element for each process uses this number as index.
 */
static inline int
compat_proc_number(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProcNumber;
#else
	return MyBackendId - 1;
#endif
}

static inline uint64
compat_nanoseconds(instr_time time)
{
#if PG_VERSION_NUM >= 160000
	return INSTR_TIME_GET_NANOSEC(time);
#else
	return time.tv_sec * UINT64_C(1000000000) + time.tv_nsec;
#endif
}

/*
 * Return whether this server, as a standby, has copied a replication slot from
 * its primary (sync_replication_slots).
 */
static inline bool
compat_slot_synced(const ReplicationSlotPersistentData *data)
{
#if PG_VERSION_NUM >= 170000
	return data->synced;
#else
	return false;
#endif
}

static inline XLogRecPtr
compat_log_message(const char *prefix, const char *message, size_t size)
{
#if PG_VERSION_NUM >= 170000
	return LogLogicalMessage(prefix, message, size, false, false);
#else
	return LogLogicalMessage(prefix, message, size, false);
#endif
}

/*
 * Parse a timestamp as timestamptz_in() does. Returns false, without an error,
 * if the text is no timestamp, or an infinite one.
 */
static inline bool
compat_parse_timestamptz(char *text, TimestampTz *result)
{
#if PG_VERSION_NUM >= 160000
	ErrorSaveContext context = {T_ErrorSaveContext};
	Datum		value;

	if (!DirectInputFunctionCallSafe(timestamptz_in, text, InvalidOid, -1,
									 (Node *) &context, &value))
		return false;
	*result = DatumGetTimestampTz(value);
	return !TIMESTAMP_NOT_FINITE(*result);
#else
	struct pg_tm tm;
	fsec_t		fsec;
	int			zone;
	int			type;
	int			nfields;
	char	   *field[MAXDATEFIELDS];
	int			field_type[MAXDATEFIELDS];
	char		work[MAXDATELEN + MAXDATEFIELDS];

	return ParseDateTime(text, work, sizeof(work), field, field_type,
						 MAXDATEFIELDS, &nfields) == 0 &&
		DecodeDateTime(field, field_type, nfields, &type, &tm, &fsec,
					   &zone) == 0 &&
		type == DTK_DATE && tm2timestamp(&tm, fsec, &zone, result) == 0;
#endif
}

/*
 * A jsonb value under construction. The caller sets the struct to zeros before
 * the first call of compat_push_jsonb().
 */
#if PG_VERSION_NUM >= 190000
typedef JsonbInState CompatJsonb;
#else
typedef struct CompatJsonb
{
	JsonbValue *result;			/* the jsonb value, after the last push */
	JsonbParseState *state;
} CompatJsonb;
#endif

static inline void
compat_push_jsonb(CompatJsonb *jsonb, JsonbIteratorToken token,
				  JsonbValue *value)
{
#if PG_VERSION_NUM >= 190000
	pushJsonbValue(jsonb, token, value);
#else
	jsonb->result = pushJsonbValue(&jsonb->state, token, value);
#endif
}

/*
 * compat_new_tuple() and compat_old_tuple() return the new and the old tuple
 * of a ReorderBufferChange; NULL if the change has no such tuple. PostgreSQL
 * 15 and 16 wrap these tuples in a ReorderBufferTupleBuf.
 */
#if PG_VERSION_NUM >= 170000
#define COMPAT_TUPLE(kept) (kept)
#else
#define COMPAT_TUPLE(kept) ((kept) ? &(kept)->tuple : NULL)
#endif
#define compat_new_tuple(change) COMPAT_TUPLE((change)->data.tp.newtuple)
#define compat_old_tuple(change) COMPAT_TUPLE((change)->data.tp.oldtuple)


/* Create an index on a table without checking the current user's rights. */
#if PG_VERSION_NUM >= 160000
#define compat_define_index(leaf, stmt) \
	DefineIndex(leaf, stmt, InvalidOid, InvalidOid, InvalidOid, -1, \
				false, false, false, false, true)
#else
#define compat_define_index(leaf, stmt) \
	DefineIndex(leaf, stmt, InvalidOid, InvalidOid, InvalidOid, \
				false, false, false, false, true)
#endif

/*
 * Return whether a database is invalid because a DROP DATABASE was
 * interrupted. The server refuses connections to such a database. Minor
 * versions before 15.4 do not mark these databases, so the result is false
 * there.
 */
#ifdef DATCONNLIMIT_INVALID_DB
#define compat_database_is_invalid(database) database_is_invalid_form(database)
#else
#define compat_database_is_invalid(database) false
#endif

/*
 * Return the number of a wait event with a name of its own. Servers before 17
 * show all waits of extensions under one name. There, the name is evaluated
 * only so that compilers do not warn of an unused table of names.
 */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name) WaitEventExtensionNew(name)
#else
#define compat_wait_event(name) ((void) (name), PG_WAIT_EXTENSION)
#endif

/*
 * Allocate memory for the "extra" value that a GUC check hook passes to the
 * assign hook. The server frees it with free() or guc_free().
 */
#if PG_VERSION_NUM >= 160000
#define compat_guc_malloc(size) guc_malloc(LOG, size)
#else
#define compat_guc_malloc(size) malloc(size)
#endif

#endif							/* BLOGSTORE_COMPAT_H */
