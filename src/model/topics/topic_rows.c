/*
 * topic_rows.c
 *		Writing the container "topics".
 *
 * A writer gathers which rows should exist and which should not. Then it
 * inserts the rows that are missing, deletes those that are not wanted, and
 * adds the difference to the count of each topic. So the count equals the
 * number of rows, even if rows that should not exist did not.
 *
 * Runs in the worker, and in backends for repair().
 */
#include "postgres.h"

#include "base/settings.h"
#include "model/topics/topics.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define MAX_GATHERED 10000		/* changes that are written at once */

/* A row of type ITEM_TOPIC_POST that should, or should not, exist. */
typedef struct TopicChange
{
	int			partition;
	Datum		topic;
	TimestampTz date;
	pg_uuid_t	post_id;
	pg_uuid_t	user_id;
	bool		wanted;
} TopicChange;

struct TopicChanges
{
	MemoryContext context;
	MemoryContext topics;		/* memory context of the topics' texts */
	MemoryContext per_post;		/* memory context that is reset after a post */
	TopicChange *change;
	int			n;
	int			room;

	/* receives the topics that gain or lose posts; or NULL */
	List	  **written;
};

/* What is open while the rows of one partition are written. */
typedef struct TopicWriters
{
	ItemWriter *posts;			/* NULL before the first row */
	ItemWriter *topics;
} TopicWriters;

/*
 * Begin to gather changes, which are allocated in the current memory context.
 */
TopicChanges *
topic_changes_make(void)
{
	TopicChanges *changes = palloc0(sizeof(TopicChanges));

	changes->context = CurrentMemoryContext;
	changes->topics = AllocSetContextCreate(CurrentMemoryContext,
											"blogstore topics",
											ALLOCSET_DEFAULT_SIZES);
	changes->per_post = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore topics of a post",
											  ALLOCSET_SMALL_SIZES);
	return changes;
}

/*
 * Begin to gather changes if the container is kept. Return NULL if it is not:
 * blogstore.topic_property is empty.
 */
TopicChanges *
topic_changes_begin(void)
{
	return topics_are_kept() ? topic_changes_make() : NULL;
}

/*
 * From now on, add each topic of which a row is inserted or deleted to the
 * list *written, in the memory context of topic_changes_make(). Do nothing if
 * "written" is NULL.
 */
void
topic_changes_list(TopicChanges *changes, List **written)
{
	changes->written = written;
}

static void
list_topic(const TopicChanges *changes, Datum topic)
{
	MemoryContext old;

	if (changes->written == NULL ||
		list_length(*changes->written) > MAX_LISTED_TOPICS)
		return;
	old = MemoryContextSwitchTo(changes->context);
	*changes->written = lappend(*changes->written, DatumGetTextPCopy(topic));
	MemoryContextSwitchTo(old);
}

/*
 * Compare by partition, so that each leaf is opened once, then by topic, so
 * that each count is written once. If two changes are of the same row, the
 * deletion comes first.
 */
static int
compare_changes(const void *a, const void *b)
{
	const TopicChange *ca = a;
	const TopicChange *cb = b;
	int			order;

	if (ca->partition != cb->partition)
		return ca->partition < cb->partition ? -1 : 1;
	order = topic_compare(ca->topic, cb->topic);
	if (order != 0)
		return order;
	if (ca->date != cb->date)
		return ca->date < cb->date ? -1 : 1;
	order = memcmp(&ca->post_id, &cb->post_id, UUID_LEN);
	if (order != 0)
		return order;
	return (int) ca->wanted - (int) cb->wanted;
}

static void
close_writers(TopicWriters *writers)
{
	if (writers->posts == NULL)
		return;
	item_writer_close(writers->topics);
	item_writer_close(writers->posts);
	writers->posts = NULL;
}

static void
open_writers(TopicWriters *writers, Datum topic)
{
	const void *key = DatumGetPointer(topic);

	if (writers->posts != NULL && item_writer_takes(writers->posts, key))
		return;
	close_writers(writers);
	writers->posts = item_writer_open(CONTAINER_TOPICS, ITEM_TOPIC_POST, key);
	writers->topics = item_writer_open(CONTAINER_TOPICS, ITEM_TOPIC, key);
}

/*
 * Set the author of the row that a scan has found, unless it is the author of
 * the change. It is another one if the owner has written to the post.
 */
static void
set_author(ItemWriter *writer, ItemScan *scan, BlogItem *row,
		   const TopicChange *change)
{
	if (item_is_by(row, &change->user_id) ||
		item_writer_lock_found(writer, scan, LockTupleExclusive, LockWaitBlock,
							   row) != ITEM_OK)
		return;
	item_set(row, PROP_USER_ID, UUIDPGetDatum(&change->user_id));
	item_writer_update(writer, row);
}

/*
 * Insert a row, and return true. If it exists, correct its author, and return
 * false.
 */
static bool
put_row(ItemWriter *writer, const TopicChange *change)
{
	Datum		key[] = {
		change->topic, TimestampTzGetDatum(change->date),
		UUIDPGetDatum(&change->post_id)
	};
	ItemScan   *scan = item_writer_scan(writer, key, lengthof(key));
	BlogItem	row;
	bool		there = item_scan_next(scan, &row);

	if (there)
		set_author(writer, scan, &row, change);
	item_scan_end(scan);
	if (there)
		return false;
	item_init(&row, ITEM_TOPIC_POST);
	item_set(&row, PROP_TOPIC, change->topic);
	item_set(&row, PROP_ID, UUIDPGetDatum(&change->post_id));
	item_set(&row, PROP_USER_ID, UUIDPGetDatum(&change->user_id));
	item_set(&row, PROP_CREATION_DATE, TimestampTzGetDatum(change->date));
	return item_writer_insert(writer, &row);
}

static bool
delete_row(ItemWriter *writer, const TopicChange *change)
{
	Datum		key[] = {
		change->topic, TimestampTzGetDatum(change->date),
		UUIDPGetDatum(&change->post_id)
	};
	BlogItem	row;

	if (item_writer_lock(writer, key, lengthof(key), LockTupleExclusive,
						 LockWaitBlock, &row) != ITEM_OK)
		return false;
	item_writer_delete(writer);
	return true;
}

/*
 * Set the count of a topic, or add to it. A topic without posts has no row.
 *
 * anew: whether "count" replaces the count, instead of being added to it
 */
static void
write_count(ItemWriter *writer, Datum topic, int64 count, bool anew)
{
	BlogItem	row;
	bool		there = item_writer_lock(writer, &topic, 1, LockTupleExclusive,
										 LockWaitBlock, &row) == ITEM_OK;

	if (there && !anew && !row.isnull[PROP_POST_COUNT])
		count += item_count(&row, PROP_POST_COUNT);
	if (there && count <= 0)
		item_writer_delete(writer);
	else if (count > 0)
	{
		if (!there)
		{
			item_init(&row, ITEM_TOPIC);
			item_set(&row, PROP_TOPIC, topic);
		}
		item_set(&row, PROP_POST_COUNT, Int64GetDatum(count));
		if (there)
			item_writer_update(writer, &row);
		else
			(void) item_writer_insert(writer, &row);
	}
}

/*
 * Write the changes of one topic, which begin at change[from]. Returns the
 * index of the next topic's first change.
 */
static int
write_topic(TopicWriters *writers, const TopicChanges *changes, int from)
{
	const TopicChange *first = &changes->change[from];
	int64		more = 0;
	bool		written = false;
	int			i;

	open_writers(writers, first->topic);
	for (i = from; i < changes->n; i++)
	{
		const TopicChange *change = &changes->change[i];

		if (topic_compare(change->topic, first->topic) != 0)
			break;
		if (change->wanted && put_row(writers->posts, change))
			more++;
		else if (!change->wanted && delete_row(writers->posts, change))
			more--;
		else
			continue;
		written = true;
	}
	if (written)
		list_topic(changes, first->topic);
	if (more != 0)
		write_count(writers->topics, first->topic, more, false);
	return i;
}

static void
write_sorted(void *arg)
{
	const TopicChanges *changes = arg;
	TopicWriters writers = {.posts = NULL};

	/*
	 * The snapshot must see the rows that this transaction has written before.
	 */
	PushActiveSnapshot(GetLatestSnapshot());
	for (int i = 0; i < changes->n;)
	{
		CHECK_FOR_INTERRUPTS();
		i = write_topic(&writers, changes, i);
	}
	close_writers(&writers);
	PopActiveSnapshot();
}

/*
 * Write the gathered changes. Like all writes of the worker to the views, they
 * are not decoded, even if a backend makes them: see ROLE_TOPICS.
 */
void
topic_changes_flush(TopicChanges *changes)
{
	if (changes->n == 0)
		return;
	container_lock(CONTAINER_TOPICS, true);
	for (int i = 0; i < changes->n; i++)
		changes->change[i].partition =
			partition_of(CONTAINER_TOPICS, ITEM_TOPIC_POST,
						 DatumGetPointer(changes->change[i].topic));
	qsort(changes->change, changes->n, sizeof(TopicChange), compare_changes);
	own_writes_run(false, write_sorted, changes);
	changes->n = 0;
	MemoryContextReset(changes->topics);
}

static void
add_change(TopicChanges *changes, const TopicChange *change)
{
	MemoryContext old;

	if (changes->n == MAX_GATHERED)
		topic_changes_flush(changes);
	if (changes->change == NULL)
	{
		changes->room = 64;
		changes->change = MemoryContextAlloc(changes->context,
											 sizeof(TopicChange) * changes->room);
	}
	else if (changes->n == changes->room)
	{
		changes->room *= 2;
		changes->change = repalloc(changes->change,
								   sizeof(TopicChange) * changes->room);
	}
	changes->change[changes->n] = *change;
	old = MemoryContextSwitchTo(changes->topics);
	changes->change[changes->n++].topic =
		PointerGetDatum(DatumGetTextPCopy(change->topic));
	MemoryContextSwitchTo(old);
}

/*
 * Note that a post should have rows for these topics ("wanted"), or should not
 * have them.
 */
void
topic_changes_add(TopicChanges *changes, const pg_uuid_t *post_id,
				  const pg_uuid_t *user_id, TimestampTz date,
				  const TopicList *topics, bool wanted)
{
	TopicChange change = {
		.post_id = *post_id, .user_id = *user_id, .date = date,
		.wanted = wanted
	};

	for (int i = 0; i < topics->n; i++)
	{
		change.topic = topics->topic[i];
		add_change(changes, &change);
	}
}

/* Note that a post should have rows for all its topics. */
void
topic_changes_post(TopicChanges *changes, const BlogItem *post)
{
	MemoryContext old = MemoryContextSwitchTo(changes->per_post);
	TopicList	topics;

	topics_of_post(post, &topics);
	topic_changes_add(changes, item_uuid(post, PROP_ID),
					  item_uuid(post, PROP_USER_ID), item_date(post), &topics,
					  true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(changes->per_post);
}

/* Return whether the changes should be written before more are gathered. */
bool
topic_changes_full(const TopicChanges *changes)
{
	return changes->n > MAX_GATHERED - MAX_TOPICS;
}

/*
 * Write the gathered changes, and free "changes". Errors: those of
 * item_writer_open(). Locks: RowExclusiveLock on the container's root table
 * and leaves; row locks on the rows that are deleted, and on those of the
 * topics (FOR UPDATE).
 */
void
topic_changes_end(TopicChanges *changes)
{
	topic_changes_flush(changes);
	if (changes->change != NULL)
		pfree(changes->change);
	MemoryContextDelete(changes->topics);
	MemoryContextDelete(changes->per_post);
	pfree(changes);
}

/* Return how many posts a topic has, but not more than "most". */
static int64
count_posts(Datum topic, int64 most)
{
	BlogItem	row;
	ItemScan   *scan;
	int64		count = 0;

	/* The snapshot must see the rows that this transaction has written. */
	PushActiveSnapshot(GetLatestSnapshot());
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC_POST,
		.partition_key = DatumGetPointer(topic), .path = PATH_LIST,
		.key = &topic, .nkeys = 1, .identity = true
	});
	while (count < most && item_scan_next(scan, &row))
		count++;
	item_scan_end(scan);
	PopActiveSnapshot();
	return count;
}

int64
topic_count_posts(Datum topic)
{
	return count_posts(topic, PG_INT64_MAX);
}

bool
topic_has_posts(Datum topic)
{
	return count_posts(topic, 1) > 0;
}

static bool
count_is(Datum topic, int64 count)
{
	BlogItem	row;
	bool		there = item_get(&(ItemQuery) {
		.container = CONTAINER_TOPICS, .type = ITEM_TOPIC,
		.partition_key = DatumGetPointer(topic), .path = PATH_KEY,
		.key = &topic, .nkeys = 1, .identity = true
	}, &row);

	return there ? !row.isnull[PROP_POST_COUNT] && count > 0 &&
		item_count(&row, PROP_POST_COUNT) == count : count == 0;
}

typedef struct NewCount
{
	Datum		topic;
	int64		count;
} NewCount;

static void
write_new_count(void *arg)
{
	const NewCount *new = arg;
	ItemWriter *writer = item_writer_open(CONTAINER_TOPICS, ITEM_TOPIC,
										  DatumGetPointer(new->topic));

	write_count(writer, new->topic, new->count, true);
	item_writer_close(writer);
}

/* Set the count of a topic, unless it is right. */
void
topic_count_set(Datum topic, int64 count)
{
	NewCount	new = {.topic = topic, .count = count};

	PushActiveSnapshot(GetLatestSnapshot());
	if (!count_is(topic, count))
		own_writes_run(false, write_new_count, &new);
	PopActiveSnapshot();
}
