/*
 * remembered_table.c
 *		What was read about a table is remembered until the table's definition
 *		changes.
 *
 * The change may come while the table is being read, and so may an error, after
 * which the process goes on. So what is remembered becomes invalid before the
 * reading and valid after it, unless a change came between; reading may nest.
 *
 * The server tells of changes by relcache invalidations (invalidation.c), which also
 * reach standbys. Who changes a table's rows can send one, too
 * (CacheInvalidateRelcacheByRelid()).
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "base/remembered_table.h"

static Remembered *all = NULL;

/* The definition of a table has changed, or of all tables (InvalidOid). */
static void
remembered_invalidate(Oid relid)
{
	for (Remembered *one = all; one != NULL; one = one->next)
		if (!OidIsValid(relid) || !OidIsValid(one->relid) ||
			one->relid == relid)
			remembered_forget(one);
}

/* Have what is remembered told of changes, as long as the process lives. */
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
 * Something is about to be read, which will be remembered until the definition of
 * a table changes (InvalidOid: of any table). Returns what remembered_end() takes.
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
 * What is to be remembered has been read. It holds if the table has not changed since
 * remembered_begin() returned began.
 */
void
remembered_end(Remembered *remembered, uint64 began)
{
	remembered->valid = remembered->changes == began;
}

/* What is remembered, or just being read to be, does not hold any more. */
void
remembered_forget(Remembered *remembered)
{
	remembered->valid = false;
	remembered->changes++;
}
