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

#include "base/compat.h"
#include "import/import.h"
#include "model/post_counts/post_counts.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/table.h"
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
	TempWriter *spool;			/* of a cluster, where Citus writes them; else NULL */
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

/* Find the next post that was written; false: there are no more. */
static bool
next_counted(WriteReceiver *receiver, pg_uuid_t *post_id)
{
	bool		isnull;

	if (!tuplestore_gettupleslot(receiver->posts, true, false, receiver->post))
		return false;
	*post_id = *DatumGetUUIDP(slot_getattr(receiver->post, 1, &isnull));
	return true;
}

/*
 * Delete what older posts of the ids have left behind: an owner may have deleted these
 * by hand. Posts come in the order of leaves, each of which is opened once.
 */
static void
clear_counters(WriteReceiver *receiver)
{
	ItemScan   *scan = NULL;
	pg_uuid_t	post_id;
	BlogItem	delta;

	while (next_counted(receiver, &post_id))
	{
		Datum		key = UUIDPGetDatum(&post_id);

		item_scan_look(&scan, &(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_DELTA,
			.partition_key = &post_id, .path = PATH_KEY, .key = &key,
			.nkeys = 1, .identity = true
		});
		if (item_scan_next(scan, &delta))
			post_counter_clear(&post_id);
	}
	if (scan != NULL)
		item_scan_end(scan);
	tuplestore_rescan(receiver->posts);
}

/* Write the counters of the posts that were written. */
static void
write_counters(WriteReceiver *receiver)
{
	BulkInsert *bulk;
	pg_uuid_t	post_id;
	BlogItem	counter;

	clear_counters(receiver);
	bulk = bulk_insert_begin(CONTAINER_POSTS, ITEM_DELTA);
	while (next_counted(receiver, &post_id))
	{
		counter_init(&counter, &post_id);
		bulk_insert_item(bulk, &counter);
	}
	bulk_insert_end(bulk);
	ExecDropSingleTupleTableSlot(receiver->post);
	tuplestore_end(receiver->posts);
}

static bool
write_row(TupleTableSlot *slot, DestReceiver *self)
{
	WriteReceiver *receiver = (WriteReceiver *) self;
	BlogItem	item;
	pg_uuid_t	id = {{0}};

	row_item(slot, receiver->prop, receiver->nprops, &item);
	set_hidden(&item, item_hidden(&item));
	if (!item.isnull[PROP_PROPERTIES])
		set_properties(&item, item.value[PROP_PROPERTIES]);
	if (item.isnull[PROP_ID])
	{
		new_id(&id);
		item_set(&item, PROP_ID, UUIDPGetDatum(&id));
	}
	if (item.isnull[PROP_CREATION_DATE])
		item_set(&item, PROP_CREATION_DATE,
				 TimestampTzGetDatum(receiver->import->now));
	if (receiver->spool != NULL)
	{
		import_spool_put(receiver->spool, receiver->type, &item);
		return true;
	}
	bulk_insert_item(receiver->bulk, &item);
	if (receiver->posts != NULL)
		note_post(receiver, &item);
	return true;
}

/* After the last row. */
static void
write_rest(DestReceiver *self)
{
	WriteReceiver *receiver = (WriteReceiver *) self;

	if (receiver->spool != NULL)
		temp_writer_end(receiver->spool);
	else
		bulk_insert_end(receiver->bulk);
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

/* Write the counters of posts that are written, in the order of leaves. */
void
import_write_counters(const pg_uuid_t *post_id, int n)
{
	WriteReceiver receiver = {.type = ITEM_POST};

	begin_posts(&receiver);
	for (int i = 0; i < n; i++)
	{
		BlogItem	post;

		item_init(&post, ITEM_POST);
		item_set(&post, PROP_POST_ID, UUIDPGetDatum(&post_id[i]));
		note_post(&receiver, &post);
	}
	write_counters(&receiver);
}

/* Spool the new items of a type for Citus. */
static void
spool_items(const Import *import, WriteReceiver *receiver)
{
	Relation	table = import_spool_open(import, receiver->type);

	receiver->spool = temp_writer_begin(table);
	(void) write_new(import, receiver);
	table_close(table, NoLock);
}

/* Write the new items of a type. Errors: 09000, 40001. */
void
import_write_items(const Import *import, ItemType type, int64 rows)
{
	WriteReceiver receiver = {.import = import, .type = type};

	import_receiver_init(&receiver.pub, write_row, write_rest);
	receiver.prop = item_properties(type, &receiver.nprops);
	if (import->spread)
	{
		spool_items(import, &receiver);
		import_spool_write(import, type, rows);
		return;
	}
	receiver.bulk = bulk_insert_begin(type == ITEM_USER ? CONTAINER_USERS :
									  CONTAINER_POSTS, type);
	if (type == ITEM_POST)
		begin_posts(&receiver);
	import_write_rows(import, write_new, &receiver, rows);
	if (type == ITEM_POST)
		write_counters(&receiver);
}
