/*
 * reply_parents.c
 *		The parents of replies, comments that are liked, and the counts of
 *		comments. A reply is a comment on another comment, which is its parent.
 *
 * A reply stores the id of its parent. Deleting the parent does not change the
 * reply. A query that returns a reply therefore looks up the parent by key.
 * The parent is gone if it does not exist, or if its author is being deleted.
 *
 * A comment can be liked, or replied to, if it exists and is not hidden.
 *
 * A comment's reply_count and like_count are the sums of its deltas
 * (model/post_counts/), less the replies and likes by users who are being
 * deleted.
 *
 * Commands call these functions in backends. Queries call them in parallel
 * workers too.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/*
 * The state, in a snapshot, of a comment that a user replies to or likes. The
 * names of the states call this comment the parent.
 */
typedef enum ParentState
{
	PARENT_SHOWN,
	PARENT_IS_REPLY,			/* the parent replies to the new comment,
								 * directly or through other comments */
	PARENT_HIDDEN,
	PARENT_WITHHELD,			/* hidden, and not by the signed-in user, to
								 * whom the error says that the comment does
								 * not exist */
	PARENT_LEAVING,				/* the parent's author is being deleted */
	PARENT_GONE					/* the parent does not exist */
} ParentState;

#define CACHED_PARENTS 16

typedef struct CachedParent
{
	pg_uuid_t	key[2];			/* the parent's post_id and id */
	bool		gone;
} CachedParent;

struct ParentCache
{
	ItemScan   *scan;			/* finds comments by their key; NULL before the
								 * first look-up */

	/*
	 * The number of look-ups so far. Look-up number i overwrites the oldest
	 * result, parent[i % CACHED_PARENTS].
	 */
	uint32		n;
	CachedParent parent[CACHED_PARENTS];
};

/*
 * Look up a parent with the active snapshot.
 *
 * author: the signed-in user, for whom a hidden parent by another user is
 *		PARENT_WITHHELD; NULL if the caller may see all comments
 */
static ParentState
look_now(const pg_uuid_t *post_id, const pg_uuid_t *parent_id,
		 const pg_uuid_t *author)
{
	Datum		key[2];
	ItemQuery	query = comment_query(post_id, parent_id, key);
	ItemScan   *scan = item_scan_begin(&query);
	ParentState state = PARENT_GONE;
	BlogItem	parent;

	if (item_scan_next(scan, &parent))
		state = deleted_has_author(deleted_users(GetActiveSnapshot()), &parent) ?
			PARENT_LEAVING : !item_hidden(&parent) ? PARENT_SHOWN :
			item_is_by(&parent, author) ? PARENT_HIDDEN : PARENT_WITHHELD;
	item_scan_end(scan);
	return state;
}

/* Look up a parent as look_now() does, but with the transaction's snapshot. */
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
 * Return whether a comment exists now, even if it is newer than the
 * transaction's snapshot. Waits for a transaction that is inserting the
 * comment.
 */
static bool
comment_exists_now(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[2];
	ItemQuery	query = comment_query(post_id, id, key);
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
reply_to_itself(const pg_uuid_t *id)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("comment %s would reply to itself", id_text(id)),
			 errhint("Reply to a comment that is no reply to this one, or leave parent_id out."),
			 err_fields(container_table(CONTAINER_POSTS), "parent_id",
						RULE_NO_CIRCLE)));
}

/* Words for error messages about a comment that a user replies to or likes. */
typedef struct OnComment
{
	const char *argument;
	const char *does;			/* for example "Reply to" */
	const char *do_it;			/* for example "reply to it" */
} OnComment;

static const OnComment replying = {"parent_id", "Reply to", "reply to it"};
static const OnComment liking = {"comment_id", "Like", "like it"};

static COMPAT_NORETURN void
comment_hidden(const OnComment *on, const pg_uuid_t *comment_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("comment %s is hidden", id_text(comment_id)),
			 errhint("Nobody can %s before it is shown, by blogstore.hide_comment(..., hidden => false).",
					 on->do_it),
			 err_fields(container_table(CONTAINER_POSTS), on->argument,
						RULE_COMMENT_SHOWN)));
}

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

/*
 * Called for a comment that the transaction's snapshot does not show. Under
 * REPEATABLE READ and SERIALIZABLE, raises 40001 if the comment was committed
 * after the snapshot.
 */
static void
check_not_newer(const pg_uuid_t *post_id, const pg_uuid_t *comment_id)
{
	if (IsolationUsesXactSnapshot() && comment_exists_now(post_id, comment_id))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to a concurrent comment"),
				 errhint("Retry the transaction.")));
}

/*
 * Raise 23503 for a comment that does not exist. If the post does not exist
 * either, the error names the post.
 */
static COMPAT_NORETURN void
comment_unknown(const OnComment *on, const pg_uuid_t *post_id,
				const pg_uuid_t *comment_id)
{
	if (!post_exists(post_id))
		unknown_item(ITEM_POST, post_id);
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("comment %s on post %s does not exist", id_text(comment_id),
					id_text(post_id)),
			 errhint("%s a comment on the same post, or leave %s out.",
					 on->does, on->argument),
			 err_fields(container_table(CONTAINER_POSTS), on->argument,
						RULE_COMMENT_EXISTS)));
}

/*
 * Return whether the active snapshot shows replies to the comment with this
 * id. The comment itself need not exist. If the partition has no index by
 * parent (PATH_REPLIES), return true without a search.
 */
static bool
may_have_replies(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	BlogItem	reply;
	ItemScan   *scan;
	bool		found;

	if (!has_reply_index(post_id))
		return true;
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
 * Replace *id, the id of a comment, by the id of the comment's parent. Returns
 * false if the comment has no parent or does not exist.
 *
 * scan: the same for all calls that follow one chain of parents; *scan is NULL
 *		before the first call.
 */
static bool
go_to_parent(ItemScan **scan, const pg_uuid_t *post_id, pg_uuid_t *id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	BlogItem	comment;

	item_scan_look(scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	});
	if (!item_scan_next(*scan, &comment) || comment.isnull[PROP_PARENT_ID])
		return false;
	*id = *item_uuid(&comment, PROP_PARENT_ID);
	return true;
}

/*
 * Return whether the comment "comment_id" replies to the comment "id",
 * directly or through other comments.
 *
 * The function goes from parent to parent. If the owner has written to the
 * tables directly, the parents can form a cycle. To end there, the function
 * remembers the comment that it reaches after 1, 2, 4, 8 and so on steps. It
 * stops when it reaches the remembered comment again.
 */
static bool
has_ancestor(const pg_uuid_t *post_id, const pg_uuid_t *comment_id,
			 const pg_uuid_t *id)
{
	pg_uuid_t	at = *comment_id;
	pg_uuid_t	passed = at;
	uint64		steps = 0;
	ItemScan   *scan = NULL;
	bool		found = false;

	while (!found && go_to_parent(&scan, post_id, &at))
	{
		CHECK_FOR_INTERRUPTS();
		found = memcmp(&at, id, UUID_LEN) == 0;
		if (memcmp(&at, &passed, UUID_LEN) == 0)
			break;
		steps++;
		if ((steps & (steps - 1)) == 0)
			passed = at;
	}
	item_scan_end(scan);
	return found;
}

/*
 * Return whether a new comment would reply to itself, directly or through
 * other comments. A client that follows the parents of such a comment would
 * never stop.
 *
 * This can happen only if the client has chosen the new comment's id. The
 * chosen id is then the id of the parent, or of a deleted comment that still
 * has replies.
 */
static bool
replies_to_itself(const BlogItem *comment)
{
	const pg_uuid_t *post_id = item_uuid(comment, PROP_POST_ID);
	const pg_uuid_t *id = item_uuid(comment, PROP_ID);
	const pg_uuid_t *parent_id = item_uuid(comment, PROP_PARENT_ID);
	bool		result;

	if (memcmp(parent_id, id, UUID_LEN) == 0)
		return true;
	PushActiveSnapshot(GetTransactionSnapshot());
	result = may_have_replies(post_id, id) &&
		has_ancestor(post_id, parent_id, id);
	PopActiveSnapshot();
	return result;
}

/*
 * Raise the error for a reply to a comment, or a like of a comment, when the
 * comment's state forbids it.
 */
static COMPAT_NORETURN void
refuse(const OnComment *on, const pg_uuid_t *post_id,
	   const pg_uuid_t *comment_id, ParentState state)
{
	if (state == PARENT_HIDDEN)
		comment_hidden(on, comment_id);
	if (state == PARENT_GONE)
		check_not_newer(post_id, comment_id);
	comment_unknown(on, post_id, comment_id);
}

/*
 * Check whether a new comment may be written. A comment that is not a reply
 * may always be written. A reply may be written if its parent exists, is not
 * hidden, and does not itself reply to the new comment.
 *
 * id_is_new: whether blogstore has generated the comment's id. If the client
 *		has chosen the id, and a comment with this id exists, the client is
 *		repeating a request. The result is then CHECK_EXISTS instead of an
 *		error.
 * author: the signed-in user; NULL if the caller may see all comments.
 *
 * Errors: 22023 if the comment would reply to itself; 23503 if there is no
 * such parent on the post; 23514 if the parent is hidden; 40001 if the parent
 * was committed after the transaction's snapshot.
 *
 * The function does not lock the parent. child_insert() locks it before the
 * reply is counted, and checks again that it exists.
 */
ChildCheck
check_reply(const BlogItem *comment, bool id_is_new, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = item_uuid(comment, PROP_POST_ID);
	ParentState state;

	if (comment->isnull[PROP_PARENT_ID])
		return CHECK_ALLOWED;
	state = look(post_id, item_uuid(comment, PROP_PARENT_ID), author);
	if (state == PARENT_SHOWN && !id_is_new && replies_to_itself(comment))
		state = PARENT_IS_REPLY;
	if (state == PARENT_SHOWN)
		return CHECK_ALLOWED;
	if (!id_is_new && comment_exists_now(post_id, item_uuid(comment, PROP_ID)))
		return CHECK_EXISTS;
	if (state == PARENT_IS_REPLY)
		reply_to_itself(item_uuid(comment, PROP_ID));
	refuse(&replying, post_id, item_uuid(comment, PROP_PARENT_ID), state);
}

static bool
like_exists(const BlogItem *like)
{
	const ChildKey key = child_key(ITEM_COMMENT_LIKE, like);
	Datum		value[CHILD_KEYS];
	ItemQuery	query = child_query(&key, value);
	BlogItem	there;
	bool		exists;

	query.identity = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	exists = item_get(&query, &there);
	PopActiveSnapshot();
	return exists;
}

/*
 * Check whether a new like of a comment may be written: the comment exists and
 * is not hidden. Returns CHECK_EXISTS if the comment is hidden, but the like
 * exists already.
 *
 * author: the signed-in user; NULL if the caller may see all comments.
 *
 * Errors: 23503 if there is no such comment on the post; 23514 if it is
 * hidden; 40001 if it was committed after the transaction's snapshot.
 */
ChildCheck
check_liked(const BlogItem *like, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = item_uuid(like, PROP_POST_ID);
	const pg_uuid_t *comment_id = item_uuid(like, PROP_COMMENT_ID);
	ParentState state = look(post_id, comment_id, author);

	if (state == PARENT_SHOWN)
		return CHECK_ALLOWED;
	if (state == PARENT_HIDDEN && like_exists(like))
		return CHECK_EXISTS;
	refuse(&liking, post_id, comment_id, state);
}

/*
 * Set the field parent_deleted of a comment that a command returns: whether
 * the comment's parent is gone. Does nothing if the comment is not a reply.
 */
void
set_parent_deleted(BlogItem *comment)
{
	ParentState state;

	if (comment->isnull[PROP_PARENT_ID])
		return;
	state = look(item_uuid(comment, PROP_POST_ID),
				 item_uuid(comment, PROP_PARENT_ID), NULL);
	item_set(comment, PROP_PARENT_DELETED,
			 BoolGetDatum(state == PARENT_GONE || state == PARENT_LEAVING));
}

/*
 * Set the fields reply_count and like_count of a comment to the numbers of its
 * replies and likes that requests show.
 *
 * deltas: a scan of deltas, which the caller ends; *deltas is NULL before the
 *		first call
 * deleted: the users who are being deleted, as the snapshot shows them
 * snapshot: the active snapshot, with which the comment was read
 * replies, likes: whether to set reply_count, and whether to set like_count
 */
void
add_up_comment(ItemScan **deltas, const DeletedUsers *deleted,
			   BlogItem *comment, Snapshot snapshot, bool replies, bool likes)
{
	const CountedItem item = counted_comment(item_uuid(comment, PROP_POST_ID),
											 item_uuid(comment, PROP_ID));
	ItemCounts	n = post_deltas(deltas, &item, snapshot);

	if (replies)
		item_set(comment, PROP_REPLY_COUNT,
				 Int64GetDatum(n.comments - deleted_comments(deleted, &item,
															 n.comments)));
	if (likes)
		item_set(comment, PROP_LIKE_COUNT,
				 Int64GetDatum(n.likes - deleted_likes(deleted, &item,
													   n.likes)));
}

/*
 * Set the fields reply_count and like_count of a comment that a command
 * returns.
 */
void
set_comment_counts(BlogItem *comment)
{
	ItemScan   *deltas = NULL;

	PushActiveSnapshot(GetTransactionSnapshot());
	add_up_comment(&deltas, deleted_users(GetActiveSnapshot()), comment,
				   GetActiveSnapshot(), true, true);
	item_scan_end(deltas);
	PopActiveSnapshot();
}

/*
 * Return whether a parent is gone, as parent_is_gone() does, but without using
 * cached results.
 */
static bool
look_up(ParentCache *cache, const DeletedUsers *deleted, const pg_uuid_t *post_id,
		const pg_uuid_t *parent_id)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(parent_id)};
	BlogItem	parent;

	item_scan_look(&cache->scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2,
		.identity = true
	});
	return !item_scan_next(cache->scan, &parent) ||
		deleted_has_author(deleted, &parent);
}

/*
 * Return whether the parent of a reply is gone: the active snapshot shows no
 * such comment, or the comment's author is being deleted. Queries call this
 * function for each reply. Neighbouring replies often have the same parent, so
 * the last CACHED_PARENTS results are cached.
 *
 * cache: *cache is NULL before the first call. The caller frees the cache with
 *		parent_cache_free(). All calls for one cache must use the same memory
 *		context.
 * deleted: the users who are being deleted, as the active snapshot shows them.
 */
bool
parent_is_gone(ParentCache **cache, const DeletedUsers *deleted,
			   const pg_uuid_t *post_id, const pg_uuid_t *parent_id)
{
	CachedParent *parent;

	if (*cache == NULL)
		*cache = palloc0(sizeof(ParentCache));
	for (uint32 i = 0; i < Min((*cache)->n, CACHED_PARENTS); i++)
	{
		parent = &(*cache)->parent[i];
		if (memcmp(&parent->key[1], parent_id, UUID_LEN) == 0 &&
			memcmp(&parent->key[0], post_id, UUID_LEN) == 0)
			return parent->gone;
	}
	parent = &(*cache)->parent[(*cache)->n++ % CACHED_PARENTS];
	parent->key[0] = *post_id;
	parent->key[1] = *parent_id;
	parent->gone = look_up(*cache, deleted, post_id, parent_id);
	return parent->gone;
}

void
parent_cache_free(ParentCache *cache)
{
	if (cache->scan != NULL)
		item_scan_end(cache->scan);
	pfree(cache);
}
