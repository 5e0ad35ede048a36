/*
 * invalidation.c
 *		The one relcache callback of blogstore, and one for each catalog cache: they
 *		tell whoever remembers something about tables, roles, schemas or types.
 *
 * A process has room for ten relcache callbacks of all libraries and of the server
 * together (MAX_RELCACHE_CALLBACKS), and for 64 of catalog caches, and ends with a
 * FATAL error when one more is registered. Nothing else in blogstore may call
 * CacheRegisterRelcacheCallback() or CacheRegisterSyscacheCallback().
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
 * Between the two calls all caches are thrown away although no definition has
 * changed: nobody is told.
 */
void
invalidation_spare(bool spare)
{
	sparing = spare;
}

/*
 * Have a function called for each relation whose definition has changed, with
 * InvalidOid for all of them, as long as the process lives. It must not read
 * catalogs, nor raise errors (CacheRegisterRelcacheCallback()).
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
 * Have a function called for each change of a catalog, by the cache
 * (SysCacheIdentifier) of it, as long as the process lives.
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
