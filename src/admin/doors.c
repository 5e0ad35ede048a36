/*
 * doors.c
 *		What the extension's script needs of C to grant and to wrap the requests.
 *
 * Runs in backends; current_user_id() in parallel workers too.
 */
#include "postgres.h"

#include "compat.h"
#include "settings.h"

#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(blogstore_grant_for_site);
PG_FUNCTION_INFO_V1(blogstore_current_user_id);

/*
 * Run a GRANT out of an extension's script as if it were not in there
 * (recordExtensionInitPriv()). The server takes what a script grants for the
 * extension's own, and pg_dump leaves it out, since CREATE EXTENSION would bring it
 * back. But roles that held a request before an update are the site's, and CREATE
 * EXTENSION knows nothing of them. The script makes a function of SQL for this, and
 * drops it.
 */
Datum
blogstore_grant_for_site(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		in_script = creating_extension;

	PG_TRY();
	{
		creating_extension = false;
		if (SPI_connect() != SPI_OK_CONNECT ||
			SPI_execute(statement, false, 0) != SPI_OK_UTILITY ||
			SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "no such statement: %s", statement);
	}
	PG_FINALLY();
	{
		creating_extension = in_script;
	}
	PG_END_TRY();
	PG_RETURN_VOID();
}

/*
 * blogstore.current_user_id(required): the user in the setting of this name. It is
 * read from the library's own variable. While the library was not loaded anybody could
 * set anything of that name; the server has dropped what was set without the right
 * to it when it loaded the library, in order to call this.
 *
 * Returns NULL if there is none and none is required. Errors: 42501; 22004 required
 * is NULL.
 */
Datum
blogstore_current_user_id(PG_FUNCTION_ARGS)
{
	const char *id = blogstore_current_user;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("required must not be null"),
				 errhint("Pass a value for required.")));
	if (id != NULL && id[0] != '\0')
		return DirectFunctionCall1(uuid_in, CStringGetDatum(id));
	if (PG_GETARG_BOOL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("nobody is signed in"),
				 errhint("Set \"blogstore.current_user_id\" in this transaction, which takes the right to set it.")));
	PG_RETURN_NULL();
}
