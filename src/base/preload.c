/*
 * preload.c
 *		The error of functions that need the library preloaded.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/preload.h"

bool		library_preloaded = false;

/* Errors: 55000, always. */
void
preload_missing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the blogstore library is not preloaded"),
			 errhint(PRELOAD_HINT)));
}
