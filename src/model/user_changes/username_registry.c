/*
 * username_registry.c
 *		The registry that keeps usernames unique regardless of case.
 *
 * users is partitioned by user, so no index of its own can span all names. A
 * plain table blogstore.usernames beside it does, keyed by the name in lower
 * case by the database's default collation.
 *
 * Runs in backends; callers act as the containers' owner.
 */
#include "postgres.h"

#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "access/detoast.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
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
 * No name that an index entry can hold, however well compressed, has so many
 * bytes. The owner may have written one to users; it is not folded.
 */
#define MAX_KEY_BYTES (1024 * 1024)

static bool
has_key(Datum username)
{
	return toast_raw_datum_size(username) <= MAX_KEY_BYTES;
}

static Datum
registry_key(Datum username)
{
	return DirectFunctionCall1Coll(lower, DEFAULT_COLLATION_OID, username);
}

/* Are two names the same to the registry? */
bool
registry_same_name(Datum a, Datum b)
{
	return has_key(a) && has_key(b) &&
		DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID,
												registry_key(a),
												registry_key(b)));
}

/*
 * Claim a name for a user. Returns false if it is taken, after waiting for a
 * transaction that is about to take it. Errors: 54000.
 */
bool
registry_claim(Datum username, const pg_uuid_t *user_id)
{
	Datum		values[2];

	if (!has_key(username))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("username is too long"),
				 errhint("Give the user a shorter name.")));
	values[0] = registry_key(username);
	values[1] = UUIDPGetDatum(user_id);
	return plan_run(&claim_plan, values, NULL, false) > 0;
}

/* Who has this name, by the active snapshot? Returns false if nobody. */
bool
registry_lookup(Datum username, pg_uuid_t *user_id)
{
	Datum		key;
	bool		found;

	if (!has_key(username))
		return false;
	key = registry_key(username);
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
					 errhint("Call blogstore.repair().")));
		memcpy(user_id, DatumGetUUIDP(id), sizeof(pg_uuid_t));
	}
	SPI_finish();
	return found;
}

/* Give a name back. */
void
registry_release(Datum username, const pg_uuid_t *user_id)
{
	Datum		values[2];

	if (!has_key(username))
		return;
	values[0] = registry_key(username);
	values[1] = UUIDPGetDatum(user_id);
	(void) plan_run(&release_plan, values, NULL, false);
}
