/*
 * own_writes.c
 *		Marks the worker's changes to the views, so that no worker decodes
 *		them.
 *
 * The mark is a replication origin, in the WAL records of the changes. The
 * origin exists in pg_replication_origin, because other output plugins look
 * origins up; for example, pgoutput does so if the containers are published.
 *
 * The WAL records of commits and aborts must not have this origin. With it,
 * the server would track the origin's progress. The process would have to
 * acquire a state for this (replorigin_session_setup()), which uses one of
 * max_replication_slots. Without this state, a commit with an origin crashes,
 * and from PostgreSQL 16 on, so does an abort. So the mark is removed before a
 * transaction or subtransaction can end:
 *
 * -	own_writes_run() removes it when the function that it calls returns or
 *	throws an error;
 * -	a callback removes it when the process exits;
 * -	guard_enter() removes it while attached code runs, which can have
 *	subtransactions.
 *
 * Runs in the worker. On a cluster, also in backends that write to this node's
 * views what the worker of another node has sent.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

/*
 * The name of the replication origin. All databases share it, because each
 * worker decodes only its own database.
 */
#define OWN_ORIGIN "blogstore_worker"

/*
 * The id of the replication origin that marks the worker's changes, as
 * own_writes_look() has last found it; COMPAT_NO_ORIGIN if it did not exist.
 */
static CompatOrigin own_origin = COMPAT_NO_ORIGIN;

/*
 * Look up the id of the replication origin that marks the worker's changes.
 * The worker calls this in a transaction, before it decodes changes. If a
 * superuser has dropped the origin, the worker also decodes its own changes to
 * the views. That costs time, but the worker then finds the copies up to date.
 */
void
own_writes_look(void)
{
	own_origin = replorigin_by_name(OWN_ORIGIN, true);
}

/*
 * Create the origin that marks the worker's changes, if it does not exist.
 * Locks: ExclusiveLock on pg_replication_origin, to the end of the
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
 * Register a callback that removes the mark when the process exits. A FATAL
 * error runs it before the transaction aborts, so that the WAL record of the
 * abort has no origin.
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
 * Call write(arg) in the current transaction, and mark the changes that it
 * makes, so that no worker decodes them. Changes that the owner's attached
 * code makes are not marked.
 *
 * make: create the replication origin if it does not exist
 *
 * Errors: those of write. Locks: ExclusiveLock on pg_replication_origin, if
 * the origin is created.
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

/* Return whether this origin marks changes of a worker to the views. */
bool
own_writes_have(CompatOrigin origin)
{
	return origin != COMPAT_NO_ORIGIN && origin == own_origin;
}
