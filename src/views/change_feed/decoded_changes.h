/*
 * decoded_changes.h
 *		What the files of views/change_feed/ share with each other alone.
 */
#ifndef BLOGSTORE_DECODED_CHANGES_H
#define BLOGSTORE_DECODED_CHANGES_H

#include "views/change_feed/change_feed.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#define PLUGIN_NAME "blogstore"

/* What the output plugin tells of a decoded change. */
typedef enum ChangeKind
{
	CHANGE_POST,				/* this post's copy may be out of date */
	CHANGE_COUNTS,				/* this post's copy may be out of date, because
								 * of a delta */
	CHANGE_USERNAME,			/* this user's name on items may be out of
								 * date */
	CHANGE_FEED_VIEW,			/* somebody else wrote to the view feed */
	CHANGE_JOB,					/* a job was queued */
	CHANGE_ANYTHING,			/* anything may be out of date */
	CHANGE_AWAITED				/* nothing: somebody waits for the views */
} ChangeKind;

typedef struct Change
{
	ChangeKind	kind;
	bool		later;			/* not urgent: somebody wrote to a view */
	bool		message;		/* from a message, not from a row */
	bool		more;			/* of CHANGE_COUNTS: another delta, no stripe */
	bool		beside;			/* of CHANGE_COUNTS: not of the counter */
	bool		gone;			/* of CHANGE_POST: a post that is not there as it was,
								 * or need not be; of CHANGE_ANYTHING: there may be
								 * such posts */
	PostKey		post;			/* of CHANGE_POST; of CHANGE_COUNTS its post_id,
								 * of CHANGE_USERNAME its user_id */
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

/* decoded_tables.c: what a relation is to blogstore */
typedef enum RelationRole
{
	ROLE_NONE,
	ROLE_POSTS,					/* a leaf of posts, of post items */
	ROLE_DELTAS,				/* a leaf of posts, of deltas of counts */
	ROLE_COPIES,				/* a leaf of users, of copies of posts */
	ROLE_USERS,					/* a leaf of users, of user items */
	ROLE_SHARED_USERS,			/* users, in a table that each node of a cluster has all of */
	ROLE_FEED_VIEW,				/* the leaf of feed */
	ROLE_JOBS
} RelationRole;

typedef struct RoleEntry
{
	Oid			relid;
	RelationRole role;
	bool		complete;		/* has it the columns that tell which item changed? */
	/* columns, 0 where the relation has no such: */
	AttrNumber	id;				/* of posts, copies and deltas */
	AttrNumber	user_id;		/* of posts, copies, users and jobs */
	AttrNumber	creation_date;
	AttrNumber	username;
	AttrNumber	kind;
	AttrNumber	post_id;		/* of posts and deltas */
	AttrNumber	comment_count;	/* of deltas */
	AttrNumber	like_count;
} RoleEntry;

extern void roles_create(void);
extern const RoleEntry *role_of(Relation relation);

#endif							/* BLOGSTORE_DECODED_CHANGES_H */
