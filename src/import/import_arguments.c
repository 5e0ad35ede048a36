/*
 * import_arguments.c
 *		The SQL functions blogstore.import() and blogstore.import_documents(),
 *		and checks of their arguments.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "import/import.h"
#include "requests/requests.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "access/detoast.h"
#include "access/xact.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

SQL_FUNCTION(import_items);
SQL_FUNCTION(import_documents);

static const char *const rejects_column[] = {"type", "reason", "item"};

/*
 * Check the transaction and the argument "rejects". Errors: 25001 if the
 * transaction is not READ COMMITTED, 25006 if it is read-only; 42703, 42809 or
 * 42P01 if "rejects" is not a table with the columns for rejected items.
 */
static void
check_call(const char *command, Oid rejects)
{
	need_writable(command);
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a REPEATABLE READ or SERIALIZABLE transaction", command),
				 errhint("Use a READ COMMITTED transaction."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));
	if (OidIsValid(rejects))
		need_columns(rejects, "rejects", lengthof(rejects_column),
					 rejects_column);
}

enum
{
	/* Arguments 0 to 3 are the sources of users, posts, comments and likes. */
	ARG_REJECTS = ITEM_LIKE + 1,

	ARG_KEY_PREFIX,
	ARG_GUEST,
	ARG_CHANGED,
	ARG_EXTRA,
	ARG_FOLLOWS
};

/*
 * Run import() with the sources in arguments 0 to 3 and ARG_FOLLOWS. The
 * caller has stored all other arguments, except "rejects", in *import.
 */
static void
import_tables(Import *import, FunctionCallInfo fcinfo)
{
	Oid			source[N_IMPORTED] = {InvalidOid};

	if (!PG_ARGISNULL(ARG_REJECTS))
		import->rejects = PG_GETARG_OID(ARG_REJECTS);
	check_call("import()", import->rejects);
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
	{
		int			arg = t == ITEM_FOLLOW ? ARG_FOLLOWS : t;

		if (!has_source(t) || PG_ARGISNULL(arg))
			continue;
		source[t] = PG_GETARG_OID(arg);
		need_items(import, t, source[t]);
		if (t == ITEM_POST)
			import->schedules = source_has(t, source[t], STAGED_PUBLISH_DATE);
		import->left_out[t] = left_out_columns(import, t, source[t]);
	}
	extra_columns_need(import, source);
	import_begin(import, "import()");
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
		if (OidIsValid(source[t]))
			stage_table(import, t, source[t]);
	import_end(import, fcinfo);
}

/*
 * Return a text argument of the SQL function. Errors: 22004 if the argument is
 * NULL, 54000 if it is too long.
 */
static char *
need_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name),
				 errhint("Pass a value for %s, or leave it out.", name),
				 err_fields(NULL, name, RULE_NOT_NULL)));
	if ((int64) toast_raw_datum_size(PG_GETARG_DATUM(arg)) - VARHDRSZ >
		MAX_TEXT_BYTES)
		text_too_long(name);
	return TextDatumGetCString(PG_GETARG_DATUM(arg));
}

/*
 * blogstore.import(users, posts, comments, likes, rejects, key_prefix, guest,
 * changed, extra, follows): import items from tables.
 *
 * Errors: 0A000 for follows on a cluster; 22004, 22023; 23503 if the guest
 * does not exist; 23514 if items are rejected and "rejects" is NULL; 25001,
 * 25006, 40001, 42501, 42703, 42804, 42809, 42P01, 54000, 55000.
 *
 * Locks, to the end of the transaction: RowExclusiveLock on all leaves of
 * posts; row locks FOR KEY SHARE on existing posts that get comments or likes,
 * or whose comments are edited; row locks FOR NO KEY UPDATE on existing items
 * that are edited, and on users who get follows.
 */
static Datum
import_items(PG_FUNCTION_ARGS)
{
	Import		import = {0};
	char	   *changed = need_argument(fcinfo, ARG_CHANGED, "changed");

	import.update = strcmp(changed, "update") == 0;
	if (!import.update && strcmp(changed, "reject") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("changed must be reject or update"),
				 errhint("With update, existing items are changed to what the source says."),
				 err_fields(NULL, "changed", RULE_RANGE)));
	import.key_prefix = need_argument(fcinfo, ARG_KEY_PREFIX, "key_prefix");
	import.prefix_length = strlen(import.key_prefix);
	if (!PG_ARGISNULL(ARG_GUEST))
		import.guest = PG_GETARG_UUID_P(ARG_GUEST);
	if (!PG_ARGISNULL(ARG_EXTRA))
		extra_columns_get(&import, PG_GETARG_DATUM(ARG_EXTRA));
	import_tables(&import, fcinfo);
	return (Datum) 0;
}

/*
 * blogstore.import_documents(documents, rejects): import items from a table of
 * JSON documents. Errors and locks: those of import().
 */
static Datum
import_documents(PG_FUNCTION_ARGS)
{
	Import		import = {0};
	char	   *column;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("documents must not be null"),
				 errhint("Pass the name of a table or view."),
				 err_fields(NULL, "documents", RULE_NOT_NULL)));
	if (!PG_ARGISNULL(1))
		import.rejects = PG_GETARG_OID(1);
	check_call("import_documents()", import.rejects);
	column = need_documents(PG_GETARG_OID(0));
	import_begin(&import, "import_documents()");
	stage_documents(&import, PG_GETARG_OID(0), column);
	import_end(&import, fcinfo);
	return (Datum) 0;
}
