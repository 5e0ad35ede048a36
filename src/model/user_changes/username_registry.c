/*
 * username_registry.c
 *		The registry, which is the table that keeps usernames unique.
 *
 * The table users is partitioned by user id, so no index on it can keep
 * usernames unique. The table blogstore.usernames, which is not partitioned,
 * has a unique index. It has one row for each name: the name's key
 * (name_key.c) and the user's id.
 *
 * Runs in backends. The caller acts as the containers' owner.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

static KeptPlan claim_plan = {
	ON_USERNAMES,
	"INSERT INTO " USERNAMES_SQL " (username_key, user_id)"
	" VALUES ($1, $2) ON CONFLICT (username_key) DO NOTHING",
	2, {TEXTOID, UUIDOID}, NULL
};

static KeptPlan lookup_plan = {
	ON_USERNAMES,
	"SELECT user_id::uuid FROM " USERNAMES_SQL " WHERE username_key = $1",
	1, {TEXTOID}, NULL
};

static KeptPlan release_plan = {
	ON_USERNAMES,
	"DELETE FROM " USERNAMES_SQL
	" WHERE username_key = $1 AND user_id = $2",
	2, {TEXTOID, UUIDOID}, NULL
};

/*
 * Return whether the key of a name is short enough for the registry. The key
 * of a valid username always is.
 */
bool
registry_can_hold(Datum username)
{
	return has_name_key(username) && name_key_fits(name_key(username));
}

bool
registry_is_key(Datum key, Datum username)
{
	return has_name_key(username) &&
		DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID, key,
											 name_key(username)));
}

/* Return whether two names have the same key. */
bool
registry_same_name(Datum a, Datum b)
{
	return has_name_key(a) && registry_is_key(name_key(a), b);
}

/*
 * Register a name for a user. Returns false if the name is registered already.
 * Waits for a transaction that is registering or removing the same name. The
 * caller has checked registry_can_hold().
 */
bool
registry_claim(Datum username, const pg_uuid_t *user_id)
{
	Datum		values[] = {name_key(username), UUIDPGetDatum(user_id)};

	Assert(name_key_fits(values[0]));
	return plan_run(&claim_plan, values, NULL, false) > 0;
}

/*
 * Find the user for whom a name is registered, with the active snapshot.
 * Returns false if the name is not registered. Errors: 22004 if the user id in
 * the registry is null.
 */
bool
registry_lookup(Datum username, pg_uuid_t *user_id)
{
	Datum		key;
	bool		found;

	if (!has_name_key(username))
		return false;
	key = name_key(username);
	SPI_connect();
	plan_execute(&lookup_plan, &key, NULL, true);
	found = SPI_processed > 0;
	if (found)
	{
		bool		isnull;
		Datum		id = SPI_getbinval(SPI_tuptable->vals[0],
									   SPI_tuptable->tupdesc, 1, &isnull);

		if (isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("username \"%s\" is registered for no user",
							TextDatumGetCString(username)),
					 errhint("Call blogstore.repair()."),
					 err_fields(NULL, NULL, RULE_COMPLETE)));
		memcpy(user_id, DatumGetUUIDP(id), sizeof(pg_uuid_t));
	}
	SPI_finish();
	return found;
}

/*
 * Remove a key from the registry, if it is registered for this user. The key
 * need not be the key of a valid name.
 */
void
registry_release_key(Datum key, const pg_uuid_t *user_id)
{
	Datum		values[] = {key, UUIDPGetDatum(user_id)};

	(void) plan_run(&release_plan, values, NULL, false);
}

/* Remove a name from the registry, if it is registered for this user. */
void
registry_release(Datum username, const pg_uuid_t *user_id)
{
	if (has_name_key(username))
		registry_release_key(name_key(username), user_id);
}
