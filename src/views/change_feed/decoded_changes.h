/*
 * decoded_changes.h
 *		Declarations shared by the files of views/change_feed/ alone.
 *
 * The output plugin passes each decoded change to the decoder as a struct
 * Change, which the decoder adds to a dirty set.
 */
#ifndef BLOGSTORE_DECODED_CHANGES_H
#define BLOGSTORE_DECODED_CHANGES_H

#include "views/change_feed/change_feed.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#define PLUGIN_NAME "blogstore"

/* What the output plugin reports about a decoded change. */
typedef enum ChangeKind
{
	CHANGE_POST,				/* the copy of this post may be out of date */
	CHANGE_COUNTS,				/* the copy of this post may be out of date
								 * because a delta was written */
	CHANGE_USERNAME,			/* this user's name in items may be out of
								 * date */
	CHANGE_FEED_VIEW,			/* another session wrote to the view feed */
	CHANGE_JOB,					/* a job was queued */
	CHANGE_ANYTHING,			/* everything may be out of date */
	CHANGE_AWAITED				/* no change: a process waits for the views */
} ChangeKind;

typedef struct Change
{
	ChangeKind	kind;
	bool		later;			/* not urgent, because another session wrote to
								 * a view */
	bool		message;		/* from a logical message, not from a tuple */
	bool		more;			/* CHANGE_COUNTS: a delta that is not a stripe
								 * was inserted */
	bool		beside;			/* CHANGE_COUNTS: the delta is not the
								 * counter */
	bool		gone;			/* CHANGE_POST: this server may no longer have
								 * the post with this key. CHANGE_ANYTHING:
								 * there may be such posts */
	PostKey		post;			/* for CHANGE_POST; CHANGE_COUNTS uses only
								 * post_id, CHANGE_USERNAME only user_id */
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

/* decoded_tables.c: the role of a relation in blogstore */
typedef enum RelationRole
{
	ROLE_NONE,
	ROLE_POSTS,					/* leaf of posts with post items */
	ROLE_DELTAS,				/* leaf of posts with deltas */
	ROLE_COPIES,				/* leaf of users with copies of posts */
	ROLE_USERS,					/* leaf of users with user items */
	ROLE_SHARED_USERS,			/* user items in a reference table, which each
								 * node of a cluster has in full */
	ROLE_FEED_VIEW,				/* the leaf of feed */
	ROLE_JOBS
} RelationRole;

typedef struct RoleEntry
{
	Oid			relid;
	RelationRole role;
	bool		complete;		/* has all columns that identify the changed
								 * item */
	/* column numbers; 0 if the relation has no such column */
	AttrNumber	id;				/* posts, copies and deltas */
	AttrNumber	user_id;		/* posts, copies, users and jobs */
	AttrNumber	creation_date;
	AttrNumber	username;
	AttrNumber	kind;
	AttrNumber	post_id;		/* posts and deltas */
	AttrNumber	comment_count;	/* deltas */
	AttrNumber	like_count;
} RoleEntry;

extern void roles_create(void);
extern const RoleEntry *role_of(Relation relation);

#endif							/* BLOGSTORE_DECODED_CHANGES_H */
