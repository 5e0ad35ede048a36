/*
 * grants.c
 *		What the script of an update grants.
 *
 * The server takes what an extension's script grants for the extension's own, and
 * pg_dump leaves it out, since CREATE EXTENSION would bring it back. But roles that
 * held a request before an update are the site's, and CREATE EXTENSION knows
 * nothing of them.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "compat.h"

#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(blogstore_grant_for_site);

/*
 * Run a GRANT out of an extension's script as if it were not in there
 * (recordExtensionInitPriv()). The script makes a function of SQL for this,
 * and drops it.
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
