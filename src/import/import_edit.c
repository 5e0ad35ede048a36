/*
 * import_edit.c
 *		Bulk import: items that are there become what the source says of them.
 *
 * What differs was found by comparing with what is committed. Each such item is then
 * locked and looked at again, and written as edit_user(), edit_post() and edit_comment()
 * write it: counts and names on items are not touched, copies and feed follow by the
 * change feed. Where an item was changed or deleted in between in a way that the
 * checks did not know, the import fails (40001).
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "import/import.h"
#include "layout/item.h"
#include "members/members.h"

#include "executor/spi.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Edits the items that it receives. */
typedef struct EditReceiver
{
	DestReceiver pub;
	const Import *import;
	ItemType	type;
	const Property *prop;		/* what the columns are, nprops of them */
	int			nprops;
	bool		(*edit) (struct EditReceiver *receiver, ItemWriter *writer,
						 const BlogItem *found, const BlogItem *wanted);
	int64		edited;
	MemoryContext context;		/* "blogstore imported edit": an item's */
} EditReceiver;

/* What a row says of an item. */
static void
wanted_item(const EditReceiver *receiver, TupleTableSlot *slot,
			BlogItem *wanted)
{
	slot_getallattrs(slot);
	memset(wanted, 0, sizeof(*wanted));
	memset(wanted->isnull, true, sizeof(wanted->isnull));
	for (int i = 0; i < receiver->nprops; i++)
		if (!slot->tts_isnull[i])
			item_set(wanted, receiver->prop[i], slot->tts_values[i]);
}

/* Lock the item that a row is of, and edit it. */
static void
edit_item(EditReceiver *receiver, const BlogItem *wanted)
{
	bool		user = receiver->type == ITEM_USER;
	const pg_uuid_t *partition_key = item_uuid(wanted, user ? PROP_USER_ID :
											   PROP_POST_ID);
	Datum		key[] = {UUIDPGetDatum(partition_key), wanted->value[PROP_ID]};
	ItemWriter *writer;
	BlogItem	found;

	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(user ? CONTAINER_USERS : CONTAINER_POSTS,
							  receiver->type, partition_key);
	if (item_writer_lock(writer, key, receiver->type == ITEM_COMMENT ? 2 : 1,
						 LockTupleNoKeyExclusive, LockWaitBlock,
						 &found) != ITEM_OK ||
		!item_same(&found, wanted, PROP_USER_ID))
		import_outdated(receiver->import, "an item was deleted");
	if (receiver->edit(receiver, writer, &found, wanted))
		receiver->edited++;
	item_writer_close(writer);
	PopActiveSnapshot();
}

static bool
edit_row(TupleTableSlot *slot, DestReceiver *self)
{
	EditReceiver *receiver = (EditReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	BlogItem	wanted;

	wanted_item(receiver, slot, &wanted);
	edit_item(receiver, &wanted);
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
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore imported edit",
											  ALLOCSET_DEFAULT_SIZES);
}

/* ------------------------------------------------------------------------
 * Users
 * ------------------------------------------------------------------------ */

static const Property user_columns[] = {PROP_USER_ID, PROP_USERNAME};

/* Is the user still of the name that the checks saw? It stays locked. */
static bool
look_at_user(EditReceiver *receiver, ItemWriter *writer,
			 const BlogItem *found, const BlogItem *wanted)
{
	if (!item_same(found, wanted, PROP_USERNAME))
		import_outdated(receiver->import, "a user was renamed");
	return false;
}

/* A user's name, which has been claimed, is written, and a rename job with it. */
static bool
rename_user(EditReceiver *receiver, ItemWriter *writer,
			const BlogItem *found, const BlogItem *wanted)
{
	BlogItem	user;

	item_copy(&user, found);
	item_set(&user, PROP_USERNAME, wanted->value[PROP_USERNAME]);
	rename_begin(writer, &user);
	return true;
}

static void
edit_users(const Import *import, const char *sql,
		   bool (*edit) (EditReceiver *receiver, ItemWriter *writer,
						 const BlogItem *found, const BlogItem *wanted))
{
	EditReceiver receiver = {
		.import = import, .type = ITEM_USER, .prop = user_columns,
		.nprops = lengthof(user_columns), .edit = edit
	};

	receiver_begin(&receiver);
	if (import_run_query(import, sql, &receiver.pub) !=
		import->tally[ITEM_USER].updated)
		elog(ERROR, "import lost renames");
	MemoryContextDelete(receiver.context);
}

/*
 * Lock the users who get other names, and give the old names back, so that others of the
 * import can have them: two users may exchange theirs. Errors: 40001.
 */
void
import_release_names(const Import *import)
{
	edit_users(import, import_old_names_sql, look_at_user);
	(void) import_run(import, import_release_names_sql);
}

/* Rename the users who get other names, once these are registered. Errors: 55000. */
void
import_rename_users(const Import *import)
{
	edit_users(import, import_new_names_sql, rename_user);
}

/* ------------------------------------------------------------------------
 * Posts and comments
 * ------------------------------------------------------------------------ */

/* Texts are written if they are not as the source says by now. */
static bool
edit_texts(EditReceiver *receiver, ItemWriter *writer, const BlogItem *found,
		   const BlogItem *wanted)
{
	BlogItem	edited = *found;

	if (receiver->type == ITEM_POST)
		item_set(&edited, PROP_TITLE, wanted->value[PROP_TITLE]);
	item_set(&edited, PROP_CONTENT, wanted->value[PROP_CONTENT]);
	if (item_same(&edited, found, PROP_TITLE) &&
		item_same(&edited, found, PROP_CONTENT))
		return false;
	if (item_writer_keeps(writer, PROP_MODIFICATION_DATE))
		item_set(&edited, PROP_MODIFICATION_DATE,
				 TimestampTzGetDatum(receiver->import->now));
	item_writer_update(writer, &edited);
	return true;
}

/* Comments that differ, in the order of leaves. */
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
 * Edit the posts or comments that differ. Those that somebody else has made the same
 * meanwhile are present. Errors: 40001.
 */
void
import_edit_items(Import *import, ItemType type)
{
	static const Property post_columns[] = {
		PROP_POST_ID, PROP_USER_ID, PROP_TITLE, PROP_CONTENT
	};
	ImportTally *tally = &import->tally[type];
	EditReceiver receiver = {
		.import = import, .type = type, .prop = post_columns,
		.nprops = lengthof(post_columns), .edit = edit_texts
	};
	int64		n;

	receiver_begin(&receiver);
	if (type == ITEM_COMMENT)
	{
		receiver.prop = article_properties(type, &receiver.nprops);
		n = edit_comments(import, &receiver.pub);
	}
	else
		n = import_run_query(import, import_changed_posts_sql, &receiver.pub);
	if (n != tally->updated)
		elog(ERROR, "import lost edits");
	MemoryContextDelete(receiver.context);
	tally->present += n - receiver.edited;
	tally->updated = receiver.edited;
}
