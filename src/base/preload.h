/*
 * preload.h
 *		Functions of SQL that run only where the library is preloaded.
 *
 * The library loads anywhere, so that CREATE EXTENSION, DROP EXTENSION, pg_restore and
 * pg_upgrade need no settings. Where shared_preload_libraries does not name it, _PG_init
 * registers nothing, and there is no shared memory: all functions that read or write items, or
 * concern the worker, refuse to run.
 */
#ifndef BLOGSTORE_PRELOAD_H
#define BLOGSTORE_PRELOAD_H

#include "base/compat.h"

#include "fmgr.h"

/* Set by _PG_init in the postmaster. */
extern bool library_preloaded;

/* What to set, for hints. */
#define PRELOAD_HINT \
	"Add blogstore to shared_preload_libraries, set wal_level = logical, and restart the server."

extern COMPAT_NORETURN void preload_missing(void);

/* Errors: 55000 unless the library is preloaded. */
static inline void
need_preload(void)
{
	if (unlikely(!library_preloaded))
		preload_missing();
}

/* A function of SQL: blogstore_name() in the script, name() below in the file. Errors: 55000. */
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
