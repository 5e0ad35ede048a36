/*
 * decoded_changes.h
 *		Declares struct Change, a change that the output plugin finds in WAL,
 *		and passes to the decoder. The decoder adds the key of the changed post
 *		or user to a dirty set (dirty_set.c).
 *
 * Only files of views/change_feed/ include this header.
 */
#ifndef BLOGSTORE_DECODED_CHANGES_H
#define BLOGSTORE_DECODED_CHANGES_H

#include "views/change_feed/change_feed.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#define PLUGIN_NAME "blogstore"

typedef enum ChangeKind
{
	CHANGE_POST,				/* a post was written; its copy and the feed
								 * may be out of date */

	/*
	 * A delta was written. If the delta is of a post, the counts in the post's
	 * copy may be out of date. If the delta is of a comment, the worker only
	 * has to fold it, because comments have no copies.
	 */
	CHANGE_COUNTS,
	CHANGE_USERNAME,			/* the username in items of a user may be out
								 * of date */
	CHANGE_FEED_VIEW,			/* a session other than the worker wrote to the
								 * container feed */
	CHANGE_JOB,
	CHANGE_ANYTHING,			/* any copy and any row of the feed may be out
								 * of date */
	CHANGE_AWAITED				/* a process waits until the views are up to
								 * date */
} ChangeKind;

typedef struct Change
{
	ChangeKind	kind;

	/*
	 * Whether the worker applies the change only after a delay. This is so if
	 * a session other than the worker wrote to the copies or the feed
	 * (deferred_refresh.c).
	 */
	bool		later;
	bool		message;		/* whether the change is a logical message */

	/*
	 * For CHANGE_COUNTS: whether a delta was inserted that is neither a
	 * counter nor a stripe. The post or comment then has one more delta.
	 */
	bool		more;
	bool		beside;			/* for CHANGE_COUNTS: whether a delta other
								 * than a counter has changed */

	/*
	 * For CHANGE_POST: whether the post may have been deleted or moved to
	 * another node. For CHANGE_ANYTHING: whether this may be so for any post.
	 */
	bool		gone;

	/*
	 * For CHANGE_POST: the key of the post. For CHANGE_COUNTS, only post_id is
	 * set; for CHANGE_USERNAME, only user_id.
	 */
	PostKey		post;
	pg_uuid_t	item_id;		/* for CHANGE_COUNTS: id of the post or comment
								 * on which the delta counts */
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

/* The use that blogstore makes of a table whose changes are decoded. */
typedef enum RelationRole
{
	ROLE_NONE,					/* any other table; the plugin ignores its
								 * changes */
	ROLE_POSTS,
	ROLE_DELTAS,
	ROLE_COPIES,				/* copies of posts */
	ROLE_USERS,
	ROLE_SHARED_USERS,			/* on a cluster: the table of users that every
								 * node has in full */
	ROLE_FEED_VIEW,

	/*
	 * The topics. All writes of blogstore to them have the worker's origin. If
	 * a session has written to them otherwise, the worker rebuilds the views:
	 * it cannot know which rows are wrong.
	 */
	ROLE_TOPICS,
	ROLE_JOBS
} RelationRole;

typedef struct RoleEntry
{
	Oid			relid;
	RelationRole role;
	bool		complete;		/* whether the relation has all columns that
								 * the output plugin needs */

	/*
	 * Attribute numbers of the columns that the output plugin reads; 0 if the
	 * relation lacks the column.
	 */
	AttrNumber	id;
	AttrNumber	user_id;
	AttrNumber	creation_date;
	AttrNumber	username;
	AttrNumber	kind;
	AttrNumber	post_id;
	AttrNumber	item_id;
	AttrNumber	comment_count;
	AttrNumber	like_count;
} RoleEntry;

extern void roles_create(void);
extern const RoleEntry *role_of(Relation relation);

#endif							/* BLOGSTORE_DECODED_CHANGES_H */
