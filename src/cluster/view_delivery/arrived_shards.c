/*
 * arrived_shards.c
 *		Jobs for shards that were moved to this node of a cluster, or away from
 *		it.
 *
 * A shard arrives when Citus moves it to this node. The node that had the
 * shard before may not have finished its work on the shard. A job of kind
 * ARRIVAL finishes that work for one shard:
 *
 * 1.	The job inserts the topics of the shard's posts. Topics do not move
 *	with a shard. Until this step is done, this node refuses to list topics.
 * 2.	A sweep (model/user_changes/user_items_sweep.c) gives each item of the
 *	shard, and each follow in the shard of "users" that moves together with it,
 *	the current names of its users. An item without an author was left by an
 *	unfinished deletion of that user, and is deleted. So is a follow without
 *	one of its users.
 * 3.	The job refreshes the copies of the shard's posts, which can be on any
 *	node. It also refreshes the copies that arrived with the shard.
 * 4.	The feed is rewritten, as it is when a shard leaves.
 *
 * A job without a shard deletes the topics of posts that have left this node.
 *
 * The worker keeps the list of the shards on this node only in memory. A new
 * worker compares the shards with those from which the views were built
 * (change_feed.layout). If they differ, any shard may have arrived, and the
 * worker queues a job for each.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/view_delivery/other_nodes.h"
#include "model/topics/topics.h"
#include "model/user_changes/user_items_walk.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * RELABEL_CHUNK: how many items get the names of their authors in one
 *	transaction
 * ARRIVAL_CHUNK: how many posts, copies or rows of topics are checked in one
 *	transaction
 */
#define RELABEL_CHUNK 1000
#define ARRIVAL_CHUNK 500

/*
 * The tables of the shards that were on this node when the worker last looked;
 * NULL until the worker has looked. Allocated in TopMemoryContext.
 */
static Oid *known = NULL;
static int	n_known = 0;

/*
 * Return the OIDs of the tables of the shards of "posts" that are on this node
 * now. The array is allocated in TopMemoryContext. Set *n to its length.
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
 * Remember which shards are on this node, if the worker has not remembered any
 * yet. If the views were built from other shards, remember nothing, so that
 * queue_arrivals() treats all shards as arrived.
 *
 * layout: the value of container_layout() for which the views were built
 *
 * The worker calls this in each iteration of its main loop, outside of a
 * transaction.
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
	/*
	 * If a shard arrives after this test, container_layout() returns another
	 * value. The worker notices that in the next iteration of its main loop.
	 */
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
 * Queue a job for each shard that has arrived on this node since the worker
 * last looked. Also queue a job without a shard. This job removes from the
 * topics and the feed the posts of shards that have left this node. Then
 * remember which shards are on this node.
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
 * Queue jobs for all shards on this node, as if they had just arrived. The
 * caller is in a transaction, as the containers' owner.
 */
void
arrivals_queue_all(void)
{
	note(NULL, 0);
	queue_arrivals();
}

/*
 * React to the arrival or departure of shards: restart the sweeps in progress,
 * and queue a job for each shard that has arrived. The worker calls this
 * outside of a transaction.
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
relabel_leaf(const SweepWork *work, WalkedItems items, int partition,
			 ItemWalk *walk)
{
	return relabel_items(NULL, (Datum) 0, items, partition, walk);
}

/*
 * Write the authors' current names into the next RELABEL_CHUNK items of an
 * arrived shard. Returns false when the end of the shard is reached.
 *
 * An item whose author does not exist is deleted. But transactions that were
 * writing users when the sweep began may still be running on this node. Such a
 * transaction may create the author. So no item is deleted until these
 * transactions have ended.
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
 * Do a step of the sweep over an arrived shard. When the sweep is over, put
 * the job into its next phase, SWEEP_VIEWS.
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
 * What a job of kind ARRIVAL reads in its phase SWEEP_VIEWS: first the posts
 * of its shard, then the copies of posts in the shard of "users" that moves
 * together with it.
 */
typedef enum ArrivalPass
{
	PASS_POSTS,
	PASS_COPIES
} ArrivalPass;

/*
 * Process the next ARRIVAL_CHUNK posts or copies of an arrived shard. Returns
 * whether the pass has reached the end of the shard.
 *
 * PASS_POSTS refreshes the copies of the shard's posts, on all nodes.
 * PASS_COPIES checks whether the posts of the shard's copies exist. Even if
 * each node rebuilds its copies, a rebuild may miss this shard: the shard may
 * move from a node that has not rebuilt yet to a node that has.
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
 * Process the next posts or copies of an arrived shard. After PASS_POSTS,
 * continue with PASS_COPIES. Returns whether both passes are finished.
 */
static bool
refresh_chunk(Job *job, int partition)
{
	/*
	 * A job of kind ARRIVAL stores its pass in job->partition, a field in
	 * which other jobs store a partition.
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
 * Refresh the topics of the posts that the next ARRIVAL_CHUNK rows of a
 * partition have. Returns whether the partition's end was reached.
 *
 * container, type, partition, path: the rows, and the index by which they are
 *	read; its first column has the posts' ids
 */
static bool
refresh_topics(Job *job, Container container, ItemType type, int partition,
			   AccessPath path)
{
	pg_uuid_t  *ids = palloc(sizeof(pg_uuid_t) * ARRIVAL_CHUNK);
	BlogItem	row;
	int			n = 0;
	ItemScan   *scan;

	shards_here_hold();
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its posts.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = container, .type = type, .partition = partition,
		.path = path, .after = &job->place, .identity = true,
		.rows = ARRIVAL_CHUNK
	});
	while (n < ARRIVAL_CHUNK && item_scan_next(scan, &row))
	{
		item_scan_place(scan, &job->place);
		ids[n++] = job->place.first;
	}
	item_scan_end(scan);
	topics_refresh(ids, n, NULL);
	PopActiveSnapshot();
	job->done += n;
	pfree(ids);
	return n < ARRIVAL_CHUNK;
}

/*
 * Do the next step of inserting the topics of the posts in an arrived shard.
 * When all are inserted, let the sweep begin.
 */
static void
insert_topics(Job *job)
{
	int			partition = partition_with_table(CONTAINER_POSTS, job->partition_table);

	if (partition != NO_PARTITION && topics_are_kept() &&
		!refresh_topics(job, CONTAINER_POSTS, ITEM_POST, partition, PATH_KEY))
		return;
	job->partition = TOPICS_INSERTED;
	job->place.valid = false;
}

/*
 * Do the next step of deleting the topics of posts that have left this node.
 * Returns whether no partition of topics is left.
 *
 * A row stays only if its post is found. It is not enough that the post's
 * shard is here: the shard may have left and returned, and the post may have
 * been deleted meanwhile.
 */
static bool
delete_topics(Job *job)
{
	job->partition = partition_from(CONTAINER_TOPICS, ITEM_TOPIC_POST,
									job->partition);
	if (job->partition == NO_PARTITION)
		return true;
	if (refresh_topics(job, CONTAINER_TOPICS, ITEM_TOPIC_POST, job->partition,
					   PATH_ID))
	{
		job->partition++;
		job->place.valid = false;
	}
	return false;
}

/*
 * Do the next step of a job of kind ARRIVAL in its phase SWEEP_VIEWS, or of
 * one without a shard. When all of them are done, rewrite the feed and finish
 * the job. The caller has taken the views' lock (views_lock()).
 */
static void
arrival_chunk(Job *job)
{
	int			partition = partition_with_table(CONTAINER_POSTS, job->partition_table);

	if (!OidIsValid(job->partition_table) && !delete_topics(job))
		return;
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
 * Finds jobs of kind ARRIVAL. If $1 is true, finds only those that have not
 * yet inserted the topics of all posts in their shard (TOPICS_LACKING).
 */
static KeptPlan arrivals_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE kind = 'arrival' AND (NOT $1"
	" OR (user_id <> pg_catalog.uuid '00000000-0000-0000-0000-000000000000'"
	" AND phase = 0 AND partition_number = 0))",
	1, {BOOLOID}, NULL
};

/*
 * Return what container_layout() returns with a new snapshot. Reads the
 * catalogs only if this process has read the shards again since the last call.
 */
static int64
layout_now(void)
{
	static uint64 loads = 0;
	static int64 layout;

	(void) container_shards(CONTAINER_POSTS);
	if (loads != layout_loads())
	{
		loads = layout_loads();
		PushActiveSnapshot(GetCatalogSnapshot(InheritsRelationId));
		layout = container_layout();
		PopActiveSnapshot();
	}
	return layout;
}

/*
 * Return whether there is a job of kind ARRIVAL, or the worker has yet to
 * queue one, because it has not noticed yet that a shard was moved. Errors:
 * 55000; 40001 if the transaction's snapshot is too old to tell.
 *
 * lacking: whether to look only for jobs because of which this node lacks
 *	topics
 */
static bool
any_arrivals(bool lacking)
{
	Datum		value = BoolGetDatum(lacking);
	AppliedPosition position;
	OwnerScope	scope;
	bool		moved;
	bool		any;

	owner_begin(&scope);
	applied_position_read(&position);
	moved = position.layout != layout_now();
	any = moved || plan_run(&arrivals_plan, &value, NULL, true) > 0;
	owner_end(&scope);
	if (moved && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent move of a shard"),
				 errhint("Retry the transaction.")));
	return any;
}

/*
 * Return whether this node has the topics of all its posts. It lacks some
 * after a shard was moved here, until the worker has read the shard's posts.
 * Reads with the active snapshot. Errors: those of any_arrivals().
 */
bool
nodes_topics_complete(void)
{
	return !any_arrivals(true);
}

/*
 * Return whether this node has the topics of its posts, and no others. It may
 * have others after a shard was moved away, until the worker has deleted them.
 * Reads with the active snapshot. Errors: those of any_arrivals().
 */
bool
nodes_topics_exact(void)
{
	return !any_arrivals(false);
}

/*
 * Do a step of a job of kind ARRIVAL, for a shard that was moved to this node.
 * For jobs of other kinds, return STEP_NOT_TAKEN, with one exception.
 *
 * A rebuild that sweeps over the topics reads their posts, so it first locks
 * the shards of posts on this node against being moved.
 *
 * The exception is a job that deletes a user, and is in its last phase
 * SWEEP_VIEWS. Return STEP_HAS_TO_WAIT as long as this node's feed has posts
 * of the user. Other nodes will remove these posts from the feed. Until then,
 * the job's row hides the posts from readers, so the job must not finish.
 */
ClusterStep
nodes_job_step(Job *job)
{
	if (job->kind == JOB_DELETION && job->phase == SWEEP_VIEWS &&
		feed_has_author(&job->user_id))
		return STEP_HAS_TO_WAIT;
	if (job->kind == JOB_REBUILD && job->phase == REBUILD_TOPICS)
		shards_here_hold();
	if (job->kind != JOB_ARRIVAL)
		return STEP_NOT_TAKEN;
	if (!arrival_writes_views(job))
		return relabel_step(job);
	if (OidIsValid(job->partition_table) && job->phase == SWEEP_QUEUED)
		insert_topics(job);
	else
		arrival_chunk(job);
	return STEP_DONE;
}
