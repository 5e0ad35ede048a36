/*
 * remote_request.c
 *		Running a request on the node that has the shard of its key.
 *
 * A request is sent by the statement SELECT * FROM blogstore.serve_...(key,
 * name, arguments, part, shard), where serve_...() is serve_post() or a
 * similar function. These are distributed functions of Citus with
 * force_delegation. So Citus runs the call within this transaction on the node
 * that has the key's shard. Citus delegates only calls with literal arguments.
 * The call runs as the containers' owner, and no other role may execute these
 * functions.
 *
 * Meanwhile this node keeps the shard locked in share mode, so that the shard
 * is not moved (cluster/citus/held_shards.c). The shard may have been moved
 * just before, and the other node may not see that yet. The other node then
 * returns one row of NULLs, and this node repeats the call.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/error_fields.h"
#include "base/settings.h"
#include "cluster/remote/remote_call.h"
#include "requests/results/results.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * While a shard is being moved, no node accepts calls for the shard's items,
 * so calls are repeated. A call fails after this many ms. A move blocks
 * writers for a few seconds only.
 */
#define GIVE_UP_AFTER 120000

/*
 * Return the arguments of a call as an array of text. Errors: 22023 if the
 * JSON text of an argument of type jsonb is too long.
 */
static Datum
arguments_array(const RemoteCall *call)
{
	Datum	   *value = palloc(sizeof(Datum) * Max(call->nargs, 1));
	bool	   *isnull = palloc(sizeof(bool) * Max(call->nargs, 1));
	int			dims[] = {call->nargs};
	int			bounds[] = {1};

	for (int i = 0; i < call->nargs; i++)
	{
		Oid			output;
		bool		varlena;

		isnull[i] = call->args[i].isnull;
		value[i] = (Datum) 0;
		if (isnull[i])
			continue;
		if (call->types[i] == JSONBOID)
			check_properties(call->args[i].value);
		getTypeOutputInfo(call->types[i], &output, &varlena);
		value[i] = CStringGetTextDatum(OidOutputFunctionCall(output,
															 call->args[i].value));
	}
	return PointerGetDatum(construct_md_array(value, isnull, 1, dims, bounds,
											  TEXTOID, -1, false,
											  TYPALIGN_INT));
}

/*
 * Return the value of the argument "shard" of serve_post() and similar
 * functions:
 *
 * If one node runs the request: the id of the key's shard.
 * If every node runs a part: a hash of the ids of the called node's shards
 *	(shards_number()).
 * If the key belongs to no shard: 0.
 *
 * The other node computes this number from its own catalogs, and refuses the
 * call if the two numbers differ.
 */
static int64
where(const RemoteCall *call)
{
	Shard		shard;

	if (!container_shard(CONTAINER_POSTS, &call->key, &shard))
		return 0;
	return call->part ? shards_number(container_shards(CONTAINER_POSTS), shard.group) :
		shard.id;
}

static char *
call_sql(const RemoteCall *call)
{
	char	   *key = id_text(&call->key);
	char	   *arguments = OidOutputFunctionCall(F_ARRAY_OUT,
												  arguments_array(call));

	return psprintf("SELECT * FROM " BLOGSTORE_SCHEMA ".%s(%s::pg_catalog.uuid, %s::pg_catalog.text, %s::pg_catalog.text[], %s, "
					INT64_FORMAT ")",
					call->serve, quote_literal_cstr(key),
					quote_literal_cstr(call->name),
					quote_literal_cstr(arguments),
					call->part ? "true" : "false",
					where(call));
}

static void
take_rows(RemoteRows *rows, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	rows->n = (int) SPI_processed;
	rows->desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
	rows->row = palloc(sizeof(HeapTuple) * Max(rows->n, 1));
	for (int i = 0; i < rows->n; i++)
		rows->row[i] = heap_copytuple(SPI_tuptable->vals[i]);
	MemoryContextSwitchTo(old);
}

/*
 * Return whether Citus need not begin a transaction on the other node for a
 * call. This saves the two round trips that begin and end the transaction. The
 * call must only read items of one key, with a snapshot of its own.
 *
 * If this transaction has already written on the other node, Citus has begun a
 * transaction there. The call then runs in that transaction, and sees what was
 * written.
 */
static bool
needs_no_transaction(const RemoteCall *call)
{
	return call->reads && !IsTransactionBlock() && !IsolationUsesXactSnapshot();
}

/*
 * Make Citus use one connection to each node for the rest of the session,
 * unless citus.multi_shard_modify_mode was set explicitly. Rows that a
 * transaction has written on another node are visible only through the
 * connection that wrote them. So other SQL statements of the session must not
 * open a second connection.
 */
static void
keep_to_one_connection(void)
{
	static bool kept = false;

	/* Settings cannot be changed in parallel mode. */
	if (kept || IsInParallelMode())
		return;
	SetConfigOption("citus.multi_shard_modify_mode", "sequential", PGC_USERSET,
					PGC_S_DYNAMIC_DEFAULT);
	kept = true;
}

/*
 * Run the SQL statement of a call, as the containers' owner. The result rows
 * are copied to the given memory context. Errors: those that the other node
 * raises, with their fields (remote_error.c).
 */
static void
run_call(const RemoteCall *call, RemoteRows *rows, MemoryContext context)
{
	OwnerScope	scope;

	owner_begin(&scope);
	SPI_connect();
	PG_TRY();
	{
		if (SPI_execute(call_sql(call), false, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not run %s() on another node", call->name);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		remote_error_receive();
	}
	PG_END_TRY();
	take_rows(rows, context);
	SPI_finish();
	owner_end(&scope);
}

/*
 * Run a call once. The result rows are allocated in the current memory
 * context. Returns false if the other node has refused the call: it does not
 * have the key's shard, or its copies of posts are not ready. Errors: 0A000 in
 * a parallel worker; those of the request.
 */
bool
remote_ask_once(const RemoteCall *call, RemoteRows *rows)
{
	bool		isnull;
	int			nest = 0;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a parallel worker cannot send a request to another node of the cluster"),
				 errhint("Set max_parallel_workers_per_gather to 0 for this query."),
				 err_fields(NULL, NULL, RULE_LEADER)));
	keep_to_one_connection();
	if (needs_no_transaction(call))
	{
		nest = NewGUCNestLevel();
		setting_change("citus.function_opens_transaction_block", "off");
	}
	run_call(call, rows, CurrentMemoryContext);
	if (nest > 0)
		AtEOXact_GUC(true, nest);
	if (rows->n != 1)
		return true;
	(void) heap_getattr(rows->row[0], 1, rows->desc, &isnull);
	return !isnull;
}

/*
 * Return whether a node has refused a query because its copies of posts are
 * not ready (add_refusal()).
 *
 * rows: the rows that the node has returned
 */
bool
remote_copies_are_refused(const RemoteRows *rows)
{
	bool		isnull = true;

	if (rows->n == 1 && rows->desc->natts > 1)
		(void) heap_getattr(rows->row[0], 2, rows->desc, &isnull);
	return !isnull;
}

/*
 * Sleep before the caller repeats a call that was refused because a shard is
 * being moved.
 *
 * waited: points to the time at which the first sleep for this call began, in
 *	ms. The caller initializes *waited to 0. The first sleep sets it.
 *
 * Errors: 55000 if the first sleep began more than GIVE_UP_AFTER ms ago.
 */
void
remote_pause(long *waited)
{
	long		now = (long) (GetCurrentTimestamp() / 1000);
	long		since = *waited == 0 ? 0 : now - *waited;

	if (*waited == 0)
		*waited = now;
	if (since > GIVE_UP_AFTER)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no node of the cluster has the shard of this key"),
				 errhint("Check citus_shards, citus_check_cluster_node_health(), and pg_prepared_xacts on all nodes."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	pg_usleep(since < 100 ? 1000L : since < 1000 ? 10000L : 100000L);
	CHECK_FOR_INTERRUPTS();
	AcceptInvalidationMessages();
}

/*
 * Push a new active snapshot, and return true. The caller must call
 * PopActiveSnapshot(). If the isolation level does not allow a new snapshot,
 * do nothing and return false.
 *
 * An older snapshot does not see a shard that was moved to this node after the
 * snapshot was taken.
 */
bool
remote_begin_snapshot(void)
{
	if (IsolationUsesXactSnapshot())
		return false;
	PushActiveSnapshot(GetTransactionSnapshot());
	return true;
}

/*
 * Run a command on this node, which has the command's post. The caller has
 * locked the post's shard (container_hold()).
 *
 * here: the C function of the command
 * call: passed to here(); contains its arguments
 * outer: the FunctionCallInfo of the command's SQL function. outer->isnull is
 *	set to whether the result is NULL.
 */
static Datum
serve_here(FunctionCallInfo call, FunctionCallInfo outer, PGFunction here)
{
	bool		anew = remote_begin_snapshot();
	Datum		result = here(call);

	if (anew)
		PopActiveSnapshot();
	outer->isnull = call->isnull;
	return result;
}

static Datum
take_result(const RemoteRows *rows, FunctionCallInfo fcinfo)
{
	Datum		value[FUNC_MAX_ARGS];
	bool		isnull[FUNC_MAX_ARGS];
	TupleDesc	desc;

	if (rows->n != 1)
		elog(ERROR, "a command on another node returned %d rows instead of one", rows->n);
	heap_deform_tuple(rows->row[0], rows->desc, value, isnull);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
	{
		fcinfo->isnull = isnull[0];
		return value[0];
	}
	if (desc->natts != rows->desc->natts)
		elog(ERROR, "a row from another node has unexpected columns");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), value, isnull));
}

/*
 * Run a command on the node that has its post. If create_post() is called
 * without an id, generate the id first, because it decides which node has the
 * post.
 *
 * here: the C function that runs the command on this node
 *
 * Errors: 25006, 40001, and those of the command. Locks: the post's shard in
 * share mode, until the transaction ends.
 */
Datum
remote_command(FunctionCallInfo fcinfo, PGFunction here)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	Command		command;
	RemoteCall	remote;
	RemoteRows	rows;
	pg_uuid_t	made;
	Shard		shard;
	long		waited = 0;

	if (container_is_held_by_caller())
		return here(fcinfo);
	remote_command_of(fcinfo->flinfo->fn_oid, &command);
	if (command.key < 0 || command.nargs != fcinfo->nargs)
		return here(fcinfo);
	InitFunctionCallInfoData(*call, fcinfo->flinfo, fcinfo->nargs,
							 fcinfo->fncollation, fcinfo->context,
							 fcinfo->resultinfo);
	memcpy(call->args, fcinfo->args, sizeof(NullableDatum) * fcinfo->nargs);
	if (call->args[command.key].isnull &&
		strcmp(NameStr(command.name), "create_post") == 0)
	{
		new_id(&made);
		call->args[command.key].value = UUIDPGetDatum(&made);
		call->args[command.key].isnull = false;
	}
	if (call->args[command.key].isnull)
		return here(call);		/* raises the error that post_id is NULL */
	need_writable(psprintf("%s()", NameStr(command.name)));
	PreventCommandIfParallelMode(NameStr(command.name));
	remote = (RemoteCall) {
		.serve = command.serve, .name = NameStr(command.name),
		.key = *DatumGetUUIDP(call->args[command.key].value),
		.nargs = command.nargs, .types = command.types, .args = call->args
	};
	container_hold(CONTAINER_POSTS, &remote.key, &shard);
	if (OidIsValid(shard.table))
	{
		remote_require_snapshot(&shard);
		return serve_here(call, fcinfo, here);
	}
	if (remote.serve == NULL)
		elog(ERROR, "%s() cannot return its result from another node", NameStr(command.name));
	while (!remote_ask_once(&remote, &rows))
		remote_pause(&waited);
	return take_result(&rows, fcinfo);
}

/*
 * Call a function of blogstore that has one argument, on the node that has the
 * shard of a key. Returns the function's boolean result. Returns false if no
 * node accepts the call, because the shard is being moved.
 *
 * type: the type of the argument
 */
bool
remote_call_flag(const char *name, const pg_uuid_t *key, Oid type, Datum argument)
{
	NullableDatum args[] = {{argument, false}};
	RemoteCall	call = {
		.serve = "serve_flag", .name = name, .key = *key, .nargs = 1,
		.types = &type, .args = args
	};
	RemoteRows	rows;
	bool		isnull;

	return remote_ask_once(&call, &rows) && rows.n == 1 &&
		DatumGetBool(heap_getattr(rows.row[0], 1, rows.desc, &isnull));
}

/*
 * Return those of the given posts that are on the node that has a key's shard.
 * The result is allocated in the current memory context. Returns NULL if no
 * node accepts the call, because the shard is being moved.
 *
 * key: decides which node is asked
 * ids: an array of the ids of the posts
 */
RemoteItems *
remote_posts(const pg_uuid_t *key, Datum ids)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));
	NullableDatum args[] = {{ids, false}};
	Oid			type = UUIDARRAYOID;
	RemoteCall	call = {
		.serve = remote_serve_function(ITEM_POST), .name = "get_posts",
		.key = *key, .part = true, .nargs = 1, .types = &type, .args = args
	};

	items->type = ITEM_POST;
	return remote_ask_once(&call, &items->rows) ? items : NULL;
}
