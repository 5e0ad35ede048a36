/*
 * views_rebuild.c
 *		Building the views anew, one chunk at a time.
 *
 * All copies are gone through in their order beside the posts, then the feed is
 * made right. Each chunk is a transaction with a snapshot of its own; between
 * chunks the worker goes on decoding, and since both write what the posts are, they
 * do not get in each other's way.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

/* About how many posts and copies a rebuild has to look at. */
int64
rebuild_estimate(void)
{
	int64		posts = item_estimate(CONTAINER_POSTS, ITEM_POST);

	return posts + Max(posts, item_estimate(CONTAINER_USERS, ITEM_POST));
}

/* Do one chunk of a rebuild. The caller holds the views' lock. */
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
