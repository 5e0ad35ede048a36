/*
 * dirty.c
 *		The set of posts whose copies a batch has to refresh.
 *
 * It says which, not what: a thousand likes of one post are one key. It is
 * bounded: past MAX_KEYS, which only a single very large transaction reaches,
 * it holds no keys any more but the word that anything may be out of date.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "change_feed/change_feed.h"

#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#define BATCH_KEYS 10000		/* end a batch between two records */
#define MAX_KEYS 200000			/* about 20 MB */

struct DirtySet
{
	MemoryContext context;		/* of one batch */
	HTAB	   *posts;			/* of PostKey; NULL: none yet */
	List	   *unfinished;		/* of xids: see dirty_await() */
	int64		changes;		/* messages since the last clear */
	bool		jobs;
	bool		reset;
};

/* An empty set, its memory a child of parent. */
DirtySet *
dirty_create(MemoryContext parent)
{
	DirtySet   *dirty = MemoryContextAllocZero(parent, sizeof(DirtySet));

	dirty->context = AllocSetContextCreate(parent, "blogstore dirty set",
										   ALLOCSET_DEFAULT_SIZES);
	return dirty;
}

static void
dirty_drop_posts(DirtySet *dirty)
{
	if (dirty->posts != NULL)
		hash_destroy(dirty->posts);
	dirty->posts = NULL;
}

/* Note what a decoded change makes dirty. */
void
dirty_add(DirtySet *dirty, const FeedMessage *message)
{
	dirty->changes++;
	if (message->kind == FEED_JOB)
		dirty->jobs = true;
	if (message->kind == FEED_RESET)
		dirty->reset = true;
	if (dirty->reset)
		dirty_drop_posts(dirty);
	if (message->kind != FEED_POST || dirty->reset)
		return;

	if (dirty->posts == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(PostKey),
			.entrysize = sizeof(PostKey),
		.hcxt = dirty->context};

		dirty->posts = hash_create("blogstore dirty posts", 256, &ctl,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(dirty->posts, &message->post, HASH_ENTER, NULL);
	if (hash_get_num_entries(dirty->posts) > MAX_KEYS)
	{
		dirty->reset = true;
		dirty_drop_posts(dirty);
	}
}

/* Note a transaction that others still see as running. */
void
dirty_add_unfinished(DirtySet *dirty, TransactionId xid)
{
	MemoryContext old = MemoryContextSwitchTo(dirty->context);

	dirty->unfinished = lappend_int(dirty->unfinished, (int) xid);
	MemoryContextSwitchTo(old);
}

/*
 * Wait until the set's transactions have ended for everyone.
 *
 * A commit record is flushed, and so may be decoded, before its transaction
 * leaves the list of running ones (RecordTransactionCommit() and
 * ProcArrayEndTransaction() in CommitTransaction()), and with synchronous
 * replication long before. A snapshot taken in between would show the state
 * before, and nobody would look at the key again. Needs a transaction without
 * an xid; whoever is waited for has nothing left to wait for but a standby.
 */
void
dirty_await(const DirtySet *dirty)
{
	ListCell   *lc;

	foreach(lc, dirty->unfinished)
		XactLockTableWait((TransactionId) lfirst_int(lc), NULL, NULL,
						  XLTW_None);
}

/* Is it time to apply what there is? */
bool
dirty_full(const DirtySet *dirty)
{
	return dirty->reset ||
		(dirty->posts && hash_get_num_entries(dirty->posts) >= BATCH_KEYS);
}

/* Is there anything to do? */
bool
dirty_any(const DirtySet *dirty)
{
	return dirty->changes > 0;
}

/* Were jobs queued? */
bool
dirty_jobs(const DirtySet *dirty)
{
	return dirty->jobs;
}

/* May anything be out of date? */
bool
dirty_reset_seen(const DirtySet *dirty)
{
	return dirty->reset;
}

/* How many changes the set stands for. */
int64
dirty_changes(const DirtySet *dirty)
{
	return dirty->changes;
}

/* The keys as an array in the current memory context. */
PostKey *
dirty_posts(DirtySet *dirty, int *n)
{
	PostKey    *keys;
	PostKey    *key;
	HASH_SEQ_STATUS seq;

	*n = 0;
	if (dirty->posts == NULL)
		return NULL;
	keys = palloc(sizeof(PostKey) * hash_get_num_entries(dirty->posts));
	hash_seq_init(&seq, dirty->posts);
	while ((key = hash_seq_search(&seq)) != NULL)
		keys[(*n)++] = *key;
	return keys;
}

/* Empty the set, once what it holds has been applied. */
void
dirty_clear(DirtySet *dirty)
{
	dirty_drop_posts(dirty);
	dirty->unfinished = NIL;
	MemoryContextReset(dirty->context);
	dirty->changes = 0;
	dirty->jobs = false;
	dirty->reset = false;
}
