/*
 * users.c
 *		C1 create or edit a user, Q1 retrieve a user; delete a user.
 *
 * Runs in backends; queries in parallel workers too.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

REQUEST_FUNCTION(create_user, REQUEST_CREATE_USER);
REQUEST_FUNCTION(edit_user, REQUEST_EDIT_USER);
REQUEST_FUNCTION(delete_user, REQUEST_DELETE_USER);
QUERY_FUNCTION(get_user, REQUEST_GET_USER, ITEM_USER,
			   .containers = "users");
QUERY_FUNCTION(get_user_by_name, REQUEST_GET_USER_BY_NAME, ITEM_USER,
			   .containers = "users");

static void
username_taken(Datum username)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("username \"%s\" is taken",
					TextDatumGetCString(username)),
			 errhint("Usernames are unique regardless of case; choose another.")));
}

/* Begin to write a user item; NULL on a cluster, where statements do. */
static ItemWriter *
open_user(const pg_uuid_t *user_id)
{
	return layout_is_spread() ? NULL :
		item_writer_open(CONTAINER_USERS, ITEM_USER, user_id);
}

static void
close_user(ItemWriter *writer)
{
	if (writer != NULL)
		item_writer_close(writer);
}

/*
 * Lock a user item; false if there is none. The caller closes the writer; on a cluster there
 * is none.
 */
static bool
lock_user(ItemWriter *writer, const pg_uuid_t *user_id, LockTupleMode mode,
		  BlogItem *user)
{
	Datum		key = UUIDPGetDatum(user_id);
	bool		found;

	if (writer == NULL)
		return everyone_lock(user_id, mode == LockTupleExclusive, user);
	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_writer_lock(writer, &key, 1, mode, LockWaitBlock,
							 user) == ITEM_OK;
	PopActiveSnapshot();
	return found;
}

/*
 * Is there a user with this id who is the one to create? Errors: 23505; 40001
 * if the transaction's snapshot is of before.
 */
static bool
user_is_there(const BlogItem *wanted, bool with_date, BlogItem *user)
{
	const pg_uuid_t *id = item_uuid(wanted, PROP_ID);
	bool		found = user_find_now(id, user);

	if (found &&
		(!item_same(user, wanted, PROP_USERNAME) ||
		 (!wanted->isnull[PROP_PROPERTIES] &&
		  !item_same(user, wanted, PROP_PROPERTIES)) ||
		 (with_date && !item_same(user, wanted, PROP_CREATION_DATE))))
		id_taken("user", id);
	if (found)
		check_not_anew(user);
	return found;
}

/*
 * Is a user with this id being deleted, as of now or in the snapshot that the
 * transaction keeps?
 */
static bool
user_is_going(const pg_uuid_t *id)
{
	bool		going;

	/* who was waited for may have told just now */
	AcceptInvalidationMessages();
	PushActiveSnapshot(GetLatestSnapshot());
	going = deleted_has(deleted_users(GetActiveSnapshot()), id);
	PopActiveSnapshot();
	if (!going && IsolationUsesXactSnapshot())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		going = deleted_has(deleted_users(GetActiveSnapshot()), id);
		PopActiveSnapshot();
	}
	return going;
}

/*
 * Claim the name, then write the item. own_id: the caller brought the id, which
 * somebody may have had before.
 *
 * From the moment at which the item is written nobody else can create or delete
 * a user with this id. So what is left of one who had it is looked for then, not
 * before, since the name and the id may have been waited for; and before triggers
 * fire, which may write items of the new user.
 */
static void
write_user(BlogItem *user, bool own_id, bool with_date)
{
	const pg_uuid_t *id = item_uuid(user, PROP_ID);
	Datum		username = user->value[PROP_USERNAME];
	BlogItem	there;
	ItemWriter *writer;
	bool		inserted;

	if (!registry_claim(username, id))
	{
		/* a concurrent call with the same values may have been faster */
		if (!user_is_there(user, with_date, &there))
			username_taken(username);
		*user = there;
		return;
	}
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = open_user(id);
	inserted = writer == NULL ? everyone_insert(user) :
		item_writer_insert(writer, user);
	if (inserted && own_id && writer == NULL)
		everyone_revive(id);
	else if (inserted && own_id && user_is_going(id))
		deletion_revive(id);
	close_user(writer);
	PopActiveSnapshot();
	if (!inserted)
		id_taken("user", id);
}

/*
 * C1: create a user. The name is claimed in the registry first, so that of
 * two creators of one name the second waits, and learns that it is taken.
 *
 * Errors: 22004, 22023, 23505, 25006, 40001, 55000. Locks: RowExclusiveLock on
 * the registry and on the leaf of users; if a user with this id is being
 * deleted, or a shard has just come, that job, and what is left of the user's items.
 */
static Datum
create_user(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	BlogItem	user;
	BlogItem	there;
	pg_uuid_t	id;
	Datum		username = need_username(fcinfo, 0);
	bool		own_id = !PG_ARGISNULL(1);
	bool		with_date = !PG_ARGISNULL(2);

	get_id(fcinfo, 1, &id);
	item_init(&user, ITEM_USER);
	item_set(&user, PROP_ID, UUIDPGetDatum(&id));
	item_set(&user, PROP_USER_ID, UUIDPGetDatum(&id));
	item_set(&user, PROP_USERNAME, username);
	item_set(&user, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 2)));
	(void) get_properties(fcinfo, 3, &user);

	request_begin(&scope, "create_user()");
	if (own_id && user_is_there(&user, with_date, &there))
		user = there;
	else
		write_user(&user, own_id, with_date);
	owner_end(&scope);
	return return_item(fcinfo, &user, ITEM_USER);
}

/* Write a locked user's other name, which is claimed in the registry first. */
static void
rename_user(ItemWriter *writer, const BlogItem *found, const BlogItem *user)
{
	const pg_uuid_t *id = item_uuid(user, PROP_ID);
	Datum		before = found->value[PROP_USERNAME];
	Datum		username = user->value[PROP_USERNAME];

	PushActiveSnapshot(GetTransactionSnapshot());
	if (!registry_same_name(username, before))
	{
		if (!registry_claim(username, id))
			username_taken(username);
		registry_release(before, id);
	}
	PopActiveSnapshot();
	if (writer != NULL)
		rename_begin(writer, user);
	else
		everyone_update(user);	/* and each node's worker sees it in the change feed */
}

/*
 * C1: edit a user: the name, properties or both; NULL keeps what is there. The user
 * item changes here; the items that carry the name are relabelled by a job.
 *
 * Errors: 22004, 22023, 23503, 23505, 25006, 40001, 55000. Locks: the user
 * item, FOR NO KEY UPDATE.
 */
static Datum
edit_user(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	BlogItem	found;
	BlogItem	user;
	ItemWriter *writer;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");
	BlogItem	wanted;
	bool		properties = get_properties(fcinfo, 2, &wanted);
	bool		name = !properties || !PG_ARGISNULL(1);

	if (name)
		item_set(&wanted, PROP_USERNAME, need_username(fcinfo, 1));
	request_begin(&scope, "edit_user()");
	writer = open_user(id);
	if (name && writer == NULL)
		everyone_lock_names();
	if (!lock_user(writer, id, LockTupleNoKeyExclusive, &found))
		unknown_item("user", id);
	item_copy(&user, &found);
	if (name)
		item_take(&user, &wanted, PROP_USERNAME);
	if (properties)
		item_take(&user, &wanted, PROP_PROPERTIES);
	if (!item_same(&user, &found, PROP_USERNAME))
		rename_user(writer, &found, &user);
	else if (!item_same(&user, &found, PROP_PROPERTIES))
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		if (writer != NULL)
			item_writer_update(writer, &user);
		else
			everyone_update(&user);
		PopActiveSnapshot();
	}
	close_user(writer);
	owner_end(&scope);
	return return_item(fcinfo, &user, ITEM_USER);
}

/*
 * Delete a user. From here on all of the user's items are hidden. Of most users
 * all are deleted here. Beyond 200, and of what others have locked or are writing,
 * they are left to a job.
 *
 * Returns whether there was one. Errors: 22004, 25006, 40001, 55000. Locks:
 * the user item, FOR UPDATE; the user's items and the posts that they are on, FOR
 * UPDATE, without waiting; the user's name in the registry and row in jobs.
 */
static Datum
delete_user(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	BlogItem	user;
	ItemWriter *writer;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");
	bool		found;

	request_begin(&scope, "delete_user()");
	writer = open_user(id);
	if (writer == NULL)
		everyone_lock_names();
	found = lock_user(writer, id, LockTupleExclusive, &user);
	if (found)
	{
		if (writer != NULL)
			deletion_begin(id);
		else
			everyone_begin_deletion(id);
		PushActiveSnapshot(GetTransactionSnapshot());
		registry_release(user.value[PROP_USERNAME], id);
		if (writer != NULL)
			item_writer_delete(writer);
		else
			everyone_delete(&user);
		PopActiveSnapshot();
	}
	close_user(writer);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/* Q1: retrieve a user by id. Errors: 22004, 55000. */
static void
get_user(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");

	query_ready(scan);
	query_one(scan, CONTAINER_USERS, id, &id, 1);
}

/*
 * Q1: retrieve a user by name, regardless of case. Errors: 22004, 54000, 55000.
 */
static void
get_user_by_name(RequestScan *scan, FunctionCallInfo fcinfo)
{
	OwnerScope	scope;
	pg_uuid_t	id;
	const pg_uuid_t *key = &id;
	bool		found = may_be_username(fcinfo, 0);

	request_begin(&scope, NULL);
	if (found)
		found = registry_lookup(PointerGetDatum(PG_GETARG_TEXT_PP(0)), &id);
	owner_end(&scope);
	query_ready(scan);
	if (found)
		query_one(scan, CONTAINER_USERS, key, &key, 1);
}
