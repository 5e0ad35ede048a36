/*
 * safe_path.c
 *		The search_path under which what the containers' owner has attached runs: the
 *		owner's, without the schemas in which others may create.
 *
 * Runs in any process, in a transaction.
 */
#include "postgres.h"

#include "guard/inside.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* Is a role the owner, or one that could act as the owner anyway? */
bool
role_is_trusted(Oid role, Oid owner)
{
	return role == owner || has_privs_of_role(role, owner);
}

static Oid
database_owner(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID,
										ObjectIdGetDatum(MyDatabaseId));
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	result = ((Form_pg_database) GETSTRUCT(tuple))->datdba;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Is a role trusted that owns a schema or may create in it? It may be
 * pg_database_owner, which stands for the owner of the database.
 */
static bool
creator_is_trusted(Oid role, Oid owner)
{
	if (role == ROLE_PG_DATABASE_OWNER)
		role = database_owner();
	return OidIsValid(role) && role_is_trusted(role, owner);
}

/* May nobody but the owner, and those who could act as such, create in a schema? */
static bool
schema_is_safe(Oid schema, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Datum		acl;
	bool		isnull;
	bool		safe;

	if (!HeapTupleIsValid(tuple))
		return false;
	safe = creator_is_trusted(((Form_pg_namespace) GETSTRUCT(tuple))->nspowner,
							  owner);
	/* without an ACL it is as made: the owner's alone */
	acl = SysCacheGetAttr(NAMESPACEOID, tuple, Anum_pg_namespace_nspacl, &isnull);
	if (!isnull)
	{
		Acl		   *rights = DatumGetAclPCopy(acl);

		for (int i = 0; i < ACL_NUM(rights); i++)
		{
			AclItem    *item = &ACL_DAT(rights)[i];

			if (ACLITEM_GET_PRIVS(*item) & ACL_CREATE)
				safe = safe && creator_is_trusted(item->ai_grantee, owner);
		}
	}
	ReleaseSysCache(tuple);
	return safe;
}

/* A name as a list wants it, whatever the caller's quote_all_identifiers is. */
static const char *
quoted(const char *name)
{
	bool		before = quote_all_identifiers;
	const char *result;

	quote_all_identifiers = false;
	result = quote_identifier(name);
	quote_all_identifiers = before;
	return result;
}

/*
 * The owner's search_path, made safe: pg_catalog is searched first, as where it is
 * not named, so that tables are made where the owner has them made. Names in
 * pg_temp are found last, and guard.c sees to it that there is nothing of the
 * caller's behind them. *left_out becomes the schemas that are left out, quoted;
 * NULL if none is.
 */
char *
safe_path(Oid owner, const char *wanted, char **left_out)
{
	StringInfoData path;
	StringInfoData out;
	List	   *names = NIL;
	ListCell   *lc;

	initStringInfo(&path);
	initStringInfo(&out);
	(void) SplitIdentifierString(pstrdup(wanted), ',', &names);
	foreach(lc, names)
	{
		char	   *name = lfirst(lc);
		Oid			schema;

		if (strcmp(name, "$user") == 0)
			name = GetUserNameFromId(owner, false);
		if (strcmp(name, "pg_catalog") == 0 || strcmp(name, "pg_temp") == 0)
			continue;
		schema = get_namespace_oid(name, true);
		if (!OidIsValid(schema) || isAnyTempNamespace(schema))
			continue;
		if (schema_is_safe(schema, owner))
			appendStringInfo(&path, "%s, ", quoted(name));
		else
			appendStringInfo(&out, "%s\"%s\"", out.len > 0 ? ", " : "", name);
	}
	/* nothing is made in pg_temp for want of another schema */
	appendStringInfoString(&path, path.len > 0 ? "pg_temp" : "pg_catalog, pg_temp");
	*left_out = out.len > 0 ? out.data : NULL;
	return path.data;
}
