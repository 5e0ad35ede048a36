/*
 * remembered_table.c
 *		Tells a process when a cache of information about a table is no longer
 *		valid.
 *
 * To fill a cache, its owner calls remembered_begin(), reads the information,
 * and calls remembered_end(). remembered_begin() marks the cache as invalid.
 * remembered_end() marks it as valid, unless an invalidation has arrived in
 * between. So a change during the reading is not lost, and an error leaves the
 * cache invalid.
 *
 * Invalidations arrive as relcache invalidations (invalidation.c), also on
 * standbys. The server sends one when a table's definition changes. A
 * transaction that changes a table's rows can send one by
 * CacheInvalidateRelcacheByRelid().
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "base/remembered_table.h"

static Remembered *all = NULL;

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
 * Mark a cache as valid, after the caller has read the information for it. The
 * cache stays invalid if an invalidation has arrived since remembered_begin().
 * "began" is the result of remembered_begin().
 */
void
remembered_end(Remembered *remembered, uint64 began)
{
	remembered->valid = remembered->changes == began;
}

/*
 * Mark a cache as invalid. If another function is filling the cache at this
 * moment, remembered_end() leaves the cache invalid.
 */
void
remembered_forget(Remembered *remembered)
{
	remembered->valid = false;
	remembered->changes++;
}
