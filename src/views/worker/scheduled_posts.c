/*
 * scheduled_posts.c
 *		Publishes scheduled posts when their publish_date has come.
 *
 * blogstore.publish_queue tells when to look at which post
 * (storage/bookkeeping/publish_queue.c). The worker keeps only the earliest of
 * these dates in memory. When that date has come, the worker locks each due
 * post, and reads from the post whether it is still scheduled, and for when.
 * So a request that changes the post at the same time takes effect either
 * before or after the worker.
 *
 * Each post is published in a transaction of its own. If another transaction
 * has locked the post, or code of the owner refuses the change, the worker
 * goes on with other posts, and tries again later. Like a change by another
 * session, the change of the post is then decoded from the WAL and applied to
 * the views.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "model/post_schedule.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/worker/worker_parts.h"

#include "storage/lmgr.h"
#include "utils/timestamp.h"

/* The most posts that are read from the queue at once. */
#define POSTS_AT_ONCE 100

/* How long the worker publishes before it decodes WAL again, in ms. */
#define TIME_TO_PUBLISH 10

/*
 * After which pause a post is tried again, in ms. LOCKED_PAUSE: another
 * transaction has locked the post or its leaf. The pause grows if many posts
 * are locked, up to FAILED_PAUSE. FAILED_PAUSE: code of the owner has raised
 * an error, or the post lacks a required value. An error that tells of another
 * transaction counts as one of the owner's if the date of the post has passed
 * for as long.
 */
#define LOCKED_PAUSE 1000
#define FAILED_PAUSE 30000

/*
 * next_look: when the worker next has to look at a post; DT_NOEND if no post
 *     is scheduled
 * looked_at: when next_look was read from the queue
 */
static TimestampTz next_look = DT_NOBEGIN;
static TimestampTz looked_at = DT_NOBEGIN;

static TimestampTz failed_at = 0;

static int	nlocked = 0;		/* how many posts were locked since no post was
								 * due */

/*
 * A post that is due.
 *
 * date: its publish_date, once it was read; otherwise 0
 */
typedef struct DuePost
{
	pg_uuid_t	id;
	TimestampTz date;
} DuePost;

static TimestampTz
after(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/* When to try a post again that another transaction has locked. */
static TimestampTz
after_lock(void)
{
	return after(Min(LOCKED_PAUSE * (1 + nlocked++ / POSTS_AT_ONCE), FAILED_PAUSE));
}

/* Read from the queue when the worker next has to look at a post. */
static void
look_ahead(void)
{
	OwnerScope	scope;

	apply_begin(&scope, APPLY_STATE);
	looked_at = GetCurrentTimestamp();
	next_look = publish_queue_next(looked_at, after(FAILED_PAUSE));
	apply_end(&scope);
}

static pg_uuid_t *
list_due(int *n)
{
	OwnerScope	scope;
	pg_uuid_t  *posts = palloc(sizeof(pg_uuid_t) * POSTS_AT_ONCE);

	apply_begin(&scope, APPLY_STATE);
	*n = publish_queue_due(GetCurrentTimestamp(), after(FAILED_PAUSE), posts,
						   POSTS_AT_ONCE);
	apply_end(&scope);
	return posts;
}

/*
 * Raise an error (09000) if a post is still scheduled for a date that has
 * come, because a BEFORE trigger has undone the update. Otherwise the worker
 * would decode the update, and try again at once.
 */
static void
check_published(ItemWriter *writer, const pg_uuid_t *id)
{
	Datum		key = UUIDPGetDatum(id);
	BlogItem	post;

	CommandCounterIncrement();
	UpdateActiveSnapshotCommandId();
	if (item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive,
						 LockWaitSkip, &post) == ITEM_OK &&
		post_is_scheduled(&post) &&
		DatumGetTimestampTz(post.value[PROP_PUBLISH_DATE]) <= GetCurrentTimestamp())
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("a trigger keeps a post scheduled whose date has come"),
				 errhint("Raise an error in the trigger to refuse a change, or clear the post's publish_date.")));
}

/*
 * Publish a post that the caller has locked, if its date has come. Otherwise
 * correct the queue, because a request has changed the post.
 */
static void
publish_locked(ItemWriter *writer, const BlogItem *found, DuePost *due)
{
	BlogItem	post = *found;

	publish_queue_remove(&due->id);
	if (!post_is_scheduled(found))
		return;
	due->date = DatumGetTimestampTz(found->value[PROP_PUBLISH_DATE]);
	post_schedule(&post, due->date);
	if (item_hidden(&post))
		publish_queue_put(&due->id, due->date);
	else
	{
		item_writer_update(writer, &post);
		check_published(writer, &due->id);
	}
}

/*
 * Lock the leaf of a partition of posts, unless another transaction has locked
 * it. DDL can hold such a lock for long. Waiting for it with each post would
 * delay the posts of other leaves, and the views.
 */
static bool
lock_leaf(int partition)
{
	Oid			leaf = partition_leaf(CONTAINER_POSTS, ITEM_POST, partition);

	return ConditionalLockRelationOid(leaf, RowExclusiveLock);
}

/*
 * Publish a post, if it is still scheduled and its date has come.
 *
 * arg: the DuePost
 */
static void
publish_one(void *arg)
{
	DuePost    *due = arg;
	const pg_uuid_t *id = &due->id;
	Datum		key = UUIDPGetDatum(id);
	int			partition = partition_of(CONTAINER_POSTS, ITEM_POST, id);
	ItemWriter *writer;
	BlogItem	found;

	/* The partition may have been detached, or moved to another node. */
	if (partition == NO_PARTITION)
	{
		publish_queue_remove(id);
		return;
	}
	if (!lock_leaf(partition))
	{
		publish_queue_retry(id, after_lock());
		return;
	}
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, id);
	switch (item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive,
							 LockWaitSkip, &found))
	{
		case ITEM_OK:
			publish_locked(writer, &found, due);
			break;
		case ITEM_LOCKED:
			publish_queue_retry(id, after_lock());
			break;
		default:
			publish_queue_remove(id);
			break;
	}
	item_writer_close(writer);
}

typedef struct Retry
{
	const pg_uuid_t *post_id;
	TimestampTz at;
} Retry;

static void
retry_later(void *arg)
{
	const Retry *retry = arg;

	publish_queue_retry(retry->post_id, retry->at);
}

/*
 * Report that a post cannot be published.
 *
 * error: an error of the owner's code; NULL if other transactions have held
 *		locks on the post for long
 */
static void
report_failed(const pg_uuid_t *id, const ErrorData *error)
{
	const char *message = error ? error->message : apply_in_the_way();
	static LogRate rate;
	WorkerEntry *entry = my_worker_entry();

	failed_at = GetCurrentTimestamp();
	if (entry != NULL)
		worker_entry_error(entry, ERROR_PUBLISH, message,
						   error ? error->hint : NULL);
	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("blogstore worker could not publish a scheduled post and will retry in %d s: %s",
						FAILED_PAUSE / 1000, message),
				 errdetail("The post is %s.", id_text(id)),
				 error ? apply_error_place(error) : 0));
}

/*
 * Remove the error of report_failed() from stat_worker when no post is
 * scheduled, or when nothing has failed for twice FAILED_PAUSE.
 */
static void
note_recovered(void)
{
	WorkerEntry *entry = my_worker_entry();

	if (entry != NULL && (next_look == DT_NOEND ||
						  clock_passed(failed_at, GetCurrentTimestamp(),
									   2 * FAILED_PAUSE)))
		worker_entry_recovered(entry, ERROR_PUBLISH);
}

/* Publish a post, or have it tried again later. */
static void
try_post(const pg_uuid_t *id)
{
	ErrorData  *error = NULL;
	ErrorData  *other;
	DuePost		due = {.id = *id};
	ApplyResult result = apply_run(APPLY_POSTS, publish_one, &due, &error);
	Retry		retry = {.post_id = id};

	if (result == APPLY_DONE)
		return;
	if (result == APPLY_FAILED)
		report_failed(id, error);
	else if (due.date != 0 &&
			 clock_passed(due.date, GetCurrentTimestamp(), FAILED_PAUSE))
	{
		result = APPLY_FAILED;
		report_failed(id, NULL);
	}
	retry.at = result == APPLY_FAILED ? after(FAILED_PAUSE) : after_lock();
	(void) apply_run(APPLY_STATE, retry_later, &retry, &other);
}

/*
 * Publish posts that are due, for about TIME_TO_PUBLISH ms. Returns true if
 * the worker has looked at all posts that were due.
 */
static bool
publish_due(void)
{
	TimestampTz begin = GetCurrentTimestamp();
	int			n;
	pg_uuid_t  *posts = list_due(&n);
	int			i = 0;

	while (i < n && !clock_passed(begin, GetCurrentTimestamp(), TIME_TO_PUBLISH))
		try_post(&posts[i++]);

	/* The worker decodes only flushed WAL. */
	if (i > 0)
		apply_flush();
	return i == n && n < POSTS_AT_ONCE;
}

/*
 * Publish scheduled posts that are due. Called in each round of the worker's
 * main loop, outside of a transaction. Allocates in the current memory
 * context, which the caller resets. Returns the number of ms until the next
 * call is due, or -1 if no post is scheduled.
 */
long
publish_step(void)
{
	TimestampTz now = GetCurrentTimestamp();

	/* If the clock was set back, posts may be due earlier. */
	if (publish_queue_written() || now < looked_at)
		look_ahead();
	if (next_look != DT_NOEND && next_look <= now)
	{
		if (!publish_due())
			return 0;
		look_ahead();
		nlocked = 0;
	}
	note_recovered();
	if (next_look == DT_NOEND)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_look);
}
