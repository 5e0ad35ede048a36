/*
 * topic_refresh.c
 *		Making the rows of the container "topics" agree with posts that have
 *		changed.
 *
 * The rows that a post has are found by the post's id. So nothing needs to be
 * known of the topics that the post had before. Each partition of topics is
 * searched for all posts together.
 *
 * On a cluster, each node has the topics of its own posts. A row of a post
 * that is not on this node is not wanted.
 *
 * Runs in the worker. The caller has called views_lock().
 */
#include "postgres.h"

#include "base/settings.h"
#include "model/post_counts/post_counts.h"
#include "model/topics/topics.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define POSTS_AT_ONCE 500		/* posts whose topics are kept in memory */

/* A post, and the topics that it has. A post that is not found has none. */
typedef struct PostTopics
{
	pg_uuid_t	post_id;
	TimestampTz date;
	TopicList	topics;
} PostTopics;

/* Read n posts, and note that they should have rows for their topics. */
static void
read_posts(TopicChanges *changes, PostTopics *posts, int n)
{
	ManyPosts  *many = many_posts_begin(GetActiveSnapshot());
	BlogItem	post;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!many_posts_find(many, &posts[i].post_id, &post))
			continue;
		posts[i].date = item_date(&post);
		topics_of_post(&post, &posts[i].topics);
		topic_changes_add(changes, &posts[i].post_id,
						  item_uuid(&post, PROP_USER_ID), posts[i].date,
						  &posts[i].topics, true);
	}
	many_posts_end(many);
}

/* Note which rows of n posts in one partition should not exist. */
static void
find_unwanted(TopicChanges *changes, int partition, const PostTopics *posts,
			  int n)
{
	Datum		key = UUIDPGetDatum(&posts[0].post_id);
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC_POST,
		.partition = partition, .path = PATH_ID, .key = &key, .nkeys = 1,
		.identity = true
	});
	BlogItem	row;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0)
		{
			key = UUIDPGetDatum(&posts[i].post_id);
			item_scan_again(scan, &key, 1);
		}
		while (item_scan_next(scan, &row))
		{
			TopicList	gone = {.n = 1, .topic = {row.value[PROP_TOPIC]}};

			if (item_date(&row) != posts[i].date ||
				!topics_have(&posts[i].topics, row.value[PROP_TOPIC]))
				topic_changes_add(changes, &posts[i].post_id, &posts[i].post_id,
								  item_date(&row), &gone, false);
		}
	}
	item_scan_end(scan);
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, UUID_LEN);
}

/*
 * Copy the ids of the next posts to "posts", each id once, and set *n to their
 * number. Returns how many of the "left" sorted ids have been used.
 */
static int
take_posts(PostTopics *posts, int *n, const pg_uuid_t *ids, int left)
{
	int			i;

	memset(posts, 0, sizeof(PostTopics) * POSTS_AT_ONCE);
	*n = 0;
	for (i = 0; i < left && *n < POSTS_AT_ONCE; i++)
		if (i == 0 || compare_ids(&ids[i], &ids[i - 1]) != 0)
			posts[(*n)++].post_id = ids[i];
	return i;
}

/*
 * Make the rows of the posts with n ids in the container agree with the posts,
 * which are read with the active snapshot. Sorts the array of ids. Does
 * nothing if no topics are kept. Errors and locks: those of
 * topic_changes_end().
 *
 * topics: the list to which the topics that gain or lose posts are added; or
 *	NULL
 */
void
topics_refresh(pg_uuid_t *ids, int n, List **topics)
{
	TopicChanges *changes = n > 0 ? topic_changes_begin() : NULL;
	PostTopics *posts;
	MemoryContext context;
	MemoryContext old;
	int			n_posts;

	if (changes == NULL)
		return;
	topic_changes_list(changes, topics);
	qsort(ids, n, sizeof(pg_uuid_t), compare_ids);
	posts = palloc(sizeof(PostTopics) * POSTS_AT_ONCE);
	context = AllocSetContextCreate(CurrentMemoryContext,
									"blogstore topics of posts",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < n;)
	{
		i += take_posts(posts, &n_posts, &ids[i], n - i);
		read_posts(changes, posts, n_posts);
		for (int p = partition_first(CONTAINER_TOPICS, ITEM_TOPIC_POST);
			 p != NO_PARTITION;
			 p = partition_after(CONTAINER_TOPICS, ITEM_TOPIC_POST, p))
			find_unwanted(changes, p, posts, n_posts);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	pfree(posts);
	topic_changes_end(changes);
}
