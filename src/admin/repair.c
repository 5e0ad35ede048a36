/*
 * repair.c
 *		blogstore.repair(): mend what verify() finds, and fold deltas of counts.
 *
 * What verify() found may have changed since, so nothing it says is written:
 * it only tells where to look. Counts are counted anew with the post locked,
 * names and views are taken from the present state, the views under their
 * lock, which keeps the worker out. Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "compat.h"
#include "container/container.h"
#include "views/views.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(blogstore_repair);

typedef struct Finding
{
	const char *container;
	const char *problem;
	const char *type;
	pg_uuid_t	id;
	pg_uuid_t	post_id;
	pg_uuid_t	user_id;
	const char *expected;
	const char *actual;
	bool		has_date;
	TimestampTz creation_date;
} Finding;

static char *
get_string(HeapTuple row, TupleDesc desc, int column)
{
	return SPI_getvalue(row, desc, column);
}

static void
get_uuid(HeapTuple row, TupleDesc desc, int column, pg_uuid_t *out)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);

	memset(out, 0, sizeof(*out));
	if (!isnull)
		*out = *DatumGetUUIDP(value);
}

/* A row of verify_run(), copied into the current memory context. */
static void
get_finding(Finding *f, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	Datum		date = SPI_getbinval(row, desc, FINDING_CREATION_DATE, &isnull);

	f->container = get_string(row, desc, FINDING_CONTAINER);
	f->problem = get_string(row, desc, FINDING_PROBLEM);
	f->type = get_string(row, desc, FINDING_TYPE);
	get_uuid(row, desc, FINDING_ID, &f->id);
	get_uuid(row, desc, FINDING_POST_ID, &f->post_id);
	get_uuid(row, desc, FINDING_USER_ID, &f->user_id);
	f->expected = get_string(row, desc, FINDING_EXPECTED);
	f->actual = get_string(row, desc, FINDING_ACTUAL);
	f->has_date = !isnull;
	f->creation_date = isnull ? 0 : DatumGetTimestampTz(date);
}

static bool
is_problem(const Finding *f, const char *problem)
{
	return strcmp(f->problem, problem) == 0;
}

/* An item without a user, or without a post to count it. */
static bool
mend_orphan(const Finding *f)
{
	LockOutcome outcome;

	if (strcmp(f->type, "post") == 0)
		outcome = remove_post(&f->post_id, NULL, LockWaitBlock);
	else if (strcmp(f->type, "comment") == 0)
		outcome = purge_child(ITEM_COMMENT, &f->post_id, &f->id, NULL,
							  LockWaitBlock);
	else if (strcmp(f->type, "delta") == 0)
		outcome = remove_item(ITEM_DELTA, &f->post_id, &f->id, NULL,
							  LockWaitBlock);
	else
		outcome = purge_child(ITEM_LIKE, &f->post_id, &f->user_id, NULL,
							  LockWaitBlock);
	return outcome == LOCK_HAD;
}

/* A name that is not the user's: relabel all items of the user's. */
static void
mend_username(const Finding *f)
{
	Datum		key = UUIDPGetDatum(&f->user_id);
	BlogItem	user;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (item_get(CONTAINER_USERS, ITEM_USER, &f->user_id, PATH_KEY, &key, 1,
				 GetActiveSnapshot(), &user))
		relabel_user_items(&f->user_id, user.value[PROP_USERNAME]);
	PopActiveSnapshot();
}

/* A name in the registry that nobody has, or one that is missing there. */
static bool
mend_registry(const Finding *f)
{
	bool		mended;

	if (f->actual != NULL)
	{
		registry_release(CStringGetTextDatum(f->actual), &f->user_id);
		return true;
	}
	mended = registry_claim(CStringGetTextDatum(f->expected), &f->user_id);
	if (!mended)
		ereport(WARNING,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("two users are named \"%s\", regardless of case",
						f->expected),
				 errhint("Rename one of them with blogstore.edit_user().")));
	return mended;
}

/* Mend one finding in the containers; views come last. */
static bool
mend(const Finding *f)
{
	if (is_problem(f, "orphan"))
		return mend_orphan(f);
	if (is_problem(f, "comment_count") || is_problem(f, "like_count"))
		return post_counter_repair(&f->post_id);
	if (is_problem(f, "registry"))
		return mend_registry(f);
	if (is_problem(f, "username"))
		mend_username(f);
	return true;				/* else a copy: mend_views() */
}

/* Refresh every copy that a finding touches, and the feed. */
static void
mend_views(const Finding *findings, uint64 n)
{
	PostKey    *keys = palloc0(sizeof(PostKey) * n);
	int			used = 0;

	views_lock();
	PushActiveSnapshot(GetTransactionSnapshot());
	for (uint64 i = 0; i < n; i++)
		if (findings[i].has_date && strcmp(findings[i].type, "user") != 0)
		{
			/* a comment's or like's own finding does not touch its post */
			if (strcmp(findings[i].type, "post") != 0)
				continue;
			keys[used].post_id = findings[i].post_id;
			keys[used].user_id = findings[i].user_id;
			keys[used++].creation_date = findings[i].creation_date;
		}
	copies_refresh(keys, used);
	feed_rebuild();
	PopActiveSnapshot();
}

/*
 * blogstore.repair(): how many discrepancies were mended. Errors: 25001
 * (REPEATABLE READ or SERIALIZABLE), 25006, 55000. Locks: the posts concerned, FOR NO KEY UPDATE; the views' lock.
 */
Datum
blogstore_repair(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	SPITupleTable *result;
	Finding    *findings;
	uint64		n;
	int64		mended = 0;
	bool		with_views;

	need_writable("repair()");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("repair() cannot run with a snapshot of the past"),
				 errhint("Use a READ COMMITTED transaction.")));
	container_require();
	container_lock_all(true);
	owner_begin(&scope);
	with_views = views_ready(GetActiveSnapshot());

	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	result = verify_run(&n, with_views);
	PopActiveSnapshot();
	findings = palloc(sizeof(Finding) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
		get_finding(&findings[i], result->vals[i], result->tupdesc);
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mended += mend(&findings[i]);
	}
	if (n > 0 && with_views)
		mend_views(findings, n);
	SPI_finish();
	fold_everything();
	owner_end(&scope);
	PG_RETURN_INT64(mended);
}
