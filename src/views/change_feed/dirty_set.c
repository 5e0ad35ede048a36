/*
 * dirty_set.c
 *		The set of keys that a batch has to refresh: posts, users, the view
 *		feed.
 *
 * A thousand likes of one post make one key. The set is bounded. When it has
 * more than MAX_KEYS posts, which takes one very large transaction, it drops
 * them and notes that anything may be out of date; the views are rebuilt then.
 * Keys of posts that were deleted or moved ("gone") are kept even then, with a
 * bound of their own, because a rebuild would not tell other nodes of a
 * cluster about them.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#define BATCH_KEYS 10000		/* ends a batch at the next record */
#define MAX_KEYS 200000			/* about 20 MB */

struct DirtySet
{
	MemoryContext context;		/* child of the context given to
								 * dirty_create(); reset by dirty_clear() */
	HTAB	   *posts;			/* of PostKey, or NULL */
	HTAB	   *gone;			/* of PostKey, or NULL: posts that were deleted
								 * or moved */
	HTAB	   *counted;		/* of CountedPost, or NULL */
	HTAB	   *users;			/* of pg_uuid_t, or NULL */
	int64		changes;		/* number of changes since the set was
								 * cleared */
	int64		count_changes;	/* the part of them in counted */
	bool		jobs;			/* jobs were queued */
	bool		feed_view;		/* another session wrote to the view feed */
	bool		anything;		/* anything may be out of date; posts and
								 * counted are empty */
	bool		any_gone;		/* posts may be gone that are not listed; gone
								 * is empty */
	bool		all_users;		/* any user's name may be out of date; users is
								 * empty */
	bool		waited;			/* a process waits for the views */
};

/* Create an empty set, with its memory in a child of parent. */
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
 * Add a key to a table, which is created if needed. Returns false if the table
 * has become too large.
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
 * Add a post whose counts have changed. Returns false if there are too many.
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

/* Note that posts may be gone whose keys are unknown. */
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

/* Add what a decoded change may have made out of date. */
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

/* Add the posts of another set's table. */
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

/* Add the contents of another set. */
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

/* Report all posts of a set to told_posts.c, in the current turn. */
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

/* Move the posts of which only counts have changed to another set. */
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
 * Move up to limit posts from counts to dirty. With the last of them, the rest
 * of the set's contents is moved, too.
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
	 * The number of changes per post is not known. Count one for each; the
	 * last part gets the remainder.
	 */
	dirty->changes += moved;
	dirty->count_changes += moved;
	counts->changes -= moved;
	counts->count_changes -= moved;
}

/* Return the number of keys of changed posts and users. */
static long
count_keys(const DirtySet *dirty)
{
	return (dirty->posts ? hash_get_num_entries(dirty->posts) : 0) +
		(dirty->counted ? hash_get_num_entries(dirty->counted) : 0) +
		(dirty->users ? hash_get_num_entries(dirty->users) : 0);
}

/* Return whether the set should be applied before more is decoded. */
bool
dirty_full(const DirtySet *dirty)
{
	return dirty->anything || count_keys(dirty) >= BATCH_KEYS;
}

/* Return whether any change was added. */
bool
dirty_any(const DirtySet *dirty)
{
	return dirty->changes > 0;
}

/* Return whether applying the set writes to tables. */
bool
dirty_writes(const DirtySet *dirty)
{
	return dirty->feed_view || dirty->all_users || dirty->any_gone ||
		dirty->gone != NULL || count_keys(dirty) > 0;
}

/* Return whether jobs were queued, or will be when the set is applied. */
bool
dirty_jobs(const DirtySet *dirty)
{
	return dirty->jobs || dirty->users != NULL || dirty->all_users;
}

/* Return whether another session wrote to the view feed. */
bool
dirty_feed_view(const DirtySet *dirty)
{
	return dirty->feed_view;
}

/* Return whether a process waits for the views and has not been answered. */
bool
dirty_waited(const DirtySet *dirty)
{
	return dirty->waited;
}

/* Note that a process waits for the views. */
void
dirty_await(DirtySet *dirty)
{
	dirty->waited = true;
}

/* Note that all waiting processes have been answered. */
void
dirty_answered(DirtySet *dirty)
{
	dirty->waited = false;
}

/* Return whether anything may be out of date. */
bool
dirty_anything(const DirtySet *dirty)
{
	return dirty->anything;
}

/* Return whether there may be deleted or moved posts that are not listed. */
bool
dirty_any_gone(const DirtySet *dirty)
{
	return dirty->any_gone;
}

/* Return whether any user's name may be out of date. */
bool
dirty_all_users(const DirtySet *dirty)
{
	return dirty->all_users;
}

/* Return the number of changes in the set. */
int64
dirty_changes(const DirtySet *dirty)
{
	return dirty->changes;
}

/*
 * Copy the entries of a table to an array in the current memory context.
 * Returns NULL if there is no table.
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

/* Return the changed posts as an array, *n of them. */
PostKey *
dirty_posts(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->posts, sizeof(PostKey), n);
}

/*
 * Return the posts that were deleted or moved as an array, *n of them. They
 * are listed even if anything may be out of date.
 */
PostKey *
dirty_gone(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->gone, sizeof(PostKey), n);
}

/* Return the number of posts whose counts have changed. */
long
dirty_counted_posts(const DirtySet *dirty)
{
	return dirty->counted ? hash_get_num_entries(dirty->counted) : 0;
}

/* Return the posts whose counts have changed as an array, *n of them. */
CountedPost *
dirty_counted(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->counted, sizeof(CountedPost), n);
}

/*
 * Return an array of the users whose names have changed without a rename job,
 * *n of them.
 */
pg_uuid_t *
dirty_users(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->users, sizeof(pg_uuid_t), n);
}

/*
 * Empty the set once its contents have been applied. The note that a process
 * waits is kept.
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

/* Free the set. */
void
dirty_destroy(DirtySet *dirty)
{
	MemoryContextDelete(dirty->context);
	pfree(dirty);
}
