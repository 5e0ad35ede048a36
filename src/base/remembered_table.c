/*
 * remembered_table.c
 *		Tells whether cached information about a table is still valid in this
 *		process.
 *
 * To fill a cache, a caller calls remembered_begin(), reads the information,
 * and calls remembered_end(). If an invalidation comes in between, or an error
 * occurs, the cache stays invalid.
 *
 * The invalidations are relcache invalidations (invalidation.c), which
 * standbys get, too. The server sends such an invalidation when a table's
 * definition changes. A transaction that changes a table's rows can send one
 * by CacheInvalidateRelcacheByRelid().
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "base/remembered_table.h"

static Remembered *all = NULL;

/*
 * Mark a cache as invalid. If a caller is between remembered_begin() and
 * remembered_end(), remembered_end() leaves the cache invalid.
 */
static void
remembered_forget(Remembered *remembered)
{
	remembered->valid = false;
	remembered->changes++;
}

/*
 * Relcache callback: invalidate all caches that depend on the table "relid".
 * If relid is InvalidOid, invalidate all caches.
 */
static void
remembered_invalidate(Oid relid)
{
	for (Remembered *one = all; one != NULL; one = one->next)
		if (!OidIsValid(relid) || !OidIsValid(one->relid) ||
			one->relid == relid)
			remembered_forget(one);
}

static void
remembered_list(Remembered *remembered)
{
	if (all == NULL)
		invalidation_listen(remembered_invalidate);
	remembered->next = all;
	remembered->listed = true;
	all = remembered;
}

/*
 * Mark a cache as invalid before the caller reads the information for it.
 * Returns a number that the caller passes to remembered_end() after reading.
 *
 * relid: the table on which the information depends; InvalidOid if it depends
 * on all tables.
 */
uint64
remembered_begin(Remembered *remembered, Oid relid)
{
	if (!remembered->listed)
		remembered_list(remembered);
	remembered->valid = false;
	if (remembered->relid != relid)
		remembered->changes++;
	remembered->relid = relid;
	return remembered->changes;
}

/*
 * Mark a cache as valid, after the caller has read the information for it. If
 * an invalidation has come since remembered_begin(), the cache stays invalid.
 *
 * began: the result of remembered_begin()
 */
void
remembered_end(Remembered *remembered, uint64 began)
{
	remembered->valid = remembered->changes == began;
}
