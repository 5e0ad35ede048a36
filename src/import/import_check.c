/*
 * import_check.c
 *		Bulk import: checks the rows that were read against existing items.
 *
 * Users and posts are written to temporary tables with the result of their
 * check, because other rows are checked against them. Comments and likes are
 * far more numerous. Their rows are checked as they are read: the new ones are
 * kept in the order of leaves and posts for writing, and counted.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "import/import.h"
#include "storage/blog_item.h"

#include "access/table.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

/* Receives the rows of comments or likes. */
typedef struct CheckReceiver
{
	DestReceiver pub;
	Import	   *import;
	ItemType	type;
	const Property *prop;		/* properties of the first nprops columns */
	int			nprops;
	KnownItems *known;
	int64		rejected;
	TempWriter *refused;
	TempWriter *part;			/* writes partial counts of posts */
	pg_uuid_t	counted;		/* the post that is being counted */
	bool		fresh;			/* true if this post is new */
	int64		n;				/* new items of this post since its count was
								 * last written */
	pg_uuid_t	uncounted;		/* the last post that note_uncounted() wrote
								 * with a count of 0 */
	bool		noted;			/* true if uncounted is valid */
} CheckReceiver;

/* The columns after the properties. */
enum
{
	CHECKED_REASON,
	CHECKED_FRESH
};

/*
 * Write a partial count of a post: n comments or likes. fresh: the post is
 * new.
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

/* Write the partial count of the current post. */
static void
write_part(CheckReceiver *receiver)
{
	if (receiver->n == 0)
		return;
	put_part(receiver, &receiver->counted, receiver->n, receiver->fresh);
	receiver->n = 0;
}

/* Count a new item of a post. The items of a post usually arrive together. */
static void
count_new(CheckReceiver *receiver, const pg_uuid_t *post_id, bool fresh)
{
	if (receiver->n == 0 ||
		memcmp(post_id, &receiver->counted, UUID_LEN) != 0)
	{
		write_part(receiver);
		receiver->counted = *post_id;
		receiver->fresh = fresh;
	}
	receiver->n++;
}

/*
 * Note that a post gets a hidden comment, or that one of its comments is
 * edited. The count is 0, but the post must be locked.
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

/* Write a rejected row with the reason. */
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

/* Check a valid row against existing items. */
static void
check_known(CheckReceiver *receiver, TupleTableSlot *slot)
{
	Import	   *import = receiver->import;
	ImportTally *tally = &import->tally[receiver->type];
	const char *problem;
	KnownState	state = KNOWN_NEW;
	bool		fresh = DatumGetBool(slot->tts_values[receiver->nprops + CHECKED_FRESH]);
	const pg_uuid_t *post_id;
	BlogItem	item;

	row_item(slot, receiver->prop, receiver->nprops, &item);
	post_id = item_uuid(&item, PROP_POST_ID);
	problem = known_items_problem(receiver->known, &item, &state);
	if (problem != NULL)
		refuse(receiver, slot, problem);
	else if (state == KNOWN_PRESENT)
		tally->present++;
	else if (state == KNOWN_CHANGED)
	{
		tally->updated++;
		note_uncounted(receiver, post_id, fresh);
		tuplestore_puttupleslot(import->changed, slot);
	}
	else
	{
		tally->written++;
		if (item_hidden(&item))
			note_uncounted(receiver, post_id, fresh);
		else
			count_new(receiver, post_id, fresh);
		tuplestore_puttupleslot(import->passed[receiver->type], slot);
	}
}

static bool
check_row(TupleTableSlot *slot, DestReceiver *self)
{
	CheckReceiver *receiver = (CheckReceiver *) self;

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

/* Finish after the last row. */
static void
check_end(DestReceiver *self)
{
	CheckReceiver *receiver = (CheckReceiver *) self;

	known_items_end(receiver->known);
	write_part(receiver);
	temp_writer_end(receiver->part);
	temp_writer_end(receiver->refused);
}

/* Check comments or likes. Returns their number, and sets *rejected. */
static int64
check_children(Import *import, ItemType type, int64 *rejected)
{
	CheckReceiver receiver = {.import = import, .type = type};
	Relation	refused = temp_table_open(import,
										  psprintf("checked_%s",
												   item_type_name(type)));
	Relation	part = temp_table_open(import, "part");
	int64		n;

	receiver.prop = item_properties(type, &receiver.nprops);
	receiver.known = known_items_begin(type, import->update,
									   import->target->lookup(import, type));
	import->passed[type] = tuplestore_begin_heap(false, false,
												 maintenance_work_mem);
	if (type == ITEM_COMMENT && import->update)
		import->changed = tuplestore_begin_heap(false, false,
												maintenance_work_mem);
	import->passed_desc[type] = CreateTupleDescCopy(RelationGetDescr(refused));
	import_receiver_init(&receiver.pub, check_row, check_end);
	receiver.refused = temp_writer_begin(refused);
	receiver.part = temp_writer_begin(part);
	n = import_run_query(import, import_check_sql[type], &receiver.pub);
	table_close(part, NoLock);
	table_close(refused, NoLock);
	*rejected = receiver.rejected;
	return n;
}

/*
 * Decide which users get names that other users have, if these give them up. A
 * user whose new name is refused keeps the old one, which must then be refused
 * to others. Each user waits for the holder of one name, so users form chains
 * and rings. Each pass halves the length of the chains, so they are resolved
 * after as many passes as their length can be halved. What is left then are
 * rings, whose members exchange their names.
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
 * Get the tally of users who have other names than the source gives, from the
 * last result.
 */
static void
tally_renamed(ImportTally *renamed)
{
	renamed->read = import_result(5);
	renamed->written = import_result(6);
	renamed->updated = import_result(7);
	renamed->present = renamed->read - renamed->written - renamed->updated;
}

/* Check users or posts. Returns their number, and sets *rejected. */
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
 * Check the rows of a type, and update the tally. Errors: those of the
 * statements and of ItemLookup.find.
 */
void
import_check(Import *import, ItemType type)
{
	ImportTally *tally = &import->tally[type];
	int64		rejected;
	int64		n;

	if (type == ITEM_COMMENT || type == ITEM_LIKE)
		n = check_children(import, type, &rejected);
	else
		n = check_owners(import, type, &rejected);
	if (n != tally->read - tally->rejected)
		elog(ERROR, "import lost rows");
	tally->rejected += rejected;
	if (rejected > 0)
		(void) import_run(import, import_reject_sql[type]);
}
