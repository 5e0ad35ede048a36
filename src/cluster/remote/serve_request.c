/*
 * serve_request.c
 *		Serving requests that other nodes of a cluster have sent.
 *
 * serve_post() and similar functions, one for each result type of requests,
 * are distributed functions of Citus. Only the containers' owner may execute
 * them. They convert arguments from text, and call the function of the
 * request. They run in the transaction that Citus has begun on this node for
 * the transaction of the sending node.
 *
 * Runs in backends to which Citus has connected from other nodes.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "cluster/remote/remote_call.h"
#include "requests/requests.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

SQL_FUNCTION(serve);

/* the beginning of the application_name of Citus's connections */
#define CITUS_APPLICATION "citus_internal"

static void
set_arguments(FunctionCallInfo call, ArrayType *texts, const Oid *types)
{
	Datum	   *value;
	bool	   *isnull;
	int			n;

	deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &value, &isnull, &n);
	for (int i = 0; i < n; i++)
	{
		Oid			input;
		Oid			param;

		call->args[i].isnull = isnull[i];
		call->args[i].value = (Datum) 0;
		if (isnull[i])
			continue;
		getTypeInputInfo(types[i], &input, &param);
		call->args[i].value = OidInputFunctionCall(input,
												   TextDatumGetCString(value[i]),
												   param, -1);
	}
}

/*
 * Add the result of a command, a row or one value, to the result rows of
 * serve_post() or a similar function.
 */
static void
add_result(ReturnSetInfo *out, Datum result, bool isnull)
{
	Datum		value[FUNC_MAX_ARGS];
	bool		nulls[FUNC_MAX_ARGS];

	if (out->setDesc->natts == 1)
	{
		tuplestore_putvalues(out->setResult, out->setDesc, &result, &isnull);
		return;
	}
	if (!isnull)
	{
		HeapTupleHeader row = DatumGetHeapTupleHeader(result);
		HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};
		TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
												  HeapTupleHeaderGetTypMod(row));

		heap_deform_tuple(&tuple, desc, value, nulls);
		ReleaseTupleDesc(desc);
		tuplestore_putvalues(out->setResult, out->setDesc, value, nulls);
	}
}

static void
add_set(ReturnSetInfo *out, ReturnSetInfo *in)
{
	TupleTableSlot *slot;

	if (in->setResult == NULL)
		return;
	slot = MakeSingleTupleTableSlot(in->setDesc, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(in->setResult, true, false, slot))
		tuplestore_puttupleslot(out->setResult, slot);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Throw an error unless the function of a request has the result type of the
 * serving function. rebuild_views() returns void, which serve_flag() returns
 * as a boolean. Errors: 42883.
 *
 * server: serve_post() or a similar function
 */
static void
require_result_type(Oid server, Oid request)
{
	Oid			wanted = get_func_rettype(server);
	Oid			result = get_func_rettype(request);

	if (result != wanted && !(result == VOIDOID && wanted == BOOLOID))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("%s returns %s, but %s returns %s",
						format_procedure(request), format_type_be(result),
						format_procedure(server), format_type_be(wanted)),
				 errhint("Call the function of the request itself."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
}

/*
 * Call the function of a request, and add its result to "out", the result rows
 * of a serving function.
 *
 * server: the serving function, serve_post() or a similar function
 * texts: the arguments, as text
 * part: whether this node runs only a part of the request (request_is_part)
 */
static void
call_request(ReturnSetInfo *out, Oid server, const char *name,
			 ArrayType *texts, bool part)
{
	bool		before = request_is_part;
	bool		held;
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	Oid			types[FUNC_MAX_ARGS];
	int			nargs = ArrayGetNItems(ARR_NDIM(texts), ARR_DIMS(texts));
	ReturnSetInfo rows = {.type = T_ReturnSetInfo,.econtext = out->econtext,
		.allowedModes = SFRM_Materialize,.returnMode = SFRM_ValuePerCall};
	Oid			request;
	FmgrInfo	flinfo;
	bool		anew;
	volatile Datum result = (Datum) 0;

	if (nargs > FUNC_MAX_ARGS)
		elog(ERROR, "a request cannot have more than %d arguments", FUNC_MAX_ARGS);
	request = remote_find_function(name, nargs, types);
	require_result_type(server, request);
	fmgr_info(request, &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, nargs, InvalidOid, NULL,
							 (Node *) &rows);
	set_arguments(call, texts, types);
	anew = remote_begin_snapshot();
	held = container_held_by_caller(true);
	request_is_part = part;
	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_FINALLY();
	{
		request_is_part = before;
		(void) container_held_by_caller(held);
	}
	PG_END_TRY();
	if (anew)
		PopActiveSnapshot();
	if (flinfo.fn_retset)
		add_set(out, &rows);
	else
		add_result(out, result, call->isnull);
}

/*
 * Refuse a request by returning a row that has no item.
 *
 *	copies	reason for the refusal					row
 *	------	------------------------------------	------------------------
 *	true	this node's copies are not ready		all NULL except the type
 *	false	the shard of the key is not here		all NULL
 */
static void
add_refusal(ReturnSetInfo *out, bool copies)
{
	Datum		value[FUNC_MAX_ARGS] = {0};
	bool		isnull[FUNC_MAX_ARGS];

	memset(isnull, true, sizeof(isnull));
	if (copies)
	{
		value[1] = CStringGetTextDatum("post");
		isnull[1] = false;
	}
	tuplestore_putvalues(out->setResult, out->setDesc, value, isnull);
}

/*
 * Return whether a request was sent by the worker of another node. Among
 * requests that return one column, those of workers have no distributed
 * transaction, and those of clients have one.
 *
 * The caller then limits how long the request waits for locks on this node.
 * The sending worker holds locks on its own node meanwhile, so the wait could
 * be part of a deadlock. Citus does not detect a deadlock without a
 * distributed transaction. If the request fails, the worker releases its locks
 * and tries again.
 */
static bool
serves_worker(const ReturnSetInfo *out)
{
	return out->setDesc->natts == 1 &&
		strncmp(application_name, CITUS_APPLICATION,
				strlen(CITUS_APPLICATION)) == 0 && !IsTransactionBlock();
}

/*
 * Return whether the shard of a key is on this node and has the given id. The
 * id 0 stands for any id.
 */
static bool
is_shard(const pg_uuid_t *key, int64 id)
{
	Shard		shard;

	return container_shard(CONTAINER_POSTS, key, &shard) &&
		OidIsValid(shard.table) && (id == 0 || shard.id == id);
}

/*
 * Return whether the shard of a key is on this node and has the given id (0
 * for any id). Before returning false, wait until no move or split of the
 * shard is in progress, and test again.
 *
 * The sending node may see a split of the shard earlier than this node. It
 * then sends the id of a new shard. Without the wait, this node could write to
 * the old shard, and the write would be lost.
 */
static bool
is_shard_at_last(const pg_uuid_t *key, int64 id)
{
	Shard		shard;

	if (!container_is_here(CONTAINER_POSTS, key))
		return false;
	if (is_shard(key, id))
		return true;
	container_hold(CONTAINER_POSTS, key, &shard);
	container_let_go(CONTAINER_POSTS, &shard);
	return is_shard(key, id);
}

/*
 * Return whether this node has the shards that the sending node expects. After
 * a move of a shard, the two nodes may see different shards for a moment.
 *
 * key: a random key, which belongs to one of the expected shards
 * number: a hash of the ids of the expected shards (shards_number()); 0 for
 *	any shards
 */
static bool
is_group(const pg_uuid_t *key, int64 number)
{
	Shard		shard;

	AcceptInvalidationMessages();
	return container_shard(CONTAINER_POSTS, key, &shard) &&
		OidIsValid(shard.table) &&
		(number == 0 || number == shards_number(container_shards(CONTAINER_POSTS), shard.group));
}

/*
 * Return whether the shard of a key is on this node and has the given id (0
 * for any id). Before returning false, wait for the end of a move or split of
 * the shard (is_shard_at_last()).
 *
 * A read without a distributed transaction does not wait, because Citus would
 * not detect a deadlock between the read and the move. If this function
 * returns false, the sending node repeats the call.
 */
static bool
is_here(const ReturnSetInfo *out, const pg_uuid_t *key, int64 id)
{
	if (out->setDesc->natts == 1 || IsTransactionBlock())
		return is_shard_at_last(key, id);
	AcceptInvalidationMessages();
	return is_shard(key, id);
}

/*
 * Throw an error if the transaction's snapshot is older than the move of the
 * requested items to this node, and the isolation level allows no new
 * snapshot. The isolation level is that of the sending transaction.
 *
 * part: if true, check all shards on this node; if false, only the key's shard
 * items: whether the request returns items. If "part" is true and "items" is
 *	false, nothing is checked.
 *
 * Errors: 40001.
 */
static void
require_snapshot(const pg_uuid_t *key, bool part, bool items)
{
	Shard		shard;

	if (part && items)
		remote_require_snapshot(NULL);
	else if (!part && container_shard(CONTAINER_POSTS, key, &shard))
		remote_require_snapshot(&shard);
}

/*
 * Do the work of blogstore.serve_post(key, request, arguments, part, shard)
 * and of similar functions. Returns the result rows of the request. If "part"
 * is true, all nodes run the request, and this node returns its own rows.
 *
 * One row of NULLs means that this node refuses the request, because it does
 * not have the shards that the sending node expects. A row of which only the
 * type is not NULL means that this node's copies of posts are not ready.
 *
 * Locks: those of the request. The sending node has locked the shards in share
 * mode. Errors: those of the request; 22004, 40001, 42883, 55000; 55P03 if a
 * worker has sent the request.
 */
static void
serve_call(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *name;
	bool		part;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) ||
		PG_ARGISNULL(3) || PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("key, request, arguments, part and shard must not be null"),
				 errhint("Call the function of the request itself.")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	part = PG_GETARG_BOOL(3);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (out->setDesc->natts > FUNC_MAX_ARGS)
		elog(ERROR, "too many columns");
	container_require_cluster("A request's own function");
	if (serves_worker(out))
		limit_lock_waits();
	if (part ? !is_group(PG_GETARG_UUID_P(0), PG_GETARG_INT64(4)) :
		!is_here(out, PG_GETARG_UUID_P(0), PG_GETARG_INT64(4)))
	{
		add_refusal(out, false);
		return;
	}
	require_snapshot(PG_GETARG_UUID_P(0), part, out->setDesc->natts > 1);
	if (remote_reads_copies(name, part) && !views_ready(GetActiveSnapshot()))
		add_refusal(out, true);
	else
		call_request(out, fcinfo->flinfo->fn_oid, name,
					 PG_GETARG_ARRAYTYPE_P(2), part);
}

/*
 * blogstore.serve_post() and similar functions (see serve_call()). Errors:
 * those of serve_call(). The last line of the hint contains the error's
 * schema, table, column and constraint (remote_error.c).
 */
static Datum
serve(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		serve_call(fcinfo);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		remote_error_send();
	}
	PG_END_TRY();
	return (Datum) 0;
}
