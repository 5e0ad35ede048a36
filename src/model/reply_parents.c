/*
 * reply_parents.c
 *		The parents of replies, which are comments that reply to other
 *		comments.
 *
 * A reply names its parent by id, and stays when the parent is deleted.
 * Nothing is written to the reply then. A query that returns a reply looks up
 * its parent by key, to tell whether the parent is gone. Comments that are not
 * replies cost nothing.
 *
 * Commands run in backends; reading runs in parallel workers too.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"

/* What a snapshot shows of a parent. */
typedef enum ParentState
{
	PARENT_SHOWN,
	PARENT_HIDDEN,
	PARENT_WITHHELD,			/* hidden, and not by the author who asks */
	PARENT_GONE					/* deleted or never there, or its author is
								 * being deleted */
} ParentState;

/* How many parents a reader remembers. */
#define REMEMBERED 16

typedef struct KnownParent
{
	pg_uuid_t	key[2];			/* post_id and id */
	bool		gone;
} KnownParent;

struct Parents
{
	ItemScan   *scan;			/* by the key of comments; NULL: none is
								 * open */
	uint32		n;				/* number of parents looked up; the last ones
								 * are */
	KnownParent known[REMEMBERED];	/* remembered here */
};

/* ------------------------------------------------------------------------
 * The parent of one reply
 * ------------------------------------------------------------------------ */

static char *
id_text(const pg_uuid_t *id)
{
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)));
}

/*
 * Look for a parent with the active snapshot. Values other than its key, its
 * author and whether it is hidden may be missing. A hidden comment of another
 * user is PARENT_WITHHELD from an author; if author is NULL, it is
 * PARENT_HIDDEN.
 */
static ParentState
look_now(const pg_uuid_t *post_id, const pg_uuid_t *parent_id,
		 const pg_uuid_t *author)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(parent_id)};
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	});
	ParentState state = PARENT_GONE;
	BlogItem	parent;

	if (item_scan_next(scan, &parent) &&
		!deleted_has_author(deleted_users(GetActiveSnapshot()), &parent))
		state = !item_hidden(&parent) ? PARENT_SHOWN :
			item_is_by(&parent, author) ? PARENT_HIDDEN : PARENT_WITHHELD;
	item_scan_end(scan);
	return state;
}

/*
 * Look for a parent with the transaction's snapshot, which shows what this
 * transaction has written.
 */
static ParentState
look(const pg_uuid_t *post_id, const pg_uuid_t *parent_id,
	 const pg_uuid_t *author)
{
	ParentState state;

	PushActiveSnapshot(GetTransactionSnapshot());
	state = look_now(post_id, parent_id, author);
	PopActiveSnapshot();
	return state;
}

/*
 * Return whether a comment exists now, whatever the transaction's snapshot
 * shows. Waits for a transaction that is inserting it.
 */
static bool
is_there_by_now(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	ItemQuery	query = {
		.container = CONTAINER_POSTS,.type = ITEM_COMMENT,
		.partition_key = post_id,.path = PATH_KEY,.key = key,.nkeys = 2,
		.identity = true
	};
	BlogItem	comment;
	bool		found;

	do
	{
		CHECK_FOR_INTERRUPTS();
		PushActiveSnapshot(GetLatestSnapshot());
		found = item_get(&query, &comment);
		PopActiveSnapshot();
	} while (!found && item_await_inserters(&query));
	return found;
}

static COMPAT_NORETURN void
parent_hidden(const pg_uuid_t *parent_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("comment %s is hidden", id_text(parent_id)),
			 errhint("Nobody can reply to it before it is shown, by blogstore.hide_comment(..., hidden => false)."),
			 err_fields(container_table(CONTAINER_POSTS), "parent_id",
						RULE_COMMENT_SHOWN)));
}

/* Return whether a post exists, as the transaction's snapshot shows it. */
static bool
post_exists(const pg_uuid_t *post_id)
{
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	post;
	bool		found;

	PushActiveSnapshot(GetTransactionSnapshot());
	found = item_get(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_POST, .partition_key = post_id,
		.path = PATH_KEY, .key = &key, .nkeys = 1, .identity = true
	}, &post) && !author_being_deleted(&post);
	PopActiveSnapshot();
	return found;
}

static COMPAT_NORETURN void
parent_unknown(const pg_uuid_t *post_id, const pg_uuid_t *parent_id,
			   ParentState state)
{
	if (IsolationUsesXactSnapshot() && state == PARENT_GONE &&
		is_there_by_now(post_id, parent_id))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent comment"),
				 errhint("Retry the transaction.")));
	if (!post_exists(post_id))
		unknown_item(ITEM_POST, post_id);
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("comment %s on post %s does not exist", id_text(parent_id),
					id_text(post_id)),
			 errhint("Reply to a comment on the same post, or leave parent_id out."),
			 err_fields(container_table(CONTAINER_POSTS), "parent_id",
						RULE_COMMENT_EXISTS)));
}

/*
 * Return whether replies to a comment may exist, by the active snapshot. The
 * comment itself need not exist.
 */
static bool
has_replies(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	BlogItem	reply;
	ItemScan   *scan;
	bool		found;

	if (!partition_has_path(CONTAINER_POSTS, ITEM_COMMENT,
							partition_of(CONTAINER_POSTS, ITEM_COMMENT, post_id),
							PATH_REPLIES))
		return true;			/* without that index, assume that there are
								 * some */
	scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_REPLIES, .key = key, .nkeys = 2,
		.identity = true
	});
	found = item_scan_next(scan, &reply);
	item_scan_end(scan);
	return found;
}

/*
 * Return whether a new comment would reply to itself through other comments.
 * Its id may have belonged to a comment that was deleted and had replies. A
 * reader that follows replies to their parents would then never end.
 *
 * If the owner has written to the tables directly, the parents may already
 * form a cycle that does not contain this comment. To end in such a cycle too,
 * the function remembers one comment that it has passed, and replaces it after
 * 1, 2, 4, 8 steps and so on.
 */
static bool
closes_circle(const BlogItem *comment)
{
	const pg_uuid_t *post_id = item_uuid(comment, PROP_POST_ID);
	const pg_uuid_t *id = item_uuid(comment, PROP_ID);
	pg_uuid_t	at = *item_uuid(comment, PROP_PARENT_ID);
	pg_uuid_t	passed = at;
	uint64		steps = 0;
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&at)};
	ItemScan   *scan = NULL;
	BlogItem	above;
	bool		ends;

	PushActiveSnapshot(GetTransactionSnapshot());
	ends = memcmp(&at, id, UUID_LEN) != 0 && !has_replies(post_id, id);
	while (!ends && memcmp(&at, id, UUID_LEN) != 0)
	{
		CHECK_FOR_INTERRUPTS();
		item_scan_look(&scan, &(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
			.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
			.identity = true
		});
		ends = !item_scan_next(scan, &above) || above.isnull[PROP_PARENT_ID];
		if (ends)
			break;
		at = *item_uuid(&above, PROP_PARENT_ID);
		ends = memcmp(&at, &passed, UUID_LEN) == 0;
		steps++;
		if ((steps & (steps - 1)) == 0)
			passed = at;
	}
	if (scan != NULL)
		item_scan_end(scan);
	PopActiveSnapshot();
	return !ends;
}

/*
 * Check that a new comment's parent allows a reply. Returns true if the
 * comment may be written, and false if a comment with its id already exists,
 * whatever its parent is. anew tells that the id was generated, so that no
 * such comment can exist. For an author other users' hidden comments do not
 * exist; NULL: they do.
 *
 * Errors: 22023 if the comment would reply to itself; 23503 if there is no
 * such parent on the post; 23514 if the parent is hidden; 40001 if the parent
 * was committed after the transaction's snapshot.
 *
 * The parent is not locked. A lock would be written to its row and to the WAL
 * for each reply. All it could do is to delay a deletion of the parent until
 * after the reply, and a reply may outlive its parent anyway.
 */
bool
need_parent(const BlogItem *comment, bool anew, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = item_uuid(comment, PROP_POST_ID);
	const pg_uuid_t *parent_id;
	ParentState state;

	if (comment->isnull[PROP_PARENT_ID])
		return true;
	parent_id = item_uuid(comment, PROP_PARENT_ID);
	state = look(post_id, parent_id, author);
	if (state == PARENT_SHOWN && (anew || !closes_circle(comment)))
		return true;
	if (!anew && is_there_by_now(post_id, item_uuid(comment, PROP_ID)))
		return false;
	if (state == PARENT_SHOWN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("comment %s would reply to itself",
						id_text(item_uuid(comment, PROP_ID))),
				 errhint("Reply to a comment that is no reply to this one, or leave parent_id out."),
				 err_fields(container_table(CONTAINER_POSTS), "parent_id",
							RULE_NO_CIRCLE)));
	if (state == PARENT_HIDDEN)
		parent_hidden(parent_id);
	parent_unknown(post_id, parent_id, state);
}

/*
 * Set the property that tells whether the parent is gone, in a comment that a
 * command returns.
 */
void
reply_complete(BlogItem *comment)
{
	if (!comment->isnull[PROP_PARENT_ID])
		item_set(comment, PROP_PARENT_DELETED,
				 BoolGetDatum(look(item_uuid(comment, PROP_POST_ID),
								   item_uuid(comment, PROP_PARENT_ID), NULL) ==
							  PARENT_GONE));
}

/* ------------------------------------------------------------------------
 * The parents of many replies
 * ------------------------------------------------------------------------ */

/* Look a parent up, and return whether it is gone. */
static bool
look_up(Parents *parents, const DeletedUsers *deleted, KnownParent *known)
{
	Datum		key[] = {UUIDPGetDatum(&known->key[0]), UUIDPGetDatum(&known->key[1])};
	BlogItem	parent;

	item_scan_look(&parents->scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = &known->key[0], .path = PATH_KEY, .key = key,
		.nkeys = 2, .identity = true
	});
	return !item_scan_next(parents->scan, &parent) ||
		deleted_has_author(deleted, &parent);
}

/*
 * Return whether a reply's parent is gone, by the active snapshot; deleted
 * lists the users being deleted in it. For a reader of many replies.
 * Neighbouring replies often have the same parent, so the last results are
 * remembered. *parents is NULL before the first call. The caller frees it with
 * parents_end(). All calls use the same memory context.
 */
bool
parents_gone(Parents **parents, const DeletedUsers *deleted,
			 const pg_uuid_t *post_id, const pg_uuid_t *parent_id)
{
	KnownParent *known;

	if (*parents == NULL)
		*parents = palloc0(sizeof(Parents));
	for (uint32 i = 0; i < Min((*parents)->n, REMEMBERED); i++)
	{
		known = &(*parents)->known[i];
		if (memcmp(&known->key[1], parent_id, UUID_LEN) == 0 &&
			memcmp(&known->key[0], post_id, UUID_LEN) == 0)
			return known->gone;
	}
	known = &(*parents)->known[(*parents)->n++ % REMEMBERED];
	known->key[0] = *post_id;
	known->key[1] = *parent_id;
	known->gone = look_up(*parents, deleted, known);
	return known->gone;
}

/* Close the scan, and free what is remembered. */
void
parents_end(Parents *parents)
{
	if (parents->scan != NULL)
		item_scan_end(parents->scan);
	pfree(parents);
}
