/*
 * verify_follows.c
 *		Comparing follows with the users whom they name, for verify(); and
 *		repairing what it finds.
 *
 * A follow is wrong if one of its users does not exist, or if it has another
 * name of a user than the user's own. Follows of users who are being deleted
 * are not compared. Nor are names that a queued rename will correct.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"

/* "ends" has a follow once for each of its two users. */
static KeptPlan compare_plan = {
	ON_USERS | ON_JOBS,
	"WITH follow AS MATERIALIZED (SELECT id, user_id, user_username, followed_id,"
	" followed_username, creation_date FROM " USERS_SQL " WHERE type = 'follow'),"
	" account AS MATERIALIZED (SELECT user_id, min(username) AS username"
	" FROM " USERS_SQL " WHERE type = 'user' AND user_id IS NOT NULL GROUP BY user_id),"
	" leaving AS MATERIALIZED (SELECT user_id FROM (" USERS_BEING_DELETED_SQL ") AS d),"
	" renaming AS MATERIALIZED (SELECT user_id FROM (" USERS_BEING_RENAMED_SQL ") AS r),"
	" ends AS MATERIALIZED (SELECT f.id, f.user_id, f.creation_date, e.*, a.username,"
	" e.end_id IS NOT NULL AND a.user_id IS NULL AS nobodys"
	" FROM follow AS f CROSS JOIN LATERAL (VALUES"
	" ('username', 'user_username', f.user_id, f.user_username),"
	" ('followed_username', 'followed_username', f.followed_id, f.followed_username))"
	" AS e (problem, property, end_id, end_name)"
	" LEFT JOIN account AS a ON a.user_id = e.end_id"
	" WHERE NOT EXISTS (SELECT FROM leaving AS l WHERE l.user_id IN (f.user_id, f.followed_id)))"

	" SELECT 'users', 'orphan', 'follow', i.id, NULL::uuid, i.user_id, 'a user',"
	" NULL::text, i.creation_date FROM ends AS i WHERE i.nobodys"
	" UNION ALL SELECT 'users', i.problem, 'follow', i.id, NULL, i.user_id, i.username,"
	" i.end_name, i.creation_date FROM ends AS i WHERE i.username IS NOT NULL"
	" AND i.end_name COLLATE \"C\" IS DISTINCT FROM i.username"
	" AND (i.end_name IS NULL OR NOT EXISTS (SELECT FROM renaming AS r"
	" WHERE r.user_id IS NULL OR r.user_id = i.end_id))"
	" UNION ALL SELECT 'users', 'invalid', 'follow', i.id, NULL, i.user_id, 'not null',"
	" i.property, i.creation_date FROM ends AS i WHERE i.end_name IS NULL"
	" AND i.username IS NULL AND NOT i.nobodys"
	" UNION ALL SELECT 'users', 'invalid', 'follow', i.id, NULL, i.user_id, 'not null',"
	" m.property, i.creation_date FROM follow AS i CROSS JOIN LATERAL (VALUES"
	" ('id', i.id IS NULL), ('user_id', i.user_id IS NULL),"
	" ('followed_id', i.followed_id IS NULL), ('creation_date', i.creation_date IS NULL))"
	" AS m (property, absent) WHERE m.absent",
	0, {0}, NULL
};

/* The arguments of the following statements are those of mend_by(). */
#define OF_FINDING "f.type = $2 AND f.user_id = $4 AND f.id = $3"

#define MEND_NAME_SQL(name, user) \
	"UPDATE " USERS_SQL " AS f SET " name " = u.username" \
	" FROM " USERS_SQL " AS u WHERE " OF_FINDING \
	" AND u.type = 'user' AND u.user_id = f." user " AND u.username IS NOT NULL" \
	" AND f." name " COLLATE \"C\" IS DISTINCT FROM u.username"

static KeptPlan name_plan = {
	ON_USERS, MEND_NAME_SQL("user_username", "user_id"), ITEM_ARGUMENTS, NULL
};

static KeptPlan followed_name_plan = {
	ON_USERS, MEND_NAME_SQL("followed_username", "followed_id"),
	ITEM_ARGUMENTS, NULL
};

#define NO_USER_SQL(id) \
	"NOT EXISTS (SELECT FROM " USERS_SQL " AS u" \
	" WHERE u.type = 'user' AND u.user_id = " id ")"

static KeptPlan orphan_plan = {
	ON_USERS,
	"DELETE FROM " USERS_SQL " AS f WHERE " OF_FINDING
	" AND (" NO_USER_SQL("f.user_id") " OR " NO_USER_SQL("f.followed_id") ")",
	ITEM_ARGUMENTS, NULL
};

/*
 * Compare all follows with their users, with the active snapshot, and return
 * the findings. The caller has called SPI_connect(), and acts as the
 * containers' owner. Errors: 55000.
 */
SPITupleTable *
follows_compare(void)
{
	plan_execute_once(&compare_plan, NULL, true);
	return SPI_tuptable;
}

bool
finding_is_of_follow(const Finding *f)
{
	return strcmp(f->type, item_type_name(ITEM_FOLLOW)) == 0;
}

/*
 * Repair a finding about a follow: delete it if one of its users does not
 * exist, or else write the user's name. Returns whether anything was changed.
 */
bool
mend_follow(const Finding *f)
{
	if (finding_is(f, "orphan"))
		return mend_by(&orphan_plan, f);
	return mend_by(finding_is(f, "username") ? &name_plan :
				   &followed_name_plan, f);
}
