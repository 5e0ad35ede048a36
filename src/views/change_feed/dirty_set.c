/*
 * dirty_set.c
 *		Sets of keys that may be out of date in the views (the copies of posts
 *		in users, and the feed): the keys of posts and users. The decoder fills
 *		a dirty set, and the worker updates the views from it.
 *
 * A thousand likes of one post make one key. A set is bounded. If it gets more
 * than MAX_KEYS posts, which takes one very large transaction, it drops them
 * and notes that anything may be out of date; the worker then rebuilds the
 * views. Keys of posts that were deleted or moved ("gone") are kept even then,
 * with a bound of their own, because a rebuild would not tell other nodes of a
 * cluster about these posts.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#define BATCH_KEYS 10000		/* a set with this many keys is applied before
								 * more WAL is decoded */
#define MAX_KEYS 200000			/* largest number of keys of one kind; about 20
								 * MB */

struct DirtySet
{
	/*
	 * Holds the tables of keys; reset when the set is emptied. A child of the
	 * context given to dirty_create().
	 */
	MemoryContext context;
	HTAB	   *posts;			/* changed posts: PostKey, or NULL if there are
								 * none */
	HTAB	   *gone;			/* posts that were deleted or moved: PostKey,
								 * or NULL */
	HTAB	   *counted;		/* posts whose counts have changed:
								 * CountedPost, or NULL */
	HTAB	   *users;			/* users whose names have changed: pg_uuid_t,
								 * or NULL */
	int64		changes;		/* number of changes added since the set was
								 * emptied */
	int64		count_changes;	/* number of these changes that concern only
								 * counts */
	bool		jobs;			/* jobs were queued */
	bool		feed_view;		/* another session wrote to the feed */

	/*
	 * Too many posts have changed, so anything may be out of date. The tables
	 * of posts and of changed counts are empty then.
	 */
	bool		anything;

	/*
	 * Posts were deleted or moved whose keys are unknown. The table "gone" is
	 * empty then.
	 */
	bool		any_gone;
	bool		all_users;		/* the names of any users may have changed; the
								 * table of users is empty then */
	bool		waited;			/* a process waits until the views show the
								 * changes in the set */
};

/* Create an empty set. Its memory is allocated in children of parent. */
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

/*
 * Add a key to a table of keys, which is created if it is NULL. Returns false
 * if the table has more than MAX_KEYS keys now.
 */
static bool
add_key(DirtySet *dirty, HTAB **table, const void *key, Size keysize)
{
	if (*table == NULL)
		*table = make_table(dirty, keysize, keysize);
	(void) hash_search(*table, key, HASH_ENTER, NULL);
	return hash_get_num_entries(*table) <= MAX_KEYS;
}

/*
 * Add a post whose counts have changed. Returns false if there are more than
 * MAX_KEYS such posts now.
 */
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

/* Note that posts whose keys are unknown were deleted or moved. */
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

/* Add what may be out of date because of a decoded change. */
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

/*
 * Add all posts of a table that belongs to another set. gone: they were
 * deleted or moved.
 */
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

/* Add the contents of another set, which keeps them. */
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

/* Report all posts of a set to told_posts.c as changed in the current turn. */
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

/*
 * Move the posts of which only counts have changed from one set to another
 * (counts).
 */
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
 * Move up to limit posts with changed counts from counts to dirty. When the
 * last of them is moved, all other contents of counts are moved, too.
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

	/*
	 * The number of changes of each post is not known. Count one for each; the
	 * last part has the remainder.
	 */
	dirty->changes += moved;
	dirty->count_changes += moved;
	counts->changes -= moved;
	counts->count_changes -= moved;
}

/* Return the number of keys of changed posts, changed counts and users. */
static long
count_keys(const DirtySet *dirty)
{
	return (dirty->posts ? hash_get_num_entries(dirty->posts) : 0) +
		(dirty->counted ? hash_get_num_entries(dirty->counted) : 0) +
		(dirty->users ? hash_get_num_entries(dirty->users) : 0);
}

/* Return whether the set should be applied before more WAL is decoded. */
bool
dirty_full(const DirtySet *dirty)
{
	return dirty->anything || count_keys(dirty) >= BATCH_KEYS;
}

bool
dirty_any(const DirtySet *dirty)
{
	return dirty->changes > 0;
}

/* Return whether applying the set will write to any table. */
bool
dirty_writes(const DirtySet *dirty)
{
	return dirty->feed_view || dirty->all_users || dirty->any_gone ||
		dirty->gone != NULL || count_keys(dirty) > 0;
}

/*
 * Return whether jobs were queued, or will be queued when the set is applied.
 */
bool
dirty_jobs(const DirtySet *dirty)
{
	return dirty->jobs || dirty->users != NULL || dirty->all_users;
}

bool
dirty_feed_view(const DirtySet *dirty)
{
	return dirty->feed_view;
}

/*
 * Return whether a process waits for the views and dirty_answered() was not
 * called since.
 */
bool
dirty_waited(const DirtySet *dirty)
{
	return dirty->waited;
}

void
dirty_await(DirtySet *dirty)
{
	dirty->waited = true;
}

/*
 * Note that no process waits any more: the worker has applied everything that
 * was waited for, or has made it due.
 */
void
dirty_answered(DirtySet *dirty)
{
	dirty->waited = false;
}

/*
 * Return whether anything may be out of date, so that the views have to be
 * rebuilt.
 */
bool
dirty_anything(const DirtySet *dirty)
{
	return dirty->anything;
}

/*
 * Return whether posts were deleted or moved that dirty_gone() does not list.
 */
bool
dirty_any_gone(const DirtySet *dirty)
{
	return dirty->any_gone;
}

/* Return whether the names of any users may have changed. */
bool
dirty_all_users(const DirtySet *dirty)
{
	return dirty->all_users;
}

/* Return the number of changes that were added to the set. */
int64
dirty_changes(const DirtySet *dirty)
{
	return dirty->changes;
}

/*
 * Copy the entries of a table of keys to an array of *n entries, in the
 * current memory context. Returns NULL if there is no table.
 */
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

/* Return the changed posts, an array of *n keys. */
PostKey *
dirty_posts(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->posts, sizeof(PostKey), n);
}

/*
 * Return the posts that were deleted or moved, an array of *n keys. They are
 * listed even if anything may be out of date.
 */
PostKey *
dirty_gone(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->gone, sizeof(PostKey), n);
}

long
dirty_counted_posts(const DirtySet *dirty)
{
	return dirty->counted ? hash_get_num_entries(dirty->counted) : 0;
}

/* Return the posts of which counts have changed, an array of *n entries. */
CountedPost *
dirty_counted(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->counted, sizeof(CountedPost), n);
}

/*
 * Return the users whose names have changed without a rename job, an array of
 * *n ids.
 */
pg_uuid_t *
dirty_users(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->users, sizeof(pg_uuid_t), n);
}

/*
 * Empty the set, after its contents have been applied. Whether a process waits
 * is kept.
 */
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

void
dirty_destroy(DirtySet *dirty)
{
	MemoryContextDelete(dirty->context);
	pfree(dirty);
}
