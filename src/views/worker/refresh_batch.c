/*
 * refresh_batch.c
 *		Applies a dirty set to the views, in one transaction, so that readers
 *		never see half of it. A dirty set has the keys of posts and users that
 *		may be out of date in the views.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "base/settings.h"
#include "storage/layout/layout.h"
#include "views/copies_and_feed/copies_and_feed.h"
#include "views/worker/worker_parts.h"

#include "utils/snapmgr.h"

/*
 * Return the keys of all posts in a dirty set, an array of *n elements. If
 * only the deltas of a post have changed, the set has its post_id. The rest of
 * the key is then read from the post. Posts that no longer exist are left out.
 */
static PostKey *
list_posts(const DirtySet *dirty, int *n)
{
	int			ncounted;
	PostKey    *posts = dirty_posts(dirty, n);
	CountedChange *counted = dirty_counted(dirty, &ncounted);
	PostKey    *all = palloc(sizeof(PostKey) * (*n + ncounted));
	ManyPosts  *many = many_posts_begin(GetActiveSnapshot());

	if (*n > 0)
		memcpy(all, posts, sizeof(PostKey) * *n);
	for (int i = 0; i < ncounted; i++)
		if (counted_type(&counted[i].item) == ITEM_POST &&
			copies_key(many, &counted[i].item.post_id, &all[*n]))
			(*n)++;
	many_posts_end(many);
	return all;
}

/*
 * Update the views for the posts of a dirty set. Queue a rename job for each
 * user of the set. This job writes the current username into the user's items.
 *
 * arg: the dirty set.
 */
static void
refresh_batch(void *arg)
{
	const ClusterCalls *cluster = cluster_calls();
	const DirtySet *dirty = arg;
	List	   *topics = NIL;
	List	  **listed = blogstore_notify ? &topics : NULL;
	pg_uuid_t  *users;
	int			nusers;
	int			n;
	int			n_written;
	PostKey    *posts = list_posts(dirty, &n);
	PostKey    *written = dirty_posts(dirty, &n_written);

	if (cluster != NULL)
	{
		cluster->refresh_batch(dirty, posts, n, listed);
		hint_prepare(posts, n, topics, dirty_feed_view(dirty));
		return;
	}
	copies_refresh(posts, n);
	/* Counts do not change topics. So a like costs nothing here. */
	view_topics_refresh(written, n_written, listed);
	if (dirty_feed_view(dirty))
		feed_make();
	else
		feed_refresh(posts, n);
	users = dirty_users(dirty, &nusers);
	jobs_request_renames(users, nusers, dirty_all_users(dirty));
	hint_prepare(posts, n, topics, dirty_feed_view(dirty));
}

/*
 * Apply a dirty set to the views, in one transaction. Locks: those of
 * APPLY_VIEWS (worker_transaction.c). Returns false if a concurrent
 * transaction prevents this. Nothing is written then, and the caller tries
 * again later. If it returns true, the caller calls hint_send().
 */
bool
batch_apply(const DirtySet *dirty)
{
	bool		done = apply_run(APPLY_VIEWS, refresh_batch, (void *) dirty,
								 NULL) == APPLY_DONE;

	if (!done)
		hint_forget();
	return done;
}

static void
make_feed(void *arg)
{
	feed_make();
}

/*
 * Rewrite the feed, whatever rows it has, in one transaction. Returns false if
 * a concurrent transaction prevents this. The caller then tries again later.
 */
bool
batch_make_feed(void)
{
	return apply_run(APPLY_VIEWS, make_feed, NULL, NULL) == APPLY_DONE;
}
