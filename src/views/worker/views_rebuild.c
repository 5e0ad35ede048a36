/*
 * views_rebuild.c
 *		The steps of a rebuild, the job that makes the views (the copies of
 *		posts in users, and the feed) agree with the posts, whatever the views
 *		hold.
 *
 * A rebuild first compares all copies with their posts, in key order, and then
 * the feed with the newest posts. Each chunk is one transaction with its own
 * snapshot. Between chunks, the worker decodes and applies changes as usual.
 * These do not conflict with the rebuild, because both write the current state
 * of the posts.
 *
 * Runs in the worker; rebuild_estimate() in any backend, too.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

/*
 * Return an estimate of the number of posts and copies that a rebuild reads.
 */
int64
rebuild_estimate(void)
{
	int64		posts = item_estimate(CONTAINER_POSTS, ITEM_POST);

	return posts + Max(posts, item_estimate(CONTAINER_USERS, ITEM_POST));
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
				job_enter_phase(job, REBUILD_FEED);
			break;
		default:
			feed_make();
			job_finish(job);
			break;
	}
}
