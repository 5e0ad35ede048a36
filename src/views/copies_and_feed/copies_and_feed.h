/*
 * copies_and_feed.h
 *		The views: copies of posts in the container users, by which the posts
 *		of a user are listed, and the container feed, which has the newest
 *		posts of all users.
 *
 * Both are written from the current state of the posts container. To refresh a
 * copy is to make it equal to its post as it is now, whatever has happened to
 * the post. To refresh twice, late or in another order gives the same result,
 * so the worker need not know which changes it has applied already.
 *
 * A process that writes a view holds the views' lock until its transaction
 * ends. These are the worker, repair(), hide_post(), and create_user() with
 * the id of a user that is being deleted, because it deletes that user's
 * copies (model/user_changes/user_deletion.c).
 */
#ifndef BLOGSTORE_COPIES_AND_FEED_H
#define BLOGSTORE_COPIES_AND_FEED_H

#include "model/post_counts/post_counts.h"
#include "storage/rows/rows.h"
#include "views/change_feed/change_feed.h"

/* copies.c: refreshing the copies of given posts */
extern bool copies_key(ManyPosts *many, const pg_uuid_t *post_id,
					   PostKey *key);
extern void copies_refresh(const PostKey *keys, int n);

/* copies_build.c: comparing all copies with their posts */
extern bool copies_build(ItemPlace *place, int64 *done);

/* view_feed.c: writing the feed */
extern void feed_refresh(const PostKey *keys, int n);
extern void feed_make(void);
extern bool feed_has_author(const pg_uuid_t *user_id);

/*
 * feed_page.c: whether the feed holds all posts of the site, or all posts that
 * are newer than a place in the list of posts
 */
extern bool feed_is_whole(void);
extern bool feed_reaches(const Cursor *place);

/* hide_from_views.c: removing a post from the views when it is hidden */
extern void views_hide(const BlogItem *post);

#endif							/* BLOGSTORE_COPIES_AND_FEED_H */
