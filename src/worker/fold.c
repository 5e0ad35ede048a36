/*
 * fold.c
 *		Folding deltas into the posts that they count on.
 *
 * The worker knows from the change feed which posts have got deltas. They are
 * folded when the post has been quiet for a moment, or after a while if it is
 * not: their number is bounded by that of processes (delta.c). Of those that are
 * no stripes there may be many, and then they are folded at once. A post that is
 * locked keeps its deltas, merged into one if they are many, and is looked at
 * again; so is one whose page has no room for a HOT update, but not for long.
 * What is known is in memory only: a worker that starts looks for deltas
 * everywhere.
 *
 * Runs in the worker; fold_everything() in a backend, for repair().
 */
#include "postgres.h"

#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "views/views.h"
#include "worker/internal.h"

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

/* How often to leave a post alone because its page has no room. */
#define FOLD_PATIENCE 5

/* What a transaction folds at most; for how long a turn does, in ms. */
#define FOLD_DELTAS 2000
#define FOLD_POSTS 200
#define TIME_TO_FOLD 20

/* How many posts are remembered; beyond, all leaves are looked through. */
#define MAX_PENDING 100000

typedef struct PendingPost
{
	pg_uuid_t	post_id;
	int64		deltas;			/* about so many, without stripes */
	int			tries;			/* how often it could not be folded */
	TimestampTz at_last;
	TimestampTz due;
} PendingPost;

static HTAB *pending = NULL;
static TimestampTz next_due = DT_NOBEGIN;	/* of any of them, or of a look */
static bool look_everywhere = true;

static TimestampTz
after(int ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/* Remember to fold a post: its deltas have changed, and it has so many more. */
static void
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
		post->tries = 0;
		post->at_last = after(FOLD_AT_LAST);
	}
	post->deltas += deltas;
	post->due = post->deltas >= MANY_DELTAS ? GetCurrentTimestamp() :
		Min(after(FOLD_AFTER), post->at_last);
	next_due = Min(next_due, post->due);
}

/*
 * Look for deltas everywhere, after a while: a leaf that has come may hold some of
 * which nobody has told.
 */
void
fold_all_later(void)
{
	if (pending != NULL)
		hash_destroy(pending);
	pending = NULL;
	look_everywhere = true;
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
	for (int i = 0; i < n && !look_everywhere; i++)
	{
		remember_post(&counted[i].post_id, counted[i].deltas);
		if (hash_get_num_entries(pending) > MAX_PENDING)
			fold_all_later();
	}
}

/* Find posts that have deltas, by the active snapshot; false: too many. */
static bool
find_deltas(void)
{
	for (int p = partition_first(CONTAINER_POSTS, ITEM_DELTA); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_DELTA, p))
	{
		BlogItem	delta;
		ItemScan   *scan;
		bool		room = true;

		if (!delta_possible_in(p))
			continue;
		scan = item_scan_begin(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_DELTA, .partition = p,
			.path = PATH_KEY, .identity = true
		});
		while (room && item_scan_next(scan, &delta))
		{
			remember_post(item_uuid(&delta, PROP_POST_ID),
						  !delta_is_stripe(item_uuid(&delta, PROP_ID)));
			room = hash_get_num_entries(pending) < MAX_PENDING;
		}
		item_scan_end(scan);
		if (!room)
			return false;
	}
	return true;
}

/* Fold one post's deltas; returns how many went. */
static int64
fold_post(PendingPost *post)
{
	bool		many = post->deltas >= MANY_DELTAS;
	bool		hot = post->tries < FOLD_PATIENCE;
	bool		left = false;
	int64		taken = 0;
	ItemResult	outcome = ITEM_NOT_FOUND;
	bool		stayed;

	if (delta_possible(&post->post_id))
		outcome = post_fold(&post->post_id, FOLD_DELTAS, hot, many, &taken,
							&left);
	stayed = outcome == ITEM_LOCKED || outcome == ITEM_NO_ROOM;
	if (taken >= FOLD_DELTAS)
		post->deltas = MANY_DELTAS; /* there may be more: at once */
	else if (stayed || left)
	{
		/* some are being written, by who may roll back without a trace */
		if (taken > 0)
			post->deltas = 0;	/* merged */
		if (stayed)
			post->tries++;
		post->due = after(FOLD_AFTER);
		post->at_last = after(FOLD_AT_LAST);
	}
	else
		(void) hash_search(pending, &post->post_id, HASH_REMOVE, NULL);
	return taken;
}

typedef struct FoldWork
{
	PendingPost *post;
	int64		taken;
} FoldWork;

static void
fold_one(void *arg)
{
	FoldWork   *work = arg;

	work->taken = fold_post(work->post);
}

/* Fold what is due, in one transaction. */
static void
fold_chunk(void *arg)
{
	HASH_SEQ_STATUS seq;
	PendingPost *post;
	TimestampTz now = GetCurrentTimestamp();
	int			posts = 0;
	int64		deltas = 0;

	next_due = DT_NOEND;
	if (look_everywhere)
	{
		look_everywhere = !find_deltas();
		if (look_everywhere)
			next_due = now;
	}
	if (pending == NULL)
		return;
	hash_seq_init(&seq, pending);
	while ((post = hash_seq_search(&seq)) != NULL)
	{
		if (post->due <= now && posts < FOLD_POSTS && deltas < FOLD_DELTAS)
		{
			pg_uuid_t	post_id = post->post_id;
			FoldWork	work = {post, 0};

			if (!careful_do(fold_one, &work))
				post->due = after(FOLD_AT_LAST);
			deltas += work.taken;
			posts++;
			post = hash_search(pending, &post_id, HASH_FIND, NULL);
		}
		if (post != NULL)
			next_due = Min(next_due, post->due);
	}
}

/* Fold a chunk; false if it has to be tried again. */
static bool
try_chunk(void)
{
	if (apply_run(APPLY_COUNTS, fold_chunk, NULL, NULL) == APPLY_DONE)
		return true;
	/* what was forgotten is not folded */
	fold_all_later();
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

	while (next_due <= GetCurrentTimestamp() &&
		   !TimestampDifferenceExceeds(begin, GetCurrentTimestamp(),
									   TIME_TO_FOLD))
		if (!try_chunk())
			break;
	if (next_due == DT_NOEND)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_due);
}

/* A post with deltas behind a place, by the active snapshot. */
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

	found = item_scan_next(scan, &delta);
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
 * Fold all deltas there are, those of locked posts as far as possible. In READ
 * COMMITTED, as the containers' owner.
 */
void
fold_everything(void)
{
	for (int p = partition_first(CONTAINER_POSTS, ITEM_DELTA); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_DELTA, p))
	{
		ItemPlace	place = {.valid = false};

		if (!delta_possible_in(p))
			continue;
		PushActiveSnapshot(GetTransactionSnapshot());
		while (next_counted(p, &place))
		{
			int64		taken;
			bool		left;

			(void) post_fold(&place.first, PG_INT64_MAX, false, true, &taken,
							 &left);
		}
		PopActiveSnapshot();
	}
}
