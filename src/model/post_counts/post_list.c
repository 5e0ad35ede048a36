/*
 * post_list.c
 *		Lists of posts over all partitions, ordered by (creation_date, id).
 *
 * Each partition's posts are read in order from its index, and the scans are
 * merged. Reading the first n posts of a list costs n index entries and one
 * index descent for each partition. Runs in any process.
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
	bool		started;
};

/*
 * Begin a list of the posts that the query finds in all partitions. The newest
 * post comes first if query->backward is set, otherwise the oldest.
 *
 * Locks: AccessShareLock on the container's root table until the transaction
 * ends. This lock prevents DETACH PARTITION, but not DETACH PARTITION
 * CONCURRENTLY.
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
	list->posts = merged_scan_begin(&each, 1, query->backward ?
									merged_newest_first : merged_oldest_first);
	return list;
}

/*
 * Read the next post of the list, with its exact counts, into *out. Returns
 * false at the end of the list. The values in *out are valid until the next
 * call.
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

void
post_list_end(PostList *list)
{
	merged_scan_end(list->posts);
	pfree(list);
}
