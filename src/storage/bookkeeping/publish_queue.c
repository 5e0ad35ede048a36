/*
 * publish_queue.c
 *		The queue of scheduled posts, in the table blogstore.publish_queue. It
 *		tells the worker when to look at which post.
 *
 * A scheduled post is a hidden post with a publish_date. The post alone says
 * whether and when it is published. The queue is derived from the posts, as
 * the views are: when the worker refreshes the views for a scheduled post, it
 * writes the post's row of the queue at the end of the same transaction. So
 * requests do not write the queue, a site without scheduled posts has an empty
 * table, and a rebuild of the views completes the queue.
 *
 * A row stays when its post is deleted, published by a request, or no longer
 * scheduled. The worker removes it when its date has come.
 *
 * Runs in the worker. Only publish_queue_note() also runs in backends, and
 * does nothing there. The caller must act as the owner of blogstore's tables
 * (owner_begin()). Errors of all functions that run statements: 42501, and
 * 55000 if the table is not as blogstore made it.
 */
#include "postgres.h"

#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"

/* Whether this process has put a row since publish_queue_written(). */
static bool written = false;

static KeptPlan put_plan = {
	ON_PUBLISH_QUEUE,
	"INSERT INTO " PUBLISH_QUEUE_SQL " AS q (post_id, publish_date)"
	" VALUES ($1, $2) ON CONFLICT (post_id) DO UPDATE"
	" SET publish_date = $2, retry_at = NULL"
	" WHERE q.publish_date IS DISTINCT FROM $2",
	2, {UUIDOID, TIMESTAMPTZOID}, NULL
};

static KeptPlan retry_plan = {
	ON_PUBLISH_QUEUE,
	"UPDATE " PUBLISH_QUEUE_SQL " SET retry_at = $2 WHERE post_id = $1",
	2, {UUIDOID, TIMESTAMPTZOID}, NULL
};

static KeptPlan remove_plan = {
	ON_PUBLISH_QUEUE,
	"DELETE FROM " PUBLISH_QUEUE_SQL " WHERE post_id = $1", 1, {UUIDOID}, NULL
};

/*
 * $1 is the current time. $2 is the latest time that retry_at can have, unless
 * the clock was set back. A row without a post_id cannot be removed by
 * remove_plan, so the worker ignores it.
 */
static KeptPlan due_plan = {
	ON_PUBLISH_QUEUE,
	"SELECT post_id::uuid FROM " PUBLISH_QUEUE_SQL
	" WHERE publish_date <= $1 AND post_id IS NOT NULL"
	" AND (retry_at IS NULL OR retry_at <= $1 OR retry_at > $2)"
	" ORDER BY retry_at NULLS FIRST, publish_date LIMIT $3",
	3, {TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID}, NULL
};

static KeptPlan next_plan = {
	ON_PUBLISH_QUEUE,
	"SELECT least((SELECT publish_date FROM " PUBLISH_QUEUE_SQL
	" WHERE publish_date > $1 ORDER BY publish_date LIMIT 1),"
	" (SELECT min(CASE WHEN retry_at <= $2 THEN retry_at ELSE publish_date END)"
	" FROM " PUBLISH_QUEUE_SQL
	" WHERE publish_date <= $1 AND post_id IS NOT NULL))::timestamptz",
	2, {TIMESTAMPTZOID, TIMESTAMPTZOID}, NULL
};

typedef struct NotedPost
{
	pg_uuid_t	post_id;
	TimestampTz date;
} NotedPost;

/*
 * The posts that the current transaction has passed to publish_queue_note().
 * noting: whether publish_queue_begin() was called
 */
static bool noting = false;
static NotedPost *noted = NULL;
static int	n_noted = 0;
static int	room = 0;

/*
 * Begin to collect scheduled posts. Called at the beginning of each
 * transaction that may write views.
 */
void
publish_queue_begin(void)
{
	noting = true;
	n_noted = 0;
}

/*
 * Note that a post is scheduled. publish_queue_end() writes its row of the
 * queue. (A statement here would increment the command counter. A copy that
 * the transaction refreshes twice could not be updated the second time.)
 */
void
publish_queue_note(const pg_uuid_t *post_id, TimestampTz date)
{
	if (!noting)
		return;
	if (noted == NULL)
	{
		room = 64;
		noted = MemoryContextAlloc(TopMemoryContext, sizeof(NotedPost) * room);
	}
	else if (n_noted == room)
	{
		room *= 2;
		noted = repalloc(noted, sizeof(NotedPost) * room);
	}
	noted[n_noted++] = (NotedPost) {*post_id, date};
}

/* Write the rows of all noted posts. Called at the end of the transaction. */
void
publish_queue_end(void)
{
	noting = false;
	for (int i = 0; i < n_noted; i++)
		publish_queue_put(&noted[i].post_id, noted[i].date);
	n_noted = 0;
}

/* Let the worker look at a post when its publish_date has come. */
void
publish_queue_put(const pg_uuid_t *post_id, TimestampTz date)
{
	Datum		values[] = {
		UUIDPGetDatum(post_id), TimestampTzGetDatum(date)
	};

	(void) plan_run(&put_plan, values, NULL, false);
	written = true;
}

/* Let the worker look again later at a post whose date has come. */
void
publish_queue_retry(const pg_uuid_t *post_id, TimestampTz at)
{
	Datum		values[] = {
		UUIDPGetDatum(post_id), TimestampTzGetDatum(at)
	};

	(void) plan_run(&retry_plan, values, NULL, false);
}

void
publish_queue_remove(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);

	(void) plan_run(&remove_plan, &key, NULL, false);
}

/*
 * Set posts[] to posts at which the worker has to look now, at most "limit" of
 * them: first those that were not tried yet, in the order of their dates.
 * Returns their number.
 *
 * latest_retry: if the retry_at of a row is later, the clock was set back, and
 *     the post is due
 */
int
publish_queue_due(TimestampTz now, TimestampTz latest_retry, pg_uuid_t *posts,
				  int limit)
{
	Datum		values[] = {
		TimestampTzGetDatum(now), TimestampTzGetDatum(latest_retry),
		Int64GetDatum(limit)
	};
	int			n;

	SPI_connect();
	plan_execute(&due_plan, values, NULL, true);
	n = (int) SPI_processed;
	for (int i = 0; i < n; i++)
		(void) row_uuid(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1,
						&posts[i]);
	SPI_finish();
	return n;
}

/*
 * Return when the worker next has to look at a post; DT_NOEND if the queue is
 * empty. The arguments are those of publish_queue_due().
 */
TimestampTz
publish_queue_next(TimestampTz now, TimestampTz latest_retry)
{
	Datum		values[] = {
		TimestampTzGetDatum(now), TimestampTzGetDatum(latest_retry)
	};
	TimestampTz next = DT_NOEND;
	Datum		value;
	bool		isnull;

	SPI_connect();
	plan_execute(&next_plan, values, NULL, true);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	if (!isnull)
		next = DatumGetTimestampTz(value);
	SPI_finish();
	return next;
}

/*
 * Return whether this process has called publish_queue_put() since the last
 * call of this function. Is also true if that transaction was rolled back.
 */
bool
publish_queue_written(void)
{
	bool		result = written;

	written = false;
	return result;
}
