/*
 * apply.c
 *		The transactions in which the worker writes.
 *
 * A batch is one transaction, so readers never see half of one. Writes to the
 * views are marked with the origin DoNotReplicateId, by which the output
 * plugin filters them out again.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "container/container.h"
#include "views/views.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "replication/origin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

static int	guc_nest;			/* of the present transaction */

/*
 * Take the views' lock: an object lock that nothing else in the server takes,
 * on a part of the feed's table that does not exist as such.
 */
void
views_lock(void)
{
	LockDatabaseObject(RelationRelationId, container_relation(CONTAINER_FEED),
					   1, ExclusiveLock);
}

/*
 * Begin a transaction as the containers' owner with an active snapshot.
 * views_only: it writes nothing but views, and holds their lock. The lock is
 * waited for before the transaction has an xid or a snapshot.
 */
void
apply_begin(OwnerScope *scope, bool views_only)
{
	StartTransactionCommand();
	container_require();
	container_lock(CONTAINER_USERS, true);
	container_lock(CONTAINER_POSTS, true);
	container_lock(CONTAINER_FEED, true);
	owner_begin(scope);
	guc_nest = NewGUCNestLevel();
	if (views_only)
	{
		views_lock();
		replorigin_session_origin = DoNotReplicateId;
	}
	PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * Commit. The worker flushes its commits before it relies on them.
 *
 * The owner may have added triggers, and deferred ones run in the commit: it
 * too is done as the owner, not as the superuser that the worker is. Settings
 * that a trigger has changed are taken back.
 */
void
apply_end(OwnerScope *scope)
{
	PopActiveSnapshot();
	AtEOXact_GUC(false, guc_nest);
	CommitTransactionCommand();
	owner_end(scope);
	replorigin_session_origin = InvalidRepOriginId;
}

/* Roll back after an error that the worker goes on from. */
void
apply_cancel(void)
{
	AbortCurrentTransaction();
	replorigin_session_origin = InvalidRepOriginId;
}

/* Refresh the copies of all posts in a dirty set. */
void
apply_batch(DirtySet *dirty)
{
	OwnerScope	scope;
	PostKey    *keys;
	int			n;

	apply_begin(&scope, true);
	keys = dirty_posts(dirty, &n);
	copies_refresh(keys, n);
	feed_refresh(keys, n);
	apply_end(&scope);
}

/* Make the feed right, whatever it was built with. */
void
apply_feed(void)
{
	OwnerScope	scope;

	apply_begin(&scope, true);
	feed_rebuild();
	apply_end(&scope);
}
