/*
 * source_topics.c
 *		A source that reads a page of the list of topics. It merges the topics
 *		of all partitions.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/topics/topics.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"

typedef struct Topics
{
	MergedScan *rows;
	Datum		prefix;
	bool		started;		/* whether a row was read */
} Topics;

static int
topics_order(const BlogItem *a, const BlogItem *b)
{
	return topic_compare(a->value[PROP_TOPIC], b->value[PROP_TOPIC]);
}

static bool
topics_next(RequestScan *scan, BlogItem *item)
{
	Topics	   *topics = scan->state;

	if (topics->started && merged_scan_item(topics->rows) != NULL)
		merged_scan_next(topics->rows);
	topics->started = true;
	if (merged_scan_item(topics->rows) == NULL)
		return false;
	*item = *merged_scan_item(topics->rows);
	return topic_begins_with(item->value[PROP_TOPIC], topics->prefix);
}

static void
topics_explain(const RequestScan *scan, SourceReads *reads)
{
	const Topics *topics = scan->state;

	reads->container = CONTAINER_TOPICS;
	reads->leaves = partition_count(CONTAINER_TOPICS, ITEM_TOPIC);
	item_scan_tables(merged_scan_first(topics->rows), &reads->leaf,
					 &reads->index);
}

static void
topics_close(RequestScan *scan)
{
	Topics	   *topics = scan->state;

	merged_scan_end(topics->rows);
	pfree(topics);
}

static const ItemSource topics_source = {
	.next = topics_next, .explain = topics_explain, .close = topics_close
};

/*
 * Set the source of a query to a page of the list of topics. Locks:
 * AccessShareLock on the container's root table, until the end of the
 * transaction. Errors: those of merged_scan_begin().
 *
 * prefix: the topics begin with this text; may be empty
 * after: only topics that are greater than this text; 0 for no limit
 */
void
query_topics(RequestScan *scan, Datum prefix, Datum after)
{
	Topics	   *topics = palloc0(sizeof(Topics));
	bool		beyond = DatumGetPointer(after) != NULL &&
		topic_compare(after, prefix) >= 0;

	container_lock(CONTAINER_TOPICS, false);
	topics->prefix = prefix;
	topics->rows = merged_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC, .path = PATH_KEY,
		.from_topic = (text *) DatumGetPointer(beyond ? after : prefix),
		.beyond_topic = beyond, .rows = scan->page.size
	}, 1, topics_order);
	scan->source = &topics_source;
	scan->state = topics;
}
