/*
 * hiding.c
 *		Commands that hide posts and comments, and show them again. Sites use
 *		these commands for drafts, scheduled posts, moderation, comments that
 *		need approval, and undeletion.
 *
 * A hidden post is not in the feed. Other lists contain it only if the client
 * asks for hidden posts. No user can comment on a hidden post or like it. The
 * comments and likes of a hidden post stay. A hidden comment is not counted in
 * its post's comment_count.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "model/post_schedule.h"
#include "model/reply_parents.h"
#include "model/user_changes/user_changes.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "utils/snapmgr.h"

AUTHOR_REQUEST_FUNCTION(hide_post, REQUEST_HIDE_POST);
AUTHOR_REQUEST_FUNCTION(publish_post, REQUEST_PUBLISH_POST);
AUTHOR_REQUEST_FUNCTION(schedule_post, REQUEST_SCHEDULE_POST);
REQUEST_FUNCTION(hide_comment, REQUEST_HIDE_COMMENT);

/*
 * What change_post() does to a post:
 *
 * HIDE: hide the post
 * SHOW: show the post
 * PUBLISH: if the post is hidden, show it, and set its creation date to the
 *     current time
 * SCHEDULE: hide the post until PostChange.date. If this date has come, show
 *     a hidden post with this creation date
 * CANCEL: if the post is scheduled, leave it hidden
 *
 * All but SCHEDULE clear the post's publish_date.
 */
typedef struct PostChange
{
	enum
	{
		HIDE, SHOW, PUBLISH, SCHEDULE, CANCEL
	}			kind;
	TimestampTz date;
} PostChange;

/* Change *post, which the caller has locked. The caller writes the post. */
static void
make_change(BlogItem *post, const PostChange *change)
{
	switch (change->kind)
	{
		case HIDE:
			set_hidden(post, true);
			break;
		case SHOW:
			set_hidden(post, false);
			break;
		case PUBLISH:
			if (item_hidden(post))
				item_set(post, PROP_CREATION_DATE,
						 TimestampTzGetDatum(GetCurrentTimestamp()));
			set_hidden(post, false);
			break;
		case SCHEDULE:
			post_schedule(post, change->date);
			return;
		case CANCEL:
			break;
	}
	post_unschedule(post);
}

/*
 * Hide a post, show a hidden post, or change when a post is published.
 *
 * author: the user who must have written the post; NULL accepts any author
 * post: receives the changed post with its counts, in the current memory
 *     context
 *
 * Errors: 23503, 40001, 42501, 55000.
 */
static void
change_post(const pg_uuid_t *id, const PostChange *change,
			const pg_uuid_t *author, BlogItem *post)
{
	Datum		key = UUIDPGetDatum(id);
	ItemWriter *writer;
	BlogItem	found;
	BlogItem	changed;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, id);
	if (item_writer_lock(writer, &key, 1, LockTupleNoKeyExclusive,
						 LockWaitBlock, &found) != ITEM_OK ||
		author_being_deleted(&found))
		unknown_item(ITEM_POST, id);
	check_author(ITEM_POST, &found, author);
	changed = found;
	make_change(&changed, change);
	if (item_hidden(&changed) != item_hidden(&found) ||
		!item_same(&changed, &found, PROP_CREATION_DATE) ||
		!item_same(&changed, &found, PROP_PUBLISH_DATE))
	{
		item_writer_update(writer, &changed);
		if (item_hidden(&changed) && !item_hidden(&found))
			views_hide(&changed);
	}
	item_copy(post, &changed);
	item_writer_close(writer);
	PopActiveSnapshot();
	add_up_now(post);
}

/*
 * hide_post() and own_hide_post(): hide a post, or show it again with its old
 * creation date. A scheduled post is no longer scheduled.
 *
 * author: the user who must have written the post; NULL accepts any author
 *
 * Errors: 22004, 23503, 25006, 40001, 42501, 55000. Locks: a row lock (FOR NO
 * KEY UPDATE) on the post. Hiding a post also takes the lock on the views
 * (views_lock()), and row locks on the post's copy in users and on its row in
 * the feed.
 */
static Datum
hide_post_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	post;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");
	bool		hidden = get_flag(fcinfo, 1, "hidden");

	request_begin(&scope, "hide_post()");
	change_post(id, &(PostChange) {hidden ? HIDE : SHOW}, author, &post);
	owner_end(&scope);
	return return_item(fcinfo, &post, ITEM_POST);
}

/*
 * publish_post() and own_publish_post(): show a hidden post, and set its
 * creation date to the current time. A post that is not hidden stays as it is.
 *
 * author: the user who must have written the post; NULL accepts any author
 *
 * Errors: 22004, 23503, 25006, 40001, 42501, 55000. Locks: a row lock (FOR NO
 * KEY UPDATE) on the post.
 */
static Datum
publish_post_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	post;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");

	request_begin(&scope, "publish_post()");
	change_post(id, &(PostChange) {PUBLISH}, author, &post);
	owner_end(&scope);
	return return_item(fcinfo, &post, ITEM_POST);
}

/*
 * schedule_post() and own_schedule_post(): hide a post until a date, or change
 * the date of a scheduled post. If the date is null, a scheduled post stays
 * hidden, and other posts stay as they are. If the date has come, show a
 * hidden post with this creation date; own_schedule_post() does what
 * own_publish_post() does.
 *
 * author: the user who must have written the post; NULL accepts any author
 *
 * Errors: 22004, 22023, 23503, 25006, 40001, 42501, 55000. Locks: those of
 * hide_post_of().
 */
static Datum
schedule_post_of(FunctionCallInfo fcinfo, const pg_uuid_t *author)
{
	OwnerScope	scope;
	BlogItem	post;
	const pg_uuid_t *id = need_uuid(fcinfo, 0, "post_id");
	PostChange	change = {CANCEL};

	/* Wrappers let nobody choose the date of what is shown now. */
	if (get_publish_date(fcinfo, 1, &change.date))
		change.kind = author != NULL && change.date <= GetCurrentTimestamp() ?
			PUBLISH : SCHEDULE;
	request_begin(&scope, "schedule_post()");
	change_post(id, &change, author, &post);
	owner_end(&scope);
	return return_item(fcinfo, &post, ITEM_POST);
}

/*
 * hide_comment(): hide a comment and decrement its post's comment_count, or
 * show the comment and increment the count.
 *
 * Errors: 22004, 23503, 25006, 40001, 55000. Locks: the post lock in share
 * mode, until the post's counts are changed; a row lock (FOR NO KEY UPDATE) on
 * the comment.
 */
static Datum
hide_comment(PG_FUNCTION_ARGS)
{
	OwnerScope	scope;
	BlogItem	comment;
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	const pg_uuid_t *id = need_uuid(fcinfo, 1, "comment_id");
	bool		hidden = get_flag(fcinfo, 2, "hidden");

	request_begin(&scope, "hide_comment()");
	if (post_author_being_deleted(post_id) ||
		comment_hide(post_id, id, hidden, &comment) != ITEM_OK ||
		author_being_deleted(&comment))
		unknown_item(ITEM_COMMENT, id);
	set_parent_deleted(&comment);
	set_comment_counts(&comment);
	owner_end(&scope);
	return return_item(fcinfo, &comment, ITEM_COMMENT);
}
