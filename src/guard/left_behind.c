/*
 * left_behind.c
 *		What code in the guard (guard.c) must not leave to the session in which
 *		it runs: a superuser's, perhaps, or the worker's.
 *
 * It runs as the owner of the containers; what it leaves behind would run, or be
 * in force, when somebody else is the current user: a cursor that is read to its
 * end at the commit, a prepared statement in place of the session's own, a
 * trigger that is deferred while the statement runs, a search_path. Nor must it
 * run what the session has left to it: a prepared statement, a cursor, or what
 * hangs on a temporary table, found by their names.
 *
 * Runs in any process that writes items.
 */
#include "postgres.h"

#include "guard/inside.h"

#include "catalog/namespace.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/guc.h"

/* What a statement explains, or makes a table of, if it is a utility statement. */
static Node *
statement_within(Node *stmt)
{
	Node	   *within = NULL;

	if (IsA(stmt, ExplainStmt))
		within = ((ExplainStmt *) stmt)->query;
	else if (IsA(stmt, CreateTableAsStmt))
		within = ((CreateTableAsStmt *) stmt)->query;
	if (within != NULL && IsA(within, Query))
		within = ((Query *) within)->utilityStmt;
	return within;
}

/*
 * The command that a statement is, if it must not run in a guard; else NULL.
 * What is prepared was prepared by the session, since nothing is in a guard.
 */
static const char *
forbidden_command(Node *stmt)
{
	Node	   *within;

	while ((within = statement_within(stmt)) != NULL)
		stmt = within;
	switch (nodeTag(stmt))
	{
		case T_DeclareCursorStmt:
			return (((DeclareCursorStmt *) stmt)->options & CURSOR_OPT_HOLD) ?
				"DECLARE ... WITH HOLD" : NULL;
		case T_ClosePortalStmt:
			return "CLOSE";
		case T_PrepareStmt:
			return "PREPARE";
		case T_ExecuteStmt:
			return "EXECUTE";
		case T_DeallocateStmt:
			return "DEALLOCATE";
		case T_DiscardStmt:
			return "DISCARD";
		case T_ListenStmt:
			return "LISTEN";
		case T_UnlistenStmt:
			return "UNLISTEN";
		case T_ConstraintsSetStmt:
			return ((ConstraintsSetStmt *) stmt)->deferred ?
				"SET CONSTRAINTS ... DEFERRED" : NULL;
		default:
			return NULL;
	}
}

static void
check_name(const RangeVar *name)
{
	Oid			relid = name == NULL ? InvalidOid :
		RangeVarGetRelid(name, NoLock, true);

	if (OidIsValid(relid))
		guard_check_relation(relid);
}

/*
 * What a new table, or a change of one, takes names from: tables that it is like,
 * inherits or is a partition of, foreign keys.
 */
static void
check_names_within(List *parts)
{
	ListCell   *lc;

	foreach(lc, parts)
	{
		Node	   *part = lfirst(lc);

		if (part != NULL && IsA(part, AlterTableCmd))
			part = ((AlterTableCmd *) part)->def;
		if (part == NULL)
			continue;
		if (IsA(part, RangeVar))
			check_name((RangeVar *) part);
		else if (IsA(part, TableLikeClause))
			check_name(((TableLikeClause *) part)->relation);
		else if (IsA(part, PartitionCmd))
			check_name(((PartitionCmd *) part)->name);
		else if (IsA(part, VacuumRelation))
			check_name(((VacuumRelation *) part)->relation);
		else if (IsA(part, Constraint))
			check_name(((Constraint *) part)->pktable);
		else if (IsA(part, ColumnDef))
			check_names_within(((ColumnDef *) part)->constraints);
	}
}

/*
 * The relations that a utility statement names, and whose expressions or triggers
 * it would copy or run; those that the executor reads it tells of by itself
 * (attached.c). Errors: 42501.
 */
static void
check_names(Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			check_names_within(((CreateStmt *) stmt)->inhRelations);
			check_names_within(((CreateStmt *) stmt)->tableElts);
			check_names_within(((CreateStmt *) stmt)->constraints);
			break;
		case T_AlterTableStmt:
			check_name(((AlterTableStmt *) stmt)->relation);
			check_names_within(((AlterTableStmt *) stmt)->cmds);
			break;
		case T_IndexStmt:
			check_name(((IndexStmt *) stmt)->relation);
			break;
		case T_CreateTrigStmt:
			check_name(((CreateTrigStmt *) stmt)->relation);
			check_name(((CreateTrigStmt *) stmt)->constrrel);
			break;
		case T_RuleStmt:
			check_name(((RuleStmt *) stmt)->relation);
			break;
		case T_AlterSeqStmt:
			check_name(((AlterSeqStmt *) stmt)->sequence);
			break;
		case T_ClusterStmt:
			check_name(((ClusterStmt *) stmt)->relation);
			break;
		case T_ReindexStmt:
			check_name(((ReindexStmt *) stmt)->relation);
			break;
		case T_LockStmt:
			check_names_within(((LockStmt *) stmt)->relations);
			break;
		case T_VacuumStmt:
			check_names_within(((VacuumStmt *) stmt)->rels);
			break;
		default:
			break;
	}
}

/* A utility statement is about to run. Errors: 42501. */
void
left_behind_check(Node *stmt)
{
	const char *command;

	if (guard_innermost == NULL || stmt == NULL)
		return;
	cursors_check_active();
	if (IsA(stmt, FetchStmt))
		cursors_check(((FetchStmt *) stmt)->portalname);
	check_names(stmt);
	command = forbidden_command(stmt);
	if (command != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("what is attached to blogstore's tables cannot execute %s",
						command),
				 strcmp(command, "EXECUTE") == 0 ?
				 errdetail("The statement was prepared by the session, and not by what is attached.") :
				 errdetail("It would have an effect on the session after the request.")));
}

/*
 * The values that the settings which a guard changes have outside of the guard, in
 * the current memory context. The search_path, which may be the guard's already, is
 * given.
 */
char	  **
left_behind_note(const char *path)
{
	char	  **value = palloc(sizeof(char *) * defaults_count());

	for (int s = 0; s < defaults_count(); s++)
	{
		const char *now = s == 0 ? path :
			GetConfigOption(defaults_name(s), true, false);

		value[s] = now ? pstrdup(now) : NULL;
	}
	return value;
}

/*
 * Give settings the values back that left_behind_note() has returned, if code in the
 * guard has changed them for longer than itself.
 */
void
left_behind_undo(char **value)
{
	for (int s = 0; s < defaults_count(); s++)
	{
		const char *now = GetConfigOption(defaults_name(s), true, false);

		if (now != NULL && value[s] != NULL && strcmp(now, value[s]) != 0)
			(void) set_config_option(defaults_name(s), value[s], PGC_SUSET,
									 PGC_S_SESSION, GUC_ACTION_SET, true,
									 ERROR, false);
		if (value[s] != NULL)
			pfree(value[s]);
	}
	pfree(value);
}
