/*
 * guard.c
 *		The guard in which runs what the containers' owner has attached to them:
 *		triggers, and the expressions of constraints, defaults, generated columns
 *		and indexes.
 *
 * It runs as the owner while somebody else's request, or the worker, writes.
 * Nothing that the caller controls may decide what it does: neither settings
 * (defaults.c), nor names, nor what is deferred to the end of the transaction,
 * where the caller's names would hold again (defer.c).
 *
 * Names of tables and types are looked for in the session's temporary schema,
 * whatever the search_path is. So in the guard nothing of the caller's there can
 * be used, nor can a function that the caller could have written, however it was
 * found. Hooks see to that; outside of a guard they cost a comparison.
 *
 * Guards nest, and are left in reverse order; an error leaves those of its
 * (sub)transaction. Runs in any process that writes items.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/inside.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static ExecutorCheckPerms_hook_type previous_check_hook = NULL;
static object_access_hook_type previous_access_hook = NULL;
static needs_fmgr_hook_type previous_fmgr_hook = NULL;
static fmgr_hook_type previous_start_hook = NULL;

/* ------------------------------------------------------------------------
 * What must not be used
 * ------------------------------------------------------------------------ */

/* Before settings are changed: how they are outside, but in the worker. */
static void
note_settings(Guard *guard)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	if (!defer_is_never())
		guard->settings = left_behind_note(guard->path);
	MemoryContextSwitchTo(old);
}

/* A statement is about to write to a table that it has locked. */
static void
check_target(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		triggers = rel->trigdesc != NULL ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;

	defer_check(rel);
	if (triggers)
		types_check_temporary(guard_innermost->user);
	/* all have a primary key, and its columns' types are the server's */
	if (!guard_innermost->settled &&
		(triggers || expressions_are_attached(rel) ||
		 columns_are_attached(rel) ||
		 list_length(RelationGetIndexList(rel)) > 1))
	{
		guard_innermost->settled = true;
		note_settings(guard_innermost);
		defaults_apply(guard_innermost->user);
	}
	table_close(rel, NoLock);
}

/* A statement is about to run: look at its relations (ExecCheckPermissions()). */
static bool
check_statement(COMPAT_CHECK_PERMS_PARAMETERS)
{
	ListCell   *lc;

	if (guard_innermost != NULL)
	{
		cursors_check_active();
		foreach(lc, relations)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (!OidIsValid(rte->relid))
				continue;
			guard_check_relation(rte->relid);
			if (rte->rtekind == RTE_RELATION &&
				rte->rellockmode == RowExclusiveLock)
				check_target(rte->relid);
		}
	}
	return previous_check_hook == NULL ||
		previous_check_hook(COMPAT_CHECK_PERMS_ARGUMENTS);
}

/* A table is about to be truncated, which fires triggers. */
static void
check_access(ObjectAccessType access, Oid class_id, Oid object, int sub_id,
			 void *arg)
{
	if (guard_innermost != NULL && access == OAT_TRUNCATE &&
		class_id == RelationRelationId)
		guard_check_relation(object);
	if (previous_access_hook != NULL)
		previous_access_hook(access, class_id, object, sub_id, arg);
}

/*
 * A function is about to be called: one of the caller's may have come by a
 * domain's constraint, a trigger, an operator. Any may look for names.
 */
static void
check_called(Oid function)
{
	if (guard_innermost != NULL && function >= FirstNormalObjectId)
	{
		HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
		Oid			role = InvalidOid;

		if (HeapTupleIsValid(tuple))
		{
			role = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
			ReleaseSysCache(tuple);
		}
		if (OidIsValid(role) && role_is_callers(role))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("function %s must not be run by what is attached to blogstore's tables",
							format_procedure(function)),
					 errdetail("It belongs to the caller of the request; it would run as \"%s\".",
							   GetUserNameFromId(guard_innermost->user, true)),
					 errhint("Give the function to the owner of the containers, if that is meant.")));
		types_check_temporary(guard_innermost->user);
	}
}

/* A function is looked up, to be called. */
static bool
check_function(Oid function)
{
	check_called(function);
	return previous_fmgr_hook != NULL && previous_fmgr_hook(function);
}

/*
 * A function with settings of its own begins: for those the server does not ask
 * needs_fmgr_hook again.
 */
static void
function_starts(FmgrHookEventType event, FmgrInfo *flinfo, Datum *private)
{
	if (event == FHET_START)
		check_called(flinfo->fn_oid);
	if (previous_start_hook != NULL)
		previous_start_hook(event, flinfo, private);
}

/* ------------------------------------------------------------------------
 * The guard
 * ------------------------------------------------------------------------ */

/* A name that is not found may be in a schema that was left out. */
static void
explain_error(void *arg)
{
	const char *out = defaults_left_out();
	int			code = geterrcode();

	if (out == NULL ||
		(code != ERRCODE_UNDEFINED_TABLE && code != ERRCODE_UNDEFINED_FUNCTION &&
		 code != ERRCODE_UNDEFINED_OBJECT && code != ERRCODE_UNDEFINED_COLUMN &&
		 code != ERRCODE_UNDEFINED_SCHEMA))
		return;
	errhint("What is attached to blogstore's tables does not look into schema %s, since others may create in it. Qualify the name, or say ALTER FUNCTION ... SET search_path, or REVOKE CREATE ON SCHEMA.",
			out);
	errcontext("code attached to blogstore's tables, without schema %s", out);
}

/*
 * From here to guard_leave() what the owner has attached may run. The current
 * user is the containers' owner. Expressions alone may do no more than they need
 * (SECURITY_RESTRICTED_OPERATION); triggers may make temporary tables, and defer
 * what the server itself checks.
 *
 * Errors: 42501 if the session has temporary types that are in the way; with a
 * statement, when it comes upon triggers.
 */
Guard *
guard_enter(GuardKind kind)
{
	Guard	   *guard = MemoryContextAllocZero(TopTransactionContext,
											   sizeof(Guard));

	guard->outer = guard_innermost;
	guard->level = GetCurrentTransactionNestLevel();
	GetUserIdAndSecContext(&guard->user, &guard->sec_context);
	guard->restricted = guard_innermost != NULL ? guard_innermost->restricted :
		InSecurityRestrictedOperation();
	guard->path = MemoryContextStrdup(TopTransactionContext,
									  namespace_search_path);
	if (guard_innermost == NULL)
	{
		cursors_begin();
		types_watch_functions();
	}
	guard->guc_nest = NewGUCNestLevel();
	guard->errors.callback = explain_error;
	guard->errors.previous = error_context_stack;
	guard_innermost = guard;
	error_context_stack = &guard->errors;

	if (kind == GUARD_STATEMENT)
		defaults_apply_path(guard->user);
	else
	{
		guard->settled = true;
		note_settings(guard);
		defaults_apply(guard->user);
		types_check_temporary(guard->user);
	}
	SetUserIdAndSecContext(guard->user,
						   kind == GUARD_EXPRESSIONS || guard->restricted ?
						   guard->sec_context | SECURITY_RESTRICTED_OPERATION :
						   guard->sec_context & ~SECURITY_RESTRICTED_OPERATION);
	return guard;
}

/* The innermost guard has ended, and maybe others with it, up to an outer one. */
static void
guard_ends(Guard *outer)
{
	guard_innermost = outer;
	if (outer == NULL)
		types_unwatch_functions();
}

/*
 * The settings are the caller's again. Others that a trigger has set stay, as
 * they would after an ordinary one; but not in the worker, where they would hold
 * for all that follows.
 */
void
guard_leave(Guard *guard)
{
	Assert(guard == guard_innermost);
	AtEOXact_GUC(!defer_is_never(), guard->guc_nest);
	if (guard->settings != NULL)
		left_behind_undo(guard->settings);
	SetUserIdAndSecContext(guard->user, guard->sec_context);
	error_context_stack = guard->errors.previous;
	guard_ends(guard->outer);
	pfree(guard->path);
	pfree(guard);
}

/* An error has ended a subtransaction, and what was entered in it. */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId mine,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		while (guard_innermost != NULL &&
			   guard_innermost->level >= GetCurrentTransactionNestLevel())
			guard_ends(guard_innermost->outer);
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE ||
		event == XACT_EVENT_PARALLEL_PRE_COMMIT)
		return;
	guard_ends(NULL);
	defer_forget();
}

/* Install the hooks; called once by _PG_init. */
void
guard_init(void)
{
	previous_check_hook = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check_statement;
	previous_access_hook = object_access_hook;
	object_access_hook = check_access;
	previous_fmgr_hook = needs_fmgr_hook;
	needs_fmgr_hook = check_function;
	previous_start_hook = fmgr_hook;
	fmgr_hook = function_starts;
	types_init();
	cursors_init();
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	defaults_init();
	defer_init();
}
