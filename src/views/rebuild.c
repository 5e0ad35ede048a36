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

#include "container/container.h"
#include "views/views.h"

#include "access/table.h"
#include "utils/snapmgr.h"

/* The key by which an item, a post or a copy, names a copy. */
static void
key_of(PostKey *key, const BlogItem *item)
{
	memset(key, 0, sizeof(*key));
	key->post_id = *item_uuid(item, PROP_ID);
	key->user_id = *item_uuid(item, PROP_USER_ID);
	key->creation_date = item_date(item);
}

/* On to the next partition, or to the next phase after the last one. */
static void
next_partition(Job *job, Container container)
{
	job->has_position = false;
	if (++job->partition < container_partitions(container))
		return;
	job->partition = 0;
	job->phase++;
}

/*
 * Refresh what a chunk of a leaf names. A chunk ends between two values of
 * the path's first column, by which the next one begins.
 */
static void
refresh_chunk(Job *job, Container container, AccessPath path, Property by)
{
	int			room = JOB_CHUNK + 1;
	int			n = 0;
	PostKey    *keys = palloc(sizeof(PostKey) * room);
	pg_uuid_t	after = job->position;
	BlogItem	item;
	bool		more = false;
	ItemScan   *scan = item_scan_begin_after(container, ITEM_POST,
											 job->partition, path,
											 job->has_position ? &after : NULL,
											 GetActiveSnapshot());

	while (item_scan_next(scan, &item))
	{
		const pg_uuid_t *here = item_uuid(&item, by);

		if (n >= JOB_CHUNK &&
			memcmp(here, &job->position, UUID_LEN) != 0)
		{
			more = true;
			break;
		}
		if (n == room)
		{
			room *= 2;
			keys = repalloc_huge(keys, sizeof(PostKey) * room);
		}
		key_of(&keys[n++], &item);
		job->position = *here;
		job->has_position = true;
	}
	item_scan_end(scan);

	copies_refresh(keys, n);
	job->done += n;
	if (!more)
		next_partition(job, container);
}

/* How many posts there are, by what the planner knows; -1 if nothing. */
static int64
estimate_total(void)
{
	int64		posts = item_estimate(CONTAINER_POSTS, ITEM_POST);
	int64		copies = item_estimate(CONTAINER_USERS, ITEM_POST);

	return posts < 0 || copies < 0 ? -1 : posts + Max(posts, copies);
}

/* Do one chunk of a rebuild. The caller holds the views' lock. */
void
rebuild_chunk(Job *job)
{
	switch (job->phase)
	{
		case 0:
			job->total = estimate_total();
			job->phase = REBUILD_COPIES;
			break;
		case REBUILD_COPIES:
			refresh_chunk(job, CONTAINER_POSTS, PATH_KEY, PROP_POST_ID);
			break;
		case REBUILD_LEFTOVERS:
			refresh_chunk(job, CONTAINER_USERS, PATH_LIST, PROP_USER_ID);
			break;
		default:
			feed_rebuild();
			job->finished = true;
			break;
	}
}
