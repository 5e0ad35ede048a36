/*
 * remembered_table.c
 *		Validity of cached information about a table.
 *
 * Information is read once and cached until the table's definition changes. A
 * change can arrive while the information is read, and reading can raise an
 * error. So the cache becomes invalid before reading, and valid afterwards
 * only if no change has arrived in between. Reading may nest.
 *
 * Changes arrive as relcache invalidations (invalidation.c), also on standbys.
 * A transaction that changes a table's rows can send one, too
 * (CacheInvalidateRelcacheByRelid()).
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "base/remembered_table.h"

static Remembered *all = NULL;

/*
 * Relcache callback: invalidate the caches that depend on a table's
 * definition. InvalidOid: invalidate all caches.
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
 * Add a cache to the list of those that are notified of changes, for the life
 * of the process.
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
 * Begin to read information that is valid until the definition of a table
 * changes; InvalidOid: of any table. Returns a number for remembered_end().
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
 * Mark the information as valid, unless the table has changed since
 * remembered_begin() returned began.
 */
void
remembered_end(Remembered *remembered, uint64 began)
{
	remembered->valid = remembered->changes == began;
}

/* Mark the information as invalid, even if it is just being read. */
void
remembered_forget(Remembered *remembered)
{
	remembered->valid = false;
	remembered->changes++;
}
