/*
 * reference_users.c
 *		User items on a cluster, which are in a Citus reference table.
 *
 * User items are written by SQL statements, which Citus executes on all nodes
 * in one transaction. Readers read their own node's copy of the table, as they
 * read a leaf on a single server. If a user is renamed or deleted, the worker
 * of each node learns that from the change feed
 * (views/change_feed/output_plugin.c). It then renames or deletes the user's
 * posts, comments and likes on its node.
 *
 * Runs in backends, as the containers' owner; reference_users_follow() in the
 * worker.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "cluster/citus/citus.h"
#include "cluster/remote/remote.h"
#include "cluster/user_items/reference_users.h"
#include "model/user_changes/user_items_walk.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

NODE_FUNCTION(begin_user_deletion, "delete_user()");
NODE_FUNCTION(revive_user, "create_user()");
NODE_FUNCTION(deleting_users, "import()");

#define N_USER_ARGS 4

/*
 * Throw an error unless the table "user_items" is a reference table and
 * belongs to the containers' owner. Locks: AccessShareLock on the table.
 * Errors: 55000.
 */
static void
need_table(void)
{
	Oid			table = table_lookup(USER_ITEMS_TABLE);
	ShardMap	map;

	if (OidIsValid(table))
	{
		LockRelationOid(table, AccessShareLock);
		if (shard_map_read(&map, table) && map.everywhere &&
			shape_table_owner(table) == container_owner())
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("\"%s\" is not the table of users that create_containers() made on this cluster",
					USER_ITEMS_SQL),
			 errhint("Restore it as a reference table of the containers' owner, with a row for each user."),
			 err_fields(NULL, NULL, RULE_UNALTERED)));
}

/*
 * Run a statement on the table "user_items" by SPI. Returns the number of rows
 * found or changed.
 *
 * nargs: how many of user_id, username, creation_date and properties the
 *	statement has as parameters, in this order
 * user: the values of these parameters
 */
static uint64
run(const char *sql, int nargs, const BlogItem *user)
{
	Oid			types[N_USER_ARGS] = {UUIDOID, TEXTOID, TIMESTAMPTZOID, JSONBOID};
	const Property props[N_USER_ARGS] = {
		PROP_USER_ID, PROP_USERNAME, PROP_CREATION_DATE, PROP_PROPERTIES
	};
	Datum		value[N_USER_ARGS];
	char		nulls[N_USER_ARGS];
	Guard	   *guard;
	int			rc;

	for (int i = 0; i < nargs; i++)
	{
		value[i] = user->value[props[i]];
		nulls[i] = user->isnull[props[i]] ? 'n' : ' ';
	}
	need_table();
	table_require_served(table_lookup(USER_ITEMS_TABLE), true);
	guard = guard_enter();
	rc = SPI_execute_with_args(sql, nargs, types, value, nulls, false, 0);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(rc));
	guard_leave(guard);
	return SPI_processed;
}

static uint64
run_alone(const char *sql, int nargs, const BlogItem *user)
{
	uint64		rows;

	SPI_connect();
	rows = run(sql, nargs, user);
	SPI_finish();
	return rows;
}

/*
 * Call a function on all nodes that have shards, with a user's id as its only
 * argument. The calls belong to this transaction.
 */
static void
call_all(const char *name, const pg_uuid_t *user_id)
{
	LOCAL_FCINFO(call, 1);
	Oid			type = UUIDOID;
	bool		all;

	InitFunctionCallInfoData(*call, NULL, 1, InvalidOid, NULL, NULL);
	call->args[0].value = UUIDPGetDatum(user_id);
	call->args[0].isnull = false;
	remote_call_all(name, &type, call, true, &all);
}

/*
 * Insert a user. Returns false if a user with this id exists.
 *
 * own_id: whether the application has chosen the id. An earlier user may have
 *	had the same id. revive_user() then deletes that user's items.
 */
bool
reference_user_insert(const BlogItem *user, bool own_id)
{
	bool		inserted;

	PushActiveSnapshot(GetTransactionSnapshot());
	inserted = run_alone("INSERT INTO " USER_ITEMS_SQL
						 " (id, type, user_id, username, creation_date, properties)"
						 " VALUES ($1, 'user', $1, $2, $3, $4)"
						 " ON CONFLICT (user_id) DO NOTHING", 4, user) > 0;
	if (inserted && own_id)
		call_all("revive_user", item_uuid(user, PROP_ID));
	PopActiveSnapshot();
	return inserted;
}

/*
 * Copy a column of the first row that SPI has returned into a field of a user
 * item. The copy is allocated in the given memory context.
 */
static void
take_column(BlogItem *user, Property prop, int column, MemoryContext context)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0],
									  SPI_tuptable->tupdesc, column, &isnull);
	BlogItem	one;
	MemoryContext old = MemoryContextSwitchTo(context);

	item_init(&one, ITEM_USER);
	if (!isnull)
		item_set(&one, prop, value);
	item_copy(&one, &one);
	item_take(user, &one, prop);
	MemoryContextSwitchTo(old);
}

/*
 * Lock the table "usernames" for writes, before a user is renamed or deleted.
 * Citus lets only one transaction at a time modify a reference table.
 * create_user() writes "usernames" first and "user_items" second. Writing them
 * in the other order could cause a deadlock.
 */
static void
lock_names(void)
{
	(void) run_alone("SELECT username_key FROM " USERNAMES_SQL
					 " WHERE username_key = '' FOR UPDATE", 0, NULL);
}

/*
 * Lock the row of a user on all nodes, and read the user into *user. Returns
 * false if the user does not exist.
 *
 * change: for USER_DELETION, the row is locked FOR UPDATE, otherwise FOR NO
 *	KEY UPDATE. Unless it is USER_EDIT, the table "usernames" is locked first
 *	(lock_names()).
 */
bool
reference_user_lock(const pg_uuid_t *user_id, UserChange change, BlogItem *user)
{
	MemoryContext context = CurrentMemoryContext;
	BlogItem	wanted;
	bool		found;

	if (change != USER_EDIT)
		lock_names();
	item_init(&wanted, ITEM_USER);
	item_set(&wanted, PROP_USER_ID, UUIDPGetDatum(user_id));
	SPI_connect();
	found = run(change == USER_DELETION ?
				"SELECT user_id, username, creation_date, properties FROM "
				USER_ITEMS_SQL " WHERE user_id = $1 FOR UPDATE" :
				"SELECT user_id, username, creation_date, properties FROM "
				USER_ITEMS_SQL " WHERE user_id = $1 FOR NO KEY UPDATE",
				1, &wanted) > 0;
	if (found)
	{
		item_init(user, ITEM_USER);
		take_column(user, PROP_USER_ID, 1, context);
		item_set(user, PROP_ID, user->value[PROP_USER_ID]);
		take_column(user, PROP_USERNAME, 2, context);
		take_column(user, PROP_CREATION_DATE, 3, context);
		take_column(user, PROP_PROPERTIES, 4, context);
	}
	SPI_finish();
	return found;
}

/*
 * Write the name, date and properties of a user. The caller has called
 * reference_user_lock().
 */
void
reference_user_update(const BlogItem *user)
{
	(void) run_alone("UPDATE " USER_ITEMS_SQL
					 " SET username = $2, creation_date = $3, properties = $4"
					 " WHERE user_id = $1", 4, user);
}

/*
 * Delete a user from "user_items" and "usernames". The caller has called
 * reference_user_lock(). After the commit, all nodes hide the user's posts,
 * comments and likes, and begin to delete them.
 */
void
reference_user_delete(const BlogItem *user)
{
	const pg_uuid_t *id = item_uuid(user, PROP_ID);

	call_all("begin_user_deletion", id);
	PushActiveSnapshot(GetTransactionSnapshot());
	registry_release(user->value[PROP_USERNAME], id);
	(void) run_alone("DELETE FROM " USER_ITEMS_SQL " WHERE user_id = $1", 1, user);
	PopActiveSnapshot();
}

/*
 * Queue a job on this node for each of n users that were renamed or deleted on
 * some node. The job renames or deletes the user's posts, comments and likes
 * on this node. Called in the worker, in a transaction with an active
 * snapshot.
 */
void
reference_users_follow(const pg_uuid_t *users, int n)
{
	for (int i = 0; i < n; i++)
	{
		BlogItem	user;
		bool		there = user_find(&users[i], &user);

		job_queue_once(there ? JOB_RENAME : JOB_DELETION, &users[i]);
		if (!there)
			deleted_changed();
	}
}

/*
 * blogstore.begin_user_deletion(user_id): do this node's part of
 * delete_user(): hide the user's items, and queue a job that deletes them.
 * Errors: 55000.
 */
static Datum
begin_user_deletion(PG_FUNCTION_ARGS)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	deletion_begin(PG_GETARG_UUID_P(0));
	PopActiveSnapshot();
	PG_RETURN_BOOL(true);
}

/*
 * Finds jobs of kind ARRIVAL that have not yet checked all items of a shard
 * that was moved to this node. $1 is SWEEP_VIEWS, the phase after that check.
 */
static KeptPlan pending_arrivals_plan = {
	ON_JOBS,
	"SELECT 1 FROM " JOBS_SQL " WHERE kind = 'arrival' AND phase <> $1"
	" AND user_id <> pg_catalog.uuid '00000000-0000-0000-0000-000000000000'",
	1, {INT4OID}, NULL
};

/*
 * Return whether a shard that was moved to this node may still have items of
 * deleted users. The shard's former node may not have finished their deletion.
 * A job of kind ARRIVAL then finishes it (view_delivery/arrived_shards.c).
 */
static bool
shards_pending(void)
{
	Datum		views = Int32GetDatum(SWEEP_VIEWS);
	AppliedPosition position;

	applied_position_read(&position);

	/*
	 * position.layout stands for the shards from which the worker has built
	 * the views. It is 0 if the worker has not built the views yet.
	 */
	return (position.layout != 0 && position.layout != container_layout()) ||
		plan_run(&pending_arrivals_plan, &views, NULL, true) > 0;
}

/*
 * blogstore.revive_user(user_id): do this node's part of create_user() with an
 * id that the application has chosen. If an earlier user with that id has left
 * items on this node, delete these items. Errors: 40001, 55000.
 */
static Datum
revive_user(PG_FUNCTION_ARGS)
{
	const pg_uuid_t *user_id = PG_GETARG_UUID_P(0);

	deletion_claim(user_id);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (deleted_has(deleted_users(GetActiveSnapshot()), user_id))
		deletion_revive(user_id);
	else if (shards_pending())
	{
		/*
		 * The transaction's snapshot may be older than the move of a shard to
		 * this node. Such a snapshot does not see the shard's items.
		 */
		if (IsolationUsesXactSnapshot())
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access due to concurrent move of a shard"),
					 errhint("Retry the transaction.")));
		deletion_of_leftovers(user_id);
	}
	PopActiveSnapshot();
	PG_RETURN_BOOL(true);
}

/*
 * blogstore.deleting_users(): return the ids of the users whose items on this
 * node are being deleted. In the result rows, of type blogstore.like_item, all
 * other columns are NULL. Errors: 55000.
 */
static Datum
deleting_users(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		value[N_PROPERTIES] = {0};
	bool		isnull[N_PROPERTIES];
	pg_uuid_t  *ids;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	memset(isnull, true, sizeof(isnull));
	isnull[0] = false;
	PushActiveSnapshot(GetLatestSnapshot());
	ids = jobs_deleting(&n);
	for (int i = 0; ids != NULL && i < n; i++)
	{
		value[0] = UUIDPGetDatum(&ids[i]);
		tuplestore_putvalues(out->setResult, out->setDesc, value, isnull);
	}
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * Return the ids of the users whose items are being deleted on some node. The
 * list may contain an id more than once.
 */
List *
reference_users_being_deleted(void)
{
	const GroupCall call = {.name = "deleting_users"};
	List	   *ids = NIL;
	ListCell   *lc;

	foreach(lc, remote_groups())
	{
		RemoteItems *items = remote_group_items(lfirst_int(lc), ITEM_LIKE, &call);
		BlogItem	item;

		while (remote_items_next(items, &item))
		{
			pg_uuid_t  *id = palloc(sizeof(pg_uuid_t));

			*id = *item_uuid(&item, PROP_ID);
			ids = lappend(ids, id);
		}
	}
	return ids;
}
