/*
 * topic_sweep.c
 *		Deleting rows of the container "topics" that no post has, and
 *		correcting the counts of topics. A part of a rebuild.
 *
 * Before, the rebuild has inserted the rows that were missing. The sweep goes
 * through the partitions, and in each of them first through the posts of all
 * topics, in the order of (topic, creation_date, id), then through the topics.
 * It does so in chunks. Each chunk is a transaction with its own snapshot. If
 * a post changes after that, the change feed reports the post, and the worker
 * then writes the post's topics.
 *
 * The job's row has only the partition. The place in the partition is in the
 * worker's memory, with the number of items that the job had done there. If
 * the job's row has another number, because a chunk was rolled back or another
 * worker has begun the rebuild, the partition begins again.
 *
 * Runs in the worker. The caller has called views_lock().
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/topics/topics.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define SWEPT_AT_ONCE 10000		/* rows that a chunk looks at */
#define UNKNOWN_PLACE (-1)		/* SweepPlace.done: there is no place */

/* The place up to which a partition was swept. */
typedef struct SweepPlace
{
	int64		done;			/* Job.done at this place */
	int			partition;
	uint64		loads;			/* layout_loads() when the place was noted */
	ItemType	type;			/* ITEM_TOPIC_POST, then ITEM_TOPIC */
	text	   *topic;			/* in TopMemoryContext; NULL: the beginning */
	Cursor		cursor;			/* the last post of the topic that was seen */
	bool		split;			/* whether a chunk has ended in the topic */
} SweepPlace;

static SweepPlace place = {.partition = NO_PARTITION};

typedef struct TopicSweep
{
	ManyPosts  *posts;
	TopicChanges *changes;
	MemoryContext per_row;
	int			left;			/* rows that this chunk may still look at */
	int64		kept;			/* how many posts of the current topic stay */
} TopicSweep;

static void
set_topic(Datum topic)
{
	MemoryContext old;

	if (place.topic != NULL)
		pfree(place.topic);
	place.topic = NULL;
	if (DatumGetPointer(topic) == NULL)
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	place.topic = DatumGetTextPCopy(topic);
	MemoryContextSwitchTo(old);
}

/* Return a copy of the current topic, or NULL, for the keys of a scan. */
static text *
topic_now(void)
{
	return place.topic == NULL ? NULL :
		DatumGetTextPCopy(PointerGetDatum(place.topic));
}

static void
begin_partition(int partition, ItemType type)
{
	set_topic((Datum) 0);
	place.partition = partition;
	place.loads = layout_loads();
	place.type = type;
	place.cursor.valid = false;
	place.split = false;
}

/*
 * Return whether a row of type ITEM_TOPIC_POST should exist: its post is on
 * this server, has the row's date, and has the row's topic.
 */
static bool
is_wanted(ManyPosts *posts, const BlogItem *row)
{
	TopicList	topics;
	BlogItem	post;

	if (!many_posts_find(posts, item_uuid(row, PROP_ID), &post) ||
		item_date(&post) != item_date(row))
		return false;
	topics_of_post(&post, &topics);
	return topics_have(&topics, row->value[PROP_TOPIC]);
}

static void
look_at_row(TopicSweep *sweep, const BlogItem *row)
{
	MemoryContext old = MemoryContextSwitchTo(sweep->per_row);
	TopicList	gone = {.n = 1, .topic = {row->value[PROP_TOPIC]}};

	if (is_wanted(sweep->posts, row))
		sweep->kept++;
	else
		topic_changes_add(sweep->changes, item_uuid(row, PROP_ID),
						  row->isnull[PROP_USER_ID] ? item_uuid(row, PROP_ID) :
						  item_uuid(row, PROP_USER_ID),
						  item_date(row), &gone, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(sweep->per_row);
}

/*
 * The current topic has no more posts: correct its count. If a chunk has ended
 * within the topic, count its posts again, because some may have come or gone
 * since.
 */
static void
end_topic(TopicSweep *sweep)
{
	Datum		topic = PointerGetDatum(place.topic);

	if (place.topic == NULL)
		return;
	topic_changes_flush(sweep->changes);
	topic_count_set(topic, place.split ? topic_count_posts(topic) : sweep->kept);
	sweep->kept = 0;
	place.split = false;
}

/*
 * Go on through the posts of topics in the current partition. Returns false if
 * the chunk ends before the partition does.
 *
 * in_topic: whether to read the rest of the current topic, instead of all
 *     later topics
 */
static bool
sweep_posts(TopicSweep *sweep, bool in_topic)
{
	text	   *topic = topic_now();
	Datum		key = PointerGetDatum(topic);
	Cursor		cursor = place.cursor;
	ItemScan   *scan;
	BlogItem	row;
	bool		more;

	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC_POST,
		.partition = place.partition, .path = PATH_LIST, .key = &key,
		.nkeys = in_topic ? 1 : 0, .cursor = in_topic ? &cursor : NULL,
		.from_topic = in_topic ? NULL : topic, .beyond_topic = true,
		.identity = true, .rows = sweep->left
	});
	while ((more = item_scan_next(scan, &row)) && sweep->left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		sweep->left--;
		if (place.topic == NULL ||
			topic_compare(PointerGetDatum(place.topic),
						  row.value[PROP_TOPIC]) != 0)
		{
			end_topic(sweep);
			set_topic(row.value[PROP_TOPIC]);
		}
		place.cursor.valid = true;
		place.cursor.date = item_date(&row);
		place.cursor.id = *item_uuid(&row, PROP_ID);
		look_at_row(sweep, &row);
	}
	item_scan_end(scan);
	return !more;
}

/* Go on through the topics in the current partition, as sweep_posts() does. */
static bool
sweep_topics(TopicSweep *sweep)
{
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC,
		.partition = place.partition, .path = PATH_KEY,
		.from_topic = topic_now(), .beyond_topic = true, .identity = true,
		.rows = sweep->left
	});
	BlogItem	row;
	bool		more;

	while ((more = item_scan_next(scan, &row)) && sweep->left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		sweep->left--;
		set_topic(row.value[PROP_TOPIC]);
		if (!topic_has_posts(PointerGetDatum(place.topic)))
			topic_count_set(PointerGetDatum(place.topic), 0);
	}
	item_scan_end(scan);
	return !more;
}

/* Sweep the current partition. Returns false if the chunk ends before. */
static bool
sweep_partition(TopicSweep *sweep)
{
	if (place.type == ITEM_TOPIC_POST)
	{
		if (place.topic != NULL && !sweep_posts(sweep, true))
			return false;
		if (!sweep_posts(sweep, false))
			return false;
		end_topic(sweep);
		begin_partition(place.partition, ITEM_TOPIC);
	}
	return sweep_topics(sweep);
}

/*
 * Do the next chunk of the sweep, with the active snapshot. Returns true if no
 * rows are left. Otherwise sets *partition to the partition where the sweep
 * continues. Adds the number of rows that it has looked at to *done.
 */
bool
topics_sweep(int *partition, int64 *done)
{
	TopicSweep	sweep = {
		.posts = many_posts_begin(GetActiveSnapshot()),
		.changes = topic_changes_make(),
		.per_row = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore topic",
										 ALLOCSET_DEFAULT_SIZES),
		.left = SWEPT_AT_ONCE
	};
	bool		all = true;

	if (place.done != *done || place.loads != layout_loads())
		begin_partition(NO_PARTITION, ITEM_TOPIC_POST);
	/* If this chunk fails, the place is of no use to the next one. */
	place.done = UNKNOWN_PLACE;
	while (all && (*partition = partition_from(CONTAINER_TOPICS, ITEM_TOPIC,
											   *partition)) != NO_PARTITION)
	{
		if (place.partition != *partition)
			begin_partition(*partition, ITEM_TOPIC_POST);
		all = sweep_partition(&sweep);
		if (all)
		{
			begin_partition(NO_PARTITION, ITEM_TOPIC_POST);
			(*partition)++;
		}
	}
	if (!all)
		place.split = place.type == ITEM_TOPIC_POST;
	topic_changes_end(sweep.changes);
	many_posts_end(sweep.posts);
	MemoryContextDelete(sweep.per_row);
	*done += SWEPT_AT_ONCE - sweep.left;
	place.done = *done;
	return all;
}

/* Forget the place at which an earlier rebuild has ended. */
void
topics_sweep_begin(void)
{
	begin_partition(NO_PARTITION, ITEM_TOPIC_POST);
}
