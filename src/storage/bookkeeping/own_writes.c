/*
 * own_writes.c
 *		Marks what a worker writes to the views, so that no worker decodes it.
 *
 * The mark is a replication origin in the WAL records of the changes. It is one that exists
 * in pg_replication_origin, because other output plugins look origins up: pgoutput does where
 * the containers are published. The record of the commit carries no origin, so the server
 * tracks no progress for it, which would take one of max_replication_slots.
 *
 * Runs in the worker, and in backends that take what a worker of another node sends.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
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

/*
 * What this transaction writes from here on to own_writes_end() is not decoded. make: make the
 * origin if there is none. Locks: with make, pg_replication_origin if there is no origin.
 */
void
own_writes_begin(bool make)
{
	own_writes_look();
	if (own_origin == InvalidRepOriginId && make)
		make_origin();
	replorigin_session_origin = own_origin;
}

/* What this transaction writes from here on is decoded. Called before it commits, or when it has failed. */
void
own_writes_end(void)
{
	if (replorigin_session_origin == own_origin)
		replorigin_session_origin = InvalidRepOriginId;
}

/* Return whether changes of an origin are a worker's own writes. */
bool
own_writes_have(RepOriginId origin)
{
	return origin != InvalidRepOriginId && origin == own_origin;
}
