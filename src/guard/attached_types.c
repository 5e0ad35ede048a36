/*
 * attached_types.c
 *		Types that would bring somebody else's code into the guard (guard.c).
 *
 * A domain's constraints run when a value becomes one of the domain, and need no
 * function that could be told to be the caller's: some of the server's own run
 * whatever statement they are given. There are two ways to such a type for one who
 * has no right on the owner's code: a temporary type or table, whose name is found
 * in the session's temporary schema; and a PL/pgSQL function of the owner's that
 * the caller has called before, for it keeps the types of its variables as the
 * search_path of its first call has found them.
 *
 * Temporary sequences are looked at with temporary types: no executor tells of
 * one when nextval() is called.
 *
 * Runs in any process that writes items, in a guard.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/inside.h"
#include "invalidate.h"
#include "remembered.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "plpgsql.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* A role for which the temporary schema has been found to hold no type in the way. */
static Remembered temp_types_fine;
static Oid	temp_types_owner = InvalidOid;

/* Types have been made, altered or dropped. */
static void
types_invalidate(void)
{
	remembered_forget(&temp_types_fine);
}

/* ------------------------------------------------------------------------
 * What a type can run
 * ------------------------------------------------------------------------ */

/* Tells whether types that a role owns are foreign to the containers' owner. */
typedef bool (*RoleTest) (Oid role, Oid owner);

static bool
is_callers(Oid role, Oid owner)
{
	return role_is_callers(role);
}

static bool
is_not_trusted(Oid role, Oid owner)
{
	return !role_is_trusted(role, owner);
}

static bool type_runs(Oid type, RoleTest foreign, Oid owner);

/* Can one of a relation's columns run something of a foreign role's? */
static bool
columns_run(Oid relid, RoleTest foreign, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int			natts;

	if (!HeapTupleIsValid(tuple))
		return false;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	for (AttrNumber a = 1; a <= natts; a++)
		if (type_runs(get_atttype(relid, a), foreign, owner))
			return true;
	return false;
}

/* Can making a value of a type run something of a foreign role's? */
static bool
type_runs(Oid type, RoleTest foreign, Oid owner)
{
	HeapTuple	tuple;
	FormData_pg_type form;

	if (type < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = *(Form_pg_type) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	check_stack_depth();

	if (form.typsubscript == F_ARRAY_SUBSCRIPT_HANDLER)
		return type_runs(form.typelem, foreign, owner);
	if (!foreign(form.typowner, owner))
		return false;
	switch (form.typtype)
	{
		case TYPTYPE_DOMAIN:
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			return true;
		case TYPTYPE_COMPOSITE:
			return columns_run(form.typrelid, foreign, owner);
		default:
			return false;
	}
}

/* ------------------------------------------------------------------------
 * In the temporary schema
 * ------------------------------------------------------------------------ */

/* Errors: 42501 for a type in the temporary schema that can run something. */
static void
check_temp_type(Form_pg_type form, Oid owner)
{
	bool		fine = form->typtype == TYPTYPE_BASE &&
		form->typsubscript == F_ARRAY_SUBSCRIPT_HANDLER;

	if (role_is_trusted(form->typowner, owner))
		return;

	/* the row type of a table, which nobody may use, with plain columns */
	if (form->typtype == TYPTYPE_COMPOSITE)
		fine = get_rel_relkind(form->typrelid) != RELKIND_COMPOSITE_TYPE &&
			!columns_run(form->typrelid, is_callers, owner);
	if (!fine)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("type \"%s\" is in the way of what is attached to blogstore's tables",
						NameStr(form->typname)),
				 errdetail("It is temporary, or a temporary table has a column of such a type, and what is attached would find it by its name."),
				 errhint("Drop it, or say DISCARD TEMP, before calls of blogstore.")));
}

/*
 * Errors: 42501 for a sequence in the temporary schema of which the owner could take
 * numbers.
 */
static void
check_temp_sequence(Form_pg_class form, Oid owner)
{
	if (role_is_trusted(form->relowner, owner) ||
		pg_class_aclcheck(form->oid, owner,
						  ACL_USAGE | ACL_SELECT | ACL_UPDATE) != ACLCHECK_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("temporary sequence \"%s\" is in the way of what is attached to blogstore's tables",
					NameStr(form->relname)),
			 errdetail("The role \"%s\", as which that runs, may use it, and would find it by its name.",
					   GetUserNameFromId(owner, true)),
			 superuser_arg(owner) ?
			 errhint("Drop it, or say DISCARD TEMP, before calls of blogstore; or give the containers to a role that is no superuser.") :
			 errhint("Drop it, revoke the right, or say DISCARD TEMP, before calls of blogstore.")));
}

/*
 * Errors: 42501 if there is a sequence in the temporary schema of which the owner
 * could take numbers.
 */
static void
check_temp_sequences(Oid schema, Oid owner)
{
	Relation	rel = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relnamespace == schema && form->relkind == RELKIND_SEQUENCE)
			check_temp_sequence(form, owner);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * Look at all types and sequences of the temporary schema, for they cannot be told when they are
 * used. Errors: 42501 for one that can run something of the caller's.
 */
void
types_check_temporary(Oid owner)
{
	Oid			schema;
	Oid			toast;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	uint64		began;

	GetTempNamespaceState(&schema, &toast);
	if (!OidIsValid(schema) ||
		(temp_types_fine.valid && temp_types_owner == owner))
		return;
	/* a table's columns are not in the row of its type: any table's may be new */
	began = remembered_begin(&temp_types_fine, InvalidOid);
	temp_types_owner = owner;
	rel = table_open(TypeRelationId, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_type form = (Form_pg_type) GETSTRUCT(tuple);

		if (form->typnamespace == schema)
			check_temp_type(form, owner);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	check_temp_sequences(schema, owner);
	remembered_end(&temp_types_fine, began);
}

/* ------------------------------------------------------------------------
 * In functions that were called before
 * ------------------------------------------------------------------------ */

/* PL/pgSQL's place for a plugin, and who was there before the guard. */
static PLpgSQL_plugin **plugin_place = NULL;
static PLpgSQL_plugin *plugin_before = NULL;
static PLpgSQL_plugin plugin;

/* The type of a variable; InvalidOid: it has none of its own. */
static Oid
variable_type(const PLpgSQL_datum *datum)
{
	switch (datum->dtype)
	{
		case PLPGSQL_DTYPE_VAR:
		case PLPGSQL_DTYPE_PROMISE:
			return ((const PLpgSQL_var *) datum)->datatype->typoid;
		case PLPGSQL_DTYPE_REC:
			return ((const PLpgSQL_rec *) datum)->rectypeid;
		default:
			return InvalidOid;
	}
}

/* Does a function run, in the owner's opinion, what the owner wrote? */
static bool
function_is_trusted(Oid function, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			role = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		role = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
		ReleaseSysCache(tuple);
	}
	return OidIsValid(role) && role_is_trusted(role, owner);
}

/* Errors: 42501 for a type of a PL/pgSQL function's variables. */
static void
check_variables(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	Oid			owner = guard_owner();

	if (!OidIsValid(owner) || !function_is_trusted(function->fn_oid, owner))
		return;
	for (int i = 0; i < function->ndatums; i++)
	{
		Oid			type = variable_type(function->datums[i]);

		if (type_runs(type, is_not_trusted, owner))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("type %s must not be used by what is attached to blogstore's tables",
							format_type_be(type)),
					 errdetail("The function %s has a variable of it, but it is not of the role \"%s\".",
							   function->fn_signature,
							   GetUserNameFromId(owner, true)),
					 errhint("Qualify the type in the function, say ALTER FUNCTION ... SET search_path, or give the type to the owner of the containers.")));
	}
}

/* A PL/pgSQL function begins: check it, and give who was there before its turn. */
static void
function_begins(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	const size_t from = offsetof(PLpgSQL_plugin, error_callback);

	check_variables(estate, function);
	if (plugin_before == NULL)
		return;
	/* what PL/pgSQL tells a plugin when a function begins */
	memcpy((char *) plugin_before + from, (char *) &plugin + from,
		   sizeof(PLpgSQL_plugin) - from);
	if (plugin_before->func_setup != NULL)
		plugin_before->func_setup(estate, function);
}

/* A statement begins. Errors: 42501 for FETCH, MOVE and CLOSE of the session's. */
static void
statement_begins(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	int			datum = -1;

	if (stmt->cmd_type == PLPGSQL_STMT_FETCH)
		datum = ((PLpgSQL_stmt_fetch *) stmt)->curvar;
	else if (stmt->cmd_type == PLPGSQL_STMT_CLOSE)
		datum = ((PLpgSQL_stmt_close *) stmt)->curvar;
	if (datum >= 0)
	{
		PLpgSQL_var *cursor = (PLpgSQL_var *) estate->datums[datum];

		if (!cursor->isnull)
			cursors_check(TextDatumGetCString(cursor->value));
	}
	if (plugin_before != NULL && plugin_before->stmt_beg != NULL)
		plugin_before->stmt_beg(estate, stmt);
}

/* The outermost guard is entered: have functions tell when they begin. */
void
types_watch_functions(void)
{
	if (plugin_place == NULL)
		plugin_place =
			(PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");
	plugin_before = *plugin_place;
	if (plugin_before != NULL)
		plugin = *plugin_before;
	else
		memset(&plugin, 0, sizeof(plugin));
	plugin.func_setup = function_begins;
	plugin.stmt_beg = statement_begins;
	*plugin_place = &plugin;
}

/* The outermost guard is left, or an error has ended it. */
void
types_unwatch_functions(void)
{
	if (plugin_place != NULL && *plugin_place == &plugin)
		*plugin_place = plugin_before;
}

/* Called once by _PG_init. */
void
types_init(void)
{
	invalidation_listen_catalog(TYPEOID, types_invalidate);
	/* of roles: who may use a temporary sequence */
	invalidation_listen_catalog(AUTHOID, types_invalidate);
	invalidation_listen_catalog(AUTHMEMROLEMEM, types_invalidate);
}
