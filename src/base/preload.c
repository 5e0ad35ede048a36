/*
 * preload.c
 *		The version of the library, and the error "the library is not
 *		preloaded".
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/preload.h"

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(blogstore_library_version);

bool		library_preloaded = false;

/* Throw the error that the library is not preloaded. Errors: 55000. */
void
preload_missing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the blogstore library is not preloaded"),
			 errhint(PRELOAD_HINT),
			 err_fields(NULL, NULL, RULE_PRELOADED)));
}

/*
 * blogstore.library_version(): return the version of the library, such as
 * 1.0.2. The scripts of the extension compare its first two parts with their
 * own version.
 */
PGDLLEXPORT Datum
blogstore_library_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(BLOGSTORE_VERSION));
}
