/*
 * preload.h
 *		Declares SQL functions that run only if the library is preloaded.
 *
 * The library can be loaded without any settings, so that CREATE EXTENSION,
 * DROP EXTENSION, pg_restore and pg_upgrade work. If it is not in
 * shared_preload_libraries, _PG_init registers nothing and there is no shared
 * memory. All functions that read or write items, or concern the worker, then
 * raise an error.
 */
#ifndef BLOGSTORE_PRELOAD_H
#define BLOGSTORE_PRELOAD_H

#include "base/compat.h"

#include "fmgr.h"

/* true if the postmaster has loaded the library */
extern bool library_preloaded;

/* The hint of messages about a missing preload. */
#define PRELOAD_HINT \
	"Add blogstore to shared_preload_libraries, set wal_level = logical, and restart the server."

extern COMPAT_NORETURN void preload_missing(void);

/* Check that the library is preloaded. Errors: 55000. */
static inline void
need_preload(void)
{
	if (unlikely(!library_preloaded))
		preload_missing();
}

/*
 * Define an SQL function: blogstore_name() is its symbol in the script, and
 * name() its body, which follows in the file. Errors: 55000 if the library is
 * not preloaded.
 */
#define SQL_FUNCTION(name) \
	PG_FUNCTION_INFO_V1(blogstore_##name); \
	static Datum name(PG_FUNCTION_ARGS); \
	Datum \
	blogstore_##name(PG_FUNCTION_ARGS) \
	{ \
		need_preload(); \
		return name(fcinfo); \
	} \
	extern int	no_such_variable

#endif							/* BLOGSTORE_PRELOAD_H */
