/*
 * entered.c
 *		Which guard this process is in, and whose code must not run there.
 *
 * guard.c enters and leaves guards; what watches over them asks here. Runs in any
 * process.
 */
#include "postgres.h"

#include "guard/inside.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

Guard	   *guard_innermost = NULL;

/* As whom what is attached runs just now; InvalidOid: this is no guard. */
Oid
guard_owner(void)
{
	return guard_innermost != NULL ? guard_innermost->user : InvalidOid;
}

/*
 * In a guard: could the caller have made what a role owns? Not if the role is the
 * owner, or could act as the owner anyway; and such a caller needs no detour.
 */
bool
role_is_callers(Oid role)
{
	Oid			owner = guard_innermost->user;

	if (role_is_trusted(role, owner))
		return false;
	return (!role_is_trusted(GetOuterUserId(), owner) &&
			is_member_of_role(GetOuterUserId(), role)) ||
		(!role_is_trusted(GetSessionUserId(), owner) &&
		 is_member_of_role(GetSessionUserId(), role));
}

/* Nothing of a temporary relation's may run. Errors: 42501 if it is not the owner's. */
void
guard_check_relation(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	bool		foreign;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	foreign = isAnyTempNamespace(form->relnamespace) &&
		!role_is_trusted(form->relowner, guard_innermost->user);
	ReleaseSysCache(tuple);
	if (foreign)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("temporary relation \"%s\" must not be used by what is attached to blogstore's tables",
						get_rel_name(relid)),
				 errdetail("It is not of the role \"%s\", as which that runs.",
						   GetUserNameFromId(guard_innermost->user, true)),
				 errhint("Drop it, or qualify the name in the function with the schema that is meant.")));
}
