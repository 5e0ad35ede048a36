/*
 * count_delta.c
 *		What is to be added to a post's counts: delta items.
 *
 * A transaction that cannot change a post's counts in place without waiting
 * (post_count.c) inserts a delta beside it, in the same logical partition. Who
 * reads a post adds up what its deltas say (post_item.c). Folding deletes deltas and
 * adds what they say to the counter, or to one new delta, in one transaction: no
 * snapshot sees a difference. A folder takes only deltas that it has deleted itself,
 * in their newest version, so no two count one delta.
 *
 * Each process has a delta of its own on a post, its stripe, to which it adds
 * again and again: so many processes, so many deltas of a viral post, and no
 * dead entries in the index that its readers would have to step over.
 *
 * A delta also keeps its post from being deleted under it; post_count.c tells how.
 * Whoever writes one has the post locked, or it is the transaction's.
 *
 * Who reads counts in a serializable transaction has the post's key locked
 * (post_item.c): a delta that is written looks for that lock.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/post_counts/post_parts.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The id of counters. */
const pg_uuid_t counter_id = {{0}};

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/* The id of this process's stripes: UUIDv8, which no other delta has. */
static void
stripe_id(pg_uuid_t *id)
{
	uint32		number = compat_proc_number();

	memset(id, 0, sizeof(*id));
	id->data[6] = 0x80;
	id->data[8] = 0x80;
	for (int i = 0; i < 4; i++)
		id->data[UUID_LEN - 1 - i] = number >> (8 * i);
}

/* Has a transaction that has not ended, not this one, written this delta? */
static bool
delta_pending(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};

	return item_written_elsewhere(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	});
}

/*
 * Posts on which this process has had to write stripes a moment ago: others are at
 * their counters. To forget one costs a try at the counter, which is busy.
 */
#define STRIPED_POSTS 16

/* How long a post stays one of them, in ms: as long as its stripes are let be. */
#define STRIPED_FOR 1000

typedef struct StripedPost
{
	pg_uuid_t	post_id;
	TimestampTz until;
} StripedPost;

static StripedPost striped[STRIPED_POSTS];
static int	next_striped = 0;

static StripedPost *
find_striped(const pg_uuid_t *post_id)
{
	for (int i = 0; i < STRIPED_POSTS; i++)
		if (memcmp(&striped[i].post_id, post_id, UUID_LEN) == 0)
			return &striped[i];
	return NULL;
}

/* Has this process written a stripe of a post a moment ago? */
bool
delta_striped(const pg_uuid_t *post_id)
{
	const StripedPost *post = find_striped(post_id);

	return post != NULL &&
		!clock_reached(post->until, GetCurrentTimestamp(), STRIPED_FOR);
}

/* This process has written a stripe; an empty one says nothing of the counter. */
static void
remember_striped(const pg_uuid_t *post_id, PostCounts counts)
{
	StripedPost *post = find_striped(post_id);

	if (counts.comments == 0 && counts.likes == 0)
		return;
	if (post == NULL)
	{
		post = &striped[next_striped];
		post->post_id = *post_id;
		next_striped = (next_striped + 1) % STRIPED_POSTS;
	}
	post->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											  STRIPED_FOR);
}

/* Add to the delta that a scan has found. */
static ItemResult
add_to_found(ItemWriter *writer, ItemScan *scan, DeltaKind kind,
			 BlogItem *delta, PostCounts counts)
{
	ItemResult	result;

	/* folders do not ask before they take a stripe: lock it */
	if (kind == DELTA_STRIPE)
	{
		result = item_writer_lock_found(writer, scan, LockTupleNoKeyExclusive,
										LockWaitSkip, delta);
		if (result != ITEM_OK)
			return ITEM_LOCKED;
		item_add_counts(delta, counts.comments, counts.likes);
		item_writer_update(writer, delta);
		remember_striped(item_uuid(delta, PROP_POST_ID), counts);
		return ITEM_OK;
	}
	item_scan_require(scan, delta);
	item_add_counts(delta, counts.comments, counts.likes);
	result = item_writer_update_found(writer, scan, delta);
	return result == ITEM_OK ? ITEM_OK : ITEM_LOCKED;
}

/*
 * Add to a post's counter, which the caller may change, or to this process's stripe of
 * it. ITEM_NOT_FOUND: there is none; ITEM_LOCKED: somebody else is changing it, or
 * just has.
 */
ItemResult
delta_add(const pg_uuid_t *post_id, DeltaKind kind, PostCounts counts)
{
	pg_uuid_t	id = counter_id;
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};
	BlogItem	delta;
	ItemWriter *writer;
	ItemScan   *scan;
	ItemResult	result = ITEM_NOT_FOUND;

	if (kind == DELTA_STRIPE)
		stripe_id(&id);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = item_writer_scan(writer, key, 2);
	if (item_scan_next(scan, &delta))
		result = add_to_found(writer, scan, kind, &delta, counts);
	item_scan_end(scan);
	item_writer_close(writer);
	PopActiveSnapshot();
	return result;
}

/* A delta of a post; it points to the ids. */
static void
delta_init(BlogItem *delta, const pg_uuid_t *post_id, const pg_uuid_t *id,
		   PostCounts counts)
{
	item_init(delta, ITEM_DELTA);
	item_set(delta, PROP_ID, UUIDPGetDatum(id));
	item_set(delta, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(delta, PROP_COMMENT_COUNT, Int64GetDatum(counts.comments));
	item_set(delta, PROP_LIKE_COUNT, Int64GetDatum(counts.likes));
}

/* The counter of a post that nothing has been counted on; it points to the id. */
void
counter_init(BlogItem *counter, const pg_uuid_t *post_id)
{
	delta_init(counter, post_id, &counter_id, (PostCounts) {0, 0});
}

/* Insert a delta; false if its id is taken. */
static bool
delta_write(const pg_uuid_t *post_id, const pg_uuid_t *id, PostCounts counts)
{
	BlogItem	delta;
	ItemWriter *writer;
	bool		inserted;

	delta_init(&delta, post_id, id, counts);

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	inserted = item_writer_insert(writer, &delta);
	/* who reads counts from here on finds the delta itself */
	if (!delta_is_empty(&delta))
		key_predicate_check(writer, post_id);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/* Have a new delta count on a post that is there, and stays. */
void
delta_insert(const pg_uuid_t *post_id, PostCounts counts)
{
	pg_uuid_t	id;
	bool		inserted;

	do
	{
		CHECK_FOR_INTERRUPTS();
		new_id(&id);
		inserted = delta_write(post_id, &id, counts);
	} while (!inserted);
}

/*
 * Have a new delta count on a post that is there, and stays: as this process's
 * stripe, which it has not, unless another transaction is just writing one with
 * its id.
 */
void
delta_insert_stripe(const pg_uuid_t *post_id, PostCounts counts)
{
	pg_uuid_t	id;
	bool		inserted = false;

	CHECK_FOR_INTERRUPTS();
	stripe_id(&id);
	if (!delta_pending(post_id, &id))
		inserted = delta_write(post_id, &id, counts);
	if (inserted)
		remember_striped(post_id, counts);
	else
		delta_insert(post_id, counts);
}

/* Is another transaction, which has not ended, making or changing a post's counter? */
bool
delta_counter_pending(const pg_uuid_t *post_id)
{
	return delta_pending(post_id, &counter_id);
}

/*
 * Insert the counter of a post, which nobody else may change or is making; false if
 * there is one.
 */
bool
delta_insert_counter(const pg_uuid_t *post_id, PostCounts counts)
{
	return delta_write(post_id, &counter_id, counts);
}

/* ------------------------------------------------------------------------
 * Folding
 * ------------------------------------------------------------------------ */

/* Does the transaction's snapshot show deltas of a post but its counter? */
bool
delta_any(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemQuery	query = delta_query(&key);
	BlogItem	delta;
	ItemScan   *scan;
	bool		any = false;

	PushActiveSnapshot(GetTransactionSnapshot());
	scan = item_scan_begin(&query);
	while (!any && item_scan_next(scan, &delta))
		any = !delta_is_counter(item_uuid(&delta, PROP_ID));
	item_scan_end(scan);
	PopActiveSnapshot();
	return any;
}

/*
 * Delete a post's deltas, but not its counter, that the active snapshot shows, at
 * most limit of them, and none that somebody else is writing or deleting. Returns
 * how many, and adds what they say to *counts; *left is set if there are others.
 */
int64
delta_take(const pg_uuid_t *post_id, int64 limit, PostCounts *counts,
		   bool *left)
{
	Datum		key = UUIDPGetDatum(post_id);
	ItemWriter *writer;
	ItemScan   *scan;
	BlogItem	delta;
	int64		taken = 0;

	writer = item_writer_open(CONTAINER_POSTS, ITEM_DELTA, post_id);
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition_key = post_id, .path = PATH_KEY, .key = &key, .nkeys = 1
	});
	while (!(*left && taken >= limit) && item_scan_next(scan, &delta))
	{
		PostCounts	says = {
			item_count(&delta, PROP_COMMENT_COUNT),
			item_count(&delta, PROP_LIKE_COUNT)
		};
		ItemResult	result = ITEM_LOCKED;

		if (delta_is_counter(item_uuid(&delta, PROP_ID)))
			continue;
		if (taken < limit)
			result = item_writer_delete_found(writer, scan);
		if (result != ITEM_OK)
		{
			*left = true;
			continue;
		}
		counts->comments += says.comments;
		counts->likes += says.likes;
		taken++;
	}
	item_scan_end(scan);
	item_writer_close(writer);
	return taken;
}
