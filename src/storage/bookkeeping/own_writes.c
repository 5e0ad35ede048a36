/*
 * own_writes.c
 *		Gives the worker's changes to the views a replication origin, so that
 *		no worker decodes them.
 *
 * The origin is in the WAL records of the changes. It also exists in
 * pg_replication_origin, because other output plugins may look it up. For
 * example, pgoutput does so if the containers are published.
 *
 * The WAL records of commits and aborts must not have an origin. When a commit
 * (or an abort, from PostgreSQL 16 on) has an origin, the server tracks the
 * origin's progress. The server then crashes if the process has not called
 * replorigin_session_setup(). blogstore does not call that function, because
 * each call takes one of max_replication_slots. So the server's variable with
 * the origin (compat_write_origin) is reset before a transaction or
 * subtransaction can end:
 *
 * - by own_writes_run(), when its callback returns or throws an error;
 * - by an exit callback, when the process exits;
 * - by guard_enter(), before code of the owner runs, such as a trigger. Such
 *   code can have subtransactions.
 *
 * Runs in the worker, and in backends that write topics. On a cluster, also
 * runs in backends that write changes for the worker of another node to this
 * node's views.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

/*
 * The name of the replication origin. All databases use the same origin,
 * because each worker decodes only its own database.
 */
#define OWN_ORIGIN "blogstore_worker"

/*
 * The id of the replication origin OWN_ORIGIN, set by own_writes_look();
 * COMPAT_NO_ORIGIN if the origin does not exist.
 */
static CompatOrigin own_origin = COMPAT_NO_ORIGIN;

/*
 * Look up the replication origin of the worker's changes. The worker calls
 * this in a transaction, before it decodes changes. If a superuser has dropped
 * the origin, the worker also decodes its own changes. That costs time, and a
 * rebuild if topics were written (ROLE_TOPICS), but does no harm.
 */
void
own_writes_look(void)
{
	own_origin = replorigin_by_name(OWN_ORIGIN, true);
}

/*
 * Create the replication origin for the worker's changes, if it does not
 * exist. Locks: ExclusiveLock on pg_replication_origin, to the end of the
 * transaction, so that two workers do not both create it.
 */
static void
make_origin(void)
{
	LockRelationOid(ReplicationOriginRelationId, ExclusiveLock);
	own_writes_look();
	if (own_origin == COMPAT_NO_ORIGIN)
		own_origin = replorigin_create(OWN_ORIGIN);
}

static void
unmark(int code, Datum arg)
{
	compat_write_origin = COMPAT_NO_ORIGIN;
}

/*
 * Reset the origin when the process exits. On a FATAL error, this happens
 * before the transaction aborts, so that the WAL record of the abort has no
 * origin.
 */
static void
unmark_at_exit(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(unmark, (Datum) 0);
	registered = true;
}

/*
 * Call write(arg) in the current transaction. The changes that write() makes
 * get the worker's replication origin, so that no worker decodes them. Changes
 * that the owner's triggers make do not get the origin.
 *
 * make: create the replication origin if it does not exist
 *
 * The callback of a call may call the function again. Errors: those of write.
 * Locks: ExclusiveLock on pg_replication_origin, if the origin is created.
 */
void
own_writes_run(bool make, void (*write) (void *arg), void *arg)
{
	CompatOrigin before = compat_write_origin;

	unmark_at_exit();
	own_writes_look();
	if (own_origin == COMPAT_NO_ORIGIN && make)
		make_origin();
	PG_TRY();
	{
		compat_write_origin = own_origin;
		write(arg);
	}
	PG_FINALLY();
	{
		compat_write_origin = before;
	}
	PG_END_TRY();
}

bool
own_writes_have(CompatOrigin origin)
{
	return origin != COMPAT_NO_ORIGIN && origin == own_origin;
}
