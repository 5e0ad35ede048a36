/*
 * copy_delivery.c
 *		Copies of posts on a cluster: from the node that has the post to the one that is its
 *		author's home.
 *
 * A node refreshes the copies of the posts that it has, and of no others. Those whose
 * authors are at home elsewhere it sends there, all that go to one node in one call
 * of put_copies(). What is sent is what the post is now, so that neither
 * order nor repetition matters. Posts are held where they are meanwhile (shard_hold()): nobody
 * else can have sent what is newer.
 *
 * A post that is gone is refreshed by the node that would have it: if its shard has been moved since, the
 * node that is told by its change feed tells the other (touch_copies()), whose worker
 * reads of it in its own WAL.
 *
 * Whoever sends holds the views' lock of its own node, and who takes in what was sent takes none:
 * nodes do not wait for each other in a circle. A worker's call is committed there when it
 * returns; what a node does not take is sent later (unsent_copies.c), and keeps nothing else
 * waiting.
 *
 * Runs in the worker, in a backend for repair(), and where put_copies() has been sent to.
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

/* How many copies are sent in one call. */
#define COPIES_A_CALL 200

/* A key whose copy is another node's. */
typedef struct KeyElsewhere
{
	int			group;			/* of that node */
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

/* By groups, each key once: a batch may name a post as changed, and as counted. Returns how many. */
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

/* How many keys, from the first on, one call is about. */
static int
count_of_call(const KeyElsewhere *keys, int n)
{
	int			count = 1;

	while (count < n && count < COPIES_A_CALL && keys[count].group == keys[0].group)
		count++;
	return count;
}

/* What a copy should be (many NULL: not said), as a row; without a title: there should be none. */
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

/* Have a node take copies in, or touch them, by its worker; false: it has not. */
static bool
send_rows(const char *name, OtherNode *other, const Datum *row, int n)
{
	return node_send(other, psprintf("SELECT " BLOGSTORE_SCHEMA ".%s(%s)", name,
									 ship_literal(row, n)));
}

/*
 * Send copies, or keys, to a node from a worker: what it does not get it gets later. If it has
 * refused them, one may have been the reason.
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

/* Which key of a post decides where it is sent: of posts the post's, of users the author's. */
static const pg_uuid_t *
key_in(Container container, const PostKey *key)
{
	return container == CONTAINER_POSTS ? &key->post_id : &key->user_id;
}

/*
 * Send copies to a node, or, to the one that has the posts, the keys of some; false: that node
 * has not heard that a shard lies there.
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
 * Find out which node is home to the authors of keys, and send each its copies; or which has the
 * posts, and send it the keys.
 */
static void
send_all(Container container, KeyElsewhere *keys, int n)
{
	ManyPosts  *many = container == CONTAINER_USERS ?
		many_posts_begin(GetActiveSnapshot()) : NULL;
	long		waited = 0;
	int			sent = 0;

	/* shards are held, and stay where they are until the transaction ends */
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
 * Send the copies that keys name and whose authors are at home on other nodes. Returns the keys
 * that are left: posts that are here, with authors whose home is here.
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
			continue;			/* its copy is another node's to refresh */
		if (container_hold_here(CONTAINER_USERS, &keys[i].user_id))
			here[n_here++] = keys[i];
		else
			elsewhere[n_elsewhere++].key = keys[i];
	}
	/* so may posts have come */
	PushActiveSnapshot(GetTransactionSnapshot());
	send_all(CONTAINER_USERS, elsewhere, n_elsewhere);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	*n = n_here;
	return here;
}

/* Refresh the copies that keys name, on the nodes that they are on. */
void
copies_deliver(const PostKey *keys, int n)
{
	keys = copies_ship(keys, &n);
	/* a shard that was waited for may have come here, with copies that are younger than the snapshot */
	PushActiveSnapshot(GetTransactionSnapshot());
	copies_refresh(keys, n);
	PopActiveSnapshot();
}

/*
 * Posts that keys name are gone: of those whose shards are on other nodes, and were not when they
 * went, have the copies refreshed there. The others are held here from now on, for copies_deliver(),
 * which follows.
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
 * Send a node some of what it lacks, beginning behind what was sent last: what it refuses to take
 * comes back into the table. The caller holds the views' lock.
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
 * Looking elsewhere
 * ------------------------------------------------------------------------ */

/*
 * Of keys of posts of one node, gather those that have no post there. If the worker cannot reach that node, which
 * they are is that node's to say, when it gets them (send_or_remember()).
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
 * Of copies here, whose posts are on other nodes, have those refreshed whose posts are not there. A node tells
 * by its worker which posts were deleted; with a slot that was lost it has not told of some.
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
			here[n_here++] = keys[i];	/* they have come since */
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
 * Taking in
 * ------------------------------------------------------------------------ */

/* A copy, and its key, from a row. */
static void
read_row(BlogItem *post, PostKey *key, HeapTupleHeader row, TupleDesc desc)
{
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};

	remote_item_of_row(post, ITEM_POST, desc, &tuple);
	if (post->isnull[PROP_ID] || post->isnull[PROP_USER_ID] ||
		post->isnull[PROP_CREATION_DATE])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a copy of a post has to have an id, a user and a date"),
				 errhint("The worker writes the copies.")));
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(post, PROP_ID);
	key->user_id = *item_uuid(post, PROP_USER_ID);
	key->creation_date = item_date(post);
}

/*
 * Make the copy what a row is, or (touch) have the worker do so, which reads that in the WAL. Returns
 * up to where.
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
	Container	container;		/* in whose shards their keys are */
	bool		all;			/* are these shards all here? */
} SentRows;

/* Take in rows, as far as the first whose key is in a shard that is not here. */
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
		/* what the row before has written is to be found */
		PushActiveSnapshot(GetTransactionSnapshot());
		touched = take_in(&key, &post, container == CONTAINER_POSTS);
		PopActiveSnapshot();
	}
	/* the node that has sent them relies on it once its transaction is committed */
	if (touched != InvalidXLogRecPtr)
		XLogFlush(touched);
	ReleaseTupleDesc(desc);
}

/*
 * Take in rows by one of the two functions below. serve_flag() is told if they are not for this node;
 * for a worker, which calls them straight, that is an error.
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
				 errhint("The worker that has sent its rows finds out where it is."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return sent.all;
}

/*
 * blogstore.put_copies(copies): makes the copies of posts that are given what they are given as, or
 * deletes those that have no title; false if one is for a user whose home is elsewhere. For nodes
 * of a cluster alone.
 *
 * Locks: as a refresh by the worker, without the views' lock. Errors: 22004, 55000, 55P03.
 */
static Datum
put_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, CONTAINER_USERS));
}

/*
 * blogstore.touch_copies(copies): has this node's worker refresh the copies of posts, of which the keys
 * are given, wherever these copies are; false if one of the posts is another node's. For nodes of a
 * cluster alone.
 *
 * Locks: none. Errors: 22004, 55000.
 */
static Datum
touch_copies(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(take_call(fcinfo, CONTAINER_POSTS));
}
