/*
 * arrived_shards.c
 *		Jobs for shards that were moved to this node of a cluster, or away
 *		from it.
 *
 * When a shard arrives, the node that had it before may not have finished its
 * work on the shard. A job of kind ARRIVAL does that work here, for one shard:
 *
 * 1.	A sweep (model/user_changes/user_items_sweep.c) gives each item of the
 *	shard the current name of its author. An item without an author was left
 *	by an unfinished deletion of that user, and is deleted.
 * 2.	The job refreshes the copies of the shard's posts, on whichever nodes
 *	they are, and the copies that arrived with the shard.
 * 3.	The feed is rewritten, as it is when a shard leaves.
 *
 * The worker knows only in memory which shards were here. If a new worker
 * finds other shards than those from which the views were built
 * (change_feed.layout), any of them may have arrived, and it queues jobs for
 * all.
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

/*
 * RELABEL_CHUNK items are given the names of their authors, and ARRIVAL_CHUNK
 * posts or copies are checked, in one transaction.
 */
#define RELABEL_CHUNK 1000
#define ARRIVAL_CHUNK 500

/*
 * The tables of the shards that were here when the worker last looked, in
 * TopMemoryContext; NULL if it has not looked yet.
 */
static Oid *known = NULL;
static int	n_known = 0;

/*
 * Return the tables of the shards that are on this node now, in
 * TopMemoryContext.
 */
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
 * Remember which shards are here, unless that is known already. layout stands
 * for the partitions from which the views are kept. If other partitions are
 * here now, nothing is remembered, so that they all count as just arrived. The
 * worker calls this in each of its turns, outside of a transaction.
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
	/* A shard that arrives later changes the layout. */
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
 * Queue a job for each shard that has arrived since the worker last looked,
 * and one job for those that have left. If the worker has not looked yet, all
 * shards count as arrived. Then remember which shards are here.
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

/*
 * Queue jobs as if all shards on this node had just arrived. Called in a
 * transaction, as the containers' owner.
 */
void
arrivals_queue_all(void)
{
	note(NULL, 0);
	queue_arrivals();
}

/*
 * React to shards that have arrived or left: restart sweeps that are in
 * progress, and queue jobs for the shards.
 */
void
nodes_partitions_changed(void)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	jobs_restart_sweeps();
	queue_arrivals();
	apply_end(&scope);
	ereport(LOG,
			(errmsg("blogstore worker found that shards were moved to or from this node")));
}

static bool
relabel_leaf(const SweepWork *work, ItemType type, int partition, ItemWalk *walk)
{
	return relabel_items(NULL, (Datum) 0, type, partition, walk);
}

/*
 * Give the names of their authors to some more items of an arrived shard.
 * Returns false at the end of a pass over the shard.
 *
 * An item without an author is deleted only when all transactions that were
 * writing users at the start of the sweep have ended. Until then, one of them
 * may have created the author without having committed on this node.
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
		return false;			/* the shard has left this node */
	return sweep_go_on(job, sweep, &work);
}

/*
 * Do a step of the sweep over an arrived shard. At its end, the job enters the
 * phase SWEEP_VIEWS.
 */
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

/*
 * What the job of an arrived shard reads in the phase SWEEP_VIEWS: first the
 * posts of the shard, then the copies of posts in the colocated shard of
 * users.
 */
typedef enum ArrivalPass
{
	PASS_POSTS,
	PASS_COPIES
} ArrivalPass;

/*
 * Do the next part of a pass over an arrived shard. Returns whether it was the
 * last one.
 *
 * PASS_POSTS refreshes the copies of posts, on whichever nodes they are.
 * PASS_COPIES checks whether the posts of copies exist. A rebuild on each node
 * would not be enough: a copy could move from a node before its rebuild to a
 * node after its rebuild.
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

/*
 * Do the next part of the two passes over an arrived shard. Returns whether it
 * was the last one.
 */
static bool
refresh_chunk(Job *job, int partition)
{
	/*
	 * job->partition holds the pass. Otherwise only jobs that sweep over all
	 * partitions use that field.
	 */
	if (!do_pass(job, job->partition, partition))
		return false;
	if (job->partition == PASS_COPIES)
		return true;
	job_enter_phase(job, SWEEP_VIEWS);
	job->partition = PASS_COPIES;
	return false;
}

/*
 * Do the next part of the two passes over an arrived shard. After the last
 * part, rewrite the feed and finish the job. The caller holds the views' lock.
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
				(errmsg("blogstore worker has processed a shard that was moved to this node"),
				 errdetail("Shard \"%s\": " INT64_FORMAT " posts and copies of posts were checked.",
						   partition == NO_PARTITION ? "gone" :
						   get_rel_name(job->partition_table), job->done)));
	job_finish(job);
}

/*
 * Do a step of a job of kind ARRIVAL. Also keep the job of a user's deletion,
 * which hides the user's posts, until other nodes have removed them from the
 * feed.
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
