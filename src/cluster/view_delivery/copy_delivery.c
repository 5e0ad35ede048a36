/*
 * copy_delivery.c
 *		Copies of posts on a cluster: each node sends the copies of its posts
 *		to the nodes that have the authors' shards of "users".
 *
 * A node sends copies by put_copies(), many in one call. It makes each copy
 * from the current post, so copies may be sent twice, and in any order. Until
 * its transaction ends, it keeps the shards of these posts locked
 * (container_hold_here()). So no other node can get such a post, change it and
 * send a newer copy.
 *
 * If a post was deleted and its shard was then moved, the old node decodes the
 * deletion. It sends the copy's key by touch_copies() to the node that has the
 * shard now. The worker of that node reads the key from its own WAL, and
 * refreshes the copy.
 *
 * The sender has taken the views' lock of its own node. The receiver does not
 * take the views' lock, so nodes cannot deadlock on these locks. What a worker
 * sends is committed on the other node when the call returns. If a copy cannot
 * be sent, the worker goes on, and sends the copy later (unsent_copies.c).
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

typedef enum Sending
{
	/* Copies are sent to the node that has the author's shard of "users". */
	SEND_COPIES,

	/* Keys of copies are sent to the node that has the post's shard. */
	SEND_KEYS
} Sending;

/* The most copies or keys that are sent in one call. */
#define COPIES_A_CALL 200

/*
 * The key of a copy. "group" is the groupid (in pg_dist_node) of the node to
 * which the copy or the key is sent.
 */
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
 * Sort keys by node, and remove duplicates. (If both a post and its counts
 * have changed, the caller passes its key twice.) Returns how many keys are
 * left.
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
 * Return how many keys at the beginning of a sorted array can be sent in one
 * call. All of them are for the same node.
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
 * Return a row of type blogstore.post_item, to be sent to another node.
 *
 * If "many" is NULL, the row is for touch_copies(), and contains only the key.
 * Otherwise the row is for put_copies(), and contains the copy, which is made
 * of a post that "many" reads. If there should be no copy, the title is NULL.
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

static const char *
receiver_of(Sending what)
{
	return what == SEND_COPIES ? "put_copies" : "touch_copies";
}

static Container
container_of(Sending what)
{
	return what == SEND_COPIES ? CONTAINER_USERS : CONTAINER_POSTS;
}

static const pg_uuid_t *
id_of(Sending what, const PostKey *key)
{
	return what == SEND_COPIES ? &key->user_id : &key->post_id;
}

/*
 * Call put_copies() or touch_copies() on a node, with n rows. Returns false if
 * the call failed.
 */
static bool
send_rows(OtherNode *other, Sending what, const Datum *row, int n)
{
	return node_send(other, psprintf("SELECT " BLOGSTORE_SCHEMA ".%s(%s)",
									 receiver_of(what), ship_literal(row, n)));
}

/*
 * Send rows to one node from the worker, all in one call. If this call fails,
 * send the rows one by one, because a single row may have made the call fail.
 * The keys of rows that could not be sent are stored in the table "unsent".
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
 * Send rows to one node from a backend, as a part of this transaction. If no
 * node accepts the call, because a shard is being moved, wait and call again.
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
 * Send copies, or only their keys, to one node.
 *
 * many: reads the posts of which copies are sent; NULL to send keys
 * keys: n keys, all for the same node
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
 * Send n copies, or only their keys. A copy is sent to the node that has the
 * author's shard of "users". A key is sent to the node that has the post's
 * shard. Locks: the shards in share mode until the transaction ends, so that
 * they are not moved.
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
 * Send copies of posts to other nodes, the nodes with the authors' shards of
 * "users". Posts that are not on this node are ignored.
 *
 * keys: the keys of the posts
 * n: in: the number of keys; out: the number of returned keys
 *
 * Returns the keys of copies that belong on this node, and so were not sent.
 * Locks: the shards of posts and authors in share mode, until the transaction
 * ends.
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
			/* another node has the post, and refreshes its copy */
			continue;
		if (container_hold_here(CONTAINER_USERS, &keys[i].user_id))
			here[n_here++] = keys[i];
		else
			elsewhere[n_elsewhere++].key = keys[i];
	}
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its posts.
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
 * Refresh the copies of n posts. The copies can be on any node. Posts that are
 * not on this node are ignored. Locks: the shards of posts and authors in
 * share mode, until the transaction ends.
 */
void
copies_deliver(const PostKey *keys, int n)
{
	keys = copies_ship(keys, &n);
	/*
	 * A shard may have been moved here while this transaction waited for
	 * locks. Only a new snapshot sees its copies.
	 */
	PushActiveSnapshot(GetTransactionSnapshot());
	copies_refresh(keys, n);
	PopActiveSnapshot();
}

/*
 * For each copy whose post is on another node, send the copy's key to that
 * node by touch_copies(). That node then refreshes the copy. Copies of posts
 * on this node are left to the caller.
 *
 * keys: the keys of n copies
 *
 * Locks: the shards of the posts in share mode, until the transaction ends.
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
 * Send to a node some of the copies that it still lacks. Their keys are in the
 * table "unsent". If a copy cannot be sent, its key is inserted into that
 * table again. The caller has taken the views' lock (views_lock()).
 */
void
copies_send_unsent(OtherNode *other)
{
	int			n;
	PostKey    *keys = unsent_take(other, &n);

	copies_pass_on(keys, n);
	copies_deliver(keys, n);
}

/*
 * Ask another node for the posts of n copies. In gone[], store the keys of the
 * copies whose post does not exist. Returns the number of these keys.
 *
 * keys: the keys of the copies. The other node has the shards of all these
 *	posts.
 *
 * If the worker cannot reach the node, all n keys are stored in gone[]. The
 * caller passes gone[] to copies_pass_on(), which keeps the keys in the table
 * "unsent" until the node can be reached. That node then checks the copies.
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
 * Check n copies on this node whose posts are on other nodes. If a post does
 * not exist, its copy is refreshed, which deletes the copy. Usually the post's
 * node has reported the deletion of the post. But the report is missing if the
 * worker of that node has lost its replication slot.
 *
 * keys: the keys of the copies
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
			/* the shard of the post is on this node now */
			here[n_here++] = keys[i];
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

/*
 * Read a copy and its key from a row that another node has sent. Errors:
 * 22004.
 */
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
 * Process one row that another node has sent.
 *
 * what: SEND_COPIES to write the copy; SEND_KEYS to write the key to WAL in a
 *	logical message, which this node's worker decodes
 *
 * Returns the WAL position after the message; InvalidXLogRecPtr if a copy was
 * written.
 */
static XLogRecPtr
take_in(Sending what, const PostKey *key, const BlogItem *post)
{
	if (what == SEND_KEYS)
		return compat_log_message(TOUCH_MARK, (const char *) key, sizeof(*key));
	copies_put(key, post->isnull[PROP_TITLE] ? NULL : post);
	return InvalidXLogRecPtr;
}

typedef struct SentRows
{
	ArrayType  *rows;
	Sending		what;

	/* whether this node has the shards of all rows */
	bool		all;
} SentRows;

/*
 * Process the rows that another node has sent. Stop at the first row whose
 * shard is not on this node, and set sent->all to false.
 *
 * arg: a pointer to a SentRows, which contains the rows
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
		/* Only a new snapshot sees what was written for the previous row. */
		PushActiveSnapshot(GetTransactionSnapshot());
		touched = take_in(what, &key, &post);
		PopActiveSnapshot();
	}
	/*
	 * Flush the logical messages, because the sender will not send the keys
	 * again.
	 */
	if (touched != InvalidXLogRecPtr)
		XLogFlush(touched);
	ReleaseTupleDesc(desc);
}

/*
 * Do the work of put_copies() and touch_copies(). If the shard of a row is not
 * on this node, the function returns false to a backend, which has called it
 * through serve_flag(), and throws an error to a worker. Errors: 55000.
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
 * blogstore.put_copies(copies): write the given copies of posts to this node's
 * shards of "users". If a given copy has no title, delete the copy. Returns
 * false if a copy belongs in a shard on another node. Only nodes of a cluster
 * call this.
 *
 * Locks: those of copies_put(), but not the views' lock. Errors: 22004, 55000,
 * 55P03.
 */
static Datum
put_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, SEND_COPIES));
}

/*
 * blogstore.touch_copies(copies): make this node's worker refresh the copies
 * of posts whose shards are on this node. The copies can be on any node. Only
 * the keys of the given rows are used. Returns false if the shard of one of
 * the posts is on another node. Only nodes of a cluster call this.
 *
 * Locks: none. Errors: 22004, 55000.
 */
static Datum
touch_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, SEND_KEYS));
}
