/*
 * copy_delivery.c
 *		Copies of posts on a cluster: sending them from the node that has the
 *		post to the author's home, the node that has the author's shard of
 *		users.
 *
 * A node refreshes the copies of its own posts only. Copies whose home is
 * another node are sent there by put_copies(), many in one call. A copy is
 * sent as its post is now, so order and repetition do not matter. Meanwhile
 * the sender holds the shards of the posts (container_hold_here()), so no
 * other node can have a newer post and send it.
 *
 * If a post was deleted and its shard has been moved since, the node that
 * decodes the deletion no longer has the shard. It sends the key of the copy
 * by touch_copies() to the node that has the shard. That node's worker reads
 * the key from its own WAL and refreshes the copy.
 *
 * The sender holds the views' lock of its own node, and the receiver takes no
 * such lock, so nodes never wait for each other in a circle. What a worker
 * sends is committed on the other node when the call returns. If a node does
 * not take a copy, the copy is sent later (unsent_copies.c), and nothing else
 * waits for it.
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

/* What is sent to another node. */
typedef enum Sending
{
	/* to the nodes that have their authors' shards */
	SEND_COPIES,

	SEND_KEYS					/* to the nodes that have the posts' shards */
} Sending;

/* The most copies or keys that are sent in one call. */
#define COPIES_A_CALL 200

/* The key of a copy, with the node group to which it, or its copy, is sent. */
typedef struct KeyElsewhere
{
	int			group;
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
 * Sort keys by node group, and remove duplicates: a post may be named both as
 * changed and as counted. Returns how many are left.
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

/*
 * Return how many of the sorted keys, from the first on, can be sent in one
 * call to one node.
 */
static int
count_of_call(const KeyElsewhere *keys, int n)
{
	int			count = 1;

	while (count < n && count < COPIES_A_CALL && keys[count].group == keys[0].group)
		count++;
	return count;
}

/*
 * Return a row that says what a copy should be, for put_copies(). A row
 * without a title says that there should be no copy. If many is NULL, the row
 * has only the key, for touch_copies().
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
 * Return the name of the SQL function that is called on the receiving node.
 */
static const char *
receiver_of(Sending what)
{
	return what == SEND_COPIES ? "put_copies" : "touch_copies";
}

/*
 * Return the container whose shards decide to which nodes something is sent.
 */
static Container
container_of(Sending what)
{
	return what == SEND_COPIES ? CONTAINER_USERS : CONTAINER_POSTS;
}

/* Return the id whose shard decides to which node a key or copy is sent. */
static const pg_uuid_t *
id_of(Sending what, const PostKey *key)
{
	return what == SEND_COPIES ? &key->user_id : &key->post_id;
}

/* Call a receiver on a node. Returns false if that failed. */
static bool
send_rows(OtherNode *other, Sending what, const Datum *row, int n)
{
	return node_send(other, psprintf("SELECT " BLOGSTORE_SCHEMA ".%s(%s)",
									 receiver_of(what), ship_literal(row, n)));
}

/*
 * Send rows to a node from the worker. Rows that the node does not take are
 * stored, and sent later. If the node answers but refuses all, they are sent
 * one by one, because one of them may have caused the error.
 */
static void
send_from_worker(Sending what, const KeyElsewhere *keys, const Datum *row, int n)
{
	OtherNode  *other = nodes_other(keys[0].group);
	bool		done = other != NULL && node_may_answer(other) &&
		send_rows(other, what, row, n);

	for (int i = 0; i < n && !done; i++)
		if (n == 1 || other == NULL || other->try_at != 0 ||
			!send_rows(other, what, &row[i], 1))
			unsent_add(keys[i].group, &keys[i].key);
	if (!done && other != NULL)
		node_lacks(other);
}

/*
 * Send rows to a node from a backend, in its transaction. They are sent again
 * while the node does not know yet that it has one of the shards.
 */
static void
send_from_backend(Sending what, const KeyElsewhere *keys, const Datum *row, int n)
{
	Oid			type = get_array_type(remote_row_type(ITEM_POST));
	Datum		rows = PointerGetDatum(ship_array(row, n));
	long		waited = 0;

	while (!remote_call_flag(receiver_of(what), id_of(what, &keys[0].key), type, rows))
		remote_pause(&waited);
}

/*
 * Send n copies or keys to one node. The copies are made of the posts that
 * many reads.
 */
static void
send_to_node(Sending what, ManyPosts *many, const KeyElsewhere *keys, int n)
{
	TupleDesc	desc = ship_desc();
	Datum	   *row = palloc(sizeof(Datum) * n);

	for (int i = 0; i < n; i++)
		row[i] = copies_row(many, &keys[i].key, desc);
	if (nodes_in_worker())
		send_from_worker(what, keys, row, n);
	else
		send_from_backend(what, keys, row, n);
}

/*
 * Find out to which nodes copies or keys have to be sent, and send them.
 * Locks: the shards that decide this are held until the transaction ends, so
 * that they are not moved.
 */
static void
send_all(Sending what, KeyElsewhere *keys, int n)
{
	ManyPosts  *many = what == SEND_COPIES ?
		many_posts_begin(GetActiveSnapshot()) : NULL;
	int			count;

	for (int i = 0; i < n; i++)
	{
		Shard		shard;

		container_hold(container_of(what), id_of(what, &keys[i].key), &shard);
		keys[i].group = shard.group;
	}
	n = sort_keys(keys, n);
	for (int sent = 0; sent < n; sent += count)
	{
		count = count_of_call(keys + sent, n - sent);
		send_to_node(what, many, keys + sent, count);
	}
	if (many != NULL)
		many_posts_end(many);
}

/*
 * Send the copies of this node's posts to their authors' nodes. Returns the
 * keys of the posts whose authors' node is this one, so that nothing was sent.
 * *n becomes their number.
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
			continue;			/* the node of the post refreshes the copy */
		if (container_hold_here(CONTAINER_USERS, &keys[i].user_id))
			here[n_here++] = keys[i];
		else
			elsewhere[n_elsewhere++].key = keys[i];
	}
	/*
	 * A new snapshot is needed, because posts may have arrived during the
	 * wait.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	send_all(SEND_COPIES, elsewhere, n_elsewhere);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	*n = n_here;
	return here;
}

/*
 * Refresh the copies with n keys, on the nodes that have them. Posts that are
 * on other nodes are skipped. Locks: holds the shards of posts and copies.
 */
void
copies_deliver(const PostKey *keys, int n)
{
	keys = copies_ship(keys, &n);
	/*
	 * A new snapshot is needed, because copies may have arrived during the
	 * wait.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	copies_refresh(keys, n);
	PopActiveSnapshot();
}

/*
 * Send the keys of posts that were deleted, or whose author or date changed,
 * to the nodes that have the shards of the keys now. Keys whose shards are on
 * this node are not sent. This function locks the shards of those keys against
 * moves. The caller calls copies_deliver() next, which reads them.
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
		send_all(SEND_KEYS, elsewhere, n_elsewhere);
	pfree(elsewhere);
}

/*
 * Send some of the copies that a node lacks, beginning where the last call
 * ended. Copies that it refuses are stored again. The caller holds the views'
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
 * Store in gone[] those of n keys that have no post, and return their number.
 * All posts would be on one node. If the worker cannot reach that node, all
 * keys are stored: send_from_worker() sends them later, and the node refreshes
 * the copies, whether the posts exist or not.
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
 * without a post. Usually the node that had a post reports its deletion, but
 * it cannot if it has lost its replication slot.
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
			here[n_here++] = keys[i];	/* the post has arrived since */
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

/* Read a copy and its key from a row that was sent. Errors: 22004. */
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
 * Write a copy that was sent, or log a key that was sent, for this node's
 * worker. Returns the end of the log message; InvalidXLogRecPtr for a copy.
 */
static XLogRecPtr
take_in(Sending what, const PostKey *key, const BlogItem *post)
{
	if (what == SEND_KEYS)
		return compat_log_message(TOUCH_MARK, (const char *) key, sizeof(*key));
	copies_put(key, post->isnull[PROP_TITLE] ? NULL : post);
	return InvalidXLogRecPtr;
}

/* Rows that another node has sent. */
typedef struct SentRows
{
	ArrayType  *rows;
	Sending		what;

	/* true if this node has the shards of all rows */
	bool		all;
} SentRows;

/*
 * Write the rows that were sent, up to the first whose shard is not on this
 * node.
 */
static void
take_rows(void *arg)
{
	SentRows   *sent = arg;
	Sending		what = sent->what;
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
		sent->all = container_hold_here(container_of(what), id_of(what, &key));
		if (!sent->all)
			break;
		/* The new snapshot shows what the previous row has written. */
		PushActiveSnapshot(GetTransactionSnapshot());
		touched = take_in(what, &key, &post);
		PopActiveSnapshot();
	}
	/*
	 * When the sender's transaction commits, the sender relies on these
	 * messages.
	 */
	if (touched != InvalidXLogRecPtr)
		XLogFlush(touched);
	ReleaseTupleDesc(desc);
}

/*
 * Serve put_copies() or touch_copies(). If this node lacks the shard of some
 * row, return false; if a worker has called the function directly, raise an
 * error instead.
 */
static bool
take_call(FunctionCallInfo fcinfo, Sending what)
{
	bool		held = container_held_by_caller(true);
	SentRows	sent = {
		.rows = PG_GETARG_ARRAYTYPE_P(0),.what = what,.all = true
	};

	PG_TRY();
	{
		if (!held && what == SEND_COPIES)
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
						container_table(container_of(what))),
				 errhint("The worker that sent the rows will send them to the node that has the shard."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return sent.all;
}

/*
 * blogstore.put_copies(copies): update the copies of posts on this node, or
 * delete those that are given without a title. Returns false if another node
 * has the shard of a copy. Only nodes of a cluster call this.
 *
 * Locks: those of a refresh by the worker, but not the views' lock. Errors:
 * 22004, 55000, 55P03.
 */
static Datum
put_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, SEND_COPIES));
}

/*
 * blogstore.touch_copies(copies): make this node's worker refresh all copies
 * of some posts, on all nodes. copies: keys of posts. Returns false if one of
 * the posts is on another node. Only nodes of a cluster call this.
 *
 * Locks: none. Errors: 22004, 55000.
 */
static Datum
touch_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, SEND_KEYS));
}
