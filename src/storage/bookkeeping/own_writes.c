/*
 * own_writes.c
 *		Marks what a worker writes to the views, so that no worker decodes it.
 *
 * The mark is a replication origin in the WAL records of the changes. It is one that exists
 * in pg_replication_origin, because other output plugins look origins up: pgoutput does where
 * the containers are published.
 *
 * The records of commits and aborts carry no origin. With one, the server would track the origin's
 * progress, in a state that this process would have to acquire (replorigin_session_setup()), and
 * that takes one of max_replication_slots. Without that state a commit with an origin crashes, and
 * so does an abort, from PostgreSQL 16 on. So the mark is taken off before either: own_writes_run()
 * does so when it returns or throws an error, a callback when the process exits, and guard_enter()
 * while attached code runs, which can have subtransactions.
 *
 * Runs in the worker, and in backends that take what a worker of another node sends.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

/* One for all databases of a server: each worker decodes its own alone. */
#define OWN_ORIGIN "blogstore_worker"

/* The origin's number, by the last look; InvalidRepOriginId: there was none. */
static RepOriginId own_origin = InvalidRepOriginId;

/*
 * Look the origin up, before anything is decoded. In a transaction. Without the origin, which
 * a superuser can drop, the worker decodes its own writes and finds nothing to do.
 */
void
own_writes_look(void)
{
	own_origin = replorigin_by_name(OWN_ORIGIN, true);
}

/* Make the origin. Locks: pg_replication_origin, against other workers, to the end of the transaction. */
static void
make_origin(void)
{
	LockRelationOid(ReplicationOriginRelationId, ExclusiveLock);
	own_writes_look();
	if (own_origin == InvalidRepOriginId)
		own_origin = replorigin_create(OWN_ORIGIN);
}

/* Take the mark off. */
static void
unmark(int code, Datum arg)
{
	replorigin_session_origin = InvalidRepOriginId;
}

/* The process may exit by FATAL: the mark is to be off before its transaction is aborted. */
static void
unmark_at_exit(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(unmark, (Datum) 0);
	registered = true;
}

/*
 * Call write(arg), whose changes are not decoded, but for those of attached code. In a transaction.
 * make: make the origin if there is none. Errors: those of write. Locks: with make,
 * pg_replication_origin if there is no origin.
 */
void
own_writes_run(bool make, void (*write) (void *arg), void *arg)
{
	unmark_at_exit();
	own_writes_look();
	if (own_origin == InvalidRepOriginId && make)
		make_origin();
	PG_TRY();
	{
		replorigin_session_origin = own_origin;
		write(arg);
	}
	PG_FINALLY();
	{
		unmark(0, (Datum) 0);
	}
	PG_END_TRY();
}

/* Return whether changes of an origin are a worker's own writes. */
bool
own_writes_have(RepOriginId origin)
{
	return origin != InvalidRepOriginId && origin == own_origin;
}
