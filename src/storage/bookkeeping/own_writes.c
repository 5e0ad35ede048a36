/*
 * own_writes.c
 *		Marks what a worker writes to the views, so that no worker decodes it.
 *
 * The mark is a replication origin in the WAL records of the changes. The
 * origin exists in pg_replication_origin, because other output plugins look
 * origins up; for example, pgoutput does so if the containers are published.
 *
 * The records of commits and aborts must not have this origin. With it, the
 * server would track the origin's progress, in a state that this process would
 * have to acquire (replorigin_session_setup()), and that uses one of
 * max_replication_slots. Without that state, a commit with an origin crashes,
 * and from PostgreSQL 16 on, so does an abort. So the mark is removed before
 * either: own_writes_run() removes it when the function that it calls returns
 * or throws an error, a callback removes it when the process exits, and
 * guard_enter() removes it while attached code runs, which can have
 * subtransactions.
 *
 * Runs in the worker, and in backends that receive what the worker of another
 * node sends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

/* One origin for all databases, because each worker decodes only its own. */
#define OWN_ORIGIN "blogstore_worker"

/*
 * The origin's id, as it was last looked up; InvalidRepOriginId if there was
 * no such origin.
 */
static CompatOrigin own_origin = COMPAT_NO_ORIGIN;

/*
 * Look up the id of the origin. The worker calls this in a transaction, before
 * it decodes changes. A superuser can drop the origin. The worker then decodes
 * its own writes, too, and finds nothing to do.
 */
void
own_writes_look(void)
{
	own_origin = replorigin_by_name(OWN_ORIGIN, true);
}

/*
 * Create the origin if it does not exist. Locks: pg_replication_origin in
 * ExclusiveLock mode, to the end of the transaction, so that two workers do
 * not both create it.
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
 * Make sure that the origin is removed from the session when the process
 * exits, before a FATAL error aborts the transaction. The record of the abort
 * must not have it.
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
 * Call write(arg) in the current transaction, and let its changes have the
 * origin, so that no worker decodes them. Changes that the owner's attached
 * code makes are decoded nevertheless. make: create the origin if it does not
 * exist. Errors: those of write. Locks: pg_replication_origin if the origin is
 * created.
 */
void
own_writes_run(bool make, void (*write) (void *arg), void *arg)
{
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
		unmark(0, (Datum) 0);
	}
	PG_END_TRY();
}

/*
 * Return whether changes with an origin were written by a worker to the views.
 */
bool
own_writes_have(CompatOrigin origin)
{
	return origin != COMPAT_NO_ORIGIN && origin == own_origin;
}
