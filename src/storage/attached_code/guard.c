/*
 * guard.c
 *		The guard, in which code runs that the containers' owner has attached
 *		to them.
 *
 * Attached code runs within another role's request, or in the worker. The
 * guard protects that caller from the owner. Attached code runs as the owner,
 * in a security-restricted operation, in which the server refuses SET ROLE,
 * temporary tables, deferred triggers, PREPARE, LISTEN, DISCARD and cursors
 * WITH HOLD. Its changes of settings are undone at the end of the guard. It
 * cannot execute DDL. Its writes are decoded even while the worker's own
 * writes are marked not to be (storage/bookkeeping/own_writes.c).
 *
 * attached_functions.c protects the owner from the caller: attached functions
 * must fix their search_path, so that the caller cannot influence what they
 * do.
 *
 * Guards nest, and must be left in reverse order. An error leaves the guards
 * that its (sub)transaction has entered. Runs in any process that writes
 * items.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/settings.h"
#include "storage/attached_code/attached_code.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "replication/origin.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"

struct Guard
{
	Guard	   *outer;			/* NULL if there is none */
	int			level;			/* nesting level of the transaction that
								 * entered it */
	Oid			user;			/* the owner, and the security context outside
								 * of the guard */
	int			sec_context;
	int			guc_nest;
	RepOriginId origin;			/* replication origin outside of the guard */
};

static Guard *innermost = NULL; /* NULL if the process is in no guard */

/*
 * Enter a guard. The current user must be the containers' owner. Until a
 * function sets its own search_path, unqualified names are looked up only in
 * pg_catalog.
 */
Guard *
guard_enter(void)
{
	Guard	   *guard = MemoryContextAlloc(TopTransactionContext, sizeof(Guard));

	guard->outer = innermost;
	guard->level = GetCurrentTransactionNestLevel();
	GetUserIdAndSecContext(&guard->user, &guard->sec_context);
	guard->guc_nest = NewGUCNestLevel();
	guard->origin = replorigin_session_origin;
	innermost = guard;
	replorigin_session_origin = InvalidRepOriginId;
	setting_change("search_path", SAFE_SEARCH_PATH);
	SetUserIdAndSecContext(guard->user,
						   guard->sec_context | SECURITY_RESTRICTED_OPERATION);
	return guard;
}

/* Leave the innermost guard, and restore all settings. */
void
guard_leave(Guard *guard)
{
	Assert(guard == innermost);
	SetUserIdAndSecContext(guard->user, guard->sec_context);
	AtEOXact_GUC(false, guard->guc_nest);
	replorigin_session_origin = guard->origin;
	innermost = guard->outer;
	pfree(guard);
}

/*
 * Check a utility statement before it is executed. Errors: 42501 if attached
 * code executes it, and it is DDL or SET CONSTRAINTS, which would decide when
 * the caller's constraints are checked.
 */
void
guard_check_statement(Node *stmt)
{
	if (innermost == NULL ||
		(GetCommandLogLevel(stmt) != LOGSTMT_DDL &&
		 !IsA(stmt, ConstraintsSetStmt)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("code attached to blogstore's tables cannot execute %s",
					CreateCommandName(stmt)),
			 errdetail("Triggers and expressions on these tables run inside of other roles' requests."),
			 errhint("Create and alter objects beforehand, as their owner."),
			 err_fields(NULL, NULL, RULE_TRIGGERS)));
}

/* Leave the guards that an aborted subtransaction has entered. */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId mine,
					SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		while (innermost != NULL &&
			   innermost->level >= GetCurrentTransactionNestLevel())
			innermost = innermost->outer;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		innermost = NULL;
}

/* Register callbacks. Called once by _PG_init. */
void
guard_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	attached_init();
}
