/*
 * users.c
 *		Requests for users: create and edit a user (C1), retrieve a user (Q1),
 *		and delete a user.
 *
 * request_list.h explains the codes C1 and Q1. Runs in backends; queries also
 * run in parallel workers.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "utils/builtins.h"
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
			 errhint("Usernames are unique regardless of case; choose another."),
			 err_fields(container_table(CONTAINER_USERS), "username",
						RULE_USERNAME_UNIQUE)));
}

/*
 * Look for a user with the id of "wanted", whom an earlier call of
 * create_user() may have created. Returns false if there is no such user.
 *
 * wanted: the values that were passed to create_user()
 * with_date: whether a creation date was passed
 * user: receives the user that was found
 *
 * Errors: 23505 if the user that was found differs from "wanted"; 40001 if an
 * earlier user with this id is still being deleted in the transaction's
 * snapshot.
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
		item_id_taken(ITEM_USER, id);
	if (found)
		check_not_recreated(user);
	return found;
}

/*
 * Register the username, then insert the user. If a concurrent transaction has
 * created the same user, set *user to that user. Errors: 23505 if another user
 * has the username or the id.
 *
 * own_id: whether the client has passed the id
 * with_date: whether the client has passed the creation date
 */
static void
insert_user(BlogItem *user, bool own_id, bool with_date)
{
	const pg_uuid_t *id = item_uuid(user, PROP_ID);
	Datum		username = user->value[PROP_USERNAME];
	BlogItem	there;

	if (!registry_claim(username, id))
	{
		if (!user_is_there(user, with_date, &there))
			username_taken(username);
		*user = there;
		return;
	}
	if (!user_insert(user, own_id))
		item_id_taken(ITEM_USER, id);
}

/*
 * create_user() (C1): register the username, and insert the user. Waits for a
 * concurrent transaction that registers the same name. Fails if that
 * transaction commits.
 *
 * Errors: 22004, 22023, 23505, 25006, 40001, 55000. Locks: RowExclusiveLock on
 * the table usernames and on the leaf of users. If a deleted user with this id
 * has left items: also row locks on these items and on the job that deletes
 * them.
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
		insert_user(&user, own_id, with_date);
	owner_end(&scope);
	return return_item(fcinfo, &user, ITEM_USER);
}

/*
 * If the username was changed, register the new name, and remove the old name
 * from the registry. Errors: 23505 if another user has the new name.
 *
 * found: the user before the change, locked by this transaction
 * user: the user after the change
 */
static void
change_names(const BlogItem *found, const BlogItem *user)
{
	const pg_uuid_t *id = item_uuid(user, PROP_ID);
	Datum		before = found->value[PROP_USERNAME];
	Datum		username = user->value[PROP_USERNAME];
	pg_uuid_t	holder;

	if (item_same(user, found, PROP_USERNAME) ||
		registry_same_name(username, before))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	/*
	 * registry_claim() fails if the registry has the new name already. That is
	 * no error if the name is registered for this user. A user should have
	 * only one name in the registry, but a second name does no harm.
	 */
	if (!registry_claim(username, id) &&
		!(registry_lookup(username, &holder) &&
		  memcmp(&holder, id, UUID_LEN) == 0))
		username_taken(username);
	registry_release(before, id);
	PopActiveSnapshot();
}

/*
 * edit_user() (C1): change a user's name or properties. A null argument leaves
 * the current value. If the name changes, the command also queues a job. The
 * worker then writes the new name to the user's posts, comments and likes.
 *
 * Errors: 22004, 22023, 23503, 23505, 25006, 40001, 55000. Locks: a row lock
 * (FOR NO KEY UPDATE) on the user item.
 */
static Datum
edit_user(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	UserWriter	writer;
	BlogItem	user;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");
	BlogItem	wanted = {0};
	bool		properties = get_properties(fcinfo, 2, &wanted);
	bool		name = !properties || !PG_ARGISNULL(1);

	if (name)
		item_set(&wanted, PROP_USERNAME, need_username(fcinfo, 1));
	request_begin(&scope, "edit_user()");
	if (!user_writer_lock(&writer, id, name ? USER_RENAME : USER_EDIT))
		unknown_item(ITEM_USER, id);
	item_copy(&user, &writer.user);
	if (name)
		item_take(&user, &wanted, PROP_USERNAME);
	if (properties)
		item_take(&user, &wanted, PROP_PROPERTIES);
	change_names(&writer.user, &user);
	user_writer_update(&writer, &user);
	user_writer_close(&writer);
	owner_end(&scope);
	return return_item(fcinfo, &user, ITEM_USER);
}

/*
 * delete_user(): delete a user with all posts, comments and likes. Returns
 * whether the user existed.
 *
 * From the commit on, no request returns items of the user. Under READ
 * COMMITTED, the command itself deletes about 200 of the user's posts,
 * comments and likes. It skips items that other transactions have locked. The
 * worker deletes all remaining items in a job, also those that concurrent
 * transactions commit later.
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: a row lock (FOR UPDATE) on the
 * user item; row locks on the user's rows of the tables usernames and jobs.
 * For each item that the command deletes, also the locks of delete_post(),
 * delete_comment() or delete_like(). The command does not wait for the locks
 * of such an item.
 */
static Datum
delete_user(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	UserWriter	writer;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");
	bool		found;

	request_begin(&scope, "delete_user()");
	found = user_writer_lock(&writer, id, USER_DELETION);
	if (found)
	{
		user_writer_delete(&writer);
		user_writer_close(&writer);
	}
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query get_user() (Q1), which returns the user with a given id.
 * Errors: 22004, 55000.
 */
static void
get_user(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "user_id");

	query_ready(scan);
	query_one(scan, CONTAINER_USERS, ITEM_USER, id, &id, 1);
}

/*
 * Begin the query get_user_by_name() (Q1), which returns the user with a given
 * name, regardless of case. Errors: 22004, 54000, 55000.
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
		found = registry_lookup(PG_GETARG_DATUM(0), &id);
	owner_end(&scope);
	query_ready(scan);
	if (found)
		query_one(scan, CONTAINER_USERS, ITEM_USER, key, &key, 1);
}
