/*
 * remembered_table.c
 *		Invalidates cached information when the table changes that it was read
 *		from.
 *
 * A cache becomes invalid before its information is read. It becomes valid
 * afterwards, unless an invalidation has arrived in between. So a change
 * during the reading is not lost, and an error leaves the cache invalid.
 * Reading may nest.
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
 * Relcache callback: invalidate the caches that depend on a table; InvalidOid:
 * invalidate all caches.
 */
static void
remembered_invalidate(Oid relid)
{
	for (Remembered *one = all; one != NULL; one = one->next)
		if (!OidIsValid(relid) || !OidIsValid(one->relid) ||
			one->relid == relid)
			remembered_forget(one);
}

/*
 * Add a cache to the list of caches that relcache invalidations reach. It
 * stays there for the life of the process.
 */
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
 * Mark a cache as invalid before the caller reads its information. relid: the
 * table on which the information depends; InvalidOid if it depends on all
 * tables. The caller passes the result to remembered_end().
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
 * Mark a cache as valid after the caller has read its information, unless an
 * invalidation has arrived since. began: the result of remembered_begin().
 */
void
remembered_end(Remembered *remembered, uint64 began)
{
	remembered->valid = remembered->changes == began;
}

/*
 * Mark a cache as invalid. If a caller is just reading its information,
 * remembered_end() will not make it valid.
 */
void
remembered_forget(Remembered *remembered)
{
	remembered->valid = false;
	remembered->changes++;
}
