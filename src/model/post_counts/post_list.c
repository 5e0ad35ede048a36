/*
 * post_list.c
 *		Lists of posts over all partitions, by (creation_date, id), newest or oldest
 *		first.
 *
 * Each partition's list is read by its index, and the first in order of their
 * first items is always the next: a page costs its length, and a look into each
 * partition. Runs in any process.
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/merged_scan.h"

#include "utils/snapmgr.h"

struct PostList
{
	MergedScan *posts;
	Snapshot	snapshot;
	bool		started;		/* is the present one already handed out? */
};

/*
 * Begin a list over all partitions of the posts that a query asks for: newest first
 * if it reads backward. Partitions are held still by the lock on the container, but
 * for DETACH PARTITION ... CONCURRENTLY.
 */
PostList *
post_list_begin(const ItemQuery *query)
{
	PostList   *list = palloc0(sizeof(PostList));
	ItemQuery	each = *query;

	Assert(query->type == ITEM_POST);
	list->snapshot = query->snapshot ? query->snapshot : GetActiveSnapshot();
	each.snapshot = list->snapshot;
	container_lock(query->container, false);
	list->posts = merged_scan_begin(&each, query->backward ? merged_newest_first :
									merged_oldest_first);
	return list;
}

/*
 * The next post, with its counts; false at the end. Its values hold until
 * the next call.
 */
bool
post_list_next(PostList *list, BlogItem *out)
{
	const BlogItem *post;

	if (list->started && merged_scan_item(list->posts) != NULL)
		merged_scan_next(list->posts);
	list->started = true;
	post = merged_scan_item(list->posts);
	if (post == NULL)
		return false;
	*out = *post;
	post_add_up(out, list->snapshot);
	return true;
}

/* End a list, wherever it has come to. */
void
post_list_end(PostList *list)
{
	merged_scan_end(list->posts);
	pfree(list);
}
