/*
 * argument_checks.c
 *		Reading and checking the arguments of requests.
 *
 * Each error has a SQLSTATE and a hint, and is raised before the request
 * writes anything. Runs in backends; queries also run in parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/detoast.h"
#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

bool		request_is_part = false;

/*
 * Begin a request, and act as the containers' owner until owner_end().
 * "command" is the name of the command for error messages, or NULL for a
 * query.
 *
 * Errors: 25006 for a command on a standby, in a read-only transaction or in
 * parallel mode; 55000 if there are no containers.
 */
void
request_begin(OwnerScope *scope, const char *command)
{
	if (command != NULL)
	{
		need_writable(command);
		PreventCommandIfParallelMode(command);
	}
	container_require();
	owner_begin(scope);
}

static void
check_not_null(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name),
				 errhint("Pass a value for %s.", name),
				 err_fields(NULL, name, RULE_NOT_NULL)));
}

/* Return an argument that is an id, which must not be null. Errors: 22004. */
const pg_uuid_t *
need_uuid(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_UUID_P(arg);
}

/*
 * Return a copy of an argument that is an array of ids. The array must not be
 * null; its elements may be. Errors: 22004.
 */
ArrayType *
need_uuids(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_ARRAYTYPE_P_COPY(arg);
}

/* Raise an error (54000): a text is longer than MAX_TEXT_BYTES. */
void
text_too_long(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s is longer than %d MB", name, MAX_TEXT_MB),
			 errhint("A text has at most %d bytes.", MAX_TEXT_BYTES),
			 err_fields(NULL, name, RULE_MAX_LENGTH)));
}

static int64
text_bytes(Datum text)
{
	return (int64) toast_raw_datum_size(text) - VARHDRSZ;
}

static void
check_text_fits(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (text_bytes(PG_GETARG_DATUM(arg)) > MAX_TEXT_BYTES)
		text_too_long(name);
}

/*
 * Return an argument that is a text, detoasted. It must not be null. Errors:
 * 22004, 54000.
 */
Datum
need_text(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	check_text_fits(fcinfo, arg, name);
	return PointerGetDatum(PG_GETARG_TEXT_PP(arg));
}

/*
 * Return whether a title with this many bytes may be short enough. If so,
 * title_fits() counts its characters. If not, it is too long in any case.
 */
bool
title_may_fit(int64 bytes)
{
	return bytes <= MAX_TITLE_LENGTH * pg_database_encoding_max_length();
}

bool
title_fits(Datum title)
{
	text	   *data;

	if (!title_may_fit(text_bytes(title)))
		return false;
	data = DatumGetTextPP(title);
	return pg_mbstrlen_with_len(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data)) <=
		MAX_TITLE_LENGTH;
}

void
check_not_empty(Datum value, const char *name)
{
	if (VARSIZE_ANY_EXHDR(DatumGetPointer(value)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be empty", name),
				 errhint("Pass at least one character."),
				 err_fields(NULL, name, RULE_NOT_EMPTY)));
}

/*
 * Return an argument that is a title, detoasted. It must not be null, empty or
 * too long. Errors: 22004, 22023.
 */
Datum
need_title(FunctionCallInfo fcinfo, int arg)
{
	Datum		title;

	check_not_null(fcinfo, arg, "title");
	if (!title_fits(PG_GETARG_DATUM(arg)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("title is longer than %d characters", MAX_TITLE_LENGTH),
				 errhint("A longer text can be the beginning of the content."),
				 err_fields(NULL, "title", RULE_MAX_LENGTH)));
	title = PointerGetDatum(PG_GETARG_TEXT_PP(arg));
	check_not_empty(title, "title");
	return title;
}

/*
 * Return an argument that is a new username, with leading and trailing spaces
 * removed. Errors: 22004 if the argument is null; 22023 if it is not a valid
 * username.
 */
Datum
need_username(FunctionCallInfo fcinfo, int arg)
{
	Datum		username = (Datum) 0;
	const char *why = "is too long";
	const char *rule = RULE_MAX_LENGTH;

	check_not_null(fcinfo, arg, "username");
	if (has_name_key(PG_GETARG_DATUM(arg)))
	{
		username = username_trim(PG_GETARG_DATUM(arg));
		why = username_problem(username, &rule);
	}
	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("username %s", why),
				 errhint("A username has 1 to %d characters, of which one is visible and none is a control character.",
						 MAX_USERNAME_LENGTH),
				 err_fields(NULL, "username", rule)));
	return username;
}

/*
 * Return false if an argument is too long for a username, so that no user can
 * have this name. Errors: 22004 if the argument is null; 54000 if it is longer
 * than MAX_TEXT_BYTES.
 */
bool
may_be_username(FunctionCallInfo fcinfo, int arg)
{
	check_not_null(fcinfo, arg, "username");
	check_text_fits(fcinfo, arg, "username");
	return has_name_key(PG_GETARG_DATUM(arg));
}

/*
 * Set *id to the argument with the id of a new item. If the argument is null,
 * generate an id.
 */
void
get_id(FunctionCallInfo fcinfo, int arg, pg_uuid_t *id)
{
	if (PG_ARGISNULL(arg))
		new_id(id);
	else
		*id = *PG_GETARG_UUID_P(arg);
}

/*
 * Return the argument with the creation date of a new item. If the argument is
 * null, return the current time. Errors: 22023 if the date is infinite.
 */
TimestampTz
get_creation_date(FunctionCallInfo fcinfo, int arg)
{
	TimestampTz date;

	if (PG_ARGISNULL(arg))
		return GetCurrentTimestamp();
	date = PG_GETARG_TIMESTAMPTZ(arg);
	if (TIMESTAMP_NOT_FINITE(date))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("creation_date must be finite"),
				 errhint("Pass a point in time, or leave it out for now."),
				 err_fields(NULL, "creation_date", RULE_FINITE)));
	return date;
}

/*
 * Set *date to the argument publish_date. Returns false if the argument is
 * null. Errors: 22023 if the date is infinite.
 */
bool
get_publish_date(FunctionCallInfo fcinfo, int arg, TimestampTz *date)
{
	if (PG_ARGISNULL(arg))
		return false;
	*date = PG_GETARG_TIMESTAMPTZ(arg);
	if (TIMESTAMP_NOT_FINITE(*date))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("publish_date must be finite"),
				 errhint("Pass a point in time. To hide the post without a date, use hide_post()."),
				 err_fields(NULL, "publish_date", RULE_FINITE)));
	return true;
}

bool
get_flag(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_BOOL(arg);
}

void
set_modified(BlogItem *item)
{
	item_set(item, PROP_MODIFICATION_DATE,
			 TimestampTzGetDatum(GetCurrentTimestamp()));
}

/*
 * Return the argument page_size: the maximum number of rows, or -1 for no
 * limit. Errors: 22023 if it is below 1.
 */
int64
get_page_size(FunctionCallInfo fcinfo, int arg)
{
	if (PG_ARGISNULL(arg))
		return -1;
	if (PG_GETARG_INT32(arg) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("page_size must be at least 1"),
				 errhint("Pass NULL for all items."),
				 err_fields(NULL, "page_size", RULE_RANGE)));
	return PG_GETARG_INT32(arg);
}

/*
 * Read the arguments page_size, before_date, before_id and oldest_first into
 * *page.
 *
 * arg: number of the first of these arguments, counted from 0
 *
 * Errors: 22004 if oldest_first is null; 22023 if page_size is below 1, or if
 * only one of before_date and before_id is null.
 */
void
get_page(FunctionCallInfo fcinfo, int arg, ListPage *page)
{
	page->size = get_page_size(fcinfo, arg);
	if (PG_ARGISNULL(arg + 1) != PG_ARGISNULL(arg + 2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("before_date and before_id must be given together"),
				 errhint("Pass creation_date and id of the last row of the page before."),
				 err_fields(NULL, PG_ARGISNULL(arg + 1) ? "before_date" : "before_id",
							RULE_TOGETHER)));
	page->before.valid = !PG_ARGISNULL(arg + 1);
	if (page->before.valid)
	{
		page->before.date = PG_GETARG_TIMESTAMPTZ(arg + 1);
		page->before.id = *PG_GETARG_UUID_P(arg + 2);
	}
	page->oldest_first = get_flag(fcinfo, arg + 3, "oldest_first");
}

/*
 * Called after an insert has failed because of a duplicate key. Reads the item
 * that has the key, and adds up its counts if it is a post. Returns false if
 * the item has been deleted meanwhile; the caller then repeats the insert.
 *
 * post_id: the partition key
 * key, nkeys: the item's primary key
 *
 * Errors: 40001 under REPEATABLE READ and SERIALIZABLE if the transaction's
 * snapshot does not show the item.
 */
bool
find_conflicting(ItemType type, const pg_uuid_t *post_id, const Datum *key,
				 int nkeys, BlogItem *out)
{
	bool		found;

	CHECK_FOR_INTERRUPTS();
	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_get(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = type, .partition_key = post_id,
		.path = PATH_KEY, .key = key, .nkeys = nkeys
	}, out);
	if (found && type == ITEM_POST)
		post_add_up(out, GetActiveSnapshot());
	PopActiveSnapshot();
	if (!found && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent %s",
						item_noun(type)),
				 errhint("Retry the transaction.")));
	return found;
}

/*
 * Delete a post or comment whose author is being deleted, so that a new item
 * can have its id. Returns false, without deleting the item, if the author is
 * not being deleted.
 */
static bool
delete_hidden(ItemType type, const BlogItem *there)
{
	pg_uuid_t	post_id = *item_uuid(there, PROP_POST_ID);
	pg_uuid_t	author = *item_uuid(there, PROP_USER_ID);

	if (!author_being_deleted(there))
		return false;
	if (type == ITEM_POST)
		(void) post_delete(&post_id, &author, LockWaitBlock);
	else
	{
		const ChildKey key = child_key(type, there);

		(void) child_delete(&key, &author, LockWaitBlock);
	}
	return true;
}

/*
 * Called after an insert of a post or comment has failed because of a
 * duplicate key. Reads the item that has the key, as find_conflicting() does.
 * If the author of that item is being deleted, deletes the item and returns
 * false, so that the caller repeats the insert. Waits for transactions that
 * have a row lock on the item. Errors: those of find_conflicting().
 */
bool
find_conflicting_or_clear(ItemType type, const pg_uuid_t *post_id,
						  const Datum *key, int nkeys, BlogItem *out)
{
	return find_conflicting(type, post_id, key, nkeys, out) &&
		!delete_hidden(type, out);
}
