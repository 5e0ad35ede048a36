/*
 * arrived_shards.c
 *		Shards that have come to this node of a cluster, or have gone.
 *
 * What others had still to do for a shard when it came is done here, for that shard alone, by a
 * job of the kind ARRIVAL. A sweep over its items (model/user_changes/user_items_sweep.c) gives
 * each the name of its author; an item without author was left by a deletion that this node is
 * done with, and is deleted. Then follow the copies of its posts, wherever these lie, and the
 * copies that came with it. The feed is made right whenever shards have come or gone.
 *
 * Which shards there were is known in memory only: to a worker that starts and finds other ones than
 * were written down, all may have come. Once it has found those that were written down, it knows.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "cluster/view_delivery/other_nodes.h"
#include "model/user_changes/user_items_walk.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/worker/worker_parts.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* How many items are relabelled, and how many posts are looked at, in one transaction. */
#define RELABEL_CHUNK 1000
#define ARRIVAL_CHUNK 500

static Oid *known = NULL;		/* their tables, in TopMemoryContext; NULL: not known */
static int	n_known = 0;

/* The tables of the shards that are here, in TopMemoryContext. */
static Oid *
list_here(int *n)
{
	Oid		   *here = MemoryContextAlloc(TopMemoryContext, sizeof(Oid) *
										  (partition_count(CONTAINER_POSTS, ITEM_POST) + 1));

	*n = 0;
	for (int p = partition_first(CONTAINER_POSTS, ITEM_POST); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_POST, p))
		here[(*n)++] = partition_table(CONTAINER_POSTS, p);
	return here;
}

static void
note(Oid *here, int n)
{
	if (known != NULL)
		pfree(known);
	known = here;
	n_known = n;
}

/*
 * The views are kept with the shards of a layout: remember which these are, unless that is known, or
 * others are here. Called in each turn, outside of a transaction.
 */
void
arrivals_note(int64 layout)
{
	OwnerScope	scope;
	Oid		   *here;
	int			n;

	if (known != NULL)
		return;
	apply_begin(&scope, APPLY_STATE);
	here = list_here(&n);
	/* what comes in between is another layout */
	if (container_layout() == layout)
		note(here, n);
	else
		pfree(here);
	apply_end(&scope);
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
 * Queue what is to be done for shards that have come, and for those that have gone. If it is not
 * known which these are, all may have come. Those that are here are known from then on.
 */
static void
queue_arrivals(void)
{
	int			n;
	Oid		   *here = list_here(&n);

	job_queue_arrival(InvalidOid);
	for (int i = 0; i < n; i++)
		if (!is_known(here[i]))
			job_queue_arrival(here[i]);
	note(here, n);
}

/* Take all shards that are here to have come just now. In a transaction, as the containers' owner. */
void
arrivals_queue_all(void)
{
	note(NULL, 0);
	queue_arrivals();
}

/* Shards have come or gone. Copies of posts that have moved are where they were, and are looked at. */
void
nodes_partitions_changed(void)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	jobs_restart_sweeps();
	queue_arrivals();
	apply_end(&scope);
	ereport(LOG,
			(errmsg("blogstore worker found other shards on this node")));
}

static bool
relabel_leaf(const SweepWork *work, ItemType type, int partition, ItemWalk *walk)
{
	return relabel_items(NULL, (Datum) 0, type, partition, walk);
}

/*
 * Relabel a chunk of the items of a shard that has come; false once this pass is through. An
 * author who is not there counts as deleted once all transactions have ended that wrote users when
 * the sweep began: one of them may have created the author, and not be committed on this node yet.
 */
static bool
relabel_chunk(Job *job, Sweep *sweep)
{
	SweepWork	work = {
		.leaf = relabel_leaf, .chunk = RELABEL_CHUNK, .one_partition = true,
		.partition = partition_with_table(CONTAINER_POSTS, job->partition_table),
		.nobodys_too = !sweep_has_writers(sweep)
	};

	if (work.partition == NO_PARTITION)
		return false;			/* it has left again */
	return sweep_go_on(job, sweep, &work);
}

/* Do a step of an arrival's sweep, whose copies follow. */
static ClusterStep
relabel_step(Job *job)
{
	SweepOutcome outcome = sweep_step(job, relabel_chunk);

	if (outcome == SWEEP_IS_OVER)
	{
		job_enter_phase(job, SWEEP_VIEWS);
		sweep_end(sweep_find(job));
	}
	return outcome == SWEEP_HAS_TO_WAIT ? STEP_HAS_TO_WAIT : STEP_DONE;
}

/* What a chunk is about: a partition's posts, then the copies of posts in the partition beside it. */
typedef enum ArrivalPass
{
	PASS_POSTS,
	PASS_COPIES
} ArrivalPass;

/*
 * Go through a chunk of a pass; returns whether it was the last. Copies of posts that came are
 * refreshed, wherever they are. Of copies that came the posts are looked for, wherever these are: a
 * rebuild on each node does not meet a copy that moves from a node which is still to look to one which has.
 */
static bool
do_pass(Job *job, ArrivalPass pass, int partition)
{
	PostKey    *key = palloc0(sizeof(PostKey) * ARRIVAL_CHUNK);
	BlogItem	post;
	int			n = 0;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = pass == PASS_POSTS ? CONTAINER_POSTS : CONTAINER_USERS,
		.type = ITEM_POST, .partition = partition,
		.path = pass == PASS_POSTS ? PATH_KEY : PATH_LIST,
		.after = &job->place, .identity = true
	});

	while (n < ARRIVAL_CHUNK && item_scan_next(scan, &post))
	{
		key[n].post_id = *item_uuid(&post, pass == PASS_POSTS ? PROP_POST_ID : PROP_ID);
		key[n].user_id = *item_uuid(&post, PROP_USER_ID);
		key[n].creation_date = item_date(&post);
		item_scan_place(scan, &job->place);
		n++;
	}
	item_scan_end(scan);
	if (pass == PASS_POSTS)
		copies_deliver(key, n);
	else
		copies_look_elsewhere(key, n);
	job->done += n;
	pfree(key);
	return n < ARRIVAL_CHUNK;
}

/* Do one chunk of an arrival's copies; returns whether it was the last. */
static bool
refresh_chunk(Job *job, int partition)
{
	/* which pass it is stands where a job of all partitions has one */
	if (!do_pass(job, job->partition, partition))
		return false;
	if (job->partition == PASS_COPIES)
		return true;
	job_enter_phase(job, SWEEP_VIEWS);
	job->partition = PASS_COPIES;
	return false;
}

/*
 * Do one chunk of an arrival's copies, and at the end the feed. The caller holds the views'
 * lock.
 */
static void
arrival_chunk(Job *job)
{
	int			partition = partition_with_table(CONTAINER_POSTS, job->partition_table);

	if (partition != NO_PARTITION && !refresh_chunk(job, partition))
		return;
	feed_deliver_all();
	if (OidIsValid(job->partition_table))
		ereport(LOG,
				(errmsg("blogstore worker has gone through a shard that came to this node"),
				 errdetail("Shard \"%s\": " INT64_FORMAT " posts and copies of posts were looked at.",
						   partition == NO_PARTITION ? "gone" :
						   get_rel_name(job->partition_table), job->done)));
	job_finish(job);
}

/*
 * Do a step of a job that the cluster does in its own way: an arrival. A deletion of a user is
 * there, and hides the user's posts, until other nodes have taken them out of the feed.
 */
ClusterStep
nodes_job_step(Job *job)
{
	if (job->kind == JOB_DELETION && job->phase == SWEEP_VIEWS &&
		feed_has_author(&job->user_id))
		return STEP_HAS_TO_WAIT;
	if (job->kind != JOB_ARRIVAL)
		return STEP_NOT_TAKEN;
	if (!arrival_writes_views(job))
		return relabel_step(job);
	arrival_chunk(job);
	return STEP_DONE;
}
