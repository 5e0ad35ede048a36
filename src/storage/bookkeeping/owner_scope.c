/*
 * owner_scope.c
 *		Acting as the owner of the containers.
 *
 * A caller of a request needs no rights except EXECUTE on its function.
 * Requests act as the containers' owner, like SECURITY DEFINER functions. The
 * owner's triggers and expressions therefore never run with the rights of the
 * caller, or of the worker, which is a superuser. On an error, the abort of
 * the (sub)transaction restores the caller's user id.
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

/* A value of lock_timeout, in ms. */
#define WORKER_LOCK_WAIT "200"

/*
 * Limit lock waits to WORKER_LOCK_WAIT until the transaction ends. Work of the
 * worker calls this, in whatever process it is done. After a timeout, it
 * releases its locks and tries again.
 */
void
limit_lock_waits(void)
{
	setting_change_local("lock_timeout", WORKER_LOCK_WAIT);
}

/*
 * Check that this transaction may write. command: name for the message.
 * Errors: 25006 if it is read-only or the server is in recovery.
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
 * Make the containers' owner the current user until owner_end(). Errors: 55000
 * if there are no containers.
 */
void
owner_begin(OwnerScope *scope)
{
	Oid			owner = container_owner();

	GetUserIdAndSecContext(&scope->user, &scope->sec_context);
	SetUserIdAndSecContext(owner,
						   scope->sec_context | SECURITY_LOCAL_USERID_CHANGE);
}

/* Restore the current user of owner_begin(). */
void
owner_end(const OwnerScope *scope)
{
	SetUserIdAndSecContext(scope->user, scope->sec_context);
}
