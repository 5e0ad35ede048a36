/*
 * view_rows.h
 *		Declarations for views/copies_and_feed/ and cluster/. On a cluster,
 *		cluster/ computes rows of the views with these functions, and sends the
 *		rows to other nodes.
 */
#ifndef BLOGSTORE_VIEW_ROWS_H
#define BLOGSTORE_VIEW_ROWS_H

#include "views/copies_and_feed/copies_and_feed.h"

/* copies.c */
extern bool copy_current(const BlogItem *copy, const BlogItem *post);
extern void copies_queue_scheduled(const BlogItem *post);
extern void copies_put(const PostKey *key, const BlogItem *post);
extern bool copies_wanted(ManyPosts *many, const PostKey *key,
						  BlogItem *post);

/* copies_build.c */
typedef void (*RefreshCopies) (const PostKey *keys, int n);

extern bool copies_build_by(ItemPlace *place, int64 *done,
							RefreshCopies differing, RefreshCopies alone);

/* A list of rows of the feed, newest first. */
typedef struct FeedList
{
	const BlogItem **rows;
	int			n;
	int			room;
	bool		whole;			/* true if "rows" has all posts that are not
								 * hidden; false if it has only the newest */
} FeedList;

typedef enum RowChange
{
	ROW_DELETE,
	ROW_INSERT,
	ROW_UPDATE
} RowChange;

typedef struct FeedRow
{
	RowChange	change;
	const BlogItem *row;		/* the new row; for ROW_DELETE, the old row */
} FeedRow;

/* view_feed.c */
extern void feed_read(FeedList *there, bool (*mine) (const pg_uuid_t *post_id));
extern void feed_read_newest(FeedList *wanted);
extern void feed_follow(const FeedList *there, const PostKey *keys, int n,
						FeedList *wanted);
extern FeedRow *feed_differences(const FeedList *there, const FeedList *wanted,
								 int *n);
extern void feed_write(const FeedRow *row, int n, bool whole);
extern bool feed_row_current(const BlogItem *row, const BlogItem *post);

#endif							/* BLOGSTORE_VIEW_ROWS_H */
