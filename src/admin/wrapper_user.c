/*
 * wrapper_user.c
 *		The user for whom a wrapper acts.
 *
 * A wrapper is an SQL function that clients of a site call in place of a
 * request. The request has an argument that names the signed-in user, and the
 * wrapper does not. The wrapper passes the result of current_user_id() as this
 * argument.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

SQL_FUNCTION(current_user_id);

/*
 * blogstore.current_user_id(required): return the value of the setting
 * blogstore.current_user_id. Only superusers, and roles with the right to set
 * this setting, can change it (PGC_SUSET).
 *
 * Returns null if the setting is empty and "required" is false. Errors: 42501
 * if the setting is empty and "required" is true; 22004 if "required" is null;
 * 55000.
 */
static Datum
current_user_id(PG_FUNCTION_ARGS)
{
	const char *id = blogstore_current_user;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("required must not be null"),
				 errhint("Pass a value for required."),
				 err_fields(NULL, "required", RULE_NOT_NULL)));
	if (id != NULL && id[0] != '\0')
		return DirectFunctionCall1(uuid_in, CStringGetDatum(id));
	if (PG_GETARG_BOOL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("nobody is signed in"),
				 errhint("Set \"blogstore.current_user_id\" in this transaction, as a role that may set it."),
				 err_fields(NULL, NULL, RULE_SIGNED_IN)));
	PG_RETURN_NULL();
}
