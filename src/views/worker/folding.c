/*
 * folding.c
 *		Folding deltas into the counters of their posts.
 *
 * The worker knows from the change feed which posts have got deltas beside their
 * counters. They are folded when the post has been quiet for a moment, or after a
 * while if it is not: their number is bounded by that of processes (count_delta.c). Of
 * those that are no stripes there may be many, and then they are folded at once. A
 * post whose counter somebody else has keeps its deltas, merged into one if they are
 * many, and is looked at again. What is known is in memory only: a worker that
 * starts looks for deltas everywhere, some of them at a time.
 *
 * Runs in the worker; fold_everything() in a backend, for repair().
 */
#include "postgres.h"

#include "base/clock.h"
#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* So many deltas of a post are not left to slow its readers. */
#define MANY_DELTAS 32

/*
 * How long to leave a post with fewer deltas alone, in ms: after the last delta,
 * and after the first.
 */
#define FOLD_AFTER 1000
#define FOLD_AT_LAST 10000

/* What a transaction folds at most; for how long a turn does, in ms. */
#define FOLD_DELTAS 2000
#define FOLD_POSTS 200
#define TIME_TO_FOLD 2

/* How long to leave alone what something of the owner's has refused, in ms. */
#define FAILED_PAUSE 30000

/* How many deltas a transaction looks at, to find those that are to be folded. */
#define LOOK_STEP 500

/* How often repair() waits a moment for others at most, and how long that is, in us. */
#define PATIENCE 500
#define MOMENT 10000

/* How many posts are remembered; beyond, all leaves are looked through. */
#define MAX_PENDING 100000

typedef struct PendingPost
{
	pg_uuid_t	post_id;
	int64		deltas;			/* about so many, without stripes */
	TimestampTz at_last;
	TimestampTz due;
} PendingPost;

static HTAB *pending = NULL;
static TimestampTz next_due = DT_NOBEGIN;	/* of any of them, or of a look */

/* Where to look for deltas next; NO_PARTITION: nowhere. */
static bool look_from_start = true;
static int	look_at = NO_PARTITION;
static ItemPlace look_after;

static TimestampTz
after(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/* Is something due that was put off? */
static bool
is_due(TimestampTz due, TimestampTz now)
{
	return due != DT_NOEND && clock_reached(due, now, FAILED_PAUSE);
}

/* Remember to fold a post: its deltas have changed, and it has so many more. */
static PendingPost *
remember_post(const pg_uuid_t *post_id, int64 deltas)
{
	PendingPost *post;
	bool		found;

	if (pending == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(pg_uuid_t),
		.entrysize = sizeof(PendingPost),.hcxt = TopMemoryContext};

		pending = hash_create("blogstore posts to fold", 256, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	post = hash_search(pending, post_id, HASH_ENTER, &found);
	if (!found)
	{
		post->deltas = 0;
		post->at_last = after(FOLD_AT_LAST);
	}
	post->deltas += deltas;
	post->due = post->deltas >= MANY_DELTAS ? GetCurrentTimestamp() :
		Min(after(FOLD_AFTER), post->at_last);
	next_due = Min(next_due, post->due);
	return post;
}

/* Look for deltas everywhere, after a while. */
void
fold_all_later(void)
{
	if (pending != NULL)
		hash_destroy(pending);
	pending = NULL;
	look_from_start = true;
	next_due = after(FOLD_AFTER);
}

/* Remember which posts have got deltas, once a dirty set has been applied. */
void
fold_later(const DirtySet *dirty)
{
	int			n;
	CountedPost *counted;

	if (dirty_anything(dirty))
		fold_all_later();
	counted = dirty_counted(dirty, &n);
	for (int i = 0; i < n && !look_from_start; i++)
	{
		if (!counted[i].beside)
			continue;
		(void) remember_post(&counted[i].post_id, counted[i].deltas);
		if (hash_get_num_entries(pending) > MAX_PENDING)
			fold_all_later();
	}
}

static bool
room_for_pending(void)
{
	return pending == NULL || hash_get_num_entries(pending) < MAX_PENDING;
}

/*
 * Remember posts of a partition that have deltas behind the place that was come to, some
 * at a time. Returns whether all has been looked at.
 */
static bool
find_deltas_in(int partition)
{
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition = partition, .path = PATH_KEY, .after = &look_after,
		.identity = true
	});
	BlogItem	delta;
	bool		more = true;
	int			n = 0;

	while (n < LOOK_STEP && room_for_pending() &&
		   (more = item_scan_next(scan, &delta)))
	{
		n++;
		if (!delta_is_counter(item_uuid(&delta, PROP_ID)))
			(void) remember_post(item_uuid(&delta, PROP_POST_ID),
						  !delta_is_stripe(item_uuid(&delta, PROP_ID)));
	}
	if (more && n > 0)
		item_scan_place(scan, &look_after);
	item_scan_end(scan);
	return !more;
}

/*
 * Find posts that have deltas in the next partition, by the active snapshot. Returns
 * whether there is more to look at.
 */
static bool
find_deltas(void)
{
	if (look_from_start)
	{
		look_at = partition_first(CONTAINER_POSTS, ITEM_DELTA);
		look_after.valid = false;
	}
	look_from_start = false;
	if (look_at == NO_PARTITION)
		return false;
	if (!find_deltas_in(look_at))
		return true;
	look_after.valid = false;
	look_at = partition_after(CONTAINER_POSTS, ITEM_DELTA, look_at);
	return look_at != NO_PARTITION;
}

/* Fold one post's deltas; returns how many went. */
static int64
fold_post(PendingPost *post)
{
	bool		many = post->deltas >= MANY_DELTAS;
	bool		left = false;
	int64		taken = 0;
	ItemResult	outcome = ITEM_NOT_FOUND;

	/* the partition may have gone since it was remembered */
	if (partition_exists_for(CONTAINER_POSTS, ITEM_DELTA, &post->post_id))
		outcome = post_fold(&post->post_id, FOLD_DELTAS, many, &taken, &left);
	if (taken >= FOLD_DELTAS)
		post->deltas = MANY_DELTAS; /* there may be more: at once */
	else if (outcome == ITEM_LOCKED || left)
	{
		/* some are being written, by who may roll back without a trace */
		if (taken > 0)
			post->deltas = 0;	/* merged */
		post->due = after(FOLD_AFTER);
		post->at_last = after(FOLD_AT_LAST);
	}
	else
		(void) hash_search(pending, &post->post_id, HASH_REMOVE, NULL);
	return taken;
}

/* The posts of the present transaction; how many of them there may be. */
static pg_uuid_t tried[FOLD_POSTS];
static int	n_tried = 0;
static int	at_once = FOLD_POSTS;

/* Fold what is due, in one transaction. */
static void
fold_chunk(void *arg)
{
	HASH_SEQ_STATUS seq;
	PendingPost *post;
	TimestampTz now = GetCurrentTimestamp();
	int64		deltas = 0;

	next_due = DT_NOEND;
	if (find_deltas())
		next_due = now;
	if (pending == NULL)
		return;
	hash_seq_init(&seq, pending);
	while ((post = hash_seq_search(&seq)) != NULL)
	{
		if (is_due(post->due, now) && n_tried < at_once && deltas < FOLD_DELTAS)
		{
			pg_uuid_t  *post_id = &tried[n_tried++];

			*post_id = post->post_id;
			deltas += fold_post(post);
			post = hash_search(pending, post_id, HASH_FIND, NULL);
		}
		if (post != NULL)
			next_due = Min(next_due, post->due);
	}
}

/*
 * Something of the owner's has refused what is written to fold. The posts are folded one by one from
 * here on, and the one that fails is left alone for a while.
 */
static void
note_failed(const ErrorData *error)
{
	WorkerEntry *entry = my_worker_entry();

	if (at_once > 1 && n_tried > 1)
		at_once = 1;
	else
	{
		for (int i = 0; i < n_tried; i++)
			remember_post(&tried[i], 0)->due = after(FAILED_PAUSE);
		next_due = after(n_tried > 0 ? FOLD_AFTER : FAILED_PAUSE);
	}
	if (entry != NULL)
		worker_entry_error(entry, error->message);
	ereport(LOG,
			(errmsg("blogstore worker could not fold counts, and tries again in %d s: %s",
					FAILED_PAUSE / 1000, error->message)));
}

/* Fold a chunk; false if it has to be tried again. */
static bool
try_chunk(void)
{
	ErrorData  *error = NULL;
	ApplyResult result;

	n_tried = 0;
	result = apply_run(APPLY_COUNTS, fold_chunk, NULL, &error);
	if (result == APPLY_DONE)
	{
		if (n_tried == 0)
			at_once = FOLD_POSTS;
		return true;
	}
	/* what was forgotten is not folded */
	for (int i = 0; i < n_tried; i++)
		(void) remember_post(&tried[i], 0);
	next_due = after(FOLD_AFTER);
	if (result == APPLY_FAILED)
		note_failed(error);
	return false;
}

/*
 * Fold what is due, for a bounded time. Returns after how many milliseconds
 * more will be; -1: nothing is known to be.
 */
long
fold_step(void)
{
	TimestampTz begin = GetCurrentTimestamp();

	while (is_due(next_due, GetCurrentTimestamp()) &&
		   !clock_passed(begin, GetCurrentTimestamp(), TIME_TO_FOLD))
		if (!try_chunk())
			break;
	if (next_due == DT_NOEND)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_due);
}

/* A post behind a place with deltas beside its counter, by the active snapshot. */
static bool
next_counted(int partition, ItemPlace *place)
{
	BlogItem	delta;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_DELTA,
		.partition = partition, .path = PATH_KEY, .after = place,
		.identity = true
	});
	bool		found;

	do
		found = item_scan_next(scan, &delta);
	while (found && delta_is_counter(item_uuid(&delta, PROP_ID)));
	if (found)
	{
		item_scan_place(scan, place);
		/* behind all deltas of the post */
		memset(&place->last, 0xff, sizeof(place->last));
	}
	item_scan_end(scan);
	return found;
}

/*
 * Fold a post's deltas. Who has its counter is often the worker, which folds, too, and
 * is soon done: *patience is how often to wait a moment for such.
 */
static void
fold_patiently(const pg_uuid_t *post_id, int *patience)
{
	int64		taken;
	bool		left;

	while (post_fold(post_id, PG_INT64_MAX, *patience == 0, &taken,
					 &left) == ITEM_LOCKED && *patience > 0)
	{
		CHECK_FOR_INTERRUPTS();
		(*patience)--;
		pg_usleep(MOMENT);
	}
}

/*
 * Fold all deltas there are, those of posts whose counters others have as far as
 * possible. In READ COMMITTED, as the containers' owner.
 */
void
fold_everything(void)
{
	int			patience = PATIENCE;

	for (int p = partition_first(CONTAINER_POSTS, ITEM_DELTA); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_DELTA, p))
	{
		ItemPlace	place = {.valid = false};

		PushActiveSnapshot(GetTransactionSnapshot());
		while (next_counted(p, &place))
			fold_patiently(&place.first, &patience);
		PopActiveSnapshot();
	}
}
