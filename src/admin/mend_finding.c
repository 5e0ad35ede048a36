/*
 * mend_finding.c
 *		Repairing what one finding of verify() reports.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/*
 * Set *key to the key of the comment or like that a finding is about. A
 * finding about a like of a comment does not name the comment. So the function
 * searches the user's likes of comments on the post for the id of the like.
 * Returns false if there is no such like.
 */
static bool
key_of_finding(const Finding *f, ChildKey *key)
{
	Datum		value[] = {
		UUIDPGetDatum(&f->user_id), UUIDPGetDatum(&f->post_id)
	};
	BlogItem	like;
	ItemScan   *scan;
	bool		found = false;

	*key = (ChildKey) {.type = ITEM_LIKE, .post_id = f->post_id};
	if (strcmp(f->type, item_type_name(ITEM_COMMENT)) == 0)
	{
		key->type = ITEM_COMMENT;
		key->comment_id = f->id;
		return true;
	}
	key->user_id = f->user_id;
	if (strcmp(f->type, item_type_name(ITEM_LIKE)) == 0)
		return true;

	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT_LIKE,
		.partition_key = &f->post_id, .path = PATH_KEY, .key = value,
		.nkeys = lengthof(value), .identity = true
	});
	while (!found && item_scan_next(scan, &like))
		if (!like.isnull[PROP_ID] &&
			memcmp(item_uuid(&like, PROP_ID), &f->id, UUID_LEN) == 0)
		{
			*key = child_key(ITEM_COMMENT_LIKE, &like);
			found = true;
		}
	item_scan_end(scan);
	PopActiveSnapshot();
	return found;
}

static bool
comment_is_there(const ChildKey *key)
{
	Datum		value[2];
	ItemQuery	query = comment_query(&key->post_id, &key->comment_id, value);
	BlogItem	comment;
	bool		there;

	PushActiveSnapshot(GetTransactionSnapshot());
	there = item_get(&query, &comment);
	PopActiveSnapshot();
	return there;
}

/*
 * Return whether the missing author, post or liked comment of an orphan exists
 * now. An orphan is an item that refers to a user, post or comment that does
 * not exist.
 */
static bool
is_orphan_no_more(const Finding *f, const ChildKey *key)
{
	if (strcmp(f->expected, "a post") == 0)
		return item_is_there(CONTAINER_POSTS, ITEM_POST, &f->post_id);
	if (strcmp(f->expected, "a comment") == 0)
		return comment_is_there(key);
	return item_is_there(CONTAINER_USERS, ITEM_USER, &f->user_id);
}

/*
 * Delete an orphan: an item whose author or post does not exist, a like of a
 * comment that does not exist, or the deltas of such a comment. Do nothing if
 * the author, post or comment has been created since verify() read the item.
 * Returns whether anything was deleted.
 */
bool
mend_orphan(const Finding *f)
{
	const CountedItem post = counted_post(&f->post_id);
	bool		delta = strcmp(f->type, item_type_name(ITEM_DELTA)) == 0;
	bool		of_post = strcmp(f->type, item_type_name(ITEM_POST)) == 0;
	ChildKey	key = {.type = ITEM_POST};
	DeleteResult result;

	if (delta && strcmp(f->expected, "a comment") == 0)
	{
		const CountedItem comment = counted_comment(&f->post_id, &f->id);

		return lost_deltas_delete(&comment);
	}
	if (!delta && !of_post && !key_of_finding(f, &key))
		return false;
	if (is_orphan_no_more(f, &key))
		return false;
	if (of_post)
		result = post_delete(&f->post_id, NULL, LockWaitBlock);
	else if (delta)
		result = delta_delete(&post, &f->id);
	else
		result = child_delete_anyway(&key, NULL, LockWaitBlock);
	return result == DELETE_DONE;
}

/*
 * Warn of the orphans that mend_orphan() will delete, because what they refer
 * to may have been deleted by mistake. Deltas are not counted, because users
 * do not create them.
 */
void
warn_of_orphans(const Finding *findings, uint64 n)
{
	int64		orphans = 0;

	for (uint64 i = 0; i < n; i++)
		if (finding_is(&findings[i], "orphan") &&
			strcmp(findings[i].type, item_type_name(ITEM_DELTA)) != 0)
			orphans++;
	if (orphans > 0)
		ereport(WARNING,
				(errmsg("repair() deletes items whose user, post or comment does not exist, and what belongs to them"),
				 errdetail("Number of such items: %lld.", (long long) orphans),
				 errhint("If what they refer to was deleted by mistake, roll back, and restore it before you call blogstore.repair() again.")));
}

/*
 * Run a statement that repairs the item of a finding. The arguments of the
 * statement are the item's post_id ($1), type ($2), id ($3) and user_id ($4).
 * Returns whether the statement has changed a row. Errors: 55000.
 */
bool
mend_by(KeptPlan *plan, const Finding *f)
{
	Datum		values[] = {
		UUIDPGetDatum(&f->post_id), CStringGetTextDatum(f->type),
		UUIDPGetDatum(&f->id), UUIDPGetDatum(&f->user_id)
	};
	bool		mended;

	SPI_connect();
	plan_execute_once(plan, values, false);
	mended = SPI_processed > 0;
	SPI_finish();
	return mended;
}

static KeptPlan username_plan = {
	ON_USERS | ON_POSTS, MEND_USERNAME_SQL(USERS_SQL), ITEM_ARGUMENTS, NULL
};

/* Sets the null counts of a post or delta to zero. */
static KeptPlan count_plan = {
	ON_POSTS,
	"UPDATE " POSTS_SQL " AS i SET"
	" comment_count = coalesce(i.comment_count, 0),"
	" like_count = coalesce(i.like_count, 0)"
	" WHERE i.post_id = $1 AND i.type = $2 AND i.id = $3"
	" AND num_nulls(i.comment_count, i.like_count) > 0",
	ITEM_ARGUMENTS, NULL
};

/*
 * Writes a scheduled post as it is. The worker decodes the change, and writes
 * the post's row of the table publish_queue.
 */
static KeptPlan queue_plan = {
	ON_POSTS,
	"UPDATE " POSTS_SQL " SET publish_date = publish_date"
	" WHERE post_id = $1 AND type = $2 AND id = $3"
	" AND hidden AND isfinite(publish_date)",
	ITEM_ARGUMENTS, NULL
};

static KeptPlan invalid_queue_plan = {
	ON_PUBLISH_QUEUE,
	"DELETE FROM " PUBLISH_QUEUE_SQL
	" WHERE num_nulls(post_id, publish_date) > 0",
	0, {0}, NULL
};

static KeptPlan registry_plan = {
	ON_USERNAMES,
	"DELETE FROM " USERNAMES_SQL
	" WHERE num_nulls(username_key, user_id) > 0",
	0, {0}, NULL
};

#define VIEW_NULLS_SQL \
	"num_nulls(id, post_id, user_id, user_username, title, content," \
	" comment_count, like_count, creation_date) > 0"

static KeptPlan copies_plan = {
	ON_USERS,
	"DELETE FROM " COPIES_SQL " WHERE type = 'post' AND " VIEW_NULLS_SQL,
	0, {0}, NULL
};

static KeptPlan feed_plan = {
	ON_FEED,
	"DELETE FROM " FEED_SQL " WHERE " VIEW_NULLS_SQL,
	0, {0}, NULL
};

static void
mend_all(KeptPlan *plan)
{
	SPI_connect();
	plan_execute_once(plan, NULL, false);
	SPI_finish();
}

static bool
in_view(const Finding *f)
{
	return strcmp(f->container, "feed") == 0 || finding_is_of_topics(f) ||
		(strcmp(f->container, "users") == 0 && strcmp(f->type, "post") == 0);
}

static bool
is_mendable(const Finding *f)
{
	if (strcmp(f->container, "usernames") == 0 || in_view(f) ||
		finding_is_of_queue(f))
		return true;
	if (strcmp(f->type, "delta") == 0)
		return f->has_id && strstr(f->actual, "_count") != NULL;
	return strcmp(f->container, "jobs") == 0 &&
		job_column_is_mendable(f->actual);
}

static char *
describe_row(const Finding *f)
{
	const pg_uuid_t *id = &f->user_id;
	const char *name = "with user_id ";

	if (f->has_id)
	{
		id = &f->id;
		name = "";
	}
	else if (f->has_post_id)
	{
		id = &f->post_id;
		name = "with post_id ";
	}
	else if (!f->has_user_id)
		return "without an id";
	return psprintf("%s%s", name, id_text(id));
}

static void
warn_invalid(const Finding *f, int64 n)
{
	if (n >= MAX_WARNINGS)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("cannot repair: \"%s\" of %s %s in \"%s.%s\" is null",
					f->actual, f->type[0] ? f->type : "row",
					describe_row(f),
					BLOGSTORE_SCHEMA, f->container),
			 errhint("Write the value, or delete the row; then call blogstore.repair() again.")));
}

/* Delete the rows of the table publish_queue that lack a value. */
void
drop_invalid_queue(void)
{
	mend_all(&invalid_queue_plan);
}

/*
 * Repair the findings about required values that are null. The caller does
 * this before all other repairs, because these would fail on null values.
 *
 * Returns how many findings were repaired. Findings about rows of views count
 * as repaired, although drop_invalid_copies() deletes these rows only later.
 * *left becomes the number of findings whose value cannot be computed. The
 * first MAX_WARNINGS of these findings raise a warning each.
 */
int64
mend_invalid(const Finding *findings, uint64 n, int64 *left)
{
	int64		mended = 0;
	bool		jobs = false;
	bool		usernames = false;
	bool		queue = false;

	*left = 0;
	for (uint64 i = 0; i < n; i++)
	{
		const Finding *f = &findings[i];

		CHECK_FOR_INTERRUPTS();
		if (!finding_is(f, "invalid"))
			continue;
		if (!is_mendable(f))
		{
			warn_invalid(f, (*left)++);
			continue;
		}
		mended++;
		jobs |= strcmp(f->container, "jobs") == 0;
		usernames |= strcmp(f->container, "usernames") == 0;
		queue |= finding_is_of_queue(f);
		if (strcmp(f->type, "delta") == 0)
			(void) mend_by(&count_plan, f);
	}
	if (jobs)
		jobs_mend();
	if (usernames)
		mend_all(&registry_plan);
	if (queue)
		drop_invalid_queue();
	if (*left > MAX_WARNINGS)
		ereport(WARNING,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cannot repair: %lld more values are null",
						(long long) (*left - MAX_WARNINGS)),
				 errhint("blogstore.verify() lists all of them.")));
	return mended;
}

/*
 * If a finding reports that a count of a post is null, set each null count of
 * the post to zero.
 */
void
mend_missing_count(const Finding *f)
{
	if (!f->has_actual)
		(void) mend_by(&count_plan, f);
}

/*
 * Write the author's current username into the item of a finding. Returns
 * whether the item had another username.
 */
bool
mend_username(const Finding *f)
{
	return mend_by(&username_plan, f);
}

/*
 * Let the worker write the row of the table publish_queue that a finding is
 * about. Returns whether the post is still scheduled.
 */
bool
mend_queue(const Finding *f)
{
	return mend_by(&queue_plan, f);
}

/*
 * Delete copies of posts and rows of the feed that lack required values.
 * mend_views() writes them again later. Locks: if there are such rows, the
 * lock of views_lock(), which all writers of views take.
 */
void
drop_invalid_copies(const Finding *findings, uint64 n)
{
	bool		copies = false;
	bool		feed = false;

	for (uint64 i = 0; i < n; i++)
		if (finding_is(&findings[i], "invalid") && in_view(&findings[i]))
		{
			copies |= strcmp(findings[i].container, "users") == 0;
			feed |= strcmp(findings[i].container, "feed") == 0;
		}
	if (copies || feed)
		views_lock();
	if (copies)
		mend_all(&copies_plan);
	if (feed)
		mend_all(&feed_plan);
}
