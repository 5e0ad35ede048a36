/*
 * folding.c
 *		Folding deltas into the counters of their posts, and when to do it.
 *
 * The worker learns from the change feed which posts have deltas. It folds
 * them when the post has had no new delta for FOLD_AFTER, or at the latest
 * after FOLD_AT_LAST. There is at most one stripe per process (count_delta.c),
 * but there may be many other deltas. A post with MANY_DELTAS of those is
 * folded at once, because its readers add them all up. If another transaction
 * has locked the counter, the deltas stay, merged into one if there are many,
 * and the worker tries again later. The list of posts is kept in memory only,
 * so a new worker scans all leaves for deltas, a part at a time.
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

/*
 * A post that has this many deltas is folded at once. Stripes (count_delta.c)
 * are not included in the number.
 */
#define MANY_DELTAS 32

/*
 * Delay before a post with fewer deltas is folded, in ms: after its last
 * delta, and at most after its first.
 */
#define FOLD_AFTER 1000
#define FOLD_AT_LAST 10000

/*
 * Limits on the deltas and posts of one transaction, and on the time spent per
 * turn, in ms.
 */
#define FOLD_DELTAS 2000
#define FOLD_POSTS 200
#define TIME_TO_FOLD 2

/*
 * Delay before a retry when a trigger or constraint of the owner has rejected
 * the writes, in ms.
 */
#define FAILED_PAUSE 30000

/* Deltas that one transaction reads while scanning for posts to fold. */
#define LOOK_STEP 500

/*
 * How often repair() waits for locked counters in total, and how long each
 * wait is, in microseconds.
 */
#define PATIENCE 500
#define MOMENT 10000

/* Limit on the posts remembered. With more, all leaves are scanned instead. */
#define MAX_PENDING 100000

typedef struct PendingPost
{
	pg_uuid_t	post_id;
	int64		deltas;			/* estimated number, not counting stripes */
	TimestampTz at_last;
	TimestampTz due;
} PendingPost;

static HTAB *pending = NULL;
static TimestampTz next_due = DT_NOBEGIN;	/* when a post or a scan is due
											 * next */

/* Where the scan of the leaves continues; NO_PARTITION if it is done. */
static bool look_from_start = true;
static int	look_at = NO_PARTITION;
static ItemPlace look_after;

static TimestampTz
after(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/*
 * Return whether a time has passed. A time too far ahead means that the clock
 * was set back.
 */
static bool
is_due(TimestampTz due, TimestampTz now)
{
	return due != DT_NOEND && clock_reached(due, now, FAILED_PAUSE);
}

/*
 * Add a post to those to be folded. deltas: number of deltas, other than
 * stripes, that it has got.
 */
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

/*
 * Forget the list of posts and scan all leaves for deltas, beginning after
 * FOLD_AFTER.
 */
void
fold_all_later(void)
{
	if (pending != NULL)
		hash_destroy(pending);
	pending = NULL;
	look_from_start = true;
	next_due = after(FOLD_AFTER);
}

/*
 * Remember the posts of a dirty set that have got deltas. Called once the set
 * has been applied.
 */
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
 * Remember posts of a partition that have deltas, reading up to LOOK_STEP
 * deltas behind look_after. Returns whether the partition is done.
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
 * Scan the next part of the leaves for deltas, with the active snapshot.
 * Returns whether anything is left to scan.
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

/* Fold the deltas of one post. Returns how many were folded or merged. */
static int64
fold_post(PendingPost *post)
{
	bool		many = post->deltas >= MANY_DELTAS;
	bool		left = false;
	int64		taken = 0;
	ItemResult	outcome = ITEM_NOT_FOUND;

	/* the partition may have been detached or moved meanwhile */
	if (partition_exists_for(CONTAINER_POSTS, ITEM_DELTA, &post->post_id))
		outcome = post_fold(&post->post_id, FOLD_DELTAS, many, &taken, &left);
	if (taken >= FOLD_DELTAS)
		post->deltas = MANY_DELTAS; /* more may be left, so it stays due */
	else if (outcome == ITEM_LOCKED || left)
	{
		/*
		 * A delta is left that another transaction is writing. If it rolls
		 * back, the change feed does not report that, so look again.
		 */
		if (taken > 0)
			post->deltas = 0;	/* the other deltas are one now */
		post->due = after(FOLD_AFTER);
		post->at_last = after(FOLD_AT_LAST);
	}
	else
		(void) hash_search(pending, &post->post_id, HASH_REMOVE, NULL);
	return taken;
}

/* Posts tried by the current transaction, and the limit on their number. */
static pg_uuid_t tried[FOLD_POSTS];
static int	n_tried = 0;
static int	at_once = FOLD_POSTS;

/*
 * Do one transaction's work: scan a part of the leaves for deltas, and fold
 * posts that are due.
 */
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
 * React to an error that a trigger or constraint of the owner has raised. From
 * now on posts are folded one per transaction. A post that fails by itself is
 * retried after FAILED_PAUSE.
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
			(errmsg("blogstore worker could not fold counts and will retry in %d s: %s",
					FAILED_PAUSE / 1000, error->message)));
}

/* Run fold_chunk() in a transaction. Returns false if it was rolled back. */
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

	/*
	 * fold_post() removed these posts from the list, but they were not folded
	 */
	for (int i = 0; i < n_tried; i++)
		(void) remember_post(&tried[i], 0);
	next_due = after(FOLD_AFTER);
	if (result == APPLY_FAILED)
		note_failed(error);
	return false;
}

/*
 * Fold posts that are due, for about TIME_TO_FOLD ms. Called in each turn,
 * outside of a transaction. Returns the number of ms until the next one is
 * due, -1 if none is known.
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

/*
 * Find the next post behind *place that has deltas besides its counter, with
 * the active snapshot, and move *place behind that post.
 */
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
		/* skip further deltas of this post */
		memset(&place->last, 0xff, sizeof(place->last));
	}
	item_scan_end(scan);
	return found;
}

/*
 * Fold the deltas of a post, waiting while another transaction holds its
 * counter. The holder is often the worker, which folds as well and soon
 * commits. *patience: number of waits left, shared by all posts.
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
 * Fold all deltas. If a counter stays locked, the deltas of its post are
 * merged into one. Called in a READ COMMITTED transaction, as the containers'
 * owner.
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
