/*
 * owner_scope.c
 *		Lets code act as the owner of blogstore's tables.
 *
 * A role needs no rights except EXECUTE on the SQL functions. The functions
 * act as the tables' owner, like SECURITY DEFINER functions. The owner's
 * triggers and expressions therefore never run with the rights of the calling
 * role, or of the worker, which is a superuser. On an error, the abort of the
 * (sub)transaction restores the caller's user id.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/settings.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"

/* the lock_timeout of the worker's transactions, in milliseconds */
#define WORKER_LOCK_WAIT "200"

/*
 * Set lock_timeout to WORKER_LOCK_WAIT until the transaction ends. After a
 * timeout the transaction aborts, and is tried again. The timeout keeps the
 * worker from blocking other processes by its own locks while it waits for a
 * lock. Processes that do the worker's work also call this.
 */
void
limit_lock_waits(void)
{
	setting_change_local("lock_timeout", WORKER_LOCK_WAIT);
}

/*
 * Raise an error (25006) if the transaction is read-only, or the server is in
 * recovery.
 *
 * command: the name of the SQL function that was called, for the message
 */
void
need_writable(const char *command)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", command),
				 errhint("Connect to the primary."),
				 err_fields(NULL, NULL, RULE_PRIMARY)));
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction",
						command),
				 errhint("Use a READ WRITE transaction."),
				 err_fields(NULL, NULL, RULE_READ_WRITE)));
}

/*
 * Make the owner of blogstore's tables the current user, until owner_end().
 * Errors: 55000 if there are no such tables.
 */
void
owner_begin(OwnerScope *scope)
{
	Oid			owner = container_owner();

	GetUserIdAndSecContext(&scope->user, &scope->sec_context);
	SetUserIdAndSecContext(owner,
						   scope->sec_context | SECURITY_LOCAL_USERID_CHANGE);
}

void
owner_end(const OwnerScope *scope)
{
	SetUserIdAndSecContext(scope->user, scope->sec_context);
}
