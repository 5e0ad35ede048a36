/*
 * copies_and_feed.h
 *		The views: the copies of posts in the container users, and the
 *		container feed. A user's posts are listed from the copies, and the
 *		newest posts of all users from the feed.
 *
 * To refresh a copy means to make it equal to the current state of its post. A
 * refresh can be repeated, or come late, without harm. So the worker need not
 * remember which changes it has applied.
 *
 * A process that writes a view calls views_lock() first, and holds this lock
 * until its transaction ends. The worker, repair(), hide_post() and
 * create_user() write views. create_user() does so if an earlier user with the
 * same id is still being deleted (model/user_changes/user_deletion.c).
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

/* view_topics.c */
extern void view_topics_refresh(const PostKey *keys, int n, List **topics);

/* hide_from_views.c */
extern void views_hide(const BlogItem *post);

#endif							/* BLOGSTORE_COPIES_AND_FEED_H */
