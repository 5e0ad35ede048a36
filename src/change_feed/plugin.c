/*
 * plugin.c
 *		The output plugin: turns decoded changes into feed messages.
 *
 * What matters are changes to post items and deltas of their counts (copies
 * may be out of date), inserts into the job queue, and what others than the
 * worker do to views and usernames: the tables are their owner's, who may write
 * to them directly. Comments and likes show in their post's counts, and the
 * worker's own writes to the views, and of what it folds, are marked with an
 * origin that is filtered out. A new
 * name for which the same transaction has just queued a job is left to the job.
 *
 * The plugin reads catalogs only, and only as of the decoded transaction.
 * Runs in the worker (or wherever the slot is decoded).
 */
#include "postgres.h"

#include "change_feed/change_feed.h"
#include "compat.h"
#include "counts/counts.h"
#include "invalidate.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "worker/worker.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "replication/logical.h"
#include "replication/origin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

typedef enum RelationRole
{
	ROLE_NONE,
	ROLE_POSTS,					/* a leaf of posts, of post items */
	ROLE_DELTAS,				/* a leaf of posts, of deltas of counts */
	ROLE_COPIES,				/* a leaf of users, of copies of posts */
	ROLE_USERS,					/* a leaf of users, of user items */
	ROLE_FEED,					/* the leaf of feed */
	ROLE_JOBS
} RelationRole;

typedef struct RoleEntry
{
	Oid			relid;
	RelationRole role;
	AttrNumber	id;				/* columns of posts, copies and deltas */
	AttrNumber	user_id;		/* ... and of users and jobs */
	AttrNumber	creation_date;
	AttrNumber	username;
	AttrNumber	kind;
	AttrNumber	post_id;		/* of deltas */
} RoleEntry;

/*
 * Of the transaction that is being decoded: who the last job to rename is for.
 * edit_user() queues it just before it writes the user, so one is enough.
 */
typedef struct PluginState
{
	bool		renaming;
	pg_uuid_t	renamed;
} PluginState;

/* What is known of relations; one decoding at a time in a process. */
static HTAB *roles = NULL;

static void
roles_invalidate(Oid relid)
{
	HASH_SEQ_STATUS seq;
	RoleEntry  *entry;

	if (roles == NULL)
		return;
	if (OidIsValid(relid))
	{
		(void) hash_search(roles, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&seq, roles);
	while ((entry = hash_seq_search(&seq)) != NULL)
		(void) hash_search(roles, &entry->relid, HASH_REMOVE, NULL);
}

static void
roles_create(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(RoleEntry)};

	if (roles != NULL)
		return;
	roles = hash_create("blogstore relation roles", 64, &ctl,
						HASH_ELEM | HASH_BLOBS);
	invalidation_listen(roles_invalidate);
}

/* A column by name and type; 0 if there is none. */
static AttrNumber
column(TupleDesc desc, const char *name, Property prop)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->atttypid == property_type(prop) &&
			strcmp(NameStr(att->attname), name) == 0)
			return i + 1;
	}
	return InvalidAttrNumber;
}

/* What a partition is to blogstore, by its container and type. */
static RelationRole
partition_role(Oid relid)
{
	Container	container;

	if (!table_container(relid, &container))
		return ROLE_NONE;
	switch (container)
	{
		case CONTAINER_POSTS:
			if (table_takes(relid, ITEM_POST))
				return ROLE_POSTS;
			return table_takes(relid, ITEM_DELTA) ? ROLE_DELTAS : ROLE_NONE;
		case CONTAINER_USERS:
			if (table_takes(relid, ITEM_POST))
				return ROLE_COPIES;
			return table_takes(relid, ITEM_USER) ? ROLE_USERS : ROLE_NONE;
		case CONTAINER_FEED:
			return ROLE_FEED;
	}
	return ROLE_NONE;
}

/* What a relation is to blogstore. */
static RelationRole
find_role(Relation relation)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(relation));

	if (schema == NULL || strcmp(schema, BLOGSTORE_SCHEMA) != 0)
		return ROLE_NONE;
	if (relation->rd_rel->relispartition)
		return partition_role(RelationGetRelid(relation));
	return strcmp(RelationGetRelationName(relation), "jobs") == 0 ?
		ROLE_JOBS : ROLE_NONE;
}

/* Has a relation the columns that its role needs? */
static bool
role_complete(const RoleEntry *entry)
{
	switch (entry->role)
	{
		case ROLE_POSTS:
		case ROLE_COPIES:
			return entry->id && entry->user_id && entry->creation_date;
		case ROLE_USERS:
			return entry->user_id && entry->username;
		case ROLE_JOBS:
			return entry->user_id && entry->kind;
		case ROLE_DELTAS:
			return entry->id && entry->post_id;
		default:
			return true;
	}
}

static const RoleEntry *
get_role(Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	TupleDesc	desc = RelationGetDescr(relation);
	RoleEntry  *entry = hash_search(roles, &relid, HASH_FIND, NULL);
	RoleEntry	fresh = {.relid = relid};

	if (entry != NULL)
		return entry;
	fresh.role = find_role(relation);
	fresh.id = column(desc, "id", PROP_ID);
	fresh.user_id = column(desc, "user_id", PROP_USER_ID);
	fresh.creation_date = column(desc, "creation_date", PROP_CREATION_DATE);
	fresh.username = column(desc, "username", PROP_USERNAME);
	fresh.kind = column(desc, "kind", PROP_TYPE);
	fresh.post_id = column(desc, "post_id", PROP_POST_ID);
	if (!role_complete(&fresh))
		fresh.role = ROLE_NONE;
	entry = hash_search(roles, &relid, HASH_ENTER, NULL);
	*entry = fresh;
	return entry;
}

static void
send_message(LogicalDecodingContext *ctx, const FeedMessage *message)
{
	OutputPluginPrepareWrite(ctx, true);
	appendBinaryStringInfo(ctx->out, (const char *) message, sizeof(*message));
	OutputPluginWrite(ctx, true);
}

static void
send_kind(LogicalDecodingContext *ctx, FeedMessageKind kind, bool later)
{
	FeedMessage message;

	memset(&message, 0, sizeof(message));
	message.kind = kind;
	message.later = later;
	send_message(ctx, &message);
}

/* Tell that the post of a tuple, whole or of its key only, is dirty. */
static void
send_post(LogicalDecodingContext *ctx, const RoleEntry *role, TupleDesc desc,
		  HeapTuple tuple, bool whole)
{
	FeedMessage message;
	bool		no_id;
	bool		no_user;
	bool		no_date;
	Datum		id = heap_getattr(tuple, role->id, desc, &no_id);
	Datum		user = heap_getattr(tuple, role->user_id, desc, &no_user);
	Datum		date = heap_getattr(tuple, role->creation_date, desc, &no_date);

	if (no_id || no_user || no_date)
	{
		/* one of another replica identity; a whole one is left out anyway */
		if (!whole)
			send_kind(ctx, FEED_RESET, role->role == ROLE_COPIES);
		return;
	}
	memset(&message, 0, sizeof(message));
	message.kind = FEED_POST;
	message.later = role->role == ROLE_COPIES;
	message.post.post_id = *DatumGetUUIDP(id);
	message.post.user_id = *DatumGetUUIDP(user);
	message.post.creation_date = DatumGetTimestampTz(date);
	send_message(ctx, &message);
}

/* A post or a copy of one was written, changed or deleted. */
static void
post_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			 TupleDesc desc, HeapTuple before, HeapTuple after)
{
	if (before != NULL)
		send_post(ctx, role, desc, before, false);
	if (after != NULL)
		send_post(ctx, role, desc, after, true);
	if (before == NULL && after == NULL)
		/* deleted without a replica identity */
		send_kind(ctx, FEED_RESET, role->role == ROLE_COPIES);
}

/* A delta was written, or deleted with or without its key in the WAL. */
static void
delta_changed(LogicalDecodingContext *ctx, const RoleEntry *role,
			  TupleDesc desc, HeapTuple delta, bool inserted)
{
	FeedMessage message;
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
		send_kind(ctx, FEED_RESET, false);
		return;
	}
	memset(&message, 0, sizeof(message));
	message.kind = FEED_COUNTS;
	message.more = inserted && !delta_is_stripe(DatumGetUUIDP(id));
	message.post.post_id = *DatumGetUUIDP(post_id);
	send_message(ctx, &message);
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

	if (!no_kind && !no_id && !VARATT_IS_EXTERNAL(DatumGetPointer(kind)) &&
		strcmp(TextDatumGetCString(kind), "rename") == 0)
	{
		state->renaming = true;
		state->renamed = *DatumGetUUIDP(id);
	}
	send_kind(ctx, FEED_JOB, false);
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
	FeedMessage message;
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
	memset(&message, 0, sizeof(message));
	message.kind = FEED_USER;
	message.post.user_id = *DatumGetUUIDP(id);
	send_message(ctx, &message);
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

static void
plugin_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			  Relation relation, ReorderBufferChange *change)
{
	TupleDesc	desc = RelationGetDescr(relation);
	const RoleEntry *role = get_role(relation);
	HeapTuple	before;
	HeapTuple	after;

	if (role->role == ROLE_NONE)
		return;
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
		case ROLE_FEED:
			send_kind(ctx, FEED_FEED, true);
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
		RelationRole role = get_role(relations[i])->role;

		if (role == ROLE_POSTS || role == ROLE_DELTAS || role == ROLE_COPIES)
			send_kind(ctx, FEED_RESET, role == ROLE_COPIES);
		else if (role == ROLE_FEED)
			send_kind(ctx, FEED_FEED, true);
	}
}

/* wait_for_views() leaves a mark in the WAL. */
static void
plugin_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			   XLogRecPtr lsn, bool transactional, const char *prefix,
			   Size size, const char *data)
{
	if (!transactional && strcmp(prefix, WAIT_MARK) == 0)
		send_kind(ctx, FEED_WAITED, false);
}

/* The worker's writes to the views carry this origin (views/apply.c). */
static bool
plugin_filter_origin(LogicalDecodingContext *ctx, RepOriginId origin)
{
	return origin == DoNotReplicateId;
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
