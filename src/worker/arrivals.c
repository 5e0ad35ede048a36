/*
 * arrivals.c
 *		Shards that have come to this node of a cluster, or have gone.
 *
 * What others had still to do for a shard when it came is done here, for that shard alone: first
 * the names on its items (members/rename.c), then the copies of its posts, wherever these
 * lie. The feed is made right whenever shards have come or gone.
 *
 * Which shards there were is known in memory only: a worker that starts and finds other ones than
 * were written down builds all views.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "items/item.h"
#include "layout/layout.h"
#include "members/members.h"
#include "views/views.h"
#include "worker/internal.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* How many posts a chunk looks at. */
#define ARRIVAL_CHUNK 500

static Oid *known = NULL;		/* their tables, in TopMemoryContext; NULL: not known */
static int	n_known = 0;

/* Which shards are here now is what the views are kept with. */
void
arrivals_note(void)
{
	Oid		   *here = MemoryContextAlloc(TopMemoryContext, sizeof(Oid) *
										  (partition_count(CONTAINER_POSTS, ITEM_POST) + 1));
	int			n = 0;

	for (int p = partition_first(CONTAINER_POSTS, ITEM_POST); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_POST, p))
		here[n++] = partition_shard(CONTAINER_POSTS, p);
	if (known != NULL)
		pfree(known);
	known = here;
	n_known = n;
}

static bool
is_known(Oid shard)
{
	for (int i = 0; i < n_known; i++)
		if (known[i] == shard)
			return true;
	return false;
}

/*
 * Queue what is to be done for shards that have come, and for those that have gone; false: which
 * these are is not known.
 */
bool
arrivals_queue(void)
{
	if (known == NULL)
		return false;
	job_queue_arrival(InvalidOid);
	for (int p = partition_first(CONTAINER_POSTS, ITEM_POST); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_POST, p))
	{
		Oid			shard = partition_shard(CONTAINER_POSTS, p);

		if (!is_known(shard))
			job_queue_arrival(shard);
	}
	return true;
}

/* Refresh a chunk of copies of a partition's posts; returns whether it was the last. */
static bool
refresh_chunk(Job *job, int partition)
{
	PostKey    *key = palloc0(sizeof(PostKey) * ARRIVAL_CHUNK);
	BlogItem	post;
	int			n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .partition = partition,
		.path = PATH_KEY, .after = &job->place, .identity = true
	});

	while (n < ARRIVAL_CHUNK && item_scan_next(scan, &post))
	{
		key[n].post_id = *item_uuid(&post, PROP_POST_ID);
		key[n].user_id = *item_uuid(&post, PROP_USER_ID);
		key[n].creation_date = item_date(&post);
		item_scan_place(scan, &job->place);
		n++;
	}
	item_scan_end(scan);
	copies_refresh(key, n);
	job->done += n;
	pfree(key);
	return n < ARRIVAL_CHUNK;
}

static void
make_feed(void *arg)
{
	feed_make();
}

/*
 * Do one chunk of an arrival's copies, and at the end the feed. The caller holds the views'
 * lock.
 */
void
arrival_chunk(Job *job)
{
	int			partition = partition_of_shard(job->shard);

	if (partition != NO_PARTITION && !refresh_chunk(job, partition))
		return;
	if (!careful_do(make_feed, NULL))
		careful_remember_feed();
	if (OidIsValid(job->shard))
		ereport(LOG,
				(errmsg("blogstore worker has gone through a shard that came to this node"),
				 errdetail("Shard \"%s\": " INT64_FORMAT " names were changed, and copies of posts looked at.",
						   partition == NO_PARTITION ? "gone" :
						   get_rel_name(job->shard), job->done)));
	job_finish(job);
}
