/*
 * attached.c
 *		Is code of the owner's attached to a table?
 *
 * The definition as the server has read it tells. Nothing is evaluated. Runs in
 * any process.
 */
#include "postgres.h"

#include "guard/guard.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_index.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * The column whose NULLs an index leaves out, if its predicate says nothing else
 * (WHERE column IS NOT NULL); otherwise 0.
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

/*
 * Has a table triggers, CHECK constraints, defaults, generated columns, or columns
 * of types that are not the server's? Its indexes are looked at by
 * index_is_attached().
 */
bool
code_is_attached(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->trigdesc != NULL ||
		(desc->constr != NULL &&
		 (desc->constr->num_check > 0 || desc->constr->num_defval > 0)))
		return true;
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->atttypid >= FirstNormalObjectId)
			return true;
	return false;
}
