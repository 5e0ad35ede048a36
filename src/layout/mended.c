/*
 * mended.c
 *		Has a leaf or container that was left out been mended?
 *
 * left_out.c remembers them. When something about the containers has been altered,
 * the worker looks at each. Runs in the worker.
 */
#include "postgres.h"

#include "layout/cached.h"
#include "items/item.h"
#include "layout/layout.h"

#include "access/table.h"
#include "storage/lmgr.h"

/*
 * Is a leaf what it should be, and has it a path's index (N_PATHS: of none)? Not
 * waiting for who has it locked, which sets *busy.
 */
static bool
leaf_is_fine(CachedContainer *cc, const LeftOut *one, bool *busy)
{
	LayoutProblem *problem = NULL;
	CachedLeaf *leaf = leaf_find(cc, one->container, one->type, one->partition,
								 &problem);
	Relation	rel;
	bool		fine;

	if (leaf == NULL)
		return false;
	if (!ConditionalLockRelationOid(leaf->relid, AccessShareLock))
	{
		*busy = true;
		return false;
	}
	rel = try_table_open(leaf->relid, NoLock);
	fine = rel != NULL &&
		leaf_learn(cc, rel, one->container, one->type, one->partition, N_PATHS);
	*busy |= !fine;
	fine = fine && leaf->problem == NULL &&
		(one->path == N_PATHS || OidIsValid(leaf->index[one->path]));
	if (rel != NULL)
		table_close(rel, AccessShareLock);
	return fine;
}

static bool
is_mended(const LeftOut *one, void *busy)
{
	CachedContainer *cc;

	if (layout_problem(one->container, true, &cc) != NULL)
		return false;
	return one->partition == NO_PARTITION || leaf_is_fine(cc, one, busy);
}

/*
 * Has any leaf or container that was left out been mended? Those that have are
 * forgotten. *busy is set if one is locked by who may be mending it. In a
 * transaction.
 */
bool
left_out_mended(bool *busy)
{
	*busy = false;
	return left_out_forget_if(is_mended, busy);
}
