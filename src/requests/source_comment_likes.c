/*
 * source_comment_likes.c
 *		A source that reads a user's likes of the comments on a post.
 *
 * The likes are in the order of the comments' ids. Likes of hidden comments
 * are left out, so each comment is looked up.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

typedef struct CommentLikes
{
	SourceKey	key;			/* user_id and post_id */
	ItemScan   *likes;
	ItemScan   *comments;		/* finds comments by their key; NULL before the
								 * first like */
} CommentLikes;

/*
 * Return whether the comment that is liked exists and is shown, and its author
 * is not being deleted.
 */
static bool
comment_is_shown(const RequestScan *scan, CommentLikes *list,
				 const BlogItem *like)
{
	Datum		key[] = {
		like->value[PROP_POST_ID], like->value[PROP_COMMENT_ID]
	};
	BlogItem	comment;

	item_scan_look(&list->comments, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = &list->key.id[1], .path = PATH_KEY, .key = key,
		.nkeys = 2, .identity = true
	});
	return item_scan_next(list->comments, &comment) &&
		!item_hidden(&comment) && !deleted_has_author(scan->deleted, &comment);
}

static bool
comment_likes_next(RequestScan *scan, BlogItem *item)
{
	CommentLikes *list = scan->state;

	do
		if (!item_scan_next(list->likes, item))
			return false;
	while (!comment_is_shown(scan, list, item));
	return true;
}

static void
comment_likes_explain(const RequestScan *scan, SourceReads *reads)
{
	const CommentLikes *list = scan->state;

	reads->container = CONTAINER_POSTS;
	reads->leaves = 1;
	item_scan_tables(list->likes, &reads->leaf, &reads->index);
}

static void
comment_likes_close(RequestScan *scan)
{
	CommentLikes *list = scan->state;

	if (list->comments != NULL)
		item_scan_end(list->comments);
	item_scan_end(list->likes);
	pfree(list);
}

static const ItemSource comment_likes = {
	.next = comment_likes_next, .explain = comment_likes_explain,
	.close = comment_likes_close
};

/*
 * Set the source of a query to a user's likes of shown comments on a post.
 * Errors: those of item_scan_begin().
 */
void
query_comment_likes(RequestScan *scan, const pg_uuid_t *user_id,
					const pg_uuid_t *post_id)
{
	const pg_uuid_t *const key[] = {user_id, post_id};
	CommentLikes *list = palloc0(sizeof(CommentLikes));

	source_key_keep(&list->key, key, lengthof(key));
	list->likes = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT_LIKE,
		.partition_key = &list->key.id[1], .path = PATH_KEY,
		.key = list->key.value, .nkeys = list->key.n, .rows = -1
	});
	scan->source = &comment_likes;
	scan->state = list;
}
