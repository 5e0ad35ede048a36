/*
 * import_check.c
 *		Bulk import: compares the rows that were read with existing items.
 *
 * Users and posts are checked by statements. The statements write each row,
 * with the result of the check, to a temporary table.
 *
 * Comments and likes are far more numerous than users and posts. A query joins
 * their rows with authors and posts, and passes each row to a DestReceiver.
 * The receiver checks the row. It stores new comments and likes in a
 * tuplestore, in the order in which they will be written.
 *
 * The receiver also counts new comments and likes of each post. It writes the
 * counts to a temporary table, which is called @part in import_sql.c and
 * "part" here. The table can have several rows for a post. A statement adds
 * them up. In the same way, the receiver writes the counts of new replies to
 * comments, and of new likes of comments, to the table @comment_part.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/progress.h"
#include "import/import.h"
#include "storage/blog_item.h"

#include "access/table.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

/*
 * A DestReceiver for the rows of the query CHECK_CHILD (import_sql.c): source
 * rows of comments or likes. It compares each row with the existing item of
 * the same key.
 */
typedef struct CheckReceiver
{
	DestReceiver pub;
	Import	   *import;
	ItemType	type;

	/* for each of the first nprops columns of a row, its field */
	const Property *prop;

	int			nprops;
	KnownItems *known;
	int64		rejected;
	TempWriter *refused;
	TempWriter *part;			/* writes to the table "part" */
	TempWriter *comment_part;	/* writes to the table "comment_part" */
	LikedComments *liked;		/* used only for likes of comments */
	/*
	 * The count of new comments or likes of one post, or of new likes of one
	 * comment. When a row of the next post or comment comes, the count is
	 * written to the table "part" or "comment_part".
	 *
	 * counted: the post or comment; valid if n > 0
	 * fresh: whether the import creates the post
	 * n: the number of new comments or likes
	 */
	CountedItem counted;

	bool		fresh;
	int64		n;

	/*
	 * The last post that note_uncounted() has written to the table "part";
	 * valid if "noted" is true. Other rows of the same post follow directly,
	 * and need no second row in that table.
	 */
	pg_uuid_t	uncounted;

	bool		noted;
} CheckReceiver;

/*
 * the columns of a row after its fields: why the row is rejected (or NULL),
 * and whether the import creates the post
 */
enum
{
	CHECKED_REASON,
	CHECKED_FRESH
};

/*
 * Insert a row into the table "part": a post gets n new comments or likes.
 *
 * fresh: whether the import creates the post
 */
static void
put_part(CheckReceiver *receiver, const pg_uuid_t *post_id, int64 n, bool fresh)
{
	TupleTableSlot *slot = temp_writer_slot(receiver->part);
	bool		likes = receiver->type == ITEM_LIKE;

	slot->tts_values[0] = UUIDPGetDatum(post_id);
	slot->tts_values[1] = Int64GetDatum(likes ? 0 : n);
	slot->tts_values[2] = Int64GetDatum(likes ? n : 0);
	slot->tts_values[3] = BoolGetDatum(fresh);
	memset(slot->tts_isnull, false, 4 * sizeof(bool));
	temp_writer_put(receiver->part);
}

/*
 * Insert a row into the table "comment_part": a comment gets new replies or
 * likes.
 *
 * made: whether the row is for a comment that the import creates
 * fresh: whether the import creates the post
 */
static void
put_comment_part(CheckReceiver *receiver, const CountedItem *comment,
				 ItemCounts counts, bool made, bool fresh)
{
	TupleTableSlot *slot = temp_writer_slot(receiver->comment_part);

	slot->tts_values[0] = UUIDPGetDatum(&comment->post_id);
	slot->tts_values[1] = UUIDPGetDatum(&comment->item_id);
	slot->tts_values[2] = Int64GetDatum(counts.comments);
	slot->tts_values[3] = Int64GetDatum(counts.likes);
	slot->tts_values[4] = BoolGetDatum(made);
	slot->tts_values[5] = BoolGetDatum(fresh);
	memset(slot->tts_isnull, false, 6 * sizeof(bool));
	temp_writer_put(receiver->comment_part);
}

static void
write_part(CheckReceiver *receiver)
{
	if (receiver->n == 0)
		return;
	if (receiver->type == ITEM_COMMENT_LIKE)
		put_comment_part(receiver, &receiver->counted,
						 (ItemCounts) {.likes = receiver->n}, false,
						 receiver->fresh);
	else
		put_part(receiver, &receiver->counted.post_id, receiver->n,
				 receiver->fresh);
	receiver->n = 0;
}

/*
 * Count a new comment or like of a post, or a new like of a comment. Rows are
 * sorted by post, and likes of comments by comment. So the first row of a post
 * or comment ends the count of the previous one.
 */
static void
count_new(CheckReceiver *receiver, const CountedItem *counted, bool fresh)
{
	if (receiver->n == 0 ||
		memcmp(counted, &receiver->counted, sizeof(CountedItem)) != 0)
	{
		write_part(receiver);
		receiver->counted = *counted;
		receiver->fresh = fresh;
	}
	receiver->n++;
}

/*
 * Insert a row with the count 0 for a post into the table "part". The post
 * gets a hidden comment, or one of its comments is edited or gets a like. The
 * import locks all existing posts in that table, so it locks this post, too.
 */
static void
note_uncounted(CheckReceiver *receiver, const pg_uuid_t *post_id, bool fresh)
{
	if (receiver->noted &&
		memcmp(post_id, &receiver->uncounted, UUID_LEN) == 0)
		return;
	receiver->noted = true;
	receiver->uncounted = *post_id;
	put_part(receiver, post_id, 0, fresh);
}

/*
 * Insert up to two rows into the table "comment_part" for a new comment: one
 * to count the comment on its parent, and, on an existing post, one for the
 * comment itself. It may already have replies, if it has the id of a deleted
 * comment.
 */
static void
note_reply(CheckReceiver *receiver, const BlogItem *comment, bool fresh)
{
	const pg_uuid_t *post_id = item_uuid(comment, PROP_POST_ID);

	if (!comment->isnull[PROP_PARENT_ID] && !item_hidden(comment))
	{
		const CountedItem parent =
			counted_comment(post_id, item_uuid(comment, PROP_PARENT_ID));

		put_comment_part(receiver, &parent, (ItemCounts) {.comments = 1},
						 false, fresh);
	}
	if (!fresh)
	{
		const CountedItem own =
			counted_comment(post_id, item_uuid(comment, PROP_ID));

		put_comment_part(receiver, &own, (ItemCounts) {0, 0}, true, false);
	}
}

/*
 * Insert a rejected comment or like, with the reason, into the temporary table
 * for rejected comments or likes.
 */
static void
refuse(CheckReceiver *receiver, TupleTableSlot *row, const char *reason)
{
	TupleTableSlot *slot = temp_writer_slot(receiver->refused);
	int			n = slot->tts_tupleDescriptor->natts;

	memcpy(slot->tts_values, row->tts_values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, n * sizeof(bool));
	slot->tts_values[receiver->nprops + CHECKED_REASON] =
		CStringGetTextDatum(reason);
	slot->tts_isnull[receiver->nprops + CHECKED_REASON] = false;
	temp_writer_put(receiver->refused);
	receiver->rejected++;
}

/*
 * Count a new comment or like on its post and on the comment that it replies
 * to or likes.
 */
static void
count_item(CheckReceiver *receiver, const BlogItem *item, bool fresh)
{
	const pg_uuid_t *post_id = item_uuid(item, PROP_POST_ID);
	const bool	of_comment = receiver->type == ITEM_COMMENT_LIKE;
	const CountedItem counted = of_comment ?
		counted_comment(post_id, item_uuid(item, PROP_COMMENT_ID)) :
		counted_post(post_id);

	if (item_hidden(item) || of_comment)
		note_uncounted(receiver, post_id, fresh);
	if (!item_hidden(item))
		count_new(receiver, &counted, fresh);
	if (receiver->type == ITEM_COMMENT)
		note_reply(receiver, item, fresh);
}

/*
 * Return the reason for rejecting a valid row; NULL if the row is accepted.
 * Sets *state to the result of comparing the row with the existing item.
 *
 * If the import creates a comment on an existing post, it deletes the likes
 * that an earlier comment with the same id has left. All likes of the comment
 * are then new.
 */
static const char *
row_refused(CheckReceiver *receiver, const BlogItem *item, bool fresh,
			KnownState *state)
{
	LikedState	liked = receiver->liked == NULL ? LIKED_THERE :
		liked_comments_find(receiver->liked, item);

	if (liked == LIKED_UNKNOWN)
		return "unknown comment";
	return known_items_problem(receiver->known, item,
							   liked == LIKED_NEW && !fresh, state);
}

/*
 * Compare a valid row with the existing item of the same key. Count the row as
 * rejected, present, updated or new. Store a new row in import->passed. Store
 * a row that changes an existing comment in import->changed.
 */
static void
check_known(CheckReceiver *receiver, TupleTableSlot *slot)
{
	Import	   *import = receiver->import;
	ImportTally *tally = &import->tally[receiver->type];
	const char *problem;
	KnownState	state = KNOWN_NEW;
	bool		fresh = DatumGetBool(slot->tts_values[receiver->nprops + CHECKED_FRESH]);
	BlogItem	item;

	row_item(slot, receiver->prop, receiver->nprops, &item);
	problem = row_refused(receiver, &item, fresh, &state);
	if (problem != NULL)
		refuse(receiver, slot, problem);
	else if (state == KNOWN_PRESENT)
		tally->present++;
	else if (state == KNOWN_CHANGED)
	{
		tally->updated++;
		note_uncounted(receiver, item_uuid(&item, PROP_POST_ID), fresh);
		tuplestore_puttupleslot(import->changed, slot);
	}
	else
	{
		tally->written++;
		count_item(receiver, &item, fresh);
		tuplestore_puttupleslot(import->passed[receiver->type], slot);
	}
}

static bool
check_row(TupleTableSlot *slot, DestReceiver *self)
{
	CheckReceiver *receiver = (CheckReceiver *) self;

	progress_add(1);
	slot_getallattrs(slot);
	if (!slot->tts_isnull[receiver->nprops + CHECKED_REASON])
	{
		receiver->rejected++;
		temp_writer_copy(receiver->refused, slot);
	}
	else
		check_known(receiver, slot);
	return true;
}

static void
check_end(DestReceiver *self)
{
	CheckReceiver *receiver = (CheckReceiver *) self;

	known_items_end(receiver->known);
	if (receiver->liked != NULL)
		liked_comments_end(receiver->liked);
	write_part(receiver);
	temp_writer_end(receiver->part);
	temp_writer_end(receiver->comment_part);
	temp_writer_end(receiver->refused);
}

/*
 * Check all source rows of comments or likes. Returns the number of rows, and
 * sets *rejected to the number of rejected rows.
 */
static int64
check_children(Import *import, ItemType type, int64 *rejected)
{
	CheckReceiver receiver = {.import = import, .type = type};
	Relation	refused = temp_table_open(import,
										  psprintf("checked_%s",
												   item_type_name(type)));
	Relation	part = temp_table_open(import, "part");
	Relation	comment_part = temp_table_open(import, "comment_part");
	int64		n;

	receiver.prop = item_properties(type, &receiver.nprops);
	receiver.known = known_items_begin(type, import->update,
									   import->target->lookup(import, type, type));
	if (type == ITEM_COMMENT_LIKE)
		receiver.liked = liked_comments_begin(import);
	import->passed[type] = tuplestore_begin_heap(false, false,
												 maintenance_work_mem);
	if (type == ITEM_COMMENT && import->update)
		import->changed = tuplestore_begin_heap(false, false,
												maintenance_work_mem);
	import->passed_desc[type] = CreateTupleDescCopy(RelationGetDescr(refused));
	import_receiver_init(&receiver.pub, check_row, check_end);
	receiver.refused = temp_writer_begin(refused);
	receiver.part = temp_writer_begin(part);
	receiver.comment_part = temp_writer_begin(comment_part);
	n = import_run_query(import, import_check_sql[type], &receiver.pub);
	table_close(comment_part, NoLock);
	table_close(part, NoLock);
	table_close(refused, NoLock);
	*rejected = receiver.rejected;
	return n;
}

/*
 * Decide which users get a username that another user, the holder, has now. A
 * user gets the name only if the holder gets another name in this import.
 *
 * The holder's new name may have another holder, and so on. If the last holder
 * of such a chain keeps the name, all users of the chain are rejected. If the
 * chain is a ring, all its users get their new names. Each run of
 * import_pass_names_sql replaces each user's holder by the holder's holder.
 * This halves the length of a chain, so log2(n) runs are enough.
 */
static void
check_names(const Import *import)
{
	(void) import_run(import, import_refuse_names_sql);
	for (int64 n = import_run_number(import, import_held_names_sql); n > 0; n /= 2)
	{
		CHECK_FOR_INTERRUPTS();
		if (import_run(import, import_pass_names_sql) == 0)
			break;
	}
}

/*
 * Count the users who get another name than the one in the source. The last
 * statement run by SPI must be import_tally_sql[ITEM_USER].
 */
static void
tally_renamed(ImportTally *renamed)
{
	renamed->read = import_result(5);
	renamed->written = import_result(6);
	renamed->updated = import_result(7);
	renamed->present = renamed->read - renamed->written - renamed->updated;
}

static int64
check_owners(Import *import, ItemType type, int64 *rejected)
{
	ImportTally *tally = &import->tally[type];
	int64		n;

	(void) import_run(import, import_check_sql[type]);
	if (type == ITEM_USER && import->update)
		check_names(import);
	if (type == ITEM_USER)
		(void) import_run(import, import_other_names_sql);
	(void) import_run(import, import_tally_sql[type]);
	if (type == ITEM_USER)
		tally_renamed(&import->renamed);
	n = import_result(1);
	*rejected = import_result(2);
	tally->present = import_result(3);
	tally->written = n - *rejected - tally->present;
	tally->updated = import_result(4);
	tally->present -= tally->updated;
	SPI_freetuptable(SPI_tuptable);
	return n;
}

/*
 * Check the source rows of a type, and count them as rejected, present,
 * updated or new. Copy the rejected rows to the table @rejected. Errors: those
 * of the statements and of ItemLookup.find().
 */
void
import_check(Import *import, ItemType type)
{
	ImportTally *tally = &import->tally[type];
	int64		rejected;
	int64		n;

	if (type == ITEM_COMMENT || is_like(type))
		n = check_children(import, type, &rejected);
	else
		n = check_owners(import, type, &rejected);
	if (n != tally->read - tally->rejected)
		elog(ERROR, "import lost rows");
	tally->rejected += rejected;
	if (rejected > 0)
		(void) import_run(import, import_reject_sql[type]);
}
