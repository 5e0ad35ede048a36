/*
 * invalidation.c
 *		Passes relcache and syscache invalidations to the caches of blogstore.
 *
 * In one process, the server and all libraries together can register ten
 * relcache callbacks (MAX_RELCACHE_CALLBACKS) and 64 syscache callbacks.
 * Registering one more ends the process with a FATAL error. So blogstore
 * registers only one relcache callback, and one callback for each syscache.
 * These callbacks call the listeners that other files have registered here. No
 * other file calls CacheRegisterRelcacheCallback() or
 * CacheRegisterSyscacheCallback().
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"

#include "utils/inval.h"

#define MAX_LISTENERS 12

static InvalidationListener listeners[MAX_LISTENERS];
static int	n_listeners = 0;
static bool sparing = false;

static void
tell_listeners(Datum arg, Oid relid)
{
	for (int i = 0; i < n_listeners && !sparing; i++)
		listeners[i] (relid);
}

/*
 * Suppress the calls of listeners for relcache invalidations (spare = true),
 * or allow such calls again (spare = false). The decoder of WAL suppresses the
 * calls while it resets all system caches. The reset calls every relcache
 * callback, although no relation has changed.
 */
void
invalidation_spare(bool spare)
{
	sparing = spare;
}

/*
 * Register a function that is called for each relcache invalidation, for the
 * life of the process. The function's argument is the OID of the relation;
 * InvalidOid means all relations. The function must not read catalogs or raise
 * errors (see CacheRegisterRelcacheCallback()).
 */
void
invalidation_listen(InvalidationListener listener)
{
	if (n_listeners == MAX_LISTENERS)
		elog(ERROR, "more than %d listen for invalidations", MAX_LISTENERS);
	if (n_listeners == 0)
		CacheRegisterRelcacheCallback(tell_listeners, (Datum) 0);
	listeners[n_listeners++] = listener;
}

typedef struct CacheListener
{
	int			cache;
	CatalogListener tell;
} CacheListener;

static CacheListener cache_listeners[MAX_LISTENERS];
static int	n_cache_listeners = 0;

static void
tell_cache_listeners(Datum arg, int cache, uint32 hash)
{
	for (int i = 0; i < n_cache_listeners; i++)
		if (cache_listeners[i].cache == cache)
			cache_listeners[i].tell();
}

/*
 * Register a function that is called for each invalidation of a syscache, for
 * the life of the process. The function must not read catalogs or raise
 * errors.
 *
 * cache: a SysCacheIdentifier
 */
void
invalidation_listen_catalog(int cache, CatalogListener listener)
{
	bool		registered = false;

	if (n_cache_listeners == MAX_LISTENERS)
		elog(ERROR, "more than %d listen for invalidations", MAX_LISTENERS);
	for (int i = 0; i < n_cache_listeners; i++)
		registered |= cache_listeners[i].cache == cache;
	if (!registered)
		CacheRegisterSyscacheCallback(cache, tell_cache_listeners, (Datum) 0);
	cache_listeners[n_cache_listeners].cache = cache;
	cache_listeners[n_cache_listeners++].tell = listener;
}
