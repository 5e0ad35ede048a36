/*
 * preload.h
 *		Defines SQL functions that raise an error unless the library is
 *		preloaded.
 *
 * The library can also be loaded by a session, so that CREATE EXTENSION, DROP
 * EXTENSION, pg_restore and pg_upgrade work without shared_preload_libraries.
 * _PG_init() then registers nothing, and there is no shared memory. Every
 * function that reads or writes items, or concerns the worker, therefore
 * raises an error in such a session.
 */
#ifndef BLOGSTORE_PRELOAD_H
#define BLOGSTORE_PRELOAD_H

#include "base/compat.h"

#include "fmgr.h"

/* true if the postmaster loaded the library (shared_preload_libraries) */
extern bool library_preloaded;

/* The hint of the errors that the library is not preloaded. */
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
 * Define an SQL function that needs the preload. The extension's script refers
 * to it by the symbol blogstore_NAME. The function's body follows this macro.
 * The macro makes the function raise an error (55000) if the library is not
 * preloaded.
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
