/*
 * output_plugin.c
 *		The output plugin. For each decoded change, the plugin reports the post
 *		or user that may now be out of date in the views.
 *
 * The plugin reports new jobs, and changes of posts and deltas. It also
 * reports writes of sessions other than the worker to copies, the feed and
 * usernames, because the owner may write to the tables directly.
 *
 * The plugin does not report
 *
 * - comments and likes, because their transaction also writes a delta;
 * - a new username if the same transaction has queued a rename job for the
 *   user;
 * - transactions in which the worker itself has written to the views or has
 *   added deltas to counters. The plugin recognizes these transactions by
 *   their replication origin (storage/bookkeeping/own_writes.c).
 *
 * The plugin reads only catalogs, with the historic snapshot of the decoded
 * transaction. Runs in the worker, or in a backend that decodes the slot by
 * SQL.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/change_feed/decoded_changes.h"

#include "access/htup_details.h"
#include "replication/logical.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

/*
 * The last rename job that the decoded transaction has queued. The plugin need
 * not remember earlier rename jobs, because edit_user() queues a job and then
 * writes the user at once.
 *
 * renaming: whether there is such a job
 * renamed: the id of the user that the job renames
 */
typedef struct PluginState
{
	bool		renaming;
	pg_uuid_t	renamed;
} PluginState;

static void
send_change(LogicalDecodingContext *ctx, const Change *change)
{
	OutputPluginPrepareWrite(ctx, true);
	appendBinaryStringInfo(ctx->out, (const char *) change, sizeof(*change));
	OutputPluginWrite(ctx, true);
}

static void
send_kind(LogicalDecodingContext *ctx, ChangeKind kind, bool later)
{
	Change change;

	memset(&change, 0, sizeof(change));
	change.kind = kind;
	change.later = later;
	send_change(ctx, &change);
}

/*
 * Report that any copy and any row of the feed may be out of date. Called if
 * WAL does not tell which item was changed. If the changed table is not a
 * table of deltas or topics, also reports that any post may have been deleted
 * or moved to another node.
 *
 * role: the role of the changed table
 */
static void
send_anything(LogicalDecodingContext *ctx, RelationRole role)
{
	Change change;

	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_ANYTHING;
	change.later = role == ROLE_COPIES || role == ROLE_TOPICS;
	change.gone = role != ROLE_DELTAS && role != ROLE_TOPICS;
	send_change(ctx, &change);
}

/*
 * Return the post's id from a tuple of posts or copies. An old tuple has only
 * the columns of the replica identity. On a cluster, the replica identity of
 * posts has the column post_id instead of id. In a post, both have the same
 * value.
 */
static Datum
id_of(const RoleEntry *role, TupleDesc desc, HeapTuple tuple, bool *isnull)
{
	Datum		id = heap_getattr(tuple, role->id, desc, isnull);

	if (*isnull && role->role == ROLE_POSTS && role->post_id != InvalidAttrNumber)
		id = heap_getattr(tuple, role->post_id, desc, isnull);
	return id;
}

/*
 * Report that a post or copy was written.
 *
 * whole: true if the tuple is the new version, which has all columns; false if
 *     the tuple is the old version, which may have only the columns of the
 *     replica identity
 */
static void
send_post(LogicalDecodingContext *ctx, const RoleEntry *role, TupleDesc desc,
		  HeapTuple tuple, bool whole)
{
	Change change;
	bool		no_id;
	bool		no_user;
	bool		no_date;
	Datum		id = id_of(role, desc, tuple, &no_id);
	Datum		user = heap_getattr(tuple, role->user_id, desc, &no_user);
	Datum		date = heap_getattr(tuple, role->creation_date, desc, &no_date);

	if (no_id || no_user || no_date)
	{
		/*
		 * An old tuple lacks its id, author or date only if the owner has
		 * changed the replica identity of the table. A new tuple in which one
		 * of these is null is not a valid item, and no query shows it.
		 */
		if (!whole)
			send_anything(ctx, role->role);
		return;
	}
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_POST;
	change.later = role->role == ROLE_COPIES;

	/*
	 * A changed copy, like the old tuple of a post, does not tell whether the
	 * post is still on this node. So report that the post may be gone.
	 */
	change.gone = !whole || role->role == ROLE_COPIES;
	change.post.post_id = *DatumGetUUIDP(id);
	change.post.user_id = *DatumGetUUIDP(user);
	change.post.creation_date = DatumGetTimestampTz(date);
	send_change(ctx, &change);
}

/*
 * Report a post that was deleted or got another id. The worker then looks for
 * deltas that still have the post's old id.
 */
static void
send_counts_left(LogicalDecodingContext *ctx, const RoleEntry *role,
				 TupleDesc desc, HeapTuple post)
{
	Change		change;
	bool		no_id;
	Datum		id = id_of(role, desc, post, &no_id);

	if (no_id)
		return;
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_COUNTS;
	change.beside = true;
	change.post.post_id = change.item_id = *DatumGetUUIDP(id);
	send_change(ctx, &change);
}

static void
post_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			 TupleDesc desc, HeapTuple before, HeapTuple after)
{
	if (before != NULL)
	{
		send_post(ctx, role, desc, before, false);
		if (role->role == ROLE_POSTS)
			send_counts_left(ctx, role, desc, before);
	}
	if (after != NULL)
		send_post(ctx, role, desc, after, true);
	if (before == NULL && after == NULL)
		/* a delete from a table without a replica identity */
		send_anything(ctx, role->role);
}

/* Return whether a delta adds 0 to every count. */
static bool
delta_is_nothing(const RoleEntry *role, TupleDesc desc, HeapTuple delta)
{
	const AttrNumber counts[] = {role->comment_count, role->like_count};

	for (int i = 0; i < lengthof(counts); i++)
	{
		bool		isnull = true;
		Datum		count = (Datum) 0;

		/* the owner may have dropped the column or changed its data type */
		if (AttributeNumberIsValid(counts[i]))
			count = heap_getattr(delta, counts[i], desc, &isnull);
		if (isnull || DatumGetInt64(count) != 0)
			return false;
	}
	return true;
}

/*
 * Report an insert, update or delete of a delta. Does not report the insert of
 * a counter that adds 0 to every count. Does not report counters of comments,
 * and deletes of comments' deltas, because they leave the worker nothing to
 * fold.
 *
 * delta: the new tuple; for a delete, the old tuple; NULL if WAL lacks the old
 *     tuple
 */
static void
delta_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			  TupleDesc desc, HeapTuple delta, ReorderBufferChangeType action)
{
	Change change;
	bool		inserted = action == REORDER_BUFFER_CHANGE_INSERT;
	bool		no_id = true;
	bool		no_post = true;
	bool		no_item = true;
	Datum		id = (Datum) 0;
	Datum		post_id = (Datum) 0;
	Datum		item_id = (Datum) 0;

	if (delta != NULL)
	{
		id = heap_getattr(delta, role->id, desc, &no_id);
		post_id = heap_getattr(delta, role->post_id, desc, &no_post);
		item_id = heap_getattr(delta, role->item_id, desc, &no_item);
	}
	if (no_id || no_post || no_item)
	{
		send_anything(ctx, ROLE_DELTAS);
		return;
	}
	if ((delta_is_counter(DatumGetUUIDP(id)) ||
		 action == REORDER_BUFFER_CHANGE_DELETE) &&
		memcmp(DatumGetUUIDP(item_id), DatumGetUUIDP(post_id), UUID_LEN) != 0)
		return;
	if (inserted && delta_is_counter(DatumGetUUIDP(id)) &&
		delta_is_nothing(role, desc, delta))
		return;
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_COUNTS;
	change.beside = !delta_is_counter(DatumGetUUIDP(id));
	change.more = inserted && change.beside &&
		!delta_is_stripe(DatumGetUUIDP(id));
	change.post.post_id = *DatumGetUUIDP(post_id);
	change.item_id = *DatumGetUUIDP(item_id);
	send_change(ctx, &change);
}

/*
 * Return whether the kind of a job is "rename". Returns false if the kind is
 * TOASTed, because the plugin cannot read it. blogstore never writes a TOASTed
 * kind.
 */
static bool
is_rename(Datum kind)
{
	char	   *name;
	bool		result;

	if (VARATT_IS_EXTERNAL(DatumGetPointer(kind)))
		return false;
	name = TextDatumGetCString(kind);
	result = strcmp(name, "rename") == 0;
	pfree(name);
	return result;
}

static void
job_queued(LogicalDecodingContext *ctx, const RoleEntry *role, TupleDesc desc,
		   HeapTuple job)
{
	PluginState *state = ctx->output_plugin_private;
	bool		no_kind;
	bool		no_id;
	Datum		kind = heap_getattr(job, role->kind, desc, &no_kind);
	Datum		id = heap_getattr(job, role->user_id, desc, &no_id);

	if (!no_kind && !no_id && is_rename(kind))
	{
		state->renaming = true;
		state->renamed = *DatumGetUUIDP(id);
	}
	send_kind(ctx, CHANGE_JOB, false);
}

/*
 * Report that the username in items of a user may be out of date, because the
 * user was renamed or deleted.
 */
static void
send_user(LogicalDecodingContext *ctx, Datum user_id)
{
	Change		change;

	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_USERNAME;
	change.post.user_id = *DatumGetUUIDP(user_id);
	send_change(ctx, &change);
}

/*
 * Report an update of a user that may have changed the username. If the same
 * transaction has queued a rename job for the user, nothing is reported,
 * because the job updates the user's items.
 */
static void
user_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			 TupleDesc desc, HeapTuple before, HeapTuple after)
{
	const PluginState *state = ctx->output_plugin_private;
	bool		no_id;
	bool		no_name = true;
	bool		no_old_name = true;
	Datum		id = heap_getattr(after, role->user_id, desc, &no_id);
	Datum		name = heap_getattr(after, role->username, desc, &no_name);
	Datum		old_name = (Datum) 0;

	if (before != NULL)
		old_name = heap_getattr(before, role->username, desc, &no_old_name);
	if (no_id || (state->renaming && memcmp(DatumGetUUIDP(id), &state->renamed,
											UUID_LEN) == 0))
		return;

	/*
	 * The plugin cannot read TOASTed names. It reports the user if one of the
	 * two names is TOASTed. blogstore never writes a TOASTed name.
	 */
	if (!no_name && !no_old_name &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(name)) &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(old_name)) &&
		datum_image_eq(name, old_name, false, -1))
		return;
	send_user(ctx, id);
}

/*
 * Report an update or delete of a row in the table of users that every node of
 * a cluster has in full. The worker of each node then updates the items of
 * this user on its own node.
 */
static void
shared_user_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
				 TupleDesc desc, HeapTuple before, HeapTuple after)
{
	bool		no_id = true;
	Datum		id = (Datum) 0;

	if (after != NULL)
	{
		user_changed(ctx, role, desc, before, after);
		return;
	}
	if (before != NULL)
		id = heap_getattr(before, role->user_id, desc, &no_id);
	if (!no_id)
		send_user(ctx, id);
}

static void
plugin_startup(LogicalDecodingContext *ctx, OutputPluginOptions *options,
			   bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
	options->receive_rewrites = false;
	ctx->output_plugin_private = MemoryContextAllocZero(ctx->context,
														sizeof(PluginState));
	roles_create();
}

static void
plugin_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = ctx->output_plugin_private;

	state->renaming = false;
}

static void
plugin_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			  XLogRecPtr commit_lsn)
{
}

/*
 * Report a change of a table from which the owner has dropped a column that
 * the plugin needs. If the table holds users, reports nothing: verify() finds
 * usernames that are out of date.
 */
static void
incomplete_changed(LogicalDecodingContext *ctx, const RoleEntry *role)
{
	if (role->role == ROLE_POSTS || role->role == ROLE_COPIES ||
		role->role == ROLE_DELTAS)
		send_anything(ctx, role->role);
}

static void
plugin_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			  Relation relation, ReorderBufferChange *change)
{
	TupleDesc	desc = RelationGetDescr(relation);
	const RoleEntry *role = role_of(relation);
	HeapTuple	before;
	HeapTuple	after;

	if (role->role == ROLE_NONE)
		return;
	if (!role->complete)
	{
		incomplete_changed(ctx, role);
		return;
	}
	before = compat_old_tuple(change);
	after = compat_new_tuple(change);
	switch (role->role)
	{
		case ROLE_POSTS:
		case ROLE_COPIES:
			post_changed(ctx, role, desc, before, after);
			break;
		case ROLE_DELTAS:
			delta_changed(ctx, role, desc, after ? after : before,
						  change->action);
			break;
		case ROLE_USERS:
			if (change->action == REORDER_BUFFER_CHANGE_UPDATE && after != NULL)
				user_changed(ctx, role, desc, before, after);
			break;
		case ROLE_SHARED_USERS:
			if (change->action != REORDER_BUFFER_CHANGE_INSERT)
				shared_user_changed(ctx, role, desc, before, after);
			break;
		case ROLE_FEED_VIEW:
			send_kind(ctx, CHANGE_FEED_VIEW, true);
			break;
		case ROLE_TOPICS:
			send_anything(ctx, role->role);
			break;
		case ROLE_JOBS:
			if (change->action == REORDER_BUFFER_CHANGE_INSERT && after != NULL)
				job_queued(ctx, role, desc, after);
			break;
		case ROLE_NONE:
			break;
	}
}

static void
plugin_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				int nrelations, Relation relations[],
				ReorderBufferChange *change)
{
	for (int i = 0; i < nrelations; i++)
	{
		RelationRole role = role_of(relations[i])->role;

		if (role == ROLE_POSTS || role == ROLE_DELTAS ||
			role == ROLE_COPIES || role == ROLE_TOPICS)
			send_anything(ctx, role);
		else if (role == ROLE_FEED_VIEW)
			send_kind(ctx, CHANGE_FEED_VIEW, true);
	}
}

/*
 * Report the logical messages of wait_for_views() and touch_copies(). A
 * message of touch_copies() has the key of a post. Any user can write such
 * messages with pg_logical_emit_message(). So the worker never trusts a key in
 * a message. It only compares the post that has this key with the post's copy.
 */
static void
plugin_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			   XLogRecPtr lsn, bool transactional, const char *prefix,
			   Size size, const char *data)
{
	Change		change;

	if (transactional)
		return;
	memset(&change, 0, sizeof(change));
	change.message = true;
	if (strcmp(prefix, WAIT_MARK) == 0)
		change.kind = CHANGE_AWAITED;
	else if (strcmp(prefix, TOUCH_MARK) == 0 && size == sizeof(PostKey))
	{
		change.kind = CHANGE_POST;
		memcpy(&change.post, data, sizeof(PostKey));

		/* The post may have moved to another node since the message. */
		change.gone = true;
	}
	else
		return;
	send_change(ctx, &change);
}

/*
 * Skip the changes of transactions that have the worker's replication origin
 * (own_writes.c). The server still decodes the commits of these transactions.
 */
static bool
plugin_filter_origin(LogicalDecodingContext *ctx, CompatOrigin origin)
{
	return own_writes_have(origin);
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = plugin_startup;
	cb->begin_cb = plugin_begin;
	cb->change_cb = plugin_change;
	cb->truncate_cb = plugin_truncate;
	cb->message_cb = plugin_message;
	cb->commit_cb = plugin_commit;
	cb->filter_by_origin_cb = plugin_filter_origin;
}
