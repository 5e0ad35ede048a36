/*
 * other_library.c
 *		A library blogstore of another version, for a server that has loaded it
 *		before blogstore was updated. OTHER_VERSION is its version. Without it,
 *		the library does not tell its version.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

#ifdef OTHER_VERSION
PG_FUNCTION_INFO_V1(blogstore_library_version);

PGDLLEXPORT Datum
blogstore_library_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(OTHER_VERSION));
}
#endif
