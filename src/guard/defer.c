/*
 * defer.c
 *		Nothing of what the containers' owner has attached waits for the end of the
 *		transaction: it would then run with the caller's settings and names, as the
 *		caller, or from PostgreSQL 18 on as the owner.
 *
 * What the server itself checks may wait: foreign keys run no code but the
 * server's, as the owner of the table they look at.
 *
 * Runs in any process that writes items.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/inside.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

static ProcessUtility_hook_type previous_utility_hook = NULL;

/* Has this transaction said SET CONSTRAINTS ... DEFERRED? */
static bool deferring = false;

/* May not even foreign keys wait? */
static bool at_once = false;

/*
 * Has initdb made all operators that an attribute of a constraint lists, or where
 * relid is given, the types of all columns of that table which it lists?
 */
static bool
array_is_builtin(HeapTuple constraint, AttrNumber attribute, Oid relid)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(CONSTROID, constraint, attribute, &isnull);
	ArrayType  *array;

	if (isnull)
		return true;
	array = DatumGetArrayTypePCopy(value);
	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)); i++)
	{
		Oid			object = OidIsValid(relid) ?
			get_atttype(relid, ((int16 *) ARR_DATA_PTR(array))[i]) :
			((Oid *) ARR_DATA_PTR(array))[i];

		if (object >= FirstNormalObjectId)
			return false;
	}
	return true;
}

/* Does a foreign key's check run no operator or cast but the server's? */
static bool
foreign_key_is_plain(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	bool		plain;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	plain = form->contype == CONSTRAINT_FOREIGN &&
		array_is_builtin(tuple, Anum_pg_constraint_conpfeqop, InvalidOid) &&
		array_is_builtin(tuple, Anum_pg_constraint_conppeqop, InvalidOid) &&
		array_is_builtin(tuple, Anum_pg_constraint_conffeqop, InvalidOid) &&
		array_is_builtin(tuple, Anum_pg_constraint_conkey, form->conrelid) &&
		array_is_builtin(tuple, Anum_pg_constraint_confkey, form->confrelid);
	ReleaseSysCache(tuple);
	return plain;
}

/* Does checking a unique or exclusion constraint run nothing but the server's? */
static bool
index_is_plain(Oid relid)
{
	Relation	index;
	bool		plain;

	if (!OidIsValid(relid))
		return false;
	index = index_open(relid, AccessShareLock);
	plain = !index_is_attached(index);
	index_close(index, AccessShareLock);
	return plain;
}

/* May a trigger wait for the end of the transaction? */
static bool
may_wait(const Trigger *trigger)
{
	if (RI_FKey_trigger_type(trigger->tgfoid) != RI_TRIGGER_NONE)
		return foreign_key_is_plain(trigger->tgconstraint);
	return trigger->tgfoid == F_UNIQUE_KEY_RECHECK &&
		index_is_plain(trigger->tgconstrindid);
}

/*
 * Have the deferrable triggers of a leaf that is written fire when the statement
 * ends, whatever SET CONSTRAINTS says: in the executor's own copy of them
 * (AfterTriggerSaveEvent()). So do unique constraints, whose conflict is then the
 * request's; foreign keys may wait, as the owner has said, but for the worker
 * (defer_never()).
 */
void
defer_nothing(ResultRelInfo *rri)
{
	TriggerDesc *triggers = rri->ri_TrigDesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (trigger->tgdeferrable &&
			(at_once || trigger->tgfoid == F_UNIQUE_KEY_RECHECK ||
			 !may_wait(trigger)))
			trigger->tgdeferrable = trigger->tginitdeferred = false;
	}
}

/*
 * This process is the worker, whose writes have nothing to wait for: from now on not
 * even foreign keys are deferred.
 */
void
defer_never(void)
{
	at_once = true;
}

/* Is nothing deferred in this process, the worker? */
bool
defer_is_never(void)
{
	return at_once;
}

/* Errors: 42501 if a trigger of a table would be deferred. */
static void
check_triggers(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (trigger->tgdeferrable && (trigger->tginitdeferred || deferring) &&
			trigger->tgenabled != TRIGGER_DISABLED && !may_wait(trigger))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("deferred trigger \"%s\" on \"%s\" would run after blogstore's request",
							trigger->tgname, RelationGetRelationName(rel)),
					 errdetail("At the end of the transaction it would run with names and settings of the caller's."),
					 trigger->tginitdeferred ?
					 errhint("Make it NOT DEFERRABLE or INITIALLY IMMEDIATE.") :
					 errhint("Say SET CONSTRAINTS ALL IMMEDIATE before the call.")));
	}
}

/*
 * A statement of a trigger's, or of blogstore's own, is about to write to a table.
 * Errors: 42501 if one of the owner's triggers would be deferred.
 */
void
defer_check(Relation rel)
{
	ListCell   *lc;

	check_triggers(rel);
	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	/* a partition may have triggers of its own */
	foreach(lc, find_all_inheritors(RelationGetRelid(rel), AccessShareLock, NULL))
	{
		Relation	part = relation_open(lfirst_oid(lc), NoLock);

		check_triggers(part);
		relation_close(part, NoLock);
	}
}

/* The transaction has ended. */
void
defer_forget(void)
{
	deferring = false;
}

/* SET CONSTRAINTS, of which the server remembers what others cannot see. */
static void
watch_constraints(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				  ProcessUtilityContext utility_context, ParamListInfo params,
				  QueryEnvironment *query_env, DestReceiver *dest,
				  QueryCompletion *completion)
{
	Node	   *stmt = pstmt->utilityStmt;

	left_behind_check(stmt);
	if (previous_utility_hook != NULL)
		previous_utility_hook(pstmt, query, read_only_tree, utility_context,
							  params, query_env, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, utility_context,
								params, query_env, dest, completion);
	if (stmt == NULL || !IsA(stmt, ConstraintsSetStmt))
		return;
	if (((ConstraintsSetStmt *) stmt)->deferred)
		deferring = IsTransactionState();
	else if (((ConstraintsSetStmt *) stmt)->constraints == NIL &&
			 GetCurrentTransactionNestLevel() == 1)
		deferring = false;		/* all, and no savepoint can undo it */
}

/* Install the hook; called once by _PG_init. */
void
defer_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = watch_constraints;
	/* what this transaction has said before is not known */
	deferring = !process_shared_preload_libraries_in_progress &&
		IsTransactionState();
}
