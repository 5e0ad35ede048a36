/*
 * invalidate.c
 *		The one relcache callback of blogstore: it tells whoever remembers
 *		something about tables.
 *
 * A process has room for ten such callbacks of all libraries and of the server
 * together (MAX_RELCACHE_CALLBACKS), and ends with a FATAL error when one more
 * is registered. Nothing else in blogstore may call
 * CacheRegisterRelcacheCallback().
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "container/container.h"

#include "utils/inval.h"

#define MAX_LISTENERS 8

static InvalidationListener listeners[MAX_LISTENERS];
static int	n_listeners = 0;

static void
tell_listeners(Datum arg, Oid relid)
{
	for (int i = 0; i < n_listeners; i++)
		listeners[i] (relid);
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
