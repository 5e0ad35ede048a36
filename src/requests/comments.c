/*
 * comments.c
 *		Requests for comments: create a comment (C3), list a post's comments
 *		(Q4), list the replies to a comment, list a user's comments, retrieve,
 *		edit and delete a comment.
 *
 * request_list.h explains the codes C3 and Q4. Runs in backends; queries also
 * run in parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_children.h"
#include "model/post_counts/post_counts.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/rows/rows.h"

#include "utils/snapmgr.h"

AUTHOR_REQUEST_FUNCTION(create_comment, REQUEST_CREATE_COMMENT);
AUTHOR_REQUEST_FUNCTION(edit_comment, REQUEST_EDIT_COMMENT);
AUTHOR_REQUEST_FUNCTION(delete_comment, REQUEST_DELETE_COMMENT);
QUERY_FUNCTION(list_post_comments, REQUEST_LIST_POST_COMMENTS, ITEM_COMMENT,
			   .containers = "posts", .page_size_arg = 2);
QUERY_FUNCTION(list_comment_replies, REQUEST_LIST_COMMENT_REPLIES, ITEM_COMMENT,
			   .containers = "posts", .page_size_arg = 3);
QUERY_FUNCTION(get_comment, REQUEST_GET_COMMENT, ITEM_COMMENT,
			   .containers = "posts");
QUERY_FUNCTION(list_user_comments, REQUEST_LIST_USER_COMMENTS, ITEM_COMMENT,
			   .containers = "posts", .page_size_arg = 2);

/*
 * Check that a comment does not have the id of its post. A delta names the
 * post or comment that it counts for only by the id, so the two ids must
 * differ. Errors: 22023.
 */
static void
check_comment_id(const pg_uuid_t *post_id, const pg_uuid_t *id)
{
	if (memcmp(post_id, id, UUID_LEN) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a comment must not have the id of its post"),
				 errhint("Pass another comment_id, or leave it out."),
				 err_fields(container_table(CONTAINER_POSTS), "comment_id",
							RULE_NOT_POST_ID)));
}

/*
 * create_comment() and own_create_comment() (C3): insert a comment, and
 * increment the post's comment_count.
 *
 * author: in own_create_comment(), the user who must be the author of the
 *     comment. Another user's hidden post or hidden parent comment is treated
 *     as not existing. In create_comment(), "author" is NULL, and there are no
 *     such checks.
 *
 * Errors: 22004, 22023, 23503, 23505, 23514, 25006, 40001, 42501, 54000,
 * 55000. Locks: the post lock in share mode, until the comment is added to the
 * post's counts; a row lock on the post's counter, or on another delta. Waits
 * for a transaction that is deleting the post or writing a comment with the
 * same id.
 */
static Datum
create_comment_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	comment;
	BlogItem	there;
	pg_uuid_t	id = {{0}};
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(&id)};
	bool		inserted;
	bool		done;

	item_init(&comment, ITEM_COMMENT);
	item_set(&comment, PROP_POST_ID, UUIDPGetDatum(post_id));
	item_set(&comment, PROP_USER_ID,
			 UUIDPGetDatum(need_uuid(fcinfo, 1, "user_id")));
	item_set(&comment, PROP_CONTENT, need_text(fcinfo, 2, "content"));
	check_not_empty(comment.value[PROP_CONTENT], "content");
	get_id(fcinfo, 3, &id);
	check_comment_id(post_id, &id);
	item_set(&comment, PROP_ID, UUIDPGetDatum(&id));
	item_set(&comment, PROP_CREATION_DATE,
			 TimestampTzGetDatum(get_creation_date(fcinfo, 4)));
	(void) get_properties(fcinfo, 5, &comment);
	if (get_flag(fcinfo, 6, "hidden"))
		set_hidden(&comment, true);
	if (!PG_ARGISNULL(7))
		item_set(&comment, PROP_PARENT_ID, PG_GETARG_DATUM(7));

	request_begin(&scope, "create_comment()");
	check_new_author(ITEM_COMMENT, &comment, author);
	if (!comment.isnull[PROP_PARENT_ID] && !author_knows_post(post_id, author))
		unknown_item(ITEM_POST, post_id);
	do
	{
		inserted = child_insert(&comment, ITEM_COMMENT, PG_ARGISNULL(3),
								author);
		done = inserted ||
			find_conflicting_or_clear(ITEM_COMMENT, post_id, key, 2, &there);
	} while (!done);
	if (!inserted)
	{
		if (!item_same(&comment, &there, PROP_USER_ID) ||
			!item_same(&comment, &there, PROP_CONTENT) ||
			!item_same(&comment, &there, PROP_PARENT_ID) ||
			(!comment.isnull[PROP_PROPERTIES] &&
			 !item_same(&comment, &there, PROP_PROPERTIES)) ||
			(!PG_ARGISNULL(4) &&
			 !item_same(&comment, &there, PROP_CREATION_DATE)))
			item_id_taken(ITEM_COMMENT, &id);
		comment = there;
		set_parent_deleted(&comment);
	}
	else if (!comment.isnull[PROP_PARENT_ID])
		item_set(&comment, PROP_PARENT_DELETED, BoolGetDatum(false));
	if (inserted && PG_ARGISNULL(3))
	{
		item_set(&comment, PROP_LIKE_COUNT, Int64GetDatum(0));
		item_set(&comment, PROP_REPLY_COUNT, Int64GetDatum(0));
	}
	else
		set_comment_counts(&comment);
	owner_end(&scope);
	return return_item(fcinfo, &comment, ITEM_COMMENT);
}

typedef struct CommentEdit
{
	BlogItem	wanted;
	bool		content;
	bool		properties;
} CommentEdit;

/*
 * Apply the arguments of edit_comment() to a comment in memory. Returns
 * whether this changes the comment.
 */
static bool
comment_take(BlogItem *comment, const CommentEdit *edit)
{
	bool		changes = false;

	if (edit->content)
	{
		changes |= !item_same(comment, &edit->wanted, PROP_CONTENT);
		item_take(comment, &edit->wanted, PROP_CONTENT);
	}
	if (edit->properties)
	{
		changes |= !item_same(comment, &edit->wanted, PROP_PROPERTIES);
		item_take(comment, &edit->wanted, PROP_PROPERTIES);
	}
	return changes;
}

/*
 * Return whether the comment exists, and the edit would leave it as it is.
 * Such an edit does not take the post lock.
 */
static bool
edit_changes_nothing(const pg_uuid_t *post_id, Datum *key, const CommentEdit *edit)
{
	BlogItem	there;
	bool		same;

	PushActiveSnapshot(GetTransactionSnapshot());
	same = item_get(&(ItemQuery) {
		.container = CONTAINER_POSTS, .type = ITEM_COMMENT,
		.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2
	}, &there);
	same = same && !comment_take(&there, edit);
	PopActiveSnapshot();
	return same;
}

/*
 * edit_comment() and own_edit_comment(): change the content or properties of a
 * comment.
 *
 * author: the user who must have written the comment; NULL accepts any author
 *
 * Errors: 22004, 22023, 23503, 25006, 40001, 42501, 54000, 55000. Locks: a row
 * lock (FOR NO KEY UPDATE) on the comment. If the edit changes the comment,
 * the command first takes the post lock in share mode, for a moment, and
 * writes a delta. The delta keeps other transactions from deleting the post
 * before this transaction ends.
 */
static Datum
edit_comment_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	found;
	BlogItem	edited;
	BlogItem	comment;
	ItemWriter *writer;
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *id = need_uuid(fcinfo, 1, "comment_id");
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(id)};
	CommentEdit edit;

	edit.properties = get_properties(fcinfo, 3, &edit.wanted);
	edit.content = !edit.properties || !PG_ARGISNULL(2);
	if (edit.content)
	{
		item_set(&edit.wanted, PROP_CONTENT, need_text(fcinfo, 2, "content"));
		check_not_empty(edit.wanted.value[PROP_CONTENT], "content");
	}
	request_begin(&scope, "edit_comment()");
	if (!edit_changes_nothing(post_id, key, &edit) && !post_keep(post_id))
		unknown_item(ITEM_COMMENT, id);

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_COMMENT, post_id);
	if (item_writer_lock(writer, key, 2, LockTupleNoKeyExclusive,
						 LockWaitBlock, &found) != ITEM_OK ||
		author_being_deleted(&found) || post_author_being_deleted(post_id))
		unknown_item(ITEM_COMMENT, id);
	check_author(ITEM_COMMENT, &found, author);
	edited = found;
	if (comment_take(&edited, &edit))
	{
		set_modified(&edited);
		item_writer_update(writer, &edited);
	}
	item_copy(&comment, &edited);
	item_writer_close(writer);
	PopActiveSnapshot();
	set_parent_deleted(&comment);
	set_comment_counts(&comment);
	owner_end(&scope);
	return return_item(fcinfo, &comment, ITEM_COMMENT);
}

/*
 * delete_comment() and own_delete_comment(): delete a comment and its likes,
 * and decrement the post's comment_count. Returns false if no such comment by
 * the author exists.
 *
 * author: the user who must have written the comment; NULL accepts any author
 *
 * Errors: 22004, 25006, 40001, 55000. Locks: the post lock in share mode,
 * until the comment is subtracted from the post's counts; a row lock (FOR
 * UPDATE) on the comment.
 */
static Datum
delete_comment_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *comment_id = need_uuid(fcinfo, 1, "comment_id");
	const ChildKey key = {ITEM_COMMENT, *post_id, *comment_id};
	OwnerScope	scope;
	bool		found;

	request_begin(&scope, "delete_comment()");
	found = child_take_back(&key, author);
	owner_end(&scope);
	PG_RETURN_BOOL(found);
}

/*
 * Begin the query list_post_comments() (Q4), which returns the comments on a
 * post. Errors: 22004, 22023, 55000.
 */
static void
list_post_comments(RequestScan *scan, FunctionCallInfo fcinfo)
{
	query_on_post(scan, fcinfo);
}

/*
 * Begin the query get_comment(), which returns a comment, if it exists.
 * Errors: 22004, 55000.
 */
static void
get_comment(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *key[] = {
		need_uuid(fcinfo, 0, "post_id"), need_uuid(fcinfo, 1, "comment_id")
	};

	query_ready(scan);
	query_one(scan, CONTAINER_POSTS, ITEM_COMMENT, key[0], key, lengthof(key));
}

/*
 * Begin the query list_comment_replies(), which returns the replies to a
 * comment, even if the comment has been deleted. Errors: 22004, 22023, 55000.
 */
static void
list_comment_replies(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *key[] = {
		need_uuid(fcinfo, 0, "post_id"), need_uuid(fcinfo, 1, "parent_id")
	};

	get_page(fcinfo, 2, &scan->page);
	scan->include_hidden = get_flag(fcinfo, 6, "include_hidden");
	query_ready(scan);
	if (deleted_has_author_of_post(scan->deleted, key[0]))
		return;
	page_find(&scan->page, ITEM_COMMENT, key[0], NULL);
	query_list(scan, CONTAINER_POSTS, PATH_REPLIES, key, 2);
}

/*
 * Begin the query list_user_comments(), which returns a user's comments on all
 * posts. Errors: 22004, 22023, 55000.
 */
static void
list_user_comments(RequestScan *scan, FunctionCallInfo fcinfo)
{
	const pg_uuid_t *user_id = need_uuid(fcinfo, 0, "user_id");

	get_page(fcinfo, 1, &scan->page);
	scan->include_hidden = get_flag(fcinfo, 5, "include_hidden");
	query_ready(scan);
	if (!deleted_has(scan->deleted, user_id))
		query_user_items_by_date(scan, user_id, PATH_USER);
}
