/*
 * rights.c
 *		A function that takes the place of another has its rights.
 *
 * ALTER EXTENSION UPDATE makes a function anew when its arguments grow. GRANT cannot
 * give the new one what the old one had: in an extension's script it would put down
 * users' grants as the extension's own, which pg_dump leaves out; and it would be the
 * grantor of them all. So the list itself is copied. Runs in a backend.
 */
#include "postgres.h"

#include "compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_init_privs.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(blogstore_take_rights_0_2);

/* A copy of a list of rights, which may be NULL: those that a function has at first. */
static Acl *
copy_rights(Datum rights, bool isnull)
{
	return isnull ? NULL : DatumGetAclPCopy(rights);
}

/* A function's row in pg_proc. */
static HeapTuple
function_tuple(Oid funcid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(PROCOID, ObjectIdGetDatum(funcid));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", funcid),
				 errhint("Only scripts of the extension call this.")));
	return tuple;
}

/* The rights on a function, as they are. */
static Acl *
present_rights(Oid funcid)
{
	HeapTuple	tuple = function_tuple(funcid);
	bool		isnull;
	Datum		rights = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proacl,
										 &isnull);

	return copy_rights(rights, isnull);
}

/*
 * The rights that the extension itself has given on a function, for pg_dump to leave
 * out. False: there is no such list.
 */
static bool
initial_rights(Oid funcid, Acl **rights)
{
	Relation	rel = table_open(InitPrivsRelationId, AccessShareLock);
	ScanKeyData key[3];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_init_privs_objoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(funcid));
	ScanKeyInit(&key[1], Anum_pg_init_privs_classoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[2], Anum_pg_init_privs_objsubid, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(0));
	scan = systable_beginscan(rel, InitPrivsObjIndexId, true, NULL, 3, key);
	tuple = systable_getnext(scan);
	*rights = NULL;
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		list = heap_getattr(tuple, Anum_pg_init_privs_initprivs,
										RelationGetDescr(rel), &isnull);

		*rights = copy_rights(list, isnull);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return *rights != NULL;
}

/* Make a list the rights on a function, whose owner stays. */
static void
set_rights(Oid funcid, Acl *rights)
{
	Relation	rel = table_open(ProcedureRelationId, RowExclusiveLock);
	HeapTuple	tuple = function_tuple(funcid);
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
	Acl		   *before = present_rights(funcid);
	Datum		values[Natts_pg_proc] = {0};
	bool		nulls[Natts_pg_proc] = {0};
	bool		replaces[Natts_pg_proc] = {0};
	Oid		   *old_roles;
	Oid		   *new_roles;
	int			nold = aclmembers(before, &old_roles);
	int			nnew = aclmembers(rights, &new_roles);

	values[Anum_pg_proc_proacl - 1] = PointerGetDatum(rights);
	nulls[Anum_pg_proc_proacl - 1] = rights == NULL;
	replaces[Anum_pg_proc_proacl - 1] = true;
	tuple = heap_modify_tuple(tuple, RelationGetDescr(rel), values, nulls,
							  replaces);
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	updateAclDependencies(ProcedureRelationId, funcid, 0, proc->proowner,
						  nold, old_roles, nnew, new_roles);
	CommandCounterIncrement();
	table_close(rel, RowExclusiveLock);
}

/*
 * Give a function the rights that another of the same owner has, with those who have
 * granted them, and which of them are the extension's own. Arguments: the old
 * function, and the new one, as regprocedure. For scripts of the extension, which
 * are run by superusers; no function of SQL is left of it. Errors: 42883.
 */
Datum
blogstore_take_rights_0_2(PG_FUNCTION_ARGS)
{
	Oid			old = PG_GETARG_OID(0);
	Oid			new = PG_GETARG_OID(1);
	Acl		   *rights = present_rights(old);
	Acl		   *initial;

	removeExtObjInitPriv(new, ProcedureRelationId);
	if (initial_rights(old, &initial))
	{
		set_rights(new, initial);
		recordExtObjInitPriv(new, ProcedureRelationId);
	}
	set_rights(new, rights);
	PG_RETURN_VOID();
}
