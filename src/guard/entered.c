/*
 * entered.c
 *		Which guard this process is in, and whose code must not run there.
 *
 * guard.c enters and leaves guards; what watches over them asks here. Runs in any
 * process.
 */
#include "postgres.h"

#include "guard/inside.h"

#include "miscadmin.h"
#include "utils/acl.h"

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
