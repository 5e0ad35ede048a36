/*
 * guard.c
 *		The guard: how code runs that the containers' owner has attached to them.
 *
 * Attached code runs inside of another role's request, or in the worker. The guard
 * protects that caller from the owner. Attached code runs as the owner, in a
 * security-restricted operation, so that the server refuses SET ROLE, temporary
 * tables, deferred triggers, PREPARE, LISTEN, DISCARD and cursors WITH HOLD. Its
 * settings last until the guard is left. And it executes no DDL. What it writes while a worker
 * marks its own writes is not marked (storage/bookkeeping/own_writes.c).
 *
 * The other direction is attached_functions.c: attached functions fix their search_path,
 * so that the caller cannot choose what they do.
 *
 * Guards nest, and are left in reverse order. An error leaves those that its
 * (sub)transaction has entered. Runs in any process that writes items.
 */
#include "postgres.h"

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
	Guard	   *outer;			/* NULL: none */
	int			level;			/* of the transaction that entered it */
	Oid			user;			/* the owner, and the security context outside */
	int			sec_context;
	int			guc_nest;
	RepOriginId origin;			/* of what is written outside */
};

static Guard *innermost = NULL; /* NULL: this process is in no guard */

/*
 * Enter a guard. The current user is the containers' owner. Names that are not
 * qualified are looked up in pg_catalog alone, until a function sets its own
 * search_path.
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

/* Leave the innermost guard. All settings are again as they were outside. */
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
 * A utility statement is about to be executed. Errors: 42501 if attached code
 * executes it and it is DDL, or decides when the caller's constraints are checked.
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
			 errhint("Create and alter objects beforehand, as their owner.")));
}

/* An error has ended a subtransaction, and with it the guards entered in it. */
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

/* Called once by _PG_init. */
void
guard_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	attached_init();
}
