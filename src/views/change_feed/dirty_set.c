/*
 * dirty_set.c
 *		The set of what a batch has to refresh: posts, users, the view feed.
 *
 * It says which, not what: a thousand likes of one post are one key. It is
 * bounded: past MAX_KEYS, which only a single very large transaction reaches,
 * it holds no posts any more but the word that anything may be out of date. Posts
 * that are not there as they were it goes on to hold, until they are too many as
 * well: of these nobody else can tell the other nodes of a cluster.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#define BATCH_KEYS 10000		/* end a batch between two records */
#define MAX_KEYS 200000			/* about 20 MB */

struct DirtySet
{
	MemoryContext context;		/* a child of parent; reset by dirty_clear() */
	HTAB	   *posts;			/* of PostKey; NULL: none */
	HTAB	   *gone;			/* the same, of posts that are not there as they were */
	HTAB	   *counted;		/* of CountedPost; NULL: none */
	HTAB	   *users;			/* of pg_uuid_t; NULL: none */
	int64		changes;		/* since the last clear */
	int64		count_changes;	/* those of them that are counted's */
	bool		jobs;			/* jobs were queued */
	bool		feed_view;		/* somebody else wrote to the view feed */
	bool		anything;		/* may be out of date: no posts are listed, but those gone */
	bool		any_gone;		/* posts may be gone that are not listed */
	bool		all_users;		/* anybody's name may be: no users are listed */
	bool		waited;			/* somebody waits for the views */
};

/* An empty set, its memory a child of parent. */
DirtySet *
dirty_create(MemoryContext parent)
{
	DirtySet   *dirty = MemoryContextAllocZero(parent, sizeof(DirtySet));

	dirty->context = AllocSetContextCreate(parent, "blogstore dirty set",
										   ALLOCSET_DEFAULT_SIZES);
	return dirty;
}

static HTAB *
make_table(DirtySet *dirty, Size keysize, Size entrysize)
{
	HASHCTL		ctl = {.keysize = keysize,.entrysize = entrysize,
	.hcxt = dirty->context};

	return hash_create("blogstore dirty keys", 256, &ctl,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Add a key of keysize bytes to a table; false if the table is too large. */
static bool
add_key(DirtySet *dirty, HTAB **table, const void *key, Size keysize)
{
	if (*table == NULL)
		*table = make_table(dirty, keysize, keysize);
	(void) hash_search(*table, key, HASH_ENTER, NULL);
	return hash_get_num_entries(*table) <= MAX_KEYS;
}

/* Note that a post's counts have changed; false if there are too many posts. */
static bool
add_counted(DirtySet *dirty, const CountedPost *more)
{
	CountedPost *counted;
	bool		found;

	if (dirty->counted == NULL)
		dirty->counted = make_table(dirty, sizeof(pg_uuid_t),
									sizeof(CountedPost));
	counted = hash_search(dirty->counted, &more->post_id, HASH_ENTER, &found);
	counted->deltas = (found ? counted->deltas : 0) + more->deltas;
	counted->beside = (found && counted->beside) || more->beside;
	return hash_get_num_entries(dirty->counted) <= MAX_KEYS;
}

static void
drop_keys(HTAB **table)
{
	if (*table != NULL)
		hash_destroy(*table);
	*table = NULL;
}

static void
add_anything(DirtySet *dirty)
{
	dirty->anything = true;
	drop_keys(&dirty->posts);
	drop_keys(&dirty->counted);
}

/* Posts are gone of which it is not known which they were. */
static void
add_any_gone(DirtySet *dirty)
{
	dirty->any_gone = true;
	drop_keys(&dirty->gone);
	add_anything(dirty);
}

static void
add_all_users(DirtySet *dirty)
{
	dirty->all_users = true;
	drop_keys(&dirty->users);
}

/* Note what a decoded change makes dirty. */
void
dirty_add(DirtySet *dirty, const Change *change)
{
	dirty->changes++;
	switch (change->kind)
	{
		case CHANGE_POST:
			if (change->gone && !dirty->any_gone &&
				!add_key(dirty, &dirty->gone, &change->post, sizeof(PostKey)))
				add_any_gone(dirty);
			if (!dirty->anything &&
				!add_key(dirty, &dirty->posts, &change->post, sizeof(PostKey)))
				add_anything(dirty);
			break;
		case CHANGE_COUNTS:
			dirty->count_changes++;
			if (!dirty->anything &&
				!add_counted(dirty, &(CountedPost) {
					.post_id = change->post.post_id,.deltas = change->more,
					.beside = change->beside
				}))
				add_anything(dirty);
			break;
		case CHANGE_USERNAME:
			if (!dirty->all_users &&
				!add_key(dirty, &dirty->users, &change->post.user_id,
						 sizeof(pg_uuid_t)))
				add_all_users(dirty);
			break;
		case CHANGE_FEED_VIEW:
			dirty->feed_view = true;
			break;
		case CHANGE_JOB:
			dirty->jobs = true;
			break;
		case CHANGE_ANYTHING:
			if (change->gone)
				add_any_gone(dirty);
			else
				add_anything(dirty);
			break;
		case CHANGE_AWAITED:
			dirty->waited = true;
			dirty->changes--;
			break;
	}
}

/* Add posts of another set. */
static void
merge_posts(DirtySet *dirty, HTAB *posts, bool gone)
{
	Change		change;
	HASH_SEQ_STATUS seq;
	PostKey    *post;

	if (posts == NULL)
		return;
	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_POST;
	change.gone = gone;
	hash_seq_init(&seq, posts);
	while ((post = hash_seq_search(&seq)) != NULL)
	{
		change.post = *post;
		dirty_add(dirty, &change);
	}
}

/* Add all that another set holds. */
void
dirty_merge(DirtySet *dirty, const DirtySet *other)
{
	Change		change;
	HASH_SEQ_STATUS seq;
	CountedPost *counted;
	pg_uuid_t  *user;
	int64		changes = dirty->changes + other->changes;
	int64		count_changes = dirty->count_changes + other->count_changes;

	memset(&change, 0, sizeof(change));
	if (other->anything)
		add_anything(dirty);
	if (other->any_gone)
		add_any_gone(dirty);
	if (other->all_users)
		add_all_users(dirty);
	dirty->jobs |= other->jobs;
	dirty->feed_view |= other->feed_view;
	merge_posts(dirty, other->posts, false);
	merge_posts(dirty, other->gone, true);
	if (other->counted != NULL)
	{
		hash_seq_init(&seq, other->counted);
		while ((counted = hash_seq_search(&seq)) != NULL)
			if (!dirty->anything &&
				!add_counted(dirty, counted))
				add_anything(dirty);
	}
	if (other->users != NULL)
	{
		change.kind = CHANGE_USERNAME;
		hash_seq_init(&seq, other->users);
		while ((user = hash_seq_search(&seq)) != NULL)
		{
			change.post.user_id = *user;
			dirty_add(dirty, &change);
		}
	}
	dirty->changes = changes;
	dirty->count_changes = count_changes;
}

/* Tell of all posts that a set holds. */
void
dirty_tell(const DirtySet *dirty, ToldPosts *told)
{
	Change		change;
	HASH_SEQ_STATUS seq;
	PostKey    *post;
	CountedPost *counted;

	memset(&change, 0, sizeof(change));
	change.kind = CHANGE_ANYTHING;
	if (dirty->anything || dirty->any_gone)
		told_change(told, &change);
	change.kind = CHANGE_FEED_VIEW;
	if (dirty->feed_view)
		told_change(told, &change);
	change.kind = CHANGE_POST;
	if (dirty->posts != NULL)
	{
		hash_seq_init(&seq, dirty->posts);
		while ((post = hash_seq_search(&seq)) != NULL)
		{
			change.post = *post;
			told_change(told, &change);
		}
	}
	change.kind = CHANGE_COUNTS;
	if (dirty->counted != NULL)
	{
		hash_seq_init(&seq, dirty->counted);
		while ((counted = hash_seq_search(&seq)) != NULL)
		{
			change.post.post_id = counted->post_id;
			told_change(told, &change);
		}
	}
}

/* Move the posts of which counts alone are known to have changed to another set. */
void
dirty_move_counted(DirtySet *dirty, DirtySet *counts)
{
	HASH_SEQ_STATUS seq;
	CountedPost *counted;

	if (dirty->counted == NULL)
		return;
	hash_seq_init(&seq, dirty->counted);
	while ((counted = hash_seq_search(&seq)) != NULL)
		if (!counts->anything && !add_counted(counts, counted))
			add_anything(counts);
	drop_keys(&dirty->counted);
	counts->changes += dirty->count_changes;
	counts->count_changes += dirty->count_changes;
	dirty->changes -= dirty->count_changes;
	dirty->count_changes = 0;
}

/*
 * Move some of the posts of which counts have changed to another set, at most so many;
 * with the last of them, whatever else there is.
 */
void
dirty_take_counted(DirtySet *counts, DirtySet *dirty, long limit)
{
	HASH_SEQ_STATUS seq;
	CountedPost *counted;
	long		moved = 0;

	if (counts->anything || dirty_counted_posts(counts) <= limit)
	{
		dirty_merge(dirty, counts);
		dirty_clear(counts);
		return;
	}
	hash_seq_init(&seq, counts->counted);
	while (moved < limit && (counted = hash_seq_search(&seq)) != NULL)
	{
		if (!dirty->anything && !add_counted(dirty, counted))
			add_anything(dirty);
		hash_search(counts->counted, &counted->post_id, HASH_REMOVE, NULL);
		moved++;
	}
	hash_seq_term(&seq);
	/* how many changes there were of each is not known: one, and the last has the rest */
	dirty->changes += moved;
	dirty->count_changes += moved;
	counts->changes -= moved;
	counts->count_changes -= moved;
}

/* How many keys a set holds. */
static long
count_keys(const DirtySet *dirty)
{
	return (dirty->posts ? hash_get_num_entries(dirty->posts) : 0) +
		(dirty->counted ? hash_get_num_entries(dirty->counted) : 0) +
		(dirty->users ? hash_get_num_entries(dirty->users) : 0);
}

/* Is it time to apply what there is? */
bool
dirty_full(const DirtySet *dirty)
{
	return dirty->anything || count_keys(dirty) >= BATCH_KEYS;
}

/* Is there anything to do? */
bool
dirty_any(const DirtySet *dirty)
{
	return dirty->changes > 0;
}

/* Is there anything to write for it? */
bool
dirty_writes(const DirtySet *dirty)
{
	return dirty->feed_view || dirty->all_users || dirty->any_gone ||
		dirty->gone != NULL || count_keys(dirty) > 0;
}

/* Were jobs queued, or will be when the set is applied? */
bool
dirty_jobs(const DirtySet *dirty)
{
	return dirty->jobs || dirty->users != NULL || dirty->all_users;
}

/* Was the view feed written to by somebody else? */
bool
dirty_feed_view(const DirtySet *dirty)
{
	return dirty->feed_view;
}

/* Has somebody begun to wait for the views who has not been answered yet? */
bool
dirty_waited(const DirtySet *dirty)
{
	return dirty->waited;
}

/* Somebody waits for the views: this process. */
void
dirty_await(DirtySet *dirty)
{
	dirty->waited = true;
}

/* All who wait for the views so far have been answered. */
void
dirty_answered(DirtySet *dirty)
{
	dirty->waited = false;
}

/* May anything be out of date? */
bool
dirty_anything(const DirtySet *dirty)
{
	return dirty->anything;
}

/* May posts be gone, from this server or node, that the set does not list? */
bool
dirty_any_gone(const DirtySet *dirty)
{
	return dirty->any_gone;
}

/* May anybody's name be out of date? */
bool
dirty_all_users(const DirtySet *dirty)
{
	return dirty->all_users;
}

/* How many changes the set stands for. */
int64
dirty_changes(const DirtySet *dirty)
{
	return dirty->changes;
}

/* A table's entries as an array in the current memory context. */
static void *
copy_keys(HTAB *table, Size entrysize, int *n)
{
	char	   *keys;
	void	   *key;
	HASH_SEQ_STATUS seq;

	*n = 0;
	if (table == NULL)
		return NULL;
	keys = palloc(entrysize * hash_get_num_entries(table));
	hash_seq_init(&seq, table);
	while ((key = hash_seq_search(&seq)) != NULL)
		memcpy(keys + entrysize * (*n)++, key, entrysize);
	return keys;
}

/* The posts as an array in the current memory context. */
PostKey *
dirty_posts(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->posts, sizeof(PostKey), n);
}

/* The posts that are not there as they were, listed even if anything may be out of date, as an array in the same context. */
PostKey *
dirty_gone(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->gone, sizeof(PostKey), n);
}

/* Of how many posts have counts changed? */
long
dirty_counted_posts(const DirtySet *dirty)
{
	return dirty->counted ? hash_get_num_entries(dirty->counted) : 0;
}

/* The posts whose counts have changed, as an array in the current memory context. */
CountedPost *
dirty_counted(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->counted, sizeof(CountedPost), n);
}

/*
 * The users whose names were changed directly, as an array in the current memory
 * context.
 */
pg_uuid_t *
dirty_users(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->users, sizeof(pg_uuid_t), n);
}

/* Empty the set, once what it holds has been applied. */
void
dirty_clear(DirtySet *dirty)
{
	MemoryContextReset(dirty->context);
	dirty->posts = NULL;
	dirty->gone = NULL;
	dirty->counted = NULL;
	dirty->users = NULL;
	dirty->changes = 0;
	dirty->count_changes = 0;
	dirty->jobs = false;
	dirty->feed_view = false;
	dirty->anything = false;
	dirty->any_gone = false;
	dirty->all_users = false;
}

/* Free the set. */
void
dirty_destroy(DirtySet *dirty)
{
	MemoryContextDelete(dirty->context);
	pfree(dirty);
}
