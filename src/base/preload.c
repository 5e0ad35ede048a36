/*
 * preload.c
 *		Raises the error of functions that need the library to be preloaded.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/error_fields.h"
#include "base/preload.h"

bool		library_preloaded = false;

/*
 * Raise the error that blogstore is not in shared_preload_libraries. Errors:
 * 55000.
 */
void
preload_missing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the blogstore library is not preloaded"),
			 errhint(PRELOAD_HINT),
			 err_fields(NULL, NULL, RULE_PRELOADED)));
}
