/*
 * cluster_calls.h
 *		The functions that other areas call if the containers are spread over
 *		the nodes of a cluster.
 *
 * src/cluster/ is the topmost area of the source, and calls all other areas.
 * The other areas call src/cluster/ only through the struct ClusterCalls.
 * Without a cluster, most of these functions are not called. The sentence "On
 * one machine, ..." in a function's comment says what happens instead.
 */
#ifndef BLOGSTORE_CLUSTER_CALLS_H
#define BLOGSTORE_CLUSTER_CALLS_H

#include "storage/blog_item.h"

#include "fmgr.h"
#include "utils/array.h"

struct Creation;
struct Cursor;
struct DirtySet;
struct ImportTarget;
struct ItemPlace;
struct Job;
struct PostKey;
struct RequestScan;
struct VerifySource;
struct ViewsLook;
struct Worker;
struct _DestReceiver;

/* How a table of a container is spread over the nodes of a cluster. */
typedef struct SpreadTable
{
	/* Whether every node has all rows of the table, in one partition. */
	bool		everywhere;
	/* number of partitions, those on other nodes included */
	int			n;
	/*
	 * table[i] is the table of partition number i on this node; InvalidOid if
	 * this partition is on another node.
	 */
	Oid		   *table;
	/*
	 * For src/cluster/ only: which keys each partition takes, and which node
	 * has the partition.
	 */
	void	   *map;
} SpreadTable;

/* What the caller of lock_user() is about to do to the user. */
typedef enum UserChange
{
	/*
	 * Write the user's row. If the username changes, the caller has already
	 * registered the new username.
	 */
	USER_EDIT,
	/*
	 * Change the username. The caller has not registered the new username yet.
	 */
	USER_RENAME,
	USER_DELETION
} UserChange;

typedef enum ClusterStep
{
	/*
	 * job_step() did nothing, because jobs of this kind are done as on one
	 * machine. The caller does the step.
	 */
	STEP_NOT_TAKEN,
	STEP_DONE,
	/* The job waits for an event, such as the end of transactions. */
	STEP_HAS_TO_WAIT
} ClusterStep;

typedef struct ClusterCalls
{
	/*
	 * Find out how a table is spread over the cluster. Sets *spread, allocated
	 * in the current memory context. Returns false if the table is not spread,
	 * or there is no cluster. On one machine, blogstore reads the partitions
	 * from the server's catalogs.
	 */
	bool		(*read_partitions) (Oid table, SpreadTable *spread);

	/*
	 * Return whether "name" has the form of the names that the cluster gives
	 * to the partitions of "table". Logical decoding calls this, also on one
	 * machine, so it reads no catalog.
	 */
	bool		(*names_partition_of) (const char *name, const char *table);

	/*
	 * Return the number of the partition that takes a key; NO_PARTITION if
	 * there is none. The partition can be on another node. map:
	 * SpreadTable.map. On one machine, blogstore computes the partition from
	 * the key's hash.
	 */
	int			(*partition_of_key) (const void *map, const pg_uuid_t *key);

	/*
	 * Keep the cluster from moving a partition off this node until the
	 * transaction ends. Called before a write to the partition. The cluster
	 * may have moved the partition before the call. So after the call, the
	 * caller looks up again which partition takes the item's key. map:
	 * SpreadTable.map. On one machine, partitions do not move.
	 */
	void		(*hold_partition) (const void *map, int partition);

	/*
	 * Return whether this node has the copies of the user's posts. If so, keep
	 * the cluster from moving the copies until the transaction ends. On one
	 * machine, the copies are always there.
	 */
	bool		(*hold_copies) (const pg_uuid_t *user_id);

	/*
	 * Users. Every node of a cluster has all of them, and a transaction
	 * changes a user on all nodes. On one machine,
	 * model/user_changes/user_item.c writes users like other items.
	 */

	/*
	 * Insert a user. Returns false if the id is taken. On one machine, the
	 * caller inserts the user.
	 *
	 * own_id: whether the client has chosen the id, so that a deleted user may
	 * have had the same id. If true, the posts, comments and likes that are
	 * left of the deleted user are removed on all nodes. On one machine, the
	 * caller removes them.
	 */
	bool		(*insert_user) (const BlogItem *user, bool own_id);

	/*
	 * Take a row lock on a user's row on all nodes, and read the user into
	 * *user. Returns false if the user does not exist. For a rename or a
	 * deletion, first locks the table usernames. On one machine, the caller
	 * locks the user's row.
	 */
	bool		(*lock_user) (const pg_uuid_t *user_id, UserChange change, BlogItem *user);

	/*
	 * Write the changed row of a user whom the caller has locked with
	 * lock_user(). If the name has changed, the worker of each node sees the
	 * new name in the WAL. The worker then writes the new name to the user's
	 * posts, comments and likes. On one machine, the caller queues a rename.
	 */
	void		(*update_user) (const BlogItem *user);

	/*
	 * Delete a user whom the caller has locked with lock_user(), and release
	 * the name for other users. Each node then begins to delete the user's
	 * posts, comments and likes. On one machine, the caller does all this.
	 */
	void		(*delete_user) (const BlogItem *user);

	/*
	 * If a transaction is distributing the containers over the cluster, wait
	 * for its end. Then no other transaction can begin to distribute the
	 * containers until the current transaction ends. Called if
	 * cluster_may_come is true, even if the containers are not spread over a
	 * cluster.
	 *
	 * write: the transaction will write items
	 */
	void		(*settle) (bool write);

	/*
	 * Run an SQL function that writes, for example create_comment(). The
	 * function runs on the node that has the post named in the arguments. On
	 * one machine, the caller calls the function.
	 */
	Datum		(*serve_command) (FunctionCallInfo fcinfo, PGFunction function);

	/*
	 * Begin a query, for example list_post_comments(). If this node has the
	 * items, the query's own function reads them; if not, other nodes send
	 * them. On one machine, the caller calls the function.
	 */
	void		(*begin_query) (struct RequestScan *scan, FunctionCallInfo fcinfo);

	/*
	 * Look for a post among the copies of a user's posts, because the post
	 * itself may be on another node. Sets *date to the post's creation date.
	 * Returns false if no copy is found between "from" and "end". On one
	 * machine, the caller looks up the post by its id.
	 *
	 * from: the earliest creation date of the copies to search
	 * end: a creation date and id; only copies before it are searched
	 */
	bool		(*find_post_of_user) (const pg_uuid_t *user_id, const pg_uuid_t *id,
									  TimestampTz from, const struct Cursor *end,
									  TimestampTz *date);

	/*
	 * Return whether this node has the topics of all its posts. Topics do not
	 * move with a partition: the worker makes them of the posts that have
	 * come. Reads with the active snapshot. On one machine, the topics are
	 * complete whenever the views are ready.
	 */
	bool		(*topics_complete) (void);

	/*
	 * Bring the views up to date with changed posts: update the copies and the
	 * feed rows of the posts on all nodes, and the topics on this node. Called
	 * in a transaction that has called views_lock(). On one machine, the
	 * caller updates the views of this database.
	 *
	 * dirty: the dirty set, which can have keys of users, too
	 * posts, n: the keys of the posts in the dirty set
	 * topics: the list to which the topics that gain or lose posts are added;
	 *	or NULL
	 */
	void		(*refresh_batch) (const struct DirtySet *dirty, const struct PostKey *posts,
								  int n, List **topics);

	/*
	 * Do one chunk of a rebuild of all copies of posts. Returns true after the
	 * last chunk. Keeps a copy whose post is not on this node, because another
	 * node may have the post. On one machine, copies_build() does the chunk,
	 * and deletes copies whose post does not exist.
	 *
	 * place: the chunk begins after *place, which is set to the chunk's end
	 * done: the number of items in the chunk is added to *done
	 */
	bool		(*build_copies) (struct ItemPlace *place, int64 *done);

	/*
	 * Write the feed rows of this node's posts anew on all nodes. Also ask
	 * every other node to do this with the feed rows of its own posts. On one
	 * machine, the worker compares the feed with the newest posts, and
	 * corrects the feed.
	 */
	void		(*make_feed) (void);

	/*
	 * Do a step of a job, if jobs of this kind are done in another way on a
	 * cluster. Called in a transaction that has locked the job's row. On one
	 * machine, the caller does all jobs.
	 */
	ClusterStep (*job_step) (struct Job *job);

	/*
	 * Send changes of the views to the other nodes. Also report to these nodes
	 * whether all changes of this node's posts have been sent. Queries may use
	 * the views only while the views of all nodes are up to date. The worker
	 * calls this at the end of each pass of its main loop, outside of a
	 * transaction. Returns true if the worker should begin its next pass at
	 * once. On one machine, queries may use the views when the worker has
	 * brought the views up to date.
	 */
	bool		(*worker_turn) (struct Worker *worker);

	/*
	 * Handle partitions that have moved to this node or away from it. The
	 * worker calls this outside of a transaction. On one machine, the worker
	 * instead rebuilds the views after a partition was attached or detached,
	 * and checks the usernames in all items.
	 */
	void		(*partitions_changed) (void);

	/*
	 * Make up for changes that were lost with the replication slot: check the
	 * usernames in all items, and let all nodes rebuild their views. The
	 * worker calls this outside of a transaction, after it has created a new
	 * slot. On one machine, the worker rebuilds the views.
	 *
	 * first: whether there was no slot before; the views are then not rebuilt
	 */
	void		(*changes_lost) (bool first);

	/*
	 * Check the tables that only a cluster has. Returns false if this node was
	 * just added to the cluster, and does not have the tables yet. Called in a
	 * transaction. Errors: 55000 if a table is damaged. On one machine, there
	 * are no such tables.
	 */
	bool		(*check_tables) (void);

	/*
	 * For create_containers(): create all missing tables of the containers, on
	 * all nodes. Returns false if the containers are not to be spread over a
	 * cluster. The caller then creates the tables on this machine. Called even
	 * if there are no containers yet.
	 *
	 * distributed: the argument of create_containers(). If it is NULL, the
	 * containers are spread if the cluster has nodes for them.
	 */
	bool		(*create_containers) (struct Creation *creation, NullableDatum distributed);

	/*
	 * For wait_for_views(), wait_for_posts() and rebuild_views(): call the
	 * same SQL function on all nodes. Sets *all to whether every node has
	 * returned true. Returns false, without any call, if the current call has
	 * come from another node. The caller then does the work for this node. On
	 * one machine, the caller does the work.
	 *
	 * name, types, fcinfo: the function's name, argument types and arguments
	 */
	bool		(*call_nodes) (const char *name, const Oid *types, FunctionCallInfo fcinfo,
							   bool *all);

	/*
	 * Fill in the parts of verify()'s SQL that differ on a cluster. verify()
	 * then reads the cluster's table of users, and the feed of each node. No
	 * snapshot spans all nodes, so verify() reads all items of a post in one
	 * statement. Changes settings of the session, which the caller restores.
	 * On one machine, verify() reads the containers.
	 */
	void		(*verify_source) (struct VerifySource *source);

	/*
	 * These functions keep verify() from reporting differences that a worker
	 * will still correct. They find the posts that may have such differences.
	 *
	 * views_look_begin: called before verify() reads the views. The worker of
	 * each node numbers the rounds of its main loop. Stores in *look the
	 * number of the last round whose changes are in the views.
	 *
	 * views_look_end: called after verify() has read the views. Returns those
	 * of "post_ids" that a worker has found changed after that round.
	 *
	 * If views_look_begin() returns false or views_look_end() returns NULL,
	 * verify() reports no finding about the views. On one machine, verify()
	 * reads the number of the round from shared memory.
	 */
	bool		(*views_look_begin) (struct ViewsLook *look);
	ArrayType  *(*views_look_end) (const struct ViewsLook *look, ArrayType *post_ids);

	/*
	 * For repair(): let each node mend the damage that verify() finds in the
	 * node's own tables. Returns how many pieces of damage were mended. On one
	 * machine, the caller mends them.
	 */
	int64		(*repair) (bool with_views);

	/*
	 * For export_documents(): send the documents of all nodes to "dest". Each
	 * node reads with a snapshot of its own. On one machine, one statement
	 * reads the containers.
	 */
	void		(*export_documents) (struct _DestReceiver *dest);

	/*
	 * The functions by which import() and import_documents() read and write
	 * items on the nodes. An import passes some thousands of items to a node
	 * at a time. The node looks up, locks, edits or counts these items. New
	 * items are collected in temporary tables and then copied to the nodes. On
	 * one machine, an import uses import/import_here.c.
	 */
	const struct ImportTarget *import_target;
} ClusterCalls;

/* cluster_calls.c */
/*
 * The functions of src/cluster/. The variable is set when the library is
 * loaded, even if there is no cluster.
 */
extern const ClusterCalls *cluster_library;
/*
 * The last result of cluster_calls(): cluster_library, or NULL if the
 * containers are on this machine alone.
 */
extern const ClusterCalls *cluster_spread;
/*
 * Whether cluster_spread is up to date; false after a relcache invalidation.
 */
extern bool cluster_known;
/*
 * Whether the containers may be distributed over a cluster while this process
 * runs.
 */
extern bool cluster_may_come;

/* layout_cache.c */
extern const ClusterCalls *cluster_look(void);

/*
 * Return the functions to call if this database's containers are spread over
 * the nodes of a cluster; NULL on one machine. The result can change whenever
 * the process accepts invalidation messages. So a function calls this once,
 * and keeps the result.
 */
static inline const ClusterCalls *
cluster_calls(void)
{
	return cluster_known ? cluster_spread : cluster_look();
}

/*
 * Make sure that the result of cluster_calls() does not change until the
 * transaction ends. A request calls this before it calls cluster_calls().
 *
 * write: the transaction will write items
 */
static inline void
cluster_settle(bool write)
{
	if (cluster_may_come)
		cluster_library->settle(write);
}

#endif							/* BLOGSTORE_CLUSTER_CALLS_H */
