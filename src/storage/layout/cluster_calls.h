/*
 * cluster_calls.h
 *		What differs where the containers are spread over the nodes of a
 *		cluster.
 *
 * src/cluster/ is the topmost area. It calls all other areas, and they call it
 * only through this struct. The comment of each function says what happens on
 * one machine instead.
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

/* A table whose partitions are spread over the nodes of a cluster. */
typedef struct SpreadTable
{
	bool		everywhere;		/* every node has all of the table, as one
								 * partition */
	int			n;				/* number of partitions, on this node and on
								 * others */
	Oid		   *table;			/* by number; InvalidOid if on another node */
	void	   *map;			/* private to src/cluster/: which keys each
								 * partition takes, and where it is */
} SpreadTable;

/* What the caller is about to do to a user item. */
typedef enum UserChange
{
	USER_EDIT,					/* change properties; the name stays, or is
								 * claimed already */
	USER_RENAME,				/* change the name; the new one is still to be
								 * claimed */
	USER_DELETION
} UserChange;

/* The outcome of a job's step. */
typedef enum ClusterStep
{
	STEP_NOT_TAKEN,				/* to be done as on one machine */
	STEP_DONE,
	STEP_HAS_TO_WAIT
} ClusterStep;

typedef struct ClusterCalls
{
	/* containers and partitions */

	/*
	 * Read the partitions of a table into *spread, in the current memory
	 * context. Returns false if the table is not spread. Called through
	 * cluster_library. On one machine, the partitions are read from the
	 * server's catalogs.
	 */
	bool		(*read_partitions) (Oid table, SpreadTable *spread);

	/*
	 * Return whether a table's name is one that a partition of another table
	 * has. Called through cluster_library, also during logical decoding, so it
	 * looks at names only. On one machine, a table's ancestors are read from
	 * pg_inherits.
	 */
	bool		(*names_partition_of) (const char *name, const char *table);

	/*
	 * Return the number of the partition that takes a key, on any node;
	 * NO_PARTITION if there is none. Called through cluster_library, with the
	 * map of a spread table. On one machine, blogstore hashes the key.
	 */
	int			(*partition_of_key) (const void *map, const pg_uuid_t *key);

	/*
	 * Keep a partition on this node until the transaction ends; called before
	 * writing to it. The caller must then look up the partition of its key
	 * again. Called through cluster_library, with the map of a spread table.
	 * On one machine, a partition stays where it is.
	 */
	void		(*hold_partition) (const void *map, int partition);

	/*
	 * Return whether the copies of a user's posts are on this node, and keep
	 * them here until the transaction ends. On one machine, they always are.
	 */
	bool		(*hold_copies) (const pg_uuid_t *user_id);

	/*
	 * User items. Every node of a cluster has all of them, and a change is
	 * made on all nodes in one transaction. On one machine,
	 * model/user_changes/user_item.c writes them like other items.
	 */

	/*
	 * Insert a user. Returns false if the id is taken. own_id: the caller
	 * chose the id, so an earlier user may have had it. In that case, remove
	 * what is left of the earlier user's items on all nodes. On one machine,
	 * such items are looked for only if a user with this id is being deleted.
	 */
	bool		(*insert_user) (const BlogItem *user, bool own_id);

	/*
	 * Lock a user on all nodes, and read it into *user. Returns false if there
	 * is none. For a rename or a deletion, the names are locked first. On one
	 * machine, the item is locked.
	 */
	bool		(*lock_user) (const pg_uuid_t *user_id, UserChange change, BlogItem *user);

	/*
	 * Write the name and properties of a locked user. The worker of each node
	 * learns of a new name from the change feed. On one machine, a new name
	 * queues a job.
	 */
	void		(*update_user) (const BlogItem *user);

	/*
	 * Delete a locked user, and release the name. Each node that has items of
	 * the user begins to delete them. On one machine, the caller begins that
	 * itself.
	 */
	void		(*delete_user) (const BlogItem *user);

	/* Requests */

	/*
	 * Wait until a running distribution of the containers has ended, and
	 * prevent another one from beginning until the transaction ends. write:
	 * the transaction will write items. Called through cluster_library by
	 * cluster_settle(), before it is known whether the containers are spread.
	 * Not called where there can be no cluster.
	 */
	void		(*settle) (bool write);

	/*
	 * Run a command's function, here or on the node that has the post which
	 * the command names. On one machine, the function is called.
	 */
	Datum		(*serve_command) (FunctionCallInfo fcinfo, PGFunction function);

	/*
	 * Begin a query: call its function, or make other nodes' items its source.
	 * On one machine, the function is called.
	 */
	void		(*begin_query) (struct RequestScan *scan, FunctionCallInfo fcinfo);

	/*
	 * Look up a user's post by its id among the copies of the user's posts,
	 * and set *date to its creation date. Returns false if there is no such
	 * copy, or its date is before from or not before end. On one machine, the
	 * post is looked up by its key.
	 */
	bool		(*find_post_of_user) (const pg_uuid_t *user_id, const pg_uuid_t *id,
									  TimestampTz from, const struct Cursor *end,
									  TimestampTz *date);

	/* Views and the worker */

	/*
	 * Refresh what a dirty set names, and the n posts, which are the posts of
	 * that set: update copies and feed rows on all nodes that show the posts.
	 * Called in a transaction that holds the views' lock. On one machine, all
	 * copies and the one feed are local.
	 */
	void		(*refresh_batch) (const struct DirtySet *dirty, const struct PostKey *posts,
								  int n);

	/*
	 * Do one chunk of a rebuild of all copies; see copies_build(). A copy
	 * whose post is not on this node may belong to a post on another node. On
	 * one machine, such a copy is deleted.
	 */
	bool		(*build_copies) (struct ItemPlace *place, int64 *done);

	/*
	 * Correct the feed for the posts of this node, and make all nodes send
	 * each other their feed rows again. On one machine, the newest posts are
	 * read, and differences are written to the feed.
	 */
	void		(*make_feed) (void);

	/*
	 * Do a step of a job that a cluster does differently. Called in the step's
	 * transaction, which has locked the job. On one machine, there is no such
	 * step.
	 */
	ClusterStep (*job_step) (struct Job *job);

	/*
	 * Send other nodes the rows that they lack, tell them whether the views
	 * there have all changes of this node's posts, and mark the views as
	 * served while all nodes keep theirs up to date. Called outside of a
	 * transaction, at the end of each turn of the worker. Returns whether the
	 * next turn should follow at once. On one machine, the views are served as
	 * soon as they are up to date.
	 */
	bool		(*worker_turn) (struct Worker *worker);

	/*
	 * Handle partitions that have moved to this node or away from it. Called
	 * by the worker, outside of a transaction. On one machine, the worker
	 * rebuilds the views and checks the usernames of all items.
	 */
	void		(*partitions_changed) (void);

	/*
	 * Handle the loss of the replication slot, and with it of changes. first:
	 * there was no slot before. Called by the worker, outside of a
	 * transaction, after it has created the new slot. On one machine, the
	 * tables contain all that is needed.
	 */
	void		(*changes_lost) (bool first);

	/*
	 * Check the tables that only a cluster has. Returns false if this node
	 * does not have them yet because it was just added. Called in a
	 * transaction. On one machine, there are no such tables. Errors: 55000 if
	 * a table is damaged.
	 */
	bool		(*check_tables) (void);

	/* Operations */

	/*
	 * create_containers(): if the containers are to be spread, create their
	 * missing parts on all nodes, and return true. distributed: what the
	 * caller of create_containers() wants; if NULL, the containers are spread
	 * if there are nodes to spread them over. If they are not to be spread,
	 * return false; the caller then creates all tables on this machine. Called
	 * through cluster_library, before there are containers.
	 */
	bool		(*create_containers) (struct Creation *creation, NullableDatum distributed);

	/*
	 * wait_for_views(), wait_for_posts(), rebuild_views(): call the function
	 * on all nodes, and set *all to whether all of them returned true. Returns
	 * false, without a call, if another node has called this one; the caller
	 * then does the work for this node. On one machine, the caller does the
	 * work.
	 */
	bool		(*call_nodes) (const char *name, const Oid *types, FunctionCallInfo fcinfo,
							   bool *all);

	/*
	 * verify(): let it read the users' own table and the feed of each node. No
	 * snapshot spans all nodes, so verify() reads all items of a post in one
	 * statement. This changes settings, which the caller restores. On one
	 * machine, verify() reads the containers.
	 */
	void		(*verify_source) (struct VerifySource *source);

	/*
	 * verify(): views_look_begin() gets the turn up to which each node's
	 * worker has applied all changes, and returns false if no finding can be
	 * settled. views_look_end() returns those of some posts whose changes a
	 * worker was told of since, or NULL if no finding can be settled. On one
	 * machine, both are read from shared memory.
	 */
	bool		(*views_look_begin) (struct ViewsLook *look);
	ArrayType  *(*views_look_end) (const struct ViewsLook *look, ArrayType *post_ids);

	/*
	 * repair(): have each node mend what verify() found there, and return the
	 * number of findings that were mended. On one machine, the caller mends
	 * them.
	 */
	int64		(*repair) (bool with_views);

	/* Import and export */

	/*
	 * export_documents(): send the documents of all nodes to a receiver. Each
	 * part is read with a snapshot of its own. On one machine, one statement
	 * reads the containers.
	 */
	void		(*export_documents) (struct _DestReceiver *dest);

	/*
	 * import(), import_documents(): each node looks up, locks, edits and
	 * counts the imported items of the posts that it has, some thousands per
	 * call. New items are spooled and copied to the nodes. On one machine, the
	 * import uses its own tables (import/import_here.c).
	 */
	const struct ImportTarget *import_target;
} ClusterCalls;

/* cluster_calls.c */
extern const ClusterCalls *cluster_library; /* set at load, also where there is
											 * no cluster */
extern const ClusterCalls *cluster_spread;	/* last result of
											 * cluster_calls() */
extern bool cluster_known;		/* true while that result is valid */
extern bool cluster_may_come;	/* true if the containers can become spread
								 * while this process runs */

/* layout_cache.c */
extern const ClusterCalls *cluster_look(void);

/*
 * Return the functions to call if this database's containers are spread over a
 * cluster; NULL if they are on this machine alone. The result can change
 * whenever invalidation messages are processed, so code that depends on it
 * must call this once and keep the result.
 */
static inline const ClusterCalls *
cluster_calls(void)
{
	return cluster_known ? cluster_spread : cluster_look();
}

/*
 * Keep the containers from becoming spread, or ceasing to be, until the
 * transaction ends. A request calls this before cluster_calls(). write: the
 * transaction will write items.
 */
static inline void
cluster_settle(bool write)
{
	if (cluster_may_come)
		cluster_library->settle(write);
}

#endif							/* BLOGSTORE_CLUSTER_CALLS_H */
