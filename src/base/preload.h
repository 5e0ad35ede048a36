/*
 * preload.h
 *		A macro that defines an SQL function. The function raises an error if
 *		the library is not preloaded.
 *
 * A session can also load the library by itself. This makes CREATE EXTENSION,
 * DROP EXTENSION, pg_restore and pg_upgrade work without
 * shared_preload_libraries. In such a session, the settings, hooks and shared
 * memory of blogstore do not exist. So every function that reads or writes
 * items, or concerns the worker, raises an error in such a session.
 */
#ifndef BLOGSTORE_PRELOAD_H
#define BLOGSTORE_PRELOAD_H

#include "base/compat.h"

#include "fmgr.h"

/* true if the postmaster loaded the library (shared_preload_libraries) */
extern bool library_preloaded;

#define PRELOAD_HINT \
	"Add blogstore to shared_preload_libraries, set wal_level = " COMPAT_DECODING_LEVEL ", and restart the server."

extern COMPAT_NORETURN void preload_missing(void);

/* Raise an error (55000) if the library is not in shared_preload_libraries. */
static inline void
need_preload(void)
{
	if (unlikely(!library_preloaded))
		preload_missing();
}

/*
 * Define an SQL function that raises an error (55000) if the library is not
 * preloaded. The function's body follows this macro. The extension's script
 * refers to the function by the symbol blogstore_NAME.
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
