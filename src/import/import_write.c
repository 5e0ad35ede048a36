/*
 * import_write.c
 *		Bulk import: writing new items into the containers.
 *
 * A query gives the properties of users and posts in their order, as those of
 * comments and likes were kept when they had been checked; what a source need
 * not say, a like's id and dates, is made here.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "import/import.h"
#include "layout/item.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

/* Writes what it receives into a container. */
typedef struct WriteReceiver
{
	DestReceiver pub;
	const Import *import;
	ItemType	type;
	BulkInsert *bulk;
	const Property *prop;		/* what the columns are */
	int			nprops;
	Tuplestorestate *posts;		/* the ids of posts; NULL: it writes others */
	TupleTableSlot *post;		/* a row of that */
} WriteReceiver;

/* Note that a post is written, which gets a counter once all are. */
static void
note_post(WriteReceiver *receiver, const BlogItem *post)
{
	TupleTableSlot *slot = receiver->post;

	ExecClearTuple(slot);
	slot->tts_values[0] = post->value[PROP_POST_ID];
	slot->tts_isnull[0] = false;
	ExecStoreVirtualTuple(slot);
	tuplestore_puttupleslot(receiver->posts, slot);
}

static void
begin_posts(WriteReceiver *receiver)
{
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(desc, 1, "post_id", UUIDOID, -1, 0);
	receiver->posts = tuplestore_begin_heap(false, false, work_mem);
	receiver->post = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

/* Write the counters of the posts that were written. */
static void
write_counters(WriteReceiver *receiver)
{
	BulkInsert *bulk = bulk_insert_begin(CONTAINER_POSTS, ITEM_DELTA);
	TupleTableSlot *slot = receiver->post;

	while (tuplestore_gettupleslot(receiver->posts, true, false, slot))
	{
		bool		isnull;
		BlogItem	counter;

		counter_init(&counter, DatumGetUUIDP(slot_getattr(slot, 1, &isnull)));
		if (delta_possible(item_uuid(&counter, PROP_POST_ID)))
			bulk_insert_item(bulk, &counter);
	}
	bulk_insert_end(bulk);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(receiver->posts);
}

static bool
write_row(TupleTableSlot *slot, DestReceiver *self)
{
	WriteReceiver *receiver = (WriteReceiver *) self;
	BlogItem	item;
	pg_uuid_t	id = {{0}};

	memset(item.isnull, true, sizeof(item.isnull));
	slot_getallattrs(slot);
	for (int i = 0; i < receiver->nprops; i++)
	{
		item.value[receiver->prop[i]] = slot->tts_values[i];
		item.isnull[receiver->prop[i]] = slot->tts_isnull[i];
	}
	if (item.isnull[PROP_ID])
	{
		new_id(&id);
		item_set(&item, PROP_ID, UUIDPGetDatum(&id));
	}
	if (item.isnull[PROP_CREATION_DATE])
		item_set(&item, PROP_CREATION_DATE,
				 TimestampTzGetDatum(receiver->import->now));
	bulk_insert_item(receiver->bulk, &item);
	if (receiver->posts != NULL)
		note_post(receiver, &item);
	return true;
}

/* After the last row. */
static void
write_rest(DestReceiver *self)
{
	bulk_insert_end(((WriteReceiver *) self)->bulk);
}

/* Comments and likes that have passed the check, in the order of leaves. */
static int64
write_passed(const Import *import, ItemType type, DestReceiver *receiver)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(import->passed_desc[type],
													&TTSOpsMinimalTuple);
	int64		n = 0;

	while (tuplestore_gettupleslot(import->passed[type], true, false, slot))
	{
		(void) receiver->receiveSlot(slot, receiver);
		n++;
	}
	receiver->rShutdown(receiver);
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

static int64
write_new(const Import *import, void *arg)
{
	WriteReceiver *receiver = arg;

	if (import->passed[receiver->type] != NULL)
		return write_passed(import, receiver->type, &receiver->pub);
	return import_run_query(import, import_new_sql[receiver->type],
							&receiver->pub);
}

/* Write the new items of a type. Errors: 09000, 40001. */
void
import_write_items(const Import *import, ItemType type, int64 rows)
{
	WriteReceiver receiver = {.import = import, .type = type};

	import_receiver_init(&receiver.pub, write_row, write_rest);
	receiver.prop = item_properties(type, &receiver.nprops);
	receiver.bulk = bulk_insert_begin(type == ITEM_USER ? CONTAINER_USERS :
									  CONTAINER_POSTS, type);
	if (type == ITEM_POST)
		begin_posts(&receiver);
	import_write_rows(import, write_new, &receiver, rows);
	if (type == ITEM_POST)
		write_counters(&receiver);
}
