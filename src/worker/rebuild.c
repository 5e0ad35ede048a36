/*
 * rebuild.c
 *		Building the views anew, one chunk at a time.
 *
 * Every post's copy is refreshed, then every copy is (which deletes those
 * whose post is gone), then the feed. Each chunk is a transaction with a
 * snapshot of its own; between chunks the worker goes on decoding, and since
 * both refresh by state they do not get in each other's way.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "views/views.h"
#include "worker/internal.h"

#include "utils/snapmgr.h"

/* How many posts or copies are refreshed in one transaction. */
#define REBUILD_CHUNK 1000

/* The key by which an item, a post or a copy, names a copy. */
static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

/* On to the first partition from a number on, or to the next phase if there is none. */
static void
go_on(Job *job, Container container, int number)
{
	int			partition = partition_from(container, ITEM_POST, number);

	job->place.valid = false;
	if (partition == NO_PARTITION)
		job_enter_phase(job, job->phase + 1);
	else
		job->partition = partition;
}

/* Refresh what a chunk of a leaf names. */
static void
refresh_chunk(Job *job, Container container, AccessPath path)
{
	int			n = 0;
	PostKey    *keys = palloc(sizeof(PostKey) * REBUILD_CHUNK);
	BlogItem	item;
	ItemScan   *scan;

	if (partition_from(container, ITEM_POST, job->partition) != job->partition)
	{
		/* it was detached since the last chunk */
		go_on(job, container, job->partition);
		return;
	}
	scan = item_scan_begin(&(ItemQuery) {
		.container = container, .type = ITEM_POST, .partition = job->partition,
		.path = path, .after = &job->place, .identity = true
	});
	while (n < REBUILD_CHUNK && item_scan_next(scan, &item))
	{
		key_of(&keys[n++], &item);
		item_scan_place(scan, &job->place);
	}
	item_scan_end(scan);

	copies_refresh(keys, n);
	job->done += n;
	if (n < REBUILD_CHUNK)
		go_on(job, container, job->partition + 1);
}

/* About how many posts and copies a rebuild has to look at. */
int64
rebuild_estimate(void)
{
	int64		posts = item_estimate(CONTAINER_POSTS, ITEM_POST);

	return posts + Max(posts, item_estimate(CONTAINER_USERS, ITEM_POST));
}

static void
make_feed(void *arg)
{
	feed_rebuild();
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
			refresh_chunk(job, CONTAINER_POSTS, PATH_KEY);
			break;
		case REBUILD_LEFTOVERS:
			refresh_chunk(job, CONTAINER_USERS, PATH_LIST);
			break;
		default:
			if (!careful_do(make_feed, NULL))
				careful_remember_feed();
			job_finish(job);
			break;
	}
}
