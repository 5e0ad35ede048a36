/*
 * owner_scope.c
 *		Acting as the owner of the containers.
 *
 * EXECUTE on a request is all a caller needs: like a SECURITY DEFINER
 * function, but for the containers' owner, so that the owner's triggers and
 * expressions never run with the rights of a caller or of the worker, which
 * is a superuser. An error restores the caller with the (sub)transaction.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/settings.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"

/* A lock_timeout, in ms. */
#define WORKER_LOCK_WAIT "200"

/*
 * What a worker does waits for a lock for a short while only, wherever it is done, until the
 * transaction ends: it lets go of all, and tries again.
 */
void
limit_lock_waits(void)
{
	setting_change_local("lock_timeout", WORKER_LOCK_WAIT);
}

/* A command is about to write. Errors: 25006 if this transaction must not. */
void
need_writable(const char *command)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", command),
				 errhint("Connect to the primary.")));
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction",
						command),
				 errhint("Use a READ WRITE transaction.")));
}

/* From here to owner_end() the current user is the containers' owner. */
void
owner_begin(OwnerScope *scope)
{
	Oid			owner = container_owner();

	GetUserIdAndSecContext(&scope->user, &scope->sec_context);
	SetUserIdAndSecContext(owner,
						   scope->sec_context | SECURITY_LOCAL_USERID_CHANGE);
}

/* The current user is who it was before owner_begin(). */
void
owner_end(const OwnerScope *scope)
{
	SetUserIdAndSecContext(scope->user, scope->sec_context);
}
