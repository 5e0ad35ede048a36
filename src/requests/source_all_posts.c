/*
 * source_all_posts.c
 *		A source that reads a page of posts from all partitions of posts: the
 *		posts of one user, or of all users. It returns the posts in short form
 *		(model/short_form/short_form.h).
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/short_form/short_form.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

typedef struct AllPosts
{
	SourceKey	key;
	Cursor		begins;
	PostList   *posts;
} AllPosts;

static bool
all_posts_next(RequestScan *scan, BlogItem *item)
{
	AllPosts   *all = scan->state;
	MemoryContext old;

	do
	{
		if (!post_list_next(all->posts, item))
			return false;
	} while (!query_shows(scan, item));
	old = MemoryContextSwitchTo(scan->row_context);
	item_shorten(item);
	MemoryContextSwitchTo(old);
	return true;
}

static void
all_posts_explain(const RequestScan *scan, SourceReads *reads)
{
	reads->all_partitions = true;
	reads->container = CONTAINER_POSTS;
}

static void
all_posts_close(RequestScan *scan)
{
	AllPosts   *all = scan->state;

	post_list_end(all->posts);
	pfree(all);
}

static const ItemSource all_posts = {
	.next = all_posts_next, .explain = all_posts_explain, .close = all_posts_close
};

/*
 * Set the source of a query to a page of a user's posts in the posts
 * container. If user_id is NULL, the page is of the posts of all users. Locks:
 * AccessShareLock on the container's root table, until the end of the
 * transaction. Errors: those of post_list_begin().
 */
void
query_posts(RequestScan *scan, const pg_uuid_t *user_id, const ListPage *page)
{
	AllPosts   *all = palloc(sizeof(AllPosts));

	source_key_keep(&all->key, &user_id, user_id == NULL ? 0 : 1);
	all->begins = page->before;
	all->posts = post_list_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST,
		.path = user_id == NULL ? PATH_DATE : PATH_USER,
		.key = all->key.value, .nkeys = all->key.n, .cursor = &all->begins,
		.backward = !page->oldest_first, .shown = !scan->include_hidden,
		.rows = page->size
	});
	scan->source = &all_posts;
	scan->state = all;
}
