/*
 * apply.c
 *		The transactions in which the worker writes.
 *
 * A batch is one transaction, so readers never see half of one. Writes to the
 * views, and folding, which changes nothing that shows, are marked with the
 * origin DoNotReplicateId, by which the output plugin filters them out again.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "guard/guard.h"
#include "layout/layout.h"
#include "state/state.h"
#include "views/views.h"
#include "worker/worker.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

/* Of the present transaction: */
static int	guc_nest;
static MemoryContext outside;	/* what was current before it */

/*
 * Lock the containers before any of their leaves, as DDL does. Some DDL takes
 * leaves first (DROP TRIGGER does), and would end in a deadlock with the
 * worker, of which it might be the victim: therefore the short lock_timeout
 * below. The worker gives way, and tries again (apply_gave_way()).
 */
static void
lock_containers(void)
{
	container_lock_all(true);
}

/*
 * Begin a transaction as the containers' owner with an active snapshot. Locks
 * are waited for before the transaction has an xid or a snapshot.
 */
void
apply_begin(OwnerScope *scope, ApplyKind kind)
{
	outside = CurrentMemoryContext;
	defer_never();
	StartTransactionCommand();
	guc_nest = NewGUCNestLevel();
	if (kind != APPLY_STATE)
		(void) set_config_option("lock_timeout", "200", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
								 false);
	container_require();
	owner_begin(scope);
	if (kind != APPLY_STATE)
		lock_containers();
	if (kind == APPLY_VIEWS)
		views_lock();
	if (kind == APPLY_VIEWS || kind == APPLY_COUNTS)
		replorigin_session_origin = DoNotReplicateId;
	PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * Commit. The worker flushes its commits before it relies on them.
 *
 * The owner may have added triggers to tables that the containers' triggers write
 * to, and deferred ones run in the commit: it too is done as the owner, with the
 * owner's settings, not as the superuser that the worker is. Settings that a
 * trigger has changed before are taken back.
 */
void
apply_end(OwnerScope *scope)
{
	PopActiveSnapshot();
	AtEOXact_GUC(false, guc_nest);
	(void) NewGUCNestLevel();
	defaults_apply(GetUserId());
	CommitTransactionCommand();
	owner_end(scope);
	replorigin_session_origin = InvalidRepOriginId;

	/* the server leaves a context that is never reset */
	MemoryContextSwitchTo(outside);
}

/* Roll back after an error that the worker goes on from. */
void
apply_cancel(void)
{
	AbortCurrentTransaction();
	replorigin_session_origin = InvalidRepOriginId;
	MemoryContextSwitchTo(outside);
}

/*
 * Called while an error is being handled, in a context that outlives the
 * transaction: if it is one that the end of another transaction will cure,
 * roll back and return true, the error forgotten.
 */
bool
apply_gave_way(MemoryContext context)
{
	int			code = geterrcode();

	if (code != ERRCODE_LOCK_NOT_AVAILABLE &&
		code != ERRCODE_T_R_DEADLOCK_DETECTED &&
		code != ERRCODE_T_R_SERIALIZATION_FAILURE)
		return false;
	FlushErrorState();
	apply_cancel();
	MemoryContextSwitchTo(context);
	return true;
}

/*
 * The posts of a set, with those that have got deltas: of these the set knows
 * the id alone.
 */
static PostKey *
list_posts(const DirtySet *dirty, int *n)
{
	int			ncounted;
	PostKey    *posts = dirty_posts(dirty, n);
	CountedPost *counted = dirty_counted(dirty, &ncounted);
	PostKey    *all = palloc(sizeof(PostKey) * (*n + ncounted));

	if (*n > 0)
		memcpy(all, posts, sizeof(PostKey) * *n);
	for (int i = 0; i < ncounted; i++)
		*n += copies_key(&counted[i].post_id, &all[*n]);
	return all;
}

/* What the feed is to be refreshed by. */
typedef struct FeedWork
{
	bool		anew;
	const PostKey *posts;
	int			n;
} FeedWork;

static void
refresh_feed(void *arg)
{
	FeedWork   *work = arg;

	if (work->anew)
		feed_rebuild();
	else
		feed_refresh(work->posts, work->n);
}

static void
refresh_batch(const DirtySet *dirty)
{
	OwnerScope	scope;
	PostKey    *posts;
	pg_uuid_t  *users;
	int			n;
	FeedWork	work;

	apply_begin(&scope, APPLY_VIEWS);
	posts = list_posts(dirty, &n);
	copies_refresh(posts, n);
	work.anew = dirty_feed(dirty);
	work.posts = posts;
	work.n = n;
	if (!careful_do(refresh_feed, &work))
		careful_remember_feed();
	users = dirty_users(dirty, &n);
	jobs_request_renames(users, n, dirty_all_users(dirty));
	apply_end(&scope);
}

/*
 * Refresh what a dirty set names. Returns false if it has to be tried again:
 * nothing is written then.
 */
bool
apply_batch(const DirtySet *dirty)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = true;

	PG_TRY();
	{
		refresh_batch(dirty);
	}
	PG_CATCH();
	{
		if (!apply_gave_way(context) && !careful_begin(context))
			PG_RE_THROW();
		done = false;
	}
	PG_END_TRY();
	return done;
}

/* Make the feed right, whatever it was built with. */
void
apply_feed(void)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_VIEWS);
	feed_rebuild();
	apply_end(&scope);
}
