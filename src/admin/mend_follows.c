/*
 * mend_follows.c
 *		Repairing what verify() finds in follows (VERIFY_FOLLOWS_SQL).
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"

static FollowPlans plans = FOLLOW_PLANS(USERS_SQL);

bool
finding_is_of_follow(const Finding *f)
{
	return strcmp(f->type, item_type_name(ITEM_FOLLOW)) == 0;
}

/*
 * Repair a finding about a follow by one of the given statements: delete the
 * follow if one of its users does not exist, or else write the user's name.
 * Returns whether anything was changed.
 */
bool
mend_follow_by(FollowPlans *by, const Finding *f)
{
	if (finding_is(f, "orphan"))
		return mend_by(&by->orphan, f);
	return mend_by(finding_is(f, "username") ? &by->name : &by->followed_name, f);
}

/* Repair a finding about a follow. Returns whether anything was changed. */
bool
mend_follow(const Finding *f)
{
	return mend_follow_by(&plans, f);
}
