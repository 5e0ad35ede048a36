/*
 * import_edit.c
 *		Bulk import: changes existing items that differ from the source.
 *
 * import_check.c has found these items by comparing the source's rows with
 * committed items. This file locks each item, compares it again, and writes it
 * as edit_user(), edit_post() and edit_comment() do. The import may fail
 * (40001) if another transaction has changed or deleted an item after the
 * check.
 *
 * In all functions, "wanted" is the item in the source, and "found" is the
 * item in the container.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "import/import.h"
#include "model/post_counts/post_counts.h"
#include "model/post_schedule.h"
#include "model/user_changes/user_changes.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/copies_and_feed.h"

#include "executor/spi.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * A DestReceiver for source rows that differ from the existing items with the
 * same keys. It edits these items.
 */
typedef struct EditReceiver
{
	DestReceiver pub;
	const Import *import;
	ItemType	type;
	const Property *prop;		/* for each column of a row, its field */
	int			nprops;
	bool		(*edit) (struct EditReceiver *receiver, ItemWriter *writer,
						 const BlogItem *found, const BlogItem *wanted);
	bool		(*edit_user) (const struct EditReceiver *receiver,
							  UserWriter *writer, const BlogItem *wanted);
	int64		edited;

	/*
	 * Whether the current comment has to be hidden or shown by hide_comment().
	 * Set by edit_comment().
	 */
	bool		flips;

	/*
	 * True if the current comment must also get another parent. Set by
	 * edit_comment(). move_comment() then does it.
	 */
	bool		moves;

	/*
	 * The posts that the import has hidden: a list of BlogItem, in the memory
	 * context "lasting".
	 */
	List	   *hidden;

	MemoryContext lasting;
	MemoryContext context;		/* reset after each row */
} EditReceiver;

/*
 * Lock the item of a user, and call receiver->edit_user(). Returns whether the
 * item was changed. Errors: 40001 if the user was deleted. Locks: the item's
 * row, FOR NO KEY UPDATE.
 */
static bool
edit_one_user(const EditReceiver *receiver, const BlogItem *wanted)
{
	UserWriter	writer;
	bool		edited;

	PushActiveSnapshot(GetTransactionSnapshot());
	/*
	 * A lock for USER_EDIT is enough even if the username changes. The import
	 * has already inserted the new username into the table "usernames".
	 */
	if (!user_writer_lock(&writer, item_uuid(wanted, PROP_USER_ID), USER_EDIT))
		import_outdated(receiver->import, "an item was deleted");
	edited = receiver->edit_user(receiver, &writer, wanted);
	user_writer_close(&writer);
	PopActiveSnapshot();
	return edited;
}

/*
 * Lock a post or comment, and call receiver->edit(). Returns whether the item
 * was changed. Errors: 40001 if the item was deleted. Locks: the item's row,
 * FOR NO KEY UPDATE.
 */
static bool
edit_item(EditReceiver *receiver, const BlogItem *wanted)
{
	const pg_uuid_t *post_id = item_uuid(wanted, PROP_POST_ID);
	Datum		key[] = {UUIDPGetDatum(post_id), wanted->value[PROP_ID]};
	ItemWriter *writer;
	BlogItem	found;
	bool		edited;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, receiver->type, post_id);
	if (item_writer_lock(writer, key, receiver->type == ITEM_COMMENT ? 2 : 1,
						 LockTupleNoKeyExclusive, LockWaitBlock,
						 &found) != ITEM_OK ||
		!item_same(&found, wanted, PROP_USER_ID))
		import_outdated(receiver->import, "an item was deleted");
	edited = receiver->edit(receiver, writer, &found, wanted);
	item_writer_close(writer);
	PopActiveSnapshot();
	return edited;
}

static void
hide_comment(const EditReceiver *receiver, const BlogItem *wanted)
{
	BlogItem	comment;

	CommandCounterIncrement();
	if (comment_hide(item_uuid(wanted, PROP_POST_ID), item_uuid(wanted, PROP_ID),
					 item_hidden(wanted), &comment) != ITEM_OK)
		import_outdated(receiver->import, "an item was deleted");
}

/*
 * Give a comment the parent that its source row has. comment_set_parent() also
 * changes the counts of both parents.
 */
static void
move_comment(const EditReceiver *receiver, const BlogItem *wanted)
{
	CommandCounterIncrement();
	if (comment_set_parent(item_uuid(wanted, PROP_POST_ID),
						   item_uuid(wanted, PROP_ID),
						   item_uuid(wanted, PROP_PARENT_ID)) != ITEM_OK)
		import_outdated(receiver->import, "an item was deleted");
}

static bool
edit_row(TupleTableSlot *slot, DestReceiver *self)
{
	EditReceiver *receiver = (EditReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	BlogItem	wanted;
	bool		edited;

	row_item(slot, receiver->prop, receiver->nprops, &wanted);
	receiver->flips = receiver->moves = false;
	edited = receiver->type == ITEM_USER ? edit_one_user(receiver, &wanted) :
		edit_item(receiver, &wanted);
	if (receiver->moves)
		move_comment(receiver, &wanted);
	if (receiver->flips)
		hide_comment(receiver, &wanted);
	if (edited || receiver->flips)
		receiver->edited++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
edit_end(DestReceiver *self)
{
}

static void
receiver_begin(EditReceiver *receiver)
{
	import_receiver_init(&receiver->pub, edit_row, edit_end);
	receiver->lasting = CurrentMemoryContext;
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore imported edit",
											  ALLOCSET_DEFAULT_SIZES);
}

static const Property user_columns[] = {
	PROP_USER_ID, PROP_USERNAME, PROP_PROPERTIES
};

/*
 * A function for receiver->edit_user(): throw an error (40001) if the user was
 * renamed after the check. Changes nothing, so the result is always false.
 */
static bool
look_at_user(const EditReceiver *receiver, UserWriter *writer, const BlogItem *wanted)
{
	if (!item_same(&writer->user, wanted, PROP_USERNAME))
		import_outdated(receiver->import, "a user was renamed");
	return false;
}

/*
 * A function for receiver->edit_user(): write the name and "properties" of the
 * source row into the user item. A new name must already be in the table
 * "usernames".
 */
static bool
write_user(const EditReceiver *receiver, UserWriter *writer, const BlogItem *wanted)
{
	BlogItem	user;

	item_copy(&user, &writer->user);
	if (!wanted->isnull[PROP_PROPERTIES])
		set_properties(&user, wanted->value[PROP_PROPERTIES]);
	item_set(&user, PROP_USERNAME, wanted->value[PROP_USERNAME]);
	user_writer_update(writer, &user);
	return true;
}

/*
 * Call edit() for each user that a query returns. Returns the number of users.
 *
 * nprops: the number of the query's columns, which are the first nprops of
 *	user_columns[]
 */
static int64
edit_users(const Import *import, const char *sql, int nprops,
		   bool (*edit) (const EditReceiver *receiver, UserWriter *writer,
						 const BlogItem *wanted))
{
	EditReceiver receiver = {
		.import = import, .type = ITEM_USER, .prop = user_columns,
		.nprops = nprops, .edit_user = edit
	};
	int64		n;

	receiver_begin(&receiver);
	n = import_run_each(import, sql, &receiver.pub);
	MemoryContextDelete(receiver.context);
	return n;
}

static bool
release_row(TupleTableSlot *slot, DestReceiver *self)
{
	BlogItem	user;

	row_item(slot, user_columns, 2, &user);
	registry_release(user.value[PROP_USERNAME], item_uuid(&user, PROP_USER_ID));
	return true;
}

/*
 * Lock (FOR NO KEY UPDATE) the items of existing users whose names change.
 * Delete the old names from the table "usernames". So two users can exchange
 * their names: both old names are deleted before a new name is inserted.
 * Errors: 40001.
 */
void
import_release_names(const Import *import)
{
	DestReceiver receiver;

	(void) edit_users(import, import_old_names_sql, 2, look_at_user);
	import_receiver_init(&receiver, release_row, edit_end);
	(void) import_run_each(import, import_released_names_sql, &receiver);
}

/*
 * Write the names and properties of existing users who differ from their
 * source rows. The new names must already be in the table "usernames". Errors:
 * 40001, 55000.
 */
void
import_edit_users(const Import *import)
{
	if (edit_users(import, import_changed_users_sql, lengthof(user_columns),
				   write_user) != import->tally[ITEM_USER].updated)
		elog(ERROR, "import lost users");
}

/*
 * Set the title, content, properties and parent of a post or comment to the
 * values of the source row. If this changes the item, set the modification
 * date, too, and return true.
 */
static bool
take_texts(const Import *import, const ItemWriter *writer,
		   const BlogItem *wanted, BlogItem *item)
{
	BlogItem	found = *item;

	if (!wanted->isnull[PROP_TITLE])
		item_take(item, wanted, PROP_TITLE);
	item_take(item, wanted, PROP_CONTENT);
	if (!wanted->isnull[PROP_PROPERTIES])
		set_properties(item, wanted->value[PROP_PROPERTIES]);
	if (!wanted->isnull[PROP_PARENT_ID])
		item_take(item, wanted, PROP_PARENT_ID);
	if (item_same(item, &found, PROP_TITLE) &&
		item_same(item, &found, PROP_CONTENT) &&
		item_same(item, &found, PROP_PROPERTIES) &&
		item_same(item, &found, PROP_PARENT_ID))
		return false;
	if (!wanted->isnull[PROP_MODIFICATION_DATE])
		item_take(item, wanted, PROP_MODIFICATION_DATE);
	else
		item_set(item, PROP_MODIFICATION_DATE, TimestampTzGetDatum(import->now));
	return true;
}

/*
 * Return whether the source row of a post says that the post is not scheduled
 * (import_changed_posts_sql).
 */
static bool
takes_back_date(const BlogItem *wanted)
{
	return !wanted->isnull[PROP_PUBLISH_DATE] &&
		TIMESTAMP_IS_NOBEGIN(DatumGetTimestampTz(wanted->value[PROP_PUBLISH_DATE]));
}

/*
 * A function for receiver->edit(): give a post the values of the source row. A
 * hidden post that is shown now also gets the creation date of the row, if the
 * row has one. Returns false if the post does not differ from the row any
 * more.
 *
 * A post that becomes hidden is added to receiver->hidden, and stays in the
 * views until import_hide_posts() is called. That function is called last,
 * because it takes the views' lock (views_lock()). A transaction that has
 * taken this lock must not lock further posts.
 */
static bool
edit_post(EditReceiver *receiver, ItemWriter *writer, const BlogItem *found,
		  const BlogItem *wanted)
{
	BlogItem	post = *found;
	bool		other = take_texts(receiver->import, writer, wanted, &post);

	if (row_gives_another(wanted, found, PROP_HIDDEN))
	{
		other = true;
		set_hidden(&post, item_hidden(wanted));
		if (!item_hidden(wanted) && !wanted->isnull[PROP_CREATION_DATE])
			item_take(&post, wanted, PROP_CREATION_DATE);
		post_unschedule(&post);
	}
	if (takes_back_date(wanted))
	{
		other |= !found->isnull[PROP_PUBLISH_DATE];
		post_unschedule(&post);
	}
	else if (row_gives_another(wanted, found, PROP_PUBLISH_DATE))
	{
		other = true;
		item_take(&post, wanted, PROP_PUBLISH_DATE);
	}
	if (!other)
		return false;
	item_writer_update(writer, &post);
	if (item_hidden(&post) && !item_hidden(found))
	{
		MemoryContext old = MemoryContextSwitchTo(receiver->lasting);
		BlogItem   *hidden = palloc(sizeof(BlogItem));

		item_copy(hidden, &post);
		receiver->hidden = lappend(receiver->hidden, hidden);
		MemoryContextSwitchTo(old);
	}
	return true;
}

/*
 * A function for receiver->edit(): give a comment the values of the source
 * row, except "hidden" and "parent_id". Set receiver->flips if "hidden"
 * differs, and receiver->moves if "parent_id" differs. Returns false if no
 * value other than "hidden" differs.
 */
static bool
edit_comment(EditReceiver *receiver, ItemWriter *writer,
			 const BlogItem *found, const BlogItem *wanted)
{
	BlogItem	comment = *found;

	receiver->flips = row_gives_another(wanted, found, PROP_HIDDEN);
	receiver->moves = row_gives_another(wanted, found, PROP_PARENT_ID);
	if (!take_texts(receiver->import, writer, wanted, &comment))
		return false;
	item_take(&comment, found, PROP_PARENT_ID);
	item_writer_update(writer, &comment);
	return true;
}

static int64
edit_comments(const Import *import, DestReceiver *receiver)
{
	TupleTableSlot *slot =
		MakeSingleTupleTableSlot(import->passed_desc[ITEM_COMMENT],
								 &TTSOpsMinimalTuple);
	int64		n = 0;

	while (tuplestore_gettupleslot(import->changed, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		(void) receiver->receiveSlot(slot, receiver);
		n++;
	}
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

/*
 * Return the fields in the source rows that edit_post() or edit_comment()
 * gets. Sets *n to the number of these fields.
 */
const Property *
import_edited_properties(ItemType type, int *n)
{
	static const Property of_post[] = {
		PROP_POST_ID, PROP_USER_ID, PROP_TITLE, PROP_CONTENT,
		PROP_CREATION_DATE, PROP_HIDDEN, PROP_MODIFICATION_DATE, PROP_PROPERTIES,
		PROP_PUBLISH_DATE
	};

	if (type == ITEM_COMMENT)
		return item_properties(type, n);
	*n = lengthof(of_post);
	return of_post;
}

/*
 * Edit the posts or comments on this machine that differ from their source
 * rows. Returns the number of changed items. This does not count items to
 * which another transaction has made the same change after the check. Errors:
 * 40001.
 */
int64
import_edit_here(Import *import, ItemType type)
{
	EditReceiver receiver = {
		.import = import, .type = type,
		.edit = type == ITEM_POST ? edit_post : edit_comment
	};
	int64		n;

	receiver.prop = import_edited_properties(type, &receiver.nprops);
	receiver_begin(&receiver);
	if (type == ITEM_COMMENT)
		n = edit_comments(import, &receiver.pub);
	else
		n = import_run_query(import, import_changed_posts_sql, &receiver.pub);
	if (n != import->tally[type].updated)
		elog(ERROR, "import lost edits");
	MemoryContextDelete(receiver.context);
	import->hidden = list_concat(import->hidden, receiver.hidden);
	return receiver.edited;
}

/*
 * Edit one post or comment on this machine. Returns false if the item does not
 * differ from its source row any more. Errors: 40001.
 */
bool
import_edit_one(const Import *import, ItemType type, const BlogItem *wanted)
{
	EditReceiver receiver = {
		.import = import, .type = type, .lasting = CurrentMemoryContext,
		.edit = type == ITEM_POST ? edit_post : edit_comment
	};
	bool		edited = edit_item(&receiver, wanted);

	if (receiver.moves)
		move_comment(&receiver, wanted);
	if (receiver.flips)
		hide_comment(&receiver, wanted);
	return edited || receiver.flips;
}

/*
 * Remove from the views the posts that this import has hidden. Errors: those
 * of views_hide(). Locks: the views' lock (views_lock()). The caller must not
 * lock anything else after this call.
 */
void
import_hide_posts(const Import *import)
{
	ListCell   *lc;

	foreach(lc, import->hidden)
		views_hide(lfirst(lc));
}
