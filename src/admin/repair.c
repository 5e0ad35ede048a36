/*
 * repair.c
 *		blogstore.repair(): repairing what verify() finds, and folding all
 *		deltas.
 *
 * The containers may change between verify() and the repair. So repair() takes
 * no values from the findings, but reads the items again. repair() locks the
 * row of a post (FOR NO KEY UPDATE) before it counts the post's comments and
 * likes. While repair() writes the views, views_lock() keeps the worker from
 * writing them.
 *
 * If a required value is null, repair() writes the value if other values
 * determine it. Otherwise repair() raises a warning, and repairs nothing else.
 * The owner has to write the value, and to call repair() again.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/progress.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
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

SQL_FUNCTION(repair);

/*
 * Count the comments and likes on the post of a finding, and correct the
 * counts of the post. Returns whether the post exists.
 */
static bool
mend_count(const Finding *f)
{
	const CountedItem post = counted_post(&f->post_id);

	mend_missing_count(f);
	return post_counter_repair(&post);
}

/*
 * Count the replies to the comment that a finding is about, and its likes, and
 * correct its counts. Returns whether the comment exists.
 */
static bool
mend_comment_count(const Finding *f)
{
	const CountedItem comment = counted_comment(&f->post_id, &f->id);

	return post_counter_repair(&comment);
}

/*
 * Repair one finding. Does nothing if the finding is about a null value or the
 * table usernames: mend_invalid() and mend_registry() repair such findings.
 * Returns whether the finding was repaired.
 */
static bool
mend(const Finding *f)
{
	if (finding_is(f, "invalid") || finding_is(f, "registry"))
		return false;
	if (finding_is_of_follow(f))
		return mend_follow(f);
	if (finding_is_of_queue(f))
		return mend_queue(f);
	if (finding_is(f, "orphan"))
		return mend_orphan(f);
	if (finding_is(f, "reply_count") || finding_is(f, "comment_count") ||
		finding_is(f, "like_count"))
		return strcmp(f->type, "comment") == 0 ? mend_comment_count(f) :
			mend_count(f);
	if (finding_is(f, "username"))
		return mend_username(f);
	/*
	 * The finding is about a copy of a post, a row of the feed, or topics.
	 * mend_views() will repair it.
	 */
	return true;
}

/*
 * Refresh the copies and topics that the findings are about, and the whole
 * feed. All values are read from the posts. Do nothing if the settings were
 * changed since, and this process has not read them yet: the worker rebuilds
 * the views, or has done so.
 */
static void
mend_views(const Finding *findings, uint64 n)
{
	PostKey    *keys = palloc0(sizeof(PostKey) * n);
	int			used = 0;

	views_lock();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!views_fit_settings())
	{
		PopActiveSnapshot();
		return;
	}
	for (uint64 i = 0; i < n; i++)
		/*
		 * A finding of type "post" is about a post, its copy, or its row of
		 * the feed. All three have the same key.
		 */
		if (findings[i].has_keys && strcmp(findings[i].type, "post") == 0)
		{
			keys[used].post_id = findings[i].post_id;
			keys[used].user_id = findings[i].user_id;
			keys[used++].creation_date = findings[i].creation_date;
		}
	copies_refresh(keys, used);
	feed_make();
	mend_topics(findings, n);
	PopActiveSnapshot();
}

/*
 * Repair all findings except those about null values, and fold all deltas.
 * Returns how many findings were repaired.
 */
static int64
mend_all(const Finding *findings, uint64 n, bool with_views)
{
	int64		mended = mend_registry(findings, n);

	warn_of_orphans(findings, n);
	progress_begin(psprintf("blogstore.repair(): repairing " UINT64_FORMAT " findings", n));
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		progress_add(1);
		mended += mend(&findings[i]);
	}
	drop_invalid_copies(findings, n);
	if (n > 0 && with_views)
		mend_views(findings, n);
	fold_everything();
	return mended;
}

static int64
repair_here(bool with_views)
{
	Finding    *findings;
	uint64		n;
	int64		mended;
	int64		left;

	SPI_connect();
	findings = findings_of_verify(&n, with_views);
	mended = mend_invalid(findings, n, &left);
	/* while required values are null, other repairs would fail */
	if (left == 0)
		mended += mend_all(findings, n, with_views);
	SPI_finish();
	return mended;
}

/*
 * blogstore.repair(): repair all discrepancies that verify() would report, and
 * return how many were repaired.
 *
 * Errors: 25001 under REPEATABLE READ and SERIALIZABLE; 25006; 55000. Locks:
 * row locks (FOR NO KEY UPDATE) on the items that are repaired; the lock that
 * all writers of views take (views_lock()).
 */
static Datum
repair(PG_FUNCTION_ARGS)
{
	const ClusterCalls *cluster;
	OwnerScope	scope;
	int64		mended;
	bool		with_views;

	need_writable("repair()");
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("repair() cannot run in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errhint("Use a READ COMMITTED transaction."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));
	container_lock_all(true);
	(void) containers_check();
	owner_begin(&scope);
	with_views = views_ready(GetActiveSnapshot()) && views_fit_settings();
	cluster = cluster_calls();
	mended = cluster != NULL ? cluster->repair(with_views) : repair_here(with_views);
	owner_end(&scope);
	PG_RETURN_INT64(mended);
}
