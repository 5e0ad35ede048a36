/*
 * copies_and_feed.h
 *		The views: the copies of posts in the container users, by which the
 *		posts of a user are listed, and the container feed, which has the
 *		newest posts of all users.
 *
 * To refresh a copy is to make it equal to its post as the post is now,
 * whatever has happened to the post before. Refreshing twice, late or in
 * another order gives the same result. So the worker need not know which
 * changes it has applied already.
 *
 * A process that writes a view calls views_lock() first, and keeps this lock
 * until its transaction ends. The processes are the worker, repair(),
 * hide_post(), and create_user() with the id of a user that is being deleted.
 * This create_user() deletes the copies of that user's posts
 * (model/user_changes/user_deletion.c).
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

/* feed_page.c */
extern bool feed_is_whole(void);
extern bool feed_reaches(const Cursor *place);

/* hide_from_views.c */
extern void views_hide(const BlogItem *post);

#endif							/* BLOGSTORE_COPIES_AND_FEED_H */
