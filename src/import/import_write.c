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
#include "import/import.h"
#include "layout/item.h"

/* Writes what it receives into a container. */
typedef struct WriteReceiver
{
	DestReceiver pub;
	const Import *import;
	ItemType	type;
	BulkInsert *bulk;
	const Property *prop;		/* what the columns are */
	int			nprops;
} WriteReceiver;

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
	import_write_rows(import, write_new, &receiver, rows);
}
