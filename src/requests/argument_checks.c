/*
 * argument_checks.c
 *		Checks of arguments, and the errors that requests raise.
 *
 * Each error has a SQLSTATE and a hint, and is raised before anything is
 * written. Runs in backends.
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
 * Begin a request: check that the containers exist and that a command may
 * write, and act as the containers' owner until owner_end(). command is NULL
 * for a query.
 *
 * Errors: 25006 on a standby or in a read-only transaction; 55000 if there are
 * no containers.
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

/* Return an id that must not be null. Errors: 22004. */
const pg_uuid_t *
need_uuid(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_UUID_P(arg);
}

/*
 * Return a list of ids that must not be null, as a copy. Elements may be null.
 * Errors: 22004.
 */
ArrayType *
need_uuids(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_ARRAYTYPE_P_COPY(arg);
}

/* Raise an error about a text that is too long. Errors: 54000. */
void
text_too_long(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s is longer than %d MB", name, MAX_TEXT_MB),
			 errhint("A text has at most %d bytes.", MAX_TEXT_BYTES),
			 err_fields(NULL, name, RULE_MAX_LENGTH)));
}

/* Return the length of a text in bytes, without detoasting it. */
static int64
text_bytes(Datum text)
{
	return (int64) toast_raw_datum_size(text) - VARHDRSZ;
}

/* Raise an error if a text is longer than MAX_TEXT_BYTES. */
static void
check_text_fits(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (text_bytes(PG_GETARG_DATUM(arg)) > MAX_TEXT_BYTES)
		text_too_long(name);
}

/* Return a text that must not be null, detoasted. Errors: 22004, 54000. */
Datum
need_text(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	check_text_fits(fcinfo, arg, name);
	return PointerGetDatum(PG_GETARG_TEXT_PP(arg));
}

/*
 * Return whether a title of this many bytes can have few enough characters.
 * Called before the title is detoasted.
 */
bool
title_may_fit(int64 bytes)
{
	return bytes <= MAX_TITLE_LENGTH * pg_database_encoding_max_length();
}

/* Return whether a title has at most MAX_TITLE_LENGTH characters. */
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

/* Check that a text is not empty. Errors: 22023. */
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

/* Return a title that must not be null or empty. Errors: 22004, 22023. */
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
 * Return a username that must not be null, without blanks at both ends.
 * Errors: 22004, 22023.
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
 * Return whether an argument is short enough to be a username or the key of
 * one. Errors: 22004 if it is null; 54000 if it is longer than MAX_TEXT_BYTES.
 */
bool
may_be_username(FunctionCallInfo fcinfo, int arg)
{
	check_not_null(fcinfo, arg, "username");
	check_text_fits(fcinfo, arg, "username");
	return has_name_key(PG_GETARG_DATUM(arg));
}

/*
 * Set *id to the id that the caller passed, or to a new one if that is null.
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
 * Return the date that the caller passed, or the current time if that is null.
 * Errors: 22023 if the date is infinite.
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

/* Return a boolean argument that must not be null. Errors: 22004. */
bool
get_flag(FunctionCallInfo fcinfo, int arg, const char *name)
{
	check_not_null(fcinfo, arg, name);
	return PG_GETARG_BOOL(arg);
}

/* Set the modification date of an item to the current time. */
void
set_modified(BlogItem *item)
{
	item_set(item, PROP_MODIFICATION_DATE,
			 TimestampTzGetDatum(GetCurrentTimestamp()));
}

/*
 * Read the arguments page_size, before_date, before_id and oldest_first, which
 * stand together from arg on. Errors: 22004 if oldest_first is null; 22023 if
 * page_size is below 1, or only one of before_date and before_id is given.
 */
void
get_page(FunctionCallInfo fcinfo, int arg, ListPage *page)
{
	page->size = PG_ARGISNULL(arg) ? -1 : PG_GETARG_INT32(arg);
	if (!PG_ARGISNULL(arg) && page->size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("page_size must be at least 1"),
				 errhint("Pass NULL for all items."),
				 err_fields(NULL, "page_size", RULE_RANGE)));
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
 * Read the item that has the key of a failed insert. A post is read with its
 * counts. Returns false if the item is gone; the caller then inserts again.
 * Errors: 40001 if the item was committed after the transaction's snapshot.
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
						item_type_name(type)),
				 errhint("Retry the transaction.")));
	return found;
}

/*
 * Delete a post or comment if its author is being deleted. Returns false if
 * not.
 */
static bool
delete_hidden(ItemType type, const BlogItem *there)
{
	pg_uuid_t	post_id = *item_uuid(there, PROP_POST_ID);
	pg_uuid_t	id = *item_uuid(there, PROP_ID);
	pg_uuid_t	author = *item_uuid(there, PROP_USER_ID);

	if (!author_being_deleted(there))
		return false;
	if (type == ITEM_POST)
		(void) post_delete(&post_id, &author, LockWaitBlock);
	else
		(void) child_delete(type, &post_id, &id, &author, LockWaitBlock);
	return true;
}

/*
 * Read the post or comment that has the key of a failed insert. If its author
 * is being deleted, delete it instead. Returns false if the key is free; the
 * caller then inserts again. Errors: 40001. Waits for transactions that have
 * the item locked.
 */
bool
find_conflicting_or_clear(ItemType type, const pg_uuid_t *post_id,
						  const Datum *key, int nkeys, BlogItem *out)
{
	return find_conflicting(type, post_id, key, nkeys, out) &&
		!delete_hidden(type, out);
}
