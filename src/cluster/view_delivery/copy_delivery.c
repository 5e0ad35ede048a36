/*
 * copy_delivery.c
 *		Copies of posts on a cluster: sending them from the node that has the
 *		post to the node that has the author's shard of users, the author's
 *		home.
 *
 * A node refreshes the copies of its own posts only. It sends copies whose
 * home is another node there by put_copies(), many in one call. A copy is sent
 * as the current state of its post, so order and repetition do not matter.
 * Meanwhile the shards of the posts are held (shard_hold()), so no other node
 * can send a newer state.
 *
 * If a post was deleted and its shard has been moved since, the node that
 * decodes the deletion no longer has the shard. It calls touch_copies() on the
 * node that has it. That node's worker reads the key from its own WAL and
 * refreshes the copy.
 *
 * The sender holds the views' lock of its own node, and the receiver takes no
 * such lock, so nodes never wait for each other in a circle. What a worker
 * sends is committed on the other node when the call returns. If a node does
 * not take a copy, the copy is sent later (unsent_copies.c), and nothing else
 * waits.
 *
 * Runs in the worker, in a backend for repair(), and in backends that serve
 * put_copies() and touch_copies().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "cluster/citus/citus.h"
#include "cluster/remote/remote.h"
#include "cluster/view_delivery/other_nodes.h"
#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/change_feed/change_feed.h"
#include "views/copies_and_feed/view_rows.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

NODE_FUNCTION(put_copies, "The worker of another node");
NODE_FUNCTION(touch_copies, "The worker of another node");

/* Copies sent in one call. */
#define COPIES_A_CALL 200

/* A key to be sent to another node. */
typedef struct KeyElsewhere
{
	int			group;			/* node group to send it to */
	PostKey		key;
} KeyElsewhere;

static int
compare_groups(const void *a, const void *b)
{
	const KeyElsewhere *ka = a;
	const KeyElsewhere *kb = b;

	if (ka->group != kb->group)
		return ka->group < kb->group ? -1 : 1;
	return memcmp(&ka->key, &kb->key, sizeof(PostKey));
}

/*
 * Sort keys by group and remove duplicates; a batch may name a post both as
 * changed and as counted. Returns the number left.
 */
static int
sort_keys(KeyElsewhere *keys, int n)
{
	int			once = 0;

	if (n > 1)
		qsort(keys, n, sizeof(KeyElsewhere), compare_groups);
	for (int i = 0; i < n; i++)
		if (i == 0 || compare_groups(&keys[i], &keys[once - 1]) != 0)
			keys[once++] = keys[i];
	return once;
}

/* Return how many keys, from the first on, the next call takes. */
static int
count_of_call(const KeyElsewhere *keys, int n)
{
	int			count = 1;

	while (count < n && count < COPIES_A_CALL && keys[count].group == keys[0].group)
		count++;
	return count;
}

/*
 * Return what a copy should be as a row for put_copies(). A row without title
 * means that there should be no copy. If many is NULL, the row has only the
 * key, for touch_copies().
 */
Datum
copies_row(ManyPosts *many, const PostKey *key, TupleDesc desc)
{
	BlogItem	post;

	if (many == NULL || !copies_wanted(many, key, &post))
	{
		item_init(&post, ITEM_POST);
		for (Property p = 0; p < N_PROPERTIES; p++)
			post.isnull[p] = true;
		item_set(&post, PROP_ID, UUIDPGetDatum(&key->post_id));
		item_set(&post, PROP_USER_ID, UUIDPGetDatum(&key->user_id));
		item_set(&post, PROP_CREATION_DATE, TimestampTzGetDatum(key->creation_date));
	}
	return remote_row_of_item(&post, ITEM_POST, desc);
}

/*
 * Call put_copies() or touch_copies() on a node. Returns false if that failed.
 */
static bool
send_rows(const char *name, OtherNode *other, const Datum *row, int n)
{
	return node_send(other, psprintf("SELECT " BLOGSTORE_SCHEMA ".%s(%s)", name,
									 ship_literal(row, n)));
}

/*
 * Send rows to a node from the worker. Rows that it does not take are stored
 * to be sent later. If the node answers but refuses all, send them one by one,
 * because one of them may have caused the error.
 */
static void
send_or_remember(const char *name, const KeyElsewhere *keys, const Datum *row, int n)
{
	OtherNode  *other = nodes_other(keys[0].group);
	bool		done = other != NULL && node_may_answer(other) &&
		send_rows(name, other, row, n);

	for (int i = 0; i < n && !done; i++)
		if (n == 1 || other == NULL || other->try_at != 0 ||
			!send_rows(name, other, &row[i], 1))
			unsent_add(keys[i].group, &keys[i].key);
	if (!done && other != NULL)
		node_lacks(other);
}

/*
 * Return the id that decides to which node a key is sent: the post's in posts,
 * the author's in users.
 */
static const pg_uuid_t *
key_in(Container container, const PostKey *key)
{
	return container == CONTAINER_POSTS ? &key->post_id : &key->user_id;
}

/*
 * Send copies (CONTAINER_USERS) or keys (CONTAINER_POSTS) to one node. Returns
 * false if the receiver does not know yet that it has one of the shards; the
 * caller tries again then.
 */
static bool
send_copies(Container container, ManyPosts *many, const KeyElsewhere *keys, int n)
{
	const char *name = container == CONTAINER_POSTS ? "touch_copies" : "put_copies";
	TupleDesc	desc = ship_desc();
	Datum	   *row = palloc(sizeof(Datum) * n);

	for (int i = 0; i < n; i++)
		row[i] = copies_row(many, &keys[i].key, desc);
	if (!nodes_in_worker())
		return remote_call_flag(name, key_in(container, &keys[0].key),
								get_array_type(remote_row_type(ITEM_POST)),
								PointerGetDatum(ship_array(row, n)));
	send_or_remember(name, keys, row, n);
	return true;
}

/*
 * Find the nodes to which keys belong, and send each its copies
 * (CONTAINER_USERS) or keys (CONTAINER_POSTS).
 */
static void
send_all(Container container, KeyElsewhere *keys, int n)
{
	ManyPosts  *many = container == CONTAINER_USERS ?
		many_posts_begin(GetActiveSnapshot()) : NULL;
	long		waited = 0;
	int			sent = 0;

	/* Held shards are not moved until the transaction ends. */
	for (int i = 0; i < n; i++)
	{
		Shard		shard;

		container_hold(container, key_in(container, &keys[i].key), &shard);
		keys[i].group = shard.group;
	}
	n = sort_keys(keys, n);
	while (sent < n)
	{
		int			count = count_of_call(keys + sent, n - sent);

		if (send_copies(container, many, keys + sent, count))
			sent += count;
		else
			remote_pause(&waited);
	}
	if (many != NULL)
		many_posts_end(many);
}

/*
 * Send the copies of posts on this node whose home is another node. Returns
 * the keys whose posts and copies are both on this node, *n of them.
 */
static const PostKey *
copies_ship(const PostKey *keys, int *n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore copies to ship",
												  ALLOCSET_DEFAULT_SIZES);
	PostKey    *here = palloc(sizeof(PostKey) * Max(*n, 1));
	MemoryContext old = MemoryContextSwitchTo(context);
	KeyElsewhere *elsewhere = palloc(sizeof(KeyElsewhere) * Max(*n, 1));
	int			n_here = 0;
	int			n_elsewhere = 0;

	for (int i = 0; i < *n; i++)
	{
		if (!container_hold_here(CONTAINER_POSTS, &keys[i].post_id))
			continue;			/* another node refreshes its copy */
		if (container_hold_here(CONTAINER_USERS, &keys[i].user_id))
			here[n_here++] = keys[i];
		else
			elsewhere[n_elsewhere++].key = keys[i];
	}
	/* a new snapshot, because posts may have arrived while this waited */
	PushActiveSnapshot(GetTransactionSnapshot());
	send_all(CONTAINER_USERS, elsewhere, n_elsewhere);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	*n = n_here;
	return here;
}

/*
 * Refresh the copies at n keys, on the nodes that have them. Keys of posts on
 * other nodes are skipped. Locks: holds the shards of posts and copies.
 */
void
copies_deliver(const PostKey *keys, int n)
{
	keys = copies_ship(keys, &n);
	/* a new snapshot, because copies may have arrived while this waited */
	PushActiveSnapshot(GetTransactionSnapshot());
	copies_refresh(keys, n);
	PopActiveSnapshot();
}

/*
 * Pass on the keys of deleted or moved posts. If the shard of a post is on
 * another node now, that node is told to refresh the copy. Other shards are
 * held here, for copies_deliver(), which the caller calls next.
 */
void
copies_pass_on(const PostKey *keys, int n)
{
	KeyElsewhere *elsewhere = palloc(sizeof(KeyElsewhere) * Max(n, 1));
	int			n_elsewhere = 0;

	for (int i = 0; i < n; i++)
		if (!container_hold_here(CONTAINER_POSTS, &keys[i].post_id))
			elsewhere[n_elsewhere++].key = keys[i];
	if (n_elsewhere > 0)
		send_all(CONTAINER_POSTS, elsewhere, n_elsewhere);
	pfree(elsewhere);
}

/*
 * Send a node some of the copies that it lacks, continuing where the last call
 * stopped. Those that it refuses are stored again. The caller holds the views'
 * lock.
 */
void
copies_send_unsent(OtherNode *other)
{
	int			n;
	PostKey    *keys = unsent_take(other, &n);

	copies_pass_on(keys, n);
	copies_deliver(keys, n);
}

/* ------------------------------------------------------------------------
 * Checking whether the posts of copies exist on other nodes
 * ------------------------------------------------------------------------ */

/*
 * Collect in gone those of n keys, all for one node, that have no post there,
 * and return their number. If the worker cannot reach the node, all keys are
 * collected. The node then gets them later (send_or_remember()) and refreshes
 * their copies, whether the posts exist or not.
 */
static int
gather_without_posts(PostKey *gone, const KeyElsewhere *keys, int n)
{
	Datum	   *id = palloc(sizeof(Datum) * n);
	bool	   *there = palloc0(sizeof(bool) * n);
	int			n_gone = 0;
	RemoteItems *posts;
	BlogItem	post;
	long		waited = 0;
	OtherNode  *other = nodes_in_worker() ? nodes_other(keys[0].group) : NULL;
	bool		away = other != NULL && !node_answers(other);

	for (int i = 0; i < n && away; i++)
		gone[n_gone++] = keys[i].key;
	if (away)
		return n_gone;
	for (int i = 0; i < n; i++)
		id[i] = UUIDPGetDatum(&keys[i].key.post_id);
	while ((posts = remote_posts(&keys[0].key.post_id,
								 PointerGetDatum(construct_array(id, n, UUIDOID, UUID_LEN,
																 false, TYPALIGN_CHAR)))) == NULL)
		remote_pause(&waited);
	while (remote_items_next(posts, &post))
		for (int i = 0; i < n; i++)
			there[i] |= memcmp(item_uuid(&post, PROP_ID), &keys[i].key.post_id, UUID_LEN) == 0 &&
				memcmp(item_uuid(&post, PROP_USER_ID), &keys[i].key.user_id, UUID_LEN) == 0 &&
				item_date(&post) == keys[i].key.creation_date;
	for (int i = 0; i < n; i++)
		if (!there[i])
			gone[n_gone++] = keys[i].key;
	return n_gone;
}

/*
 * Check copies on this node whose posts are on other nodes, and refresh those
 * without a post. Usually the node that had a post reports its deletion; it
 * cannot if it has lost its slot.
 */
void
copies_look_elsewhere(const PostKey *keys, int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore copies of posts elsewhere",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	KeyElsewhere *elsewhere = palloc(sizeof(KeyElsewhere) * n);
	PostKey    *gone = palloc(sizeof(PostKey) * n);
	PostKey    *here = palloc(sizeof(PostKey) * n);
	int			n_here = 0;
	int			n_elsewhere = 0;
	int			n_gone = 0;
	int			count;

	for (int i = 0; i < n; i++)
	{
		Shard		shard;

		container_hold(CONTAINER_POSTS, &keys[i].post_id, &shard);
		if (OidIsValid(shard.table))
		{
			here[n_here++] = keys[i];	/* they have arrived since */
			continue;
		}
		elsewhere[n_elsewhere].group = shard.group;
		elsewhere[n_elsewhere++].key = keys[i];
	}
	n_elsewhere = sort_keys(elsewhere, n_elsewhere);
	for (int done = 0; done < n_elsewhere; done += count)
	{
		count = count_of_call(elsewhere + done, n_elsewhere - done);
		n_gone += gather_without_posts(gone + n_gone, elsewhere + done, count);
	}
	copies_pass_on(gone, n_gone);
	copies_deliver(here, n_here);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ------------------------------------------------------------------------
 * Receiving
 * ------------------------------------------------------------------------ */

/* Read a copy and its key from a row. Errors: 22004. */
static void
read_row(BlogItem *post, PostKey *key, HeapTupleHeader row, TupleDesc desc)
{
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};

	remote_item_of_row(post, ITEM_POST, desc, &tuple);
	if (post->isnull[PROP_ID] || post->isnull[PROP_USER_ID] ||
		post->isnull[PROP_CREATION_DATE])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a copy of a post must have an id, a user_id and a creation_date"),
				 errhint("Only other nodes of the cluster call this function.")));
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(post, PROP_ID);
	key->user_id = *item_uuid(post, PROP_USER_ID);
	key->creation_date = item_date(post);
}

/*
 * Write a received copy, or (touch) log its key for this node's worker.
 * Returns the end of the log message.
 */
static XLogRecPtr
take_in(const PostKey *key, const BlogItem *post, bool touch)
{
	if (touch)
		return compat_log_message(TOUCH_MARK, (const char *) key, sizeof(*key));
	copies_put(key, post->isnull[PROP_TITLE] ? NULL : post);
	return InvalidXLogRecPtr;
}

/* Rows that another node has sent. */
typedef struct SentRows
{
	ArrayType  *rows;
	Container	container;		/* container whose shards take the keys */
	bool		all;			/* all of these shards are on this node */
} SentRows;

/*
 * Write received rows, stopping at the first whose shard is not on this node.
 */
static void
take_rows(void *arg)
{
	SentRows   *sent = arg;
	Container	container = sent->container;
	Oid			type = ARR_ELEMTYPE(sent->rows);
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum	   *row;
	bool	   *isnull;
	int			n;
	XLogRecPtr	touched = InvalidXLogRecPtr;

	deconstruct_array(sent->rows, type, -1, false, TYPALIGN_DOUBLE, &row, &isnull,
					  &n);
	for (int i = 0; i < n && sent->all; i++)
	{
		BlogItem	post;
		PostKey		key;

		if (isnull[i])
			continue;
		read_row(&post, &key, DatumGetHeapTupleHeader(row[i]), desc);
		sent->all = container_hold_here(container, key_in(container, &key));
		if (!sent->all)
			break;
		/* a new snapshot, to see what the previous row has written */
		PushActiveSnapshot(GetTransactionSnapshot());
		touched = take_in(&key, &post, container == CONTAINER_POSTS);
		PopActiveSnapshot();
	}
	/* when its transaction commits, the sender relies on these messages */
	if (touched != InvalidXLogRecPtr)
		XLogFlush(touched);
	ReleaseTupleDesc(desc);
}

/*
 * Serve put_copies() or touch_copies(). Returns false if a row belongs to
 * another node. If a worker has called the function directly, that is an error
 * instead.
 */
static bool
take_call(FunctionCallInfo fcinfo, Container container)
{
	bool		held = container_held_by_caller(true);
	SentRows	sent = {
		.rows = PG_GETARG_ARRAYTYPE_P(0),.container = container,.all = true
	};

	PG_TRY();
	{
		if (!held && container == CONTAINER_USERS)
			nodes_take(take_rows, &sent);
		else
			take_rows(&sent);
	}
	PG_FINALLY();
	{
		(void) container_held_by_caller(held);
	}
	PG_END_TRY();
	if (!sent.all && !held)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a shard of container \"%s\" is not on this node",
						container_table(container)),
				 errhint("The worker that sent the rows will send them to the node that has the shard."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return sent.all;
}

/*
 * blogstore.put_copies(copies): updates the copies of posts on this node, or
 * deletes those without title. Returns false if a copy's home is another node.
 * Only nodes of a cluster call this function.
 *
 * Locks: as a refresh by the worker, but not the views' lock. Errors: 22004,
 * 55000, 55P03.
 */
static Datum
put_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, CONTAINER_USERS));
}

/*
 * blogstore.touch_copies(copies): makes this node's worker refresh the copies
 * of the posts with these keys, wherever the copies are. Returns false if
 * another node has one of the posts. Only nodes of a cluster call this
 * function.
 *
 * Locks: none. Errors: 22004, 55000.
 */
static Datum
touch_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, CONTAINER_POSTS));
}
