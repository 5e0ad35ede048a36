/*
 * cluster_calls.h
 *		What is done differently where the containers are spread over the nodes of a
 *		cluster.
 *
 * src/cluster/ is the topmost area: it calls all others, and they call it through this
 * struct alone. The comment at each function says what one machine does instead.
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
	bool		everywhere;		/* each node has all of it, in one partition */
	int			n;				/* partitions, here and on other nodes */
	Oid		   *table;			/* by number; InvalidOid: it is on another node */
	void	   *map;			/* the cluster's own: which keys each takes, and where it is */
} SpreadTable;

/* What is about to be done to a user's item. */
typedef enum UserChange
{
	USER_EDIT,					/* other properties, or a name that is claimed already */
	USER_RENAME,				/* another name, which is still to be claimed */
	USER_DELETION
} UserChange;

/* What has become of a step of a job. */
typedef enum ClusterStep
{
	STEP_NOT_TAKEN,				/* it is done as on one machine */
	STEP_DONE,
	STEP_HAS_TO_WAIT
} ClusterStep;

typedef struct ClusterCalls
{
	/* containers and partitions */

	/*
	 * Read which partitions a table has, in the current memory context; false: it is not spread.
	 * Called through cluster_library. On one machine the catalogs of the server tell.
	 */
	bool		(*read_partitions) (Oid table, SpreadTable *spread);

	/*
	 * Return whether a table has the name of a partition of another table. Called through
	 * cluster_library, also while changes of the past are decoded, so it looks at the names
	 * alone. One machine goes by pg_inherits.
	 */
	bool		(*names_partition_of) (const char *name, const char *table);

	/*
	 * Return the number of the partition that takes a key, on whichever node it is;
	 * NO_PARTITION: there is none. Called through cluster_library, where a layout says that it
	 * is spread. One machine finds it by its own hash of the key.
	 */
	int			(*partition_of_key) (const void *map, const pg_uuid_t *key);

	/*
	 * Keep a partition on this node until the transaction ends, before it is written to. The
	 * caller has to ask again which partition takes its key. Called through cluster_library,
	 * where a layout says that it is spread. On one machine a partition stays where it is.
	 */
	void		(*hold_partition) (const void *map, int partition);

	/*
	 * Return whether the copies of a user's posts are on this node, and keep them there until
	 * the transaction ends. On one machine they are.
	 */
	bool		(*hold_copies) (const pg_uuid_t *user_id);

	/*
	 * user items: on a cluster each node has all of them, and a change is made on all nodes in
	 * one transaction. On one machine model/user_changes/user_item.c writes them as it does
	 * other items.
	 */

	/*
	 * Insert a user; false if there is one with this id. own_id: an earlier user may have had
	 * the id; what is left of that user's items goes, on all nodes. On one machine it is looked
	 * for only if the id is being deleted.
	 */
	bool		(*insert_user) (const BlogItem *user, bool own_id);

	/*
	 * Lock a user on all nodes, and read it; false if there is none. To rename or delete a user
	 * the names are locked first. One machine locks the item.
	 */
	bool		(*lock_user) (const pg_uuid_t *user_id, UserChange change, BlogItem *user);

	/*
	 * Write a locked user's name and properties. Each node's worker learns of another name by
	 * the change feed. On one machine another name queues a job.
	 */
	void		(*update_user) (const BlogItem *user);

	/*
	 * Delete a locked user and give the name back. Each node that has items begins the deletion
	 * of the user's. One machine begins it itself.
	 */
	void		(*delete_user) (const BlogItem *user);

	/* requests */

	/*
	 * Wait until a distribution of the containers over the cluster has ended, and keep another
	 * one from beginning before the end of the transaction. write: the transaction will write
	 * items. Called through cluster_library by cluster_settle(), before it is known whether the
	 * containers are spread. Where there can be no cluster, nothing is called.
	 */
	void		(*settle) (bool write);

	/*
	 * Serve a command by its function, here or on the node that has the post which the command
	 * names. One machine calls the function.
	 */
	Datum		(*serve_command) (FunctionCallInfo fcinfo, PGFunction function);

	/*
	 * Begin a query: by its function, or with other nodes' items as its source. One machine calls
	 * the query's function.
	 */
	void		(*begin_query) (struct RequestScan *scan, FunctionCallInfo fcinfo);

	/*
	 * Find the date of a user's post by its id, if it is one from a date on and before end, among
	 * the copies of the user's posts. One machine looks the post up by its key.
	 */
	bool		(*find_post_of_user) (const pg_uuid_t *user_id, const pg_uuid_t *id,
									  TimestampTz from, const struct Cursor *end,
									  TimestampTz *date);

	/* views and the worker */

	/*
	 * Refresh what a dirty set names, and these posts, which are those of the set: copies and
	 * rows of the feed on all nodes that show the posts. Called in a transaction that holds the
	 * views' lock. One machine has all copies and one feed.
	 */
	void		(*refresh_batch) (const struct DirtySet *dirty, const struct PostKey *posts,
								  int n);

	/*
	 * Do a chunk of a rebuild of all copies (copies_build()). Copies that have no post on this
	 * node may have one on another. One machine deletes them.
	 */
	bool		(*build_copies) (struct ItemPlace *place, int64 *done);

	/*
	 * Make the feed right as far as the posts of this node go, and have all nodes send each
	 * other anew what the feeds have of their posts. One machine reads the newest posts and
	 * writes the differences.
	 */
	void		(*make_feed) (void);

	/*
	 * Do a step of a job that the cluster does in its own way. Called in the step's transaction,
	 * for a job that it has locked. One machine takes no such step.
	 */
	ClusterStep (*job_step) (struct Job *job);

	/*
	 * Send other nodes what they lack, exchange news with them, and serve the views while all
	 * of them keep theirs. Called at the end of each turn of the worker, outside of a
	 * transaction. Returns whether the next turn is to follow at once. One machine serves the
	 * views as soon as they are kept.
	 */
	bool		(*worker_turn) (struct Worker *worker);

	/*
	 * Partitions have come to this node, or have left it: see to those that have come. Called by
	 * the worker outside of a transaction. One machine rebuilds the views, and looks at the
	 * names on all items.
	 */
	void		(*partitions_changed) (void);

	/*
	 * The slot was lost, and with it changes: see to what it would have told. first: there was
	 * no slot before. Called by the worker outside of a transaction, when the new slot has been
	 * made. One machine has what it needs in its tables.
	 */
	void		(*changes_lost) (bool first);

	/*
	 * Raise what is wrong with a table that a cluster has besides, if something is. Returns
	 * whether this node has what each node is to have all of: one that was just added has not.
	 * Called in a transaction. One machine has no other tables. Errors: 55000.
	 */
	bool		(*check_tables) (void);

	/* operations */

	/*
	 * Called before there are containers, so through cluster_library. The cluster makes what is
	 * missing of the containers on all nodes, and returns true, if they are to be spread over it:
	 * that is what the caller of create_containers() says, or where there are nodes to spread
	 * them over. Otherwise it returns false, and one machine makes all tables itself.
	 */
	bool		(*create_containers) (struct Creation *creation, NullableDatum distributed);

	/*
	 * wait_for_views(), rebuild_views(): the cluster calls the function on all nodes. *all
	 * becomes whether each has returned true. Returns false, having called none, where another
	 * node has called this one so. One machine does what the function says itself.
	 */
	bool		(*call_nodes) (const char *name, const Oid *types, FunctionCallInfo fcinfo,
							   bool *all);

	/*
	 * verify() reads the users' own table, and the feed of each node; what lies on a post it reads
	 * at once, since there is no snapshot of all nodes. The cluster changes settings for this, and
	 * the caller restores them. One machine reads its containers.
	 */
	void		(*verify_source) (struct VerifySource *source);

	/*
	 * verify() on a cluster: up to which turn has each node's worker applied all, and which of some
	 * posts were its told of since? False, and NULL: nothing could be settled. One machine looks
	 * into its own shared memory.
	 */
	bool		(*views_look_begin) (struct ViewsLook *look);
	ArrayType  *(*views_look_end) (const struct ViewsLook *look, ArrayType *post_ids);

	/*
	 * repair(): the cluster has each node mend what verify() has found there, and returns how
	 * many findings were mended. One machine mends all of them itself.
	 */
	int64		(*repair) (bool with_views);

	/* import and export */

	/*
	 * export_documents(): the cluster gives a receiver the documents of all nodes, each part of
	 * which is read by a snapshot of its own. One machine runs one statement on its containers.
	 */
	void		(*export_documents) (struct _DestReceiver *dest);

	/*
	 * import(), import_documents(): the nodes look up, lock, edit and count what an import has
	 * for the posts that they have, some thousands in a call; new items are spooled and copied to
	 * them. One machine uses its own tables (import/import_here.c).
	 */
	const struct ImportTarget *import_target;
} ClusterCalls;

/* cluster_calls.c */
extern const ClusterCalls *cluster_library; /* set at load; also where there is no cluster */
extern const ClusterCalls *cluster_spread;	/* what cluster_calls() returned last */
extern bool cluster_known;		/* is that how it is in the catalogs? */
extern bool cluster_may_come;	/* can the containers be spread while this process runs? */

/* layout_cache.c */
extern const ClusterCalls *cluster_look(void);

/*
 * The functions to call where this database's containers are spread over a cluster; NULL where
 * they are on this machine alone. May change when invalidation messages are processed: each
 * place that depends on it asks once.
 */
static inline const ClusterCalls *
cluster_calls(void)
{
	return cluster_known ? cluster_spread : cluster_look();
}

/*
 * The containers stay on this machine, or spread, until the transaction ends. A request calls
 * this before cluster_calls(). write: it will write items.
 */
static inline void
cluster_settle(bool write)
{
	if (cluster_may_come)
		cluster_library->settle(write);
}

#endif							/* BLOGSTORE_CLUSTER_CALLS_H */
