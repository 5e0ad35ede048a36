/*
 * dirty_set.c
 *		A dirty set: the keys of posts and users that may be out of date in the
 *		views. The decoder fills a dirty set, and the worker updates the views
 *		from it.
 *
 * All changes of a post share one key. A very large transaction can change
 * more than MAX_KEYS posts. The set then drops the keys of the posts, and sets
 * "anything", and the worker rebuilds the views.
 *
 * The keys of posts that were deleted or moved to another node are also in the
 * hash table "gone". This table is kept if the other keys are dropped, because
 * a rebuild does not tell other nodes of a cluster about these posts.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#define BATCH_KEYS 10000		/* a set with this many keys is applied to the
								 * views before more WAL is decoded */
#define MAX_KEYS 200000			/* largest number of keys in one hash table,
								 * which takes about 20 MB */

struct DirtySet
{
	MemoryContext context;
	HTAB	   *posts;			/* hash table of the PostKeys of changed posts,
								 * or NULL */
	HTAB	   *gone;			/* hash table of the PostKeys of posts that
								 * were deleted or moved to another node, or
								 * NULL */
	HTAB	   *counted;		/* hash table of CountedChange: posts and
								 * comments whose deltas have changed; or
								 * NULL */
	long		counted_posts;	/* how many posts are in the table "counted" */
	bool		left_out;		/* whether the table "counted" lacks comments,
								 * because there were too many */
	HTAB	   *users;			/* hash table of the ids (pg_uuid_t) of users
								 * whose names have changed, or NULL */
	int64		changes;
	int64		count_changes;	/* number of changes of posts' deltas since the
								 * set was last emptied */
	bool		jobs;			/* whether jobs were queued */
	bool		feed_view;		/* whether a session other than the worker
								 * wrote to the container feed */

	/*
	 * Whether any copy and any row of the feed may be out of date, for example
	 * because too many posts have changed. The tables "posts" and "counted"
	 * are empty then.
	 */
	bool		anything;

	/*
	 * Whether posts with unknown keys may have been deleted or moved to
	 * another node. If so, the table "gone" is empty.
	 */
	bool		any_gone;
	bool		all_users;		/* whether the name of any user may have
								 * changed; the hash table "users" is empty
								 * then */
	bool		waited;			/* whether a process waits until the views are
								 * up to date */
};

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
 * Add a key to a table of keys, and create the table if it is NULL. Returns
 * false if the table now has more than MAX_KEYS keys.
 */
static bool
add_key(DirtySet *dirty, HTAB **table, const void *key, Size keysize)
{
	if (*table == NULL)
		*table = make_table(dirty, keysize, keysize);
	(void) hash_search(*table, key, HASH_ENTER, NULL);
	return hash_get_num_entries(*table) <= MAX_KEYS;
}

static long
counted_comments(const DirtySet *dirty)
{
	return dirty->counted == NULL ? 0 :
		hash_get_num_entries(dirty->counted) - dirty->counted_posts;
}

/*
 * Add a post or comment whose deltas have changed. Returns false if the set
 * now has more than MAX_KEYS posts whose deltas have changed.
 *
 * If the set has MAX_KEYS comments, the function leaves the comment out,
 * because the views have no counts of comments. The worker then scans all
 * deltas to find those to fold.
 */
static bool
add_counted(DirtySet *dirty, const CountedChange *more)
{
	bool		post = counted_type(&more->item) == ITEM_POST;
	CountedChange *counted;
	bool		found;

	if (!post && counted_comments(dirty) >= MAX_KEYS)
	{
		dirty->left_out = true;
		return true;
	}
	if (dirty->counted == NULL)
		dirty->counted = make_table(dirty, sizeof(CountedItem),
									sizeof(CountedChange));
	counted = hash_search(dirty->counted, &more->item, HASH_ENTER, &found);
	dirty->counted_posts += !found && post;
	counted->deltas = (found ? counted->deltas : 0) + more->deltas;
	counted->beside = (found && counted->beside) || more->beside;
	return dirty->counted_posts <= MAX_KEYS;
}

static void
drop_keys(HTAB **table)
{
	if (*table != NULL)
		hash_destroy(*table);
	*table = NULL;
}

static void
drop_counted(DirtySet *dirty)
{
	drop_keys(&dirty->counted);
	dirty->counted_posts = 0;
}

static void
add_anything(DirtySet *dirty)
{
	dirty->anything = true;
	drop_keys(&dirty->posts);
	drop_counted(dirty);
}

/*
 * Note that posts may have been deleted or moved to another node. Called if
 * their keys are unknown, or too many for the hash table "gone".
 */
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

void
dirty_add(DirtySet *dirty, const Change *change)
{
	CountedChange counted;

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
			counted = (CountedChange) {
				.item = {change->post.post_id, change->item_id},
				.deltas = change->more,.beside = change->beside
			};
			dirty->count_changes += counted_type(&counted.item) == ITEM_POST;
			if (!dirty->anything && !add_counted(dirty, &counted))
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
 * Add the posts in a hash table of another set to the set "dirty".
 *
 * posts: the hash table, of PostKeys; may be NULL
 * gone: whether the posts were deleted or moved to another node
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

void
dirty_merge(DirtySet *dirty, const DirtySet *other)
{
	Change		change;
	HASH_SEQ_STATUS seq;
	CountedChange *counted;
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
	dirty->left_out |= other->left_out;
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

/*
 * Record for verify() that all posts of a set have changed in the current
 * round of the worker's main loop (see told_posts.c).
 */
void
dirty_tell(const DirtySet *dirty, ToldPosts *told)
{
	Change		change;
	HASH_SEQ_STATUS seq;
	PostKey    *post;
	CountedChange *counted;

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
			change.post.post_id = counted->item.post_id;
			change.item_id = counted->item.item_id;
			told_change(told, &change);
		}
	}
}

/*
 * Move the CountedChange of each post from the set "dirty" to the set
 * "counts". The CountedChanges of comments stay in "dirty", because the views
 * have no counts of comments.
 */
void
dirty_move_counted(DirtySet *dirty, DirtySet *counts)
{
	HASH_SEQ_STATUS seq;
	CountedChange *counted;

	if (dirty->counted_posts == 0)
		return;
	hash_seq_init(&seq, dirty->counted);
	while ((counted = hash_seq_search(&seq)) != NULL)
	{
		if (counted_type(&counted->item) != ITEM_POST)
			continue;
		if (!counts->anything && !add_counted(counts, counted))
			add_anything(counts);
		hash_search(dirty->counted, &counted->item, HASH_REMOVE, NULL);
	}
	dirty->counted_posts = 0;
	counts->changes += dirty->count_changes;
	counts->count_changes += dirty->count_changes;
	dirty->changes -= dirty->count_changes;
	dirty->count_changes = 0;
}

/*
 * Move the CountedChanges of up to "limit" posts from the set "counts" to the
 * set "dirty". If this moves the last post, also moves everything else in
 * "counts".
 */
void
dirty_take_counted(DirtySet *counts, DirtySet *dirty, long limit)
{
	HASH_SEQ_STATUS seq;
	CountedChange *counted;
	long		posts = 0;

	if (counts->anything || counts->counted_posts <= limit)
	{
		dirty_merge(dirty, counts);
		dirty_clear(counts);
		return;
	}
	hash_seq_init(&seq, counts->counted);
	while (posts < limit && (counted = hash_seq_search(&seq)) != NULL)
	{
		posts++;
		if (!dirty->anything && !add_counted(dirty, counted))
			add_anything(dirty);
		hash_search(counts->counted, &counted->item, HASH_REMOVE, NULL);
	}
	hash_seq_term(&seq);
	counts->counted_posts -= posts;

	/*
	 * The set does not know how many of its changes belong to which post. So
	 * count one change for each moved post. The call that moves the last posts
	 * also moves the rest of the number.
	 */
	dirty->changes += posts;
	dirty->count_changes += posts;
	counts->changes -= posts;
	counts->count_changes -= posts;
}

/*
 * Return how many changed posts, posts with changed deltas, and renamed users
 * a set has. The table "gone" is not counted.
 */
static long
count_keys(const DirtySet *dirty)
{
	return (dirty->posts ? hash_get_num_entries(dirty->posts) : 0) +
		dirty->counted_posts +
		(dirty->users ? hash_get_num_entries(dirty->users) : 0);
}

/*
 * Return whether the worker should apply the set to the views before it
 * decodes more WAL.
 */
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

/* Return whether the worker has anything to write to the views. */
bool
dirty_writes(const DirtySet *dirty)
{
	return dirty->feed_view || dirty->all_users || dirty->any_gone ||
		dirty->gone != NULL || count_keys(dirty) > 0;
}

/*
 * Return whether the worker has to look for queued jobs. This is so if jobs
 * were queued, or if applying the set will queue rename jobs.
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
 * Return whether a process waits until the views are up to date.
 * dirty_answered() makes this false, until another process begins to wait.
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
 * Called when the worker has applied, or is about to apply, all changes for
 * which a process has waited.
 */
void
dirty_answered(DirtySet *dirty)
{
	dirty->waited = false;
}

/*
 * Return whether any copy and any row of the feed may be out of date. If so,
 * the worker rebuilds the views.
 */
bool
dirty_anything(const DirtySet *dirty)
{
	return dirty->anything;
}

/*
 * Return whether posts with unknown keys may have been deleted or moved to
 * another node. dirty_gone() does not return these posts.
 */
bool
dirty_any_gone(const DirtySet *dirty)
{
	return dirty->any_gone;
}

/*
 * Return whether the name of any user may have changed. If so, dirty_users()
 * returns no users.
 */
bool
dirty_all_users(const DirtySet *dirty)
{
	return dirty->all_users;
}

int64
dirty_changes(const DirtySet *dirty)
{
	return dirty->changes;
}

/*
 * Return the entries of a hash table as an array of *n elements, in the
 * current memory context. Returns NULL if the hash table is NULL.
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

PostKey *
dirty_posts(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->posts, sizeof(PostKey), n);
}

/*
 * Return the keys of all posts that were deleted or moved to another node, an
 * array of *n elements. The set has these keys even if dirty_anything()
 * returns true.
 */
PostKey *
dirty_gone(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->gone, sizeof(PostKey), n);
}

/* Return the number of posts whose own deltas have changed. */
long
dirty_counted_posts(const DirtySet *dirty)
{
	return dirty->counted_posts;
}

/*
 * Return whether dirty_counted() lacks comments, because there were too many.
 */
bool
dirty_left_out(const DirtySet *dirty)
{
	return dirty->left_out;
}

/*
 * Return the posts and comments whose deltas have changed, an array of *n
 * elements.
 */
CountedChange *
dirty_counted(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->counted, sizeof(CountedChange), n);
}

/*
 * Return the ids of users whose names have changed without a rename job, an
 * array of *n elements.
 */
pg_uuid_t *
dirty_users(const DirtySet *dirty, int *n)
{
	return copy_keys(dirty->users, sizeof(pg_uuid_t), n);
}

/* Empty a set after the worker has applied it. Does not change "waited". */
void
dirty_clear(DirtySet *dirty)
{
	MemoryContextReset(dirty->context);
	dirty->posts = NULL;
	dirty->gone = NULL;
	dirty->counted = NULL;
	dirty->counted_posts = 0;
	dirty->left_out = false;
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
