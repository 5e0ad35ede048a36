/*
 * attached.c
 *		What of a table's definition runs code of the owner's when the table is
 *		written.
 *
 * All is told from the definition as the server has read it, without having the
 * server look into expressions, which evaluates some of them. Runs in any process.
 */
#include "postgres.h"

#include "guard/guard.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_index.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * The column whose NULLs an index leaves out, if that is all that its predicate says
 * (WHERE column IS NOT NULL); else 0. Read, and not evaluated.
 */
AttrNumber
index_leaves_out_nulls_of(Relation index)
{
	bool		isnull;
	Datum		predtext = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
									   Anum_pg_index_indpred, &isnull);
	NullTest   *test;

	if (isnull)
		return InvalidAttrNumber;
	test = stringToNode(TextDatumGetCString(predtext));
	return IsA(test, NullTest) && test->nulltesttype == IS_NOT_NULL &&
		!test->argisrow && IsA(test->arg, Var) ?
		((Var *) test->arg)->varattno : InvalidAttrNumber;
}

/* Does writing to an index run an expression, a predicate or an operator class? */
bool
index_is_attached(Relation index)
{
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
		(!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
		 index_leaves_out_nulls_of(index) == InvalidAttrNumber))
		return true;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		if (index->rd_opfamily[i] >= FirstNormalObjectId)
			return true;
	return false;
}

/* Has a table a column of a type that initdb has not made, such as a domain? */
bool
columns_are_attached(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->atttypid >= FirstNormalObjectId)
			return true;
	return false;
}

/* Has a table CHECK constraints, defaults or generated columns? */
bool
expressions_are_attached(Relation rel)
{
	TupleConstr *constr = rel->rd_att->constr;

	return constr != NULL && (constr->num_check > 0 || constr->num_defval > 0);
}
