/*
 * guard.c
 *		Protects the calling role while attached code runs.
 *
 * Attached code runs in the session of the role that calls blogstore, or in
 * the worker, which is a superuser. Attached code must not use the rights of
 * this calling role. So between guard_enter() and guard_leave(), code runs as
 * the owner, in a security-restricted operation. In such an operation the
 * server refuses SET ROLE, temporary tables, deferred triggers, PREPARE,
 * LISTEN, DISCARD and cursors WITH HOLD. guard_check_statement() refuses DDL.
 * guard_leave() restores all settings.
 *
 * guard_enter() also resets the worker's replication origin. Rows with this
 * origin are not decoded, but rows that attached code writes must be decoded
 * (storage/bookkeeping/own_writes.c).
 *
 * Conversely, the calling role must not influence what attached functions do.
 * These functions must therefore fix their search_path (attached_functions.c).
 *
 * Calls of guard_enter() can nest. After an error, the abort of a
 * (sub)transaction undoes the calls that the (sub)transaction has made. Runs
 * in any process that writes items.
 */
#include "postgres.h"

#include "base/compat.h"
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
	Guard	   *outer;
	/* nesting level of the (sub)transaction that called guard_enter() */
	int			level;
	/* the caller's state, which guard_leave() restores */
	Oid			user;
	int			sec_context;
	int			guc_nest;
	CompatOrigin origin;
};

static Guard *innermost = NULL;

/*
 * Begin to protect the calling role, until guard_leave(). Called before code
 * that the owner has attached to the tables can run. The current user must be
 * the owner. Names without a schema are then looked up only in pg_catalog,
 * unless a function sets its own search_path.
 */
Guard *
guard_enter(void)
{
	Guard	   *guard = MemoryContextAlloc(TopTransactionContext, sizeof(Guard));

	guard->outer = innermost;
	guard->level = GetCurrentTransactionNestLevel();
	GetUserIdAndSecContext(&guard->user, &guard->sec_context);
	guard->guc_nest = NewGUCNestLevel();
	guard->origin = compat_write_origin;
	innermost = guard;
	compat_write_origin = COMPAT_NO_ORIGIN;
	setting_change("search_path", SAFE_SEARCH_PATH);
	SetUserIdAndSecContext(guard->user,
						   guard->sec_context | SECURITY_RESTRICTED_OPERATION);
	return guard;
}

/* Undo the last call of guard_enter(): restore the user id and settings. */
void
guard_leave(Guard *guard)
{
	Assert(guard == innermost);
	SetUserIdAndSecContext(guard->user, guard->sec_context);
	AtEOXact_GUC(false, guard->guc_nest);
	compat_write_origin = guard->origin;
	innermost = guard->outer;
	pfree(guard);
}

/*
 * Check a utility statement before the server executes it. Errors: 42501 if
 * attached code (between guard_enter() and guard_leave()) runs DDL or SET
 * CONSTRAINTS. SET CONSTRAINTS would also affect the calling role's tables.
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

/*
 * Subtransaction callback: an abort undoes the calls of guard_enter() that the
 * subtransaction has made.
 */
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

void
guard_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
	attached_init();
}
