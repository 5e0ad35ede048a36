/*
 * copies_and_feed.h
 *		The views: copies of posts in users, and the feed, written from the
 *		present state of the posts container.
 *
 * Refreshing is by state: whatever happened to a post, its copies are made
 * what the post is now. Doing it twice, late or in another order gives the
 * same, so the change feed needs no record of what it has applied.
 *
 * Whoever writes a view holds the views' lock to the end of the transaction:
 * the worker, repair(), hide_post(), and create_user() with the id of a user who is being
 * deleted, which deletes that user's copies (model/user_changes/user_deletion.c).
 */
#ifndef BLOGSTORE_COPIES_AND_FEED_H
#define BLOGSTORE_COPIES_AND_FEED_H

#include "model/post_counts/post_counts.h"
#include "storage/rows/rows.h"
#include "views/change_feed/change_feed.h"

/* copies.c */
extern bool copies_key(ManyPosts *many, const pg_uuid_t *post_id,
					   PostKey *key);
extern void copies_refresh(const PostKey *keys, int n);

/* copies_build.c */
extern bool copies_build(ItemPlace *place, int64 *done);

/* view_feed.c */
extern void feed_refresh(const PostKey *keys, int n);
extern void feed_make(void);
extern bool feed_has_author(const pg_uuid_t *user_id);

/* feed_page.c: how far does the feed go? */
extern bool feed_is_whole(void);
extern bool feed_reaches(const Cursor *place);

/* hide_from_views.c: out of the views in the transaction that hides a post */
extern void views_hide(const BlogItem *post);

#endif							/* BLOGSTORE_COPIES_AND_FEED_H */
