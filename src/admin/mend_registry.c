/*
 * mend_registry.c
 *		Repairing the findings of verify() about the table usernames.
 *
 * The table has a row for each user. The key of the row is the user's
 * case-folded name. Names that differ only in case have the same key.
 *
 * There are two kinds of findings:
 *
 * - A row is wrong: its user has another name, or does not exist. The column
 *	"actual" of the finding is the key of the wrong row.
 * - A row is missing: a user has no row with the key of the user's current
 *	name. The column "actual" of the finding is null.
 *
 * Wrong rows are deleted before missing rows are inserted, because a missing
 * row may have the key of a wrong row.
 *
 * Two users can have the same case-folded name, for example if the owner has
 * written a name directly. It is not known which user should keep the name. So
 * a warning names both users, and their rows stay unchanged.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "admin/repair.h"
#include "model/user_changes/user_changes.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/*
 * A user whose row is missing in the table usernames. "key" is the user's
 * case-folded name.
 */
typedef struct Unregistered
{
	const Finding *finding;
	const char *key;
	bool		meets;			/* whether another user has the same
								 * case-folded name */
} Unregistered;

typedef struct RegistryRepair
{
	Unregistered *user;
	int			n;
	int64		meetings;		/* how often two users were found to have the
								 * same case-folded name */
	int64		too_long;		/* how many users have a name that is too long
								 * for the table usernames */
} RegistryRepair;

static int
compare_keys(const void *a, const void *b)
{
	const Unregistered *x = a;
	const Unregistered *y = b;
	int			order = strcmp(x->key, y->key);

	return order ? order : memcmp(&x->finding->user_id, &y->finding->user_id,
								  UUID_LEN);
}

static int
compare_users(const void *a, const void *b)
{
	return memcmp(&((const Unregistered *) a)->finding->user_id,
				  &((const Unregistered *) b)->finding->user_id, UUID_LEN);
}

/*
 * Warn that the user of a finding has the same case-folded name as another
 * user.
 *
 * name, user_id: name and id of the other user
 */
static void
warn_meeting(RegistryRepair *repair, const Finding *f, const char *name,
			 const pg_uuid_t *user_id)
{
	if (repair->meetings++ >= MAX_WARNINGS)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("cannot repair: users %s, \"%s\", and %s, \"%s\", have the same name, regardless of case",
					id_text(&f->user_id), f->expected, id_text(user_id), name),
			 errhint("Rename one of them with blogstore.edit_user(), then call blogstore.repair() again.")));
}

static void
warn_too_long(RegistryRepair *repair, const Finding *f)
{
	if (repair->too_long++ >= MAX_WARNINGS)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("cannot repair: the name of user %s is too long",
					id_text(&f->user_id)),
			 errhint("Give the user a shorter name with blogstore.edit_user().")));
}

static void
warn_of_more(const RegistryRepair *repair)
{
	if (repair->meetings > MAX_WARNINGS)
		ereport(WARNING,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("cannot repair: %lld more users have the same names as others",
						(long long) (repair->meetings - MAX_WARNINGS)),
				 errhint("blogstore.verify() lists all of them.")));
	if (repair->too_long > MAX_WARNINGS)
		ereport(WARNING,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot repair: %lld more names are too long",
						(long long) (repair->too_long - MAX_WARNINGS)),
				 errhint("blogstore.verify() lists all of them.")));
}

/*
 * Return the current name of a user; NULL if the user does not exist or has no
 * name.
 */
static char *
name_of(const pg_uuid_t *user_id)
{
	BlogItem	user;
	char	   *name = NULL;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (user_find(user_id, &user) && !user.isnull[PROP_USERNAME])
		name = TextDatumGetCString(user.value[PROP_USERNAME]);
	PopActiveSnapshot();
	return name;
}

/*
 * Set repair->user to the users who lack a row in the table usernames, sorted
 * by case-folded name.
 */
static void
collect(RegistryRepair *repair, const Finding *findings, uint64 n)
{
	repair->user = palloc(sizeof(Unregistered) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
	{
		const Finding *f = &findings[i];
		Datum		name;

		if (!finding_is(f, "registry") || f->has_actual)
			continue;
		CHECK_FOR_INTERRUPTS();
		name = CStringGetTextDatum(f->expected);
		if (registry_can_hold(name))
			repair->user[repair->n++] = (Unregistered) {
				.finding = f, .key = TextDatumGetCString(name_key(name))
			};
		else
			warn_too_long(repair, f);
	}
	qsort(repair->user, repair->n, sizeof(Unregistered), compare_keys);
}

/*
 * Find pairs of users in repair->user with the same case-folded name. Set the
 * field "meets" of both users, and raise a warning. repair->user must be
 * sorted by case-folded name.
 */
static void
note_pairs(RegistryRepair *repair)
{
	for (int i = 1; i < repair->n; i++)
	{
		Unregistered *before = &repair->user[i - 1];
		Unregistered *user = &repair->user[i];

		if (strcmp(before->key, user->key) != 0)
			continue;
		before->meets = user->meets = true;
		warn_meeting(repair, user->finding, before->finding->expected,
					 &before->finding->user_id);
	}
}

/*
 * For each user in repair->user, look up the row of the table usernames with
 * the user's case-folded name. The row may belong to another user whose
 * current name has the same case-folded form. If so, set the field "meets" of
 * the user in repair->user, and raise a warning.
 */
static void
note_holders(RegistryRepair *repair)
{
	for (int i = 0; i < repair->n; i++)
	{
		Unregistered *user = &repair->user[i];
		Datum		key = CStringGetTextDatum(user->key);
		pg_uuid_t	holder;
		char	   *name;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		PushActiveSnapshot(GetTransactionSnapshot());
		found = registry_lookup(key, &holder);
		PopActiveSnapshot();
		if (!found || memcmp(&holder, &user->finding->user_id, UUID_LEN) == 0)
			continue;
		name = name_of(&holder);
		if (name == NULL || !registry_is_key(key, CStringGetTextDatum(name)))
			continue;
		user->meets = true;
		warn_meeting(repair, user->finding, name, &holder);
	}
}

/*
 * Return whether the user of a finding has the same case-folded name as
 * another user. repair->user must be sorted by user_id.
 */
static bool
meets_another(const RegistryRepair *repair, const Finding *f)
{
	Unregistered wanted = {.finding = f};
	const Unregistered *found = bsearch(&wanted, repair->user, repair->n,
										sizeof(Unregistered), compare_users);

	return found != NULL && found->meets;
}

/*
 * Delete the rows of the table usernames whose key is not the current name of
 * their user. A row stays if its user has the same case-folded name as another
 * user. Returns how many rows were deleted.
 */
static int64
release_rows(const RegistryRepair *repair, const Finding *findings, uint64 n)
{
	int64		mended = 0;

	for (uint64 i = 0; i < n; i++)
	{
		const Finding *f = &findings[i];
		Datum		key = CStringGetTextDatum(f->actual);
		char	   *name;

		CHECK_FOR_INTERRUPTS();
		if (!finding_is(f, "registry") || !f->has_actual ||
			meets_another(repair, f))
			continue;
		name = name_of(&f->user_id);
		if (name != NULL && registry_is_key(key, CStringGetTextDatum(name)))
			continue;
		registry_release_key(key, &f->user_id);
		mended++;
	}
	return mended;
}

/*
 * Insert the missing rows into the table usernames. A user gets no row if
 * another user has the same case-folded name. A user who was renamed after
 * verify() had read the name gets no row, either. Returns how many rows were
 * inserted.
 */
static int64
claim_names(const RegistryRepair *repair)
{
	int64		mended = 0;

	for (int i = 0; i < repair->n; i++)
	{
		const Unregistered *user = &repair->user[i];
		const pg_uuid_t *user_id = &user->finding->user_id;
		char	   *name;

		CHECK_FOR_INTERRUPTS();
		if (user->meets)
			continue;
		name = name_of(user_id);
		if (name != NULL &&
			registry_is_key(CStringGetTextDatum(user->key), CStringGetTextDatum(name)) &&
			registry_claim(CStringGetTextDatum(name), user_id))
			mended++;
	}
	return mended;
}

/*
 * Repair the findings about the table usernames, and warn about those that
 * cannot be repaired. Returns how many were repaired. Locks: row locks on the
 * rows that are deleted or inserted.
 */
int64
mend_registry(const Finding *findings, uint64 n)
{
	RegistryRepair repair = {0};

	collect(&repair, findings, n);
	note_pairs(&repair);
	note_holders(&repair);
	warn_of_more(&repair);
	qsort(repair.user, repair.n, sizeof(Unregistered), compare_users);
	return release_rows(&repair, findings, n) + claim_names(&repair);
}
