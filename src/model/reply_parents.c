/*
 * reply_parents.c
 *		The comments that others reply to: are they there, or gone?
 *
 * A reply names its parent by its id, and outlives it. Nothing is written on a reply
 * when its parent is deleted: whether that is gone is looked up, by the parent's key,
 * whenever a reply is read, and comments that reply to none are not touched by it.
 *
 * Runs in backends; reads in parallel workers too.
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
	PARENT_WITHHELD,			/* hidden, and not for who asks to know */
	PARENT_GONE					/* or it never was; or its author is being deleted */
} ParentState;

/* Of so many parents it is remembered whether they are gone. */
#define REMEMBERED 16

typedef struct KnownParent
{
	pg_uuid_t	key[2];			/* post_id, id */
	bool		gone;
} KnownParent;

struct Parents
{
	ItemScan   *scan;			/* by the key of comments; NULL: none is open */
	uint32		n;				/* parents that were looked up, of which the last */
	KnownParent known[REMEMBERED];	/* are here */
};

/* ------------------------------------------------------------------------
 * One
 * ------------------------------------------------------------------------ */

static char *
id_text(const pg_uuid_t *id)
{
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)));
}

/*
 * Look for a parent by the active snapshot. Only what tells whether it is there is
 * asked of it: it may be an item that lacks values. From an author (NULL: anybody) others'
 * hidden comments are withheld.
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

/* By the transaction's snapshot, so what this transaction has created is there. */
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
 * Is there a comment of a key by now? Waits for who is about to make one, as the
 * insert of another would.
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
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("comment %s is hidden", id_text(parent_id)),
			 errhint("Nobody can reply to it before it is shown, by blogstore.hide_comment(..., hidden => false).")));
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
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("comment %s on post %s does not exist", id_text(parent_id),
					id_text(post_id)),
			 errhint("Reply to a comment on the same post, or leave parent_id out.")));
}

/* Are there replies to a comment, by the active snapshot? It need not be there itself. */
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
		return true;			/* there may be some */
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
 * Would a comment reply, over others, to itself? Its id can have been that of one that is
 * gone, and that others have replied to. Whoever follows replies from one to the next would
 * never come to an end. Who has written the containers past blogstore may have made a
 * circle that this comment is not in: by a place passed before, which is taken anew after
 * twice as many steps each time, such a one is left.
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
 * May a comment be made, by its parent? False: there is one of its id already (anew: it
 * was just made up), whatever has become of the parent since. Errors: 22023 it would
 * reply to itself; 23503 there is no parent on the post; 55000 it is hidden; 40001 it has
 * come since the snapshot that the transaction keeps. To an author (NULL: anybody)
 * others' hidden comments are not there.
 *
 * The parent is not locked. The lock would have to be written to its row and to the
 * WAL, for each reply; and all that it could achieve is that who deletes the parent
 * comes after the reply, which then has outlived its parent, as it has if who deletes it
 * comes first and is not seen yet.
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
				 errhint("Reply to a comment that is no reply to this one, or leave parent_id out.")));
	if (state == PARENT_HIDDEN)
		parent_hidden(parent_id);
	parent_unknown(post_id, parent_id, state);
}

/* Have a comment that a command returns say whether its parent is gone. */
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
 * Those of a list
 * ------------------------------------------------------------------------ */

/* Is a parent that was not looked up yet gone? */
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
 * Is a reply's parent gone? For who reads many, by the active snapshot; deleted: who is
 * being deleted in it. Replies that stand together often have the same parents, so
 * the last ones are remembered. *parents is NULL at first, and the caller's to end, in the
 * memory context that is current at each call.
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

/* Close what parents are read from. */
void
parents_end(Parents *parents)
{
	if (parents->scan != NULL)
		item_scan_end(parents->scan);
	pfree(parents);
}
