/*
 * invalidation.c
 *		Dispatches relcache and syscache invalidations to the caches of
 *		blogstore.
 *
 * A process has room for ten relcache callbacks of the server and all
 * libraries together (MAX_RELCACHE_CALLBACKS) and for 64 syscache callbacks,
 * and ends with a FATAL error if another one is registered. Therefore
 * blogstore registers one relcache callback, and one callback per syscache,
 * and only this file calls CacheRegisterRelcacheCallback() and
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
 * Suppress relcache notifications, or end that. Called before and after all
 * caches are discarded although no definition has changed.
 */
void
invalidation_spare(bool spare)
{
	sparing = spare;
}

/*
 * Register a listener for the life of the process. It is called with the OID
 * of each relation whose definition has changed; InvalidOid: all relations. It
 * must not read catalogs or raise errors (see
 * CacheRegisterRelcacheCallback()).
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
 * Register a listener for the life of the process, which is called for each
 * change of the catalog behind a syscache. cache: SysCacheIdentifier. It must
 * not read catalogs or raise errors.
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
