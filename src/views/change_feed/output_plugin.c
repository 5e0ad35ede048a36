/*
 * output_plugin.c
 *		The output plugin: tells what a decoded change may make out of date.
 *
 * What matters are changes to post items and deltas of their counts (copies
 * may be out of date), inserts into the job queue, and what others than the
 * worker do to views and usernames: the tables are their owner's, who may write
 * to them directly. Comments and likes show in their post's counts, and the
 * worker's own writes to the views, and of what it folds, are marked with an
 * origin that is filtered out (storage/bookkeeping/own_writes.c). A new name for which the transaction has just
 * queued a job is left to the job.
 *
 * The plugin reads catalogs only, and only as of the decoded transaction.
 * Runs in the worker (or wherever the slot is decoded).
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
 * Of the transaction that is being decoded: who the last job to rename is for.
 * edit_user() queues it just before it writes the user, so one is enough.
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
 * Anything may be out of date after what was done to a table of a role; on a cluster, unless
 * counts alone may be, at other nodes too.
 */
static void
send_anything(LogicalDecodingContext *ctx, RelationRole role)
{
	Change change;

	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_ANYTHING;
	change.later = role == ROLE_COPIES;
	change.gone = role != ROLE_DELTAS;
	send_change(ctx, &change);
}

/*
 * The id of a post or a copy, from a tuple that is whole or has its key only. A post's is its
 * post_id too, which the key of one has on a cluster.
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
 * Tell that the post of a tuple is dirty, whole as it is now, or as it was, then of its key
 * only.
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
		/* one of another replica identity; a whole one is left out anyway */
		if (!whole)
			send_anything(ctx, role->role);
		return;
	}
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_POST;
	change.later = role->role == ROLE_COPIES;
	/* a copy that somebody has written may be of a post that is another node's */
	change.gone = !whole || role->role == ROLE_COPIES;
	change.post.post_id = *DatumGetUUIDP(id);
	change.post.user_id = *DatumGetUUIDP(user);
	change.post.creation_date = DatumGetTimestampTz(date);
	send_change(ctx, &change);
}

/* A post was deleted, or got another id: what counted on it may have been left. */
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
	change.post.post_id = *DatumGetUUIDP(id);
	send_change(ctx, &change);
}

/* A post or a copy of one was written, changed or deleted. */
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
		/* deleted without a replica identity */
		send_anything(ctx, role->role);
}

/* Is a whole delta one that counts nothing? */
static bool
delta_is_nothing(const RoleEntry *role, TupleDesc desc, HeapTuple delta)
{
	const AttrNumber counts[] = {role->comment_count, role->like_count};

	for (int i = 0; i < lengthof(counts); i++)
	{
		bool		isnull = true;
		Datum		count = (Datum) 0;

		/* the owner may have altered it for a while */
		if (AttributeNumberIsValid(counts[i]))
			count = heap_getattr(delta, counts[i], desc, &isnull);
		if (isnull || DatumGetInt64(count) != 0)
			return false;
	}
	return true;
}

/*
 * A delta was written, or deleted with or without its key in the WAL. The counter that a
 * post gets counts nothing at first, and its copies need not be looked at again for it.
 */
static void
delta_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			  TupleDesc desc, HeapTuple delta, bool inserted)
{
	Change change;
	bool		no_id = true;
	bool		no_post = true;
	Datum		id = (Datum) 0;
	Datum		post_id = (Datum) 0;

	if (delta != NULL)
	{
		id = heap_getattr(delta, role->id, desc, &no_id);
		post_id = heap_getattr(delta, role->post_id, desc, &no_post);
	}
	if (no_id || no_post)
	{
		send_anything(ctx, ROLE_DELTAS);
		return;
	}
	if (inserted && delta_is_counter(DatumGetUUIDP(id)) &&
		delta_is_nothing(role, desc, delta))
		return;
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_COUNTS;
	change.beside = !delta_is_counter(DatumGetUUIDP(id));
	change.more = inserted && change.beside &&
		!delta_is_stripe(DatumGetUUIDP(id));
	change.post.post_id = *DatumGetUUIDP(post_id);
	send_change(ctx, &change);
}

/* Is this the kind of a rename? A value that is stored outside of its row is none. */
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

/* A job was queued. */
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

/* Tell that what is here of a user has to follow. */
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
 * A user was changed: tell if the name was, or if that cannot be seen, unless
 * there is a job for it.
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
	/* one that is stored out of line is not what the requests have written */
	if (!no_name && !no_old_name &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(name)) &&
		!VARATT_IS_EXTERNAL(DatumGetPointer(old_name)) &&
		datum_image_eq(name, old_name, false, -1))
		return;
	send_user(ctx, id);
}

/*
 * A user was changed, or deleted, in a table that each node of a cluster has all of: the worker
 * sees to the items here.
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
 * A table was changed while its owner had altered it so that it cannot be told which item it
 * was. A name that was changed so stays on the user's items, for verify() to find.
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
						  change->action == REORDER_BUFFER_CHANGE_INSERT);
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

		if (role == ROLE_POSTS || role == ROLE_DELTAS || role == ROLE_COPIES)
			send_anything(ctx, role);
		else if (role == ROLE_FEED_VIEW)
			send_kind(ctx, CHANGE_FEED_VIEW, true);
	}
}

/*
 * wait_for_views() leaves a mark in the WAL, and touch_copies(), for another node of a cluster, the
 * key of a post. Anybody can write such messages (pg_logical_emit_message()): they say that something is to
 * be looked at, and not what it is.
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
		/* it may have gone from this node by the time that this is read */
		change.gone = true;
	}
	else
		return;
	send_change(ctx, &change);
}

/*
 * What the worker writes to the views, and when it folds, is not decoded. Its commit is, so such
 * a transaction begins and ends here without a change.
 */
static bool
plugin_filter_origin(LogicalDecodingContext *ctx, RepOriginId origin)
{
	return own_writes_have(origin);
}

/* Entry point: the callbacks of the plugin. */
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
