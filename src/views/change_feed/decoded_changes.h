/*
 * decoded_changes.h
 *		How the output plugin passes decoded changes to the decoder: as a
 *		struct Change, which the decoder adds to a dirty set, a set of keys
 *		that may be out of date in the views. Only files of views/change_feed/
 *		include this header.
 */
#ifndef BLOGSTORE_DECODED_CHANGES_H
#define BLOGSTORE_DECODED_CHANGES_H

#include "views/change_feed/change_feed.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#define PLUGIN_NAME "blogstore"

/* The kinds of changes that the output plugin reports. */
typedef enum ChangeKind
{
	CHANGE_POST,				/* the copy of this post may be out of date */

	/*
	 * The counts in the copy of this post may be out of date, because a delta
	 * was written (a row with a change of the counts).
	 */
	CHANGE_COUNTS,
	CHANGE_USERNAME,			/* items of this user may have an old name */
	CHANGE_FEED_VIEW,			/* another session wrote to the view feed */
	CHANGE_JOB,					/* a job was queued */
	CHANGE_ANYTHING,			/* everything may be out of date */
	CHANGE_AWAITED				/* a process waits for the views */
} ChangeKind;

typedef struct Change
{
	ChangeKind	kind;

	/*
	 * The change need not be applied at once, because it is a write of another
	 * session to a view.
	 */
	bool		later;
	bool		message;		/* the change comes from a logical message, not
								 * from a tuple */

	/*
	 * CHANGE_COUNTS: a delta was inserted that is no stripe, that is, not one
	 * which a process reuses.
	 */
	bool		more;
	bool		beside;			/* CHANGE_COUNTS: the delta is not the post's
								 * counter */

	/*
	 * CHANGE_POST: the post with this key may have been deleted or moved to
	 * another server. CHANGE_ANYTHING: this may be true of any post.
	 */
	bool		gone;

	/*
	 * CHANGE_POST: the key of the post. CHANGE_COUNTS: only post_id is set.
	 * CHANGE_USERNAME: only user_id is set.
	 */
	PostKey		post;
} Change;

/* told_posts.c */
extern void told_change(ToldPosts *told, const Change *change);

/* dirty_set.c */
extern void dirty_add(DirtySet *dirty, const Change *change);
extern void dirty_tell(const DirtySet *dirty, ToldPosts *told);
extern void dirty_destroy(DirtySet *dirty);

/* held_back.c */
extern DirtySet *held_back_add(HeldBack *held, TransactionId xid,
							   XLogRecPtr lsn);

/* decoded_tables.c: what a decoded relation is to blogstore */
typedef enum RelationRole
{
	ROLE_NONE,
	ROLE_POSTS,					/* a leaf partition of posts that holds
								 * posts */
	ROLE_DELTAS,				/* a leaf partition of posts that holds
								 * deltas */
	ROLE_COPIES,				/* a leaf partition of users that holds copies
								 * of posts */
	ROLE_USERS,					/* a leaf partition of users that holds
								 * users */
	ROLE_SHARED_USERS,			/* a table of users that every node of a
								 * cluster has in full */
	ROLE_FEED_VIEW,				/* the leaf partition of feed */
	ROLE_JOBS
} RelationRole;

typedef struct RoleEntry
{
	Oid			relid;
	RelationRole role;
	bool		complete;		/* the relation has all columns that its role
								 * needs */

	/* Numbers of the columns that the output plugin reads; 0 if missing. */
	AttrNumber	id;				/* in tables of posts, copies and deltas */
	AttrNumber	user_id;		/* in tables of posts, copies, users and
								 * jobs */
	AttrNumber	creation_date;
	AttrNumber	username;
	AttrNumber	kind;
	AttrNumber	post_id;		/* in tables of posts and deltas */
	AttrNumber	comment_count;	/* in tables of deltas */
	AttrNumber	like_count;
} RoleEntry;

extern void roles_create(void);
extern const RoleEntry *role_of(Relation relation);

#endif							/* BLOGSTORE_DECODED_CHANGES_H */
