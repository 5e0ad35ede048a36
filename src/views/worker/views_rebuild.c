/*
 * views_rebuild.c
 *		The steps of a rebuild. A rebuild is the job that makes the views agree
 *		with the posts, whatever rows the views have.
 *
 * A rebuild first compares all copies with their posts, in key order, and
 * inserts the topics that the posts lack. Then it deletes topics that no post
 * has, and compares the feed with the newest posts. Each chunk is one
 * transaction with its own snapshot. Between chunks, the worker decodes and
 * applies changes as usual. These changes do not conflict with the rebuild,
 * because both write the current state of the posts.
 *
 * Runs in the worker; rebuild_estimate() in any backend, too.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/settings.h"
#include "model/topics/topics.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

int64
rebuild_estimate(void)
{
	int64		posts = item_estimate(CONTAINER_POSTS, ITEM_POST);
	int64		topics = topics_are_kept() && container_usable(CONTAINER_TOPICS) ?
		item_estimate(CONTAINER_TOPICS, ITEM_TOPIC) +
		item_estimate(CONTAINER_TOPICS, ITEM_TOPIC_POST) : 0;

	return posts + Max(posts, item_estimate(CONTAINER_USERS, ITEM_POST)) +
		topics;
}

static LogRate rate;

/* whether this worker has reported that a rebuild begins */
static bool has_begun = false;

/*
 * Report in the log and in stat_worker that a rebuild begins.
 *
 * reason: why, as a sentence
 */
void
rebuild_begins(const char *reason)
{
	WorkerEntry *entry = my_worker_entry();

	has_begun = true;
	if (entry != NULL)
		worker_entry_rebuild(entry, reason);
	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("blogstore worker rebuilds the views of database \"%s\"",
						worker_database()),
				 errdetail("%s", reason)));
}

/* Return whether this worker has called rebuild_begins(). */
bool
rebuild_has_begun(void)
{
	return has_begun;
}

/*
 * Log that the views are built and readers use them.
 *
 * since: when the rebuild began, or when this worker started to continue it
 * (clock_elapsed()).
 */
void
rebuild_ends(int64 since)
{
	int64		took = clock_elapsed() - since;

	if (log_rate_allows(&rate))
		ereport(LOG,
				(errmsg("blogstore worker has built the views of database \"%s\" in %lld.%03d s, and readers use them",
						worker_database(), (long long) (took / 1000),
						(int) (took % 1000))));
}

/*
 * Do the next chunk of a rebuild, and store in *job how far the rebuild is.
 * The caller has called views_lock(), and saves the job in the same
 * transaction.
 */
void
rebuild_chunk(Job *job)
{
	switch (job->phase)
	{
		case REBUILD_QUEUED:
			job->total = rebuild_estimate();
			job_enter_phase(job, REBUILD_COPIES);
			break;
		case REBUILD_COPIES:
			if (copies_build(&job->place, &job->done))
			{
				topics_sweep_begin();
				job_enter_phase(job, REBUILD_TOPICS);
			}
			break;
		case REBUILD_TOPICS:
			if (topics_sweep(&job->partition, &job->done))
				job_enter_phase(job, REBUILD_FEED);
			break;
		default:
			feed_make();
			job_finish(job);
			break;
	}
}
