/*
 * cluster_calls.h
 *		The functions that other areas call where the containers are spread
 *		over the nodes of a cluster.
 *
 * src/cluster/ is the topmost area of the source. It calls all other areas,
 * and they call it only through the struct ClusterCalls. The comment of each
 * function also says what happens on a single machine instead, where the
 * function is not called.
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

/* How a container's table is spread over the nodes of a cluster. */
typedef struct SpreadTable
{
	/* true if every node has all rows of the table, as a single partition */
	bool		everywhere;
	int			n;				/* number of partitions, on all nodes */
	/*
	 * by number: the partition's table on this node; InvalidOid if the
	 * partition is on another node
	 */
	Oid		   *table;
	/*
	 * private to src/cluster/: which keys each partition takes, and on which
	 * node it is
	 */
	void	   *map;
} SpreadTable;

/* What the caller of lock_user() is about to do to a user. */
typedef enum UserChange
{
	/*
	 * change properties; the name stays, or the caller has claimed the new one
	 * already
	 */
	USER_EDIT,
	/* change the name; the caller has yet to claim the new one */
	USER_RENAME,
	USER_DELETION
} UserChange;

/* The outcome of job_step(). */
typedef enum ClusterStep
{
	STEP_NOT_TAKEN,				/* the caller does the step as on one
								 * machine */
	STEP_DONE,
	STEP_HAS_TO_WAIT
} ClusterStep;

typedef struct ClusterCalls
{
	/* containers and partitions */

	/*
	 * Read how a table is spread over the cluster into *spread, in the current
	 * memory context. Returns false if the table is not spread. Called through
	 * cluster_library. On one machine, the server's catalogs have the
	 * partitions.
	 */
	bool		(*read_partitions) (Oid table, SpreadTable *spread);

	/*
	 * Return whether a table has a name like those that the cluster gives to
	 * the partitions of another table. Called through cluster_library, also
	 * during logical decoding, so it looks at names only. On one machine,
	 * pg_inherits tells of which table another one is a partition.
	 */
	bool		(*names_partition_of) (const char *name, const char *table);

	/*
	 * Return the number of the partition that takes a key, wherever that
	 * partition is; NO_PARTITION if there is none. map: SpreadTable.map.
	 * Called through cluster_library. On one machine, blogstore computes the
	 * partition from the key's hash.
	 */
	int			(*partition_of_key) (const void *map, const pg_uuid_t *key);

	/*
	 * Keep the cluster from moving a partition off this node until the
	 * transaction ends. Called before the transaction writes to the partition.
	 * The partition may have moved before the call, so the caller must then
	 * look up the partition of its key again. map: SpreadTable.map. Called
	 * through cluster_library. On one machine, partitions do not move.
	 */
	void		(*hold_partition) (const void *map, int partition);

	/*
	 * Return whether the copies of a user's posts, in the container users, are
	 * on this node, and keep them here until the transaction ends. On one
	 * machine, they always are.
	 */
	bool		(*hold_copies) (const pg_uuid_t *user_id);

	/*
	 * Users. Every node of a cluster has all of them, and a transaction
	 * changes a user on all nodes. On one machine,
	 * model/user_changes/user_item.c writes users like other items.
	 */

	/*
	 * Insert a user. Returns false if the id is taken. own_id: the caller
	 * chose the id, so an earlier user may have had it; items that are left of
	 * that user are removed on all nodes. On one machine, the caller looks for
	 * such items only if a user with this id is being deleted.
	 */
	bool		(*insert_user) (const BlogItem *user, bool own_id);

	/*
	 * Lock a user on all nodes, and read the user into *user. Returns false if
	 * there is none. For a rename or a deletion, this first locks the names.
	 * On one machine, the caller locks the user's row.
	 */
	bool		(*lock_user) (const pg_uuid_t *user_id, UserChange change, BlogItem *user);

	/*
	 * Write the name and the properties of a user whom the caller has locked.
	 * The worker of each node decodes this change, and then writes a new name
	 * to the user's posts, comments and likes. On one machine, the caller
	 * queues a job for a new name.
	 */
	void		(*update_user) (const BlogItem *user);

	/*
	 * Delete a user whom the caller has locked, and release the name for other
	 * users. Each node then begins to delete the user's posts, comments and
	 * likes. On one machine, the caller begins to do so.
	 */
	void		(*delete_user) (const BlogItem *user);

	/* Requests */

	/*
	 * Wait until a running distribution of the containers over the cluster has
	 * ended, and keep another one from beginning until the transaction ends.
	 * write: the transaction will write items. cluster_settle() calls this
	 * through cluster_library, before it is known whether the containers are
	 * spread. Not called where there can be no cluster.
	 */
	void		(*settle) (bool write);

	/*
	 * Run a command's function on the node that has the post which the command
	 * names, this node or another. On one machine, the caller calls the
	 * function.
	 */
	Datum		(*serve_command) (FunctionCallInfo fcinfo, PGFunction function);

	/*
	 * Begin a query. It reads items of this node by the query's own function,
	 * or items that other nodes send. On one machine, the caller calls the
	 * function.
	 */
	void		(*begin_query) (struct RequestScan *scan, FunctionCallInfo fcinfo);

	/*
	 * Look for a post among the copies of a user's posts, because the post
	 * itself may be on another node, and set *date to its creation date.
	 * Returns false if there is no copy, or its date is earlier than from, or
	 * it does not come before end. On one machine, the caller looks up the
	 * post by its id.
	 */
	bool		(*find_post_of_user) (const pg_uuid_t *user_id, const pg_uuid_t *id,
									  TimestampTz from, const struct Cursor *end,
									  TimestampTz *date);

	/* Views and the worker */

	/*
	 * Write to the views what has changed: update the copies and the feed rows
	 * of posts on all nodes that show them. dirty: what the worker has
	 * decoded; posts: the n posts in it. Called in a transaction that holds
	 * the views' lock. On one machine, all copies and the feed are in this
	 * database.
	 */
	void		(*refresh_batch) (const struct DirtySet *dirty, const struct PostKey *posts,
								  int n);

	/*
	 * Do one chunk of a rebuild of all copies of posts, as copies_build() does
	 * it. A copy whose post is not on this node may belong to a post of
	 * another node, and stays. On one machine, such a copy is deleted.
	 */
	bool		(*build_copies) (struct ItemPlace *place, int64 *done);

	/*
	 * Correct the feed rows of this node's posts, and make all nodes send each
	 * other their feed rows again. On one machine, the worker reads the newest
	 * posts, and writes the differences to the feed.
	 */
	void		(*make_feed) (void);

	/*
	 * Do a step of a job, a queued task of the worker, if a cluster does such
	 * a job differently. Called in a transaction that has locked the job. On
	 * one machine, there is no such job.
	 */
	ClusterStep (*job_step) (struct Job *job);

	/*
	 * Deliver changes of the views to other nodes at the end of each turn of
	 * the worker, outside of a transaction. Also tell each other node whether
	 * it has received all changes of this node's posts, and let readers use
	 * the views only while the views of all nodes are up to date. Returns true
	 * if the worker should begin its next turn at once. On a single server,
	 * which does not call this, readers use the views as soon as they are up
	 * to date.
	 */
	bool		(*worker_turn) (struct Worker *worker);

	/*
	 * Handle partitions that have moved to this node or away from it. The
	 * worker calls this outside of a transaction. On one machine, where
	 * partitions may have been attached or detached, the worker rebuilds the
	 * views, and checks the usernames in all items.
	 */
	void		(*partitions_changed) (void);

	/*
	 * Make up for changes that were lost with the replication slot before they
	 * were decoded: check the usernames in all items and, unless first is
	 * true, let all nodes rebuild their views. first: there was no slot
	 * before. The worker calls this outside of a transaction, after it has
	 * created the new slot. On one machine, the worker rebuilds the views.
	 */
	void		(*changes_lost) (bool first);

	/*
	 * Check the tables that only a cluster has. Returns false if this node
	 * does not have them yet, because it was just added to the cluster. Called
	 * in a transaction. Errors: 55000 if a table is damaged. On one machine,
	 * there are no such tables.
	 */
	bool		(*check_tables) (void);

	/* Operations */

	/*
	 * For create_containers(): create the missing parts of the containers on
	 * all nodes, and return true; or return false if the containers are not to
	 * be spread over a cluster, so that the caller creates them on this
	 * machine. distributed: the argument of create_containers(); if it is
	 * NULL, the containers are spread if there are nodes to spread them over.
	 * Called through cluster_library, when there may be no containers yet.
	 */
	bool		(*create_containers) (struct Creation *creation, NullableDatum distributed);

	/*
	 * For wait_for_views(), wait_for_posts() and rebuild_views(): call the
	 * function on all nodes, and set *all to true if it returned true on all
	 * of them. Returns false, without a call, if another node has called the
	 * function on this node; the caller then does the work for this node. On
	 * one machine, the caller does the work.
	 */
	bool		(*call_nodes) (const char *name, const Oid *types, FunctionCallInfo fcinfo,
							   bool *all);

	/*
	 * For verify(): change the source from which it reads, to the cluster's
	 * table of users, and to the feed of each node. No snapshot spans all
	 * nodes, so verify() reads all items of a post in one statement. This also
	 * changes settings, which the caller restores. On one machine, verify()
	 * reads the containers.
	 */
	void		(*verify_source) (struct VerifySource *source);

	/*
	 * For verify(), which must not report a row of the views that the worker
	 * has yet to update. views_look_begin() notes up to which turn the worker
	 * of each node has applied all changes. views_look_end() returns those of
	 * some posts of which a worker has decoded a change since. The results
	 * false and NULL mean that no finding can be reported. On one machine,
	 * both are read from shared memory.
	 */
	bool		(*views_look_begin) (struct ViewsLook *look);
	ArrayType  *(*views_look_end) (const struct ViewsLook *look, ArrayType *post_ids);

	/*
	 * For repair(): let each node mend what verify() has found there, and
	 * return how many findings were mended. On one machine, the caller mends
	 * them.
	 */
	int64		(*repair) (bool with_views);

	/* Import and export */

	/*
	 * For export_documents(): send the documents of all nodes to a receiver.
	 * Each node reads with a snapshot of its own. On one machine, one
	 * statement reads the containers.
	 */
	void		(*export_documents) (struct _DestReceiver *dest);

	/*
	 * For import() and import_documents(): the functions by which they reach
	 * the nodes. Each node looks up, locks, edits and counts the imported
	 * items of the posts that it has, some thousands per call. New items are
	 * spooled and copied to the nodes. On one machine, import() uses
	 * import/import_here.c.
	 */
	const struct ImportTarget *import_target;
} ClusterCalls;

/* cluster_calls.c */
/*
 * The functions of src/cluster/. Set when the library is loaded, also where
 * there is no cluster.
 */
extern const ClusterCalls *cluster_library;
/* The last result of cluster_calls(): cluster_library or NULL. */
extern const ClusterCalls *cluster_spread;
/* true while cluster_spread is right. Relcache invalidations clear it. */
extern bool cluster_known;
/*
 * true if the containers can become spread over a cluster while this process
 * runs.
 */
extern bool cluster_may_come;

/* layout_cache.c */
extern const ClusterCalls *cluster_look(void);

/*
 * Return the functions to call if this database's containers are spread over
 * the nodes of a cluster; NULL if they are on this machine alone. The result
 * can change whenever the process accepts invalidation messages. So code that
 * must take one way throughout calls this once and keeps the result.
 */
static inline const ClusterCalls *
cluster_calls(void)
{
	return cluster_known ? cluster_spread : cluster_look();
}

/*
 * Keep the containers from being spread over a cluster, or ceasing to be,
 * until the transaction ends. A request calls this before it asks
 * cluster_calls(). write: the transaction will write items.
 */
static inline void
cluster_settle(bool write)
{
	if (cluster_may_come)
		cluster_library->settle(write);
}

#endif							/* BLOGSTORE_CLUSTER_CALLS_H */
