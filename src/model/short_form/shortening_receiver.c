/*
 * shortening_receiver.c
 *		A DestReceiver that stores the rows of a query in a tuplestore, with
 *		their content in short form (short_form.c).
 *
 * No SQL function computes short forms. SQL statements that compare short
 * forms therefore read this tuplestore. Runs in backends.
 */
#include "postgres.h"

#include "model/short_form/short_form.h"

#include "utils/memutils.h"

typedef struct ShortReceiver
{
	DestReceiver pub;
	Tuplestorestate *rows;
	MemoryContext context;
} ShortReceiver;

static void
short_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static bool
short_receive(TupleTableSlot *slot, DestReceiver *self)
{
	ShortReceiver *receiver = (ShortReceiver *) self;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	int			content = desc->natts - 1;

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, desc->natts * sizeof(Datum));
	if (!slot->tts_isnull[content])
		values[content] = PointerGetDatum(content_shorten(values[content]));
	tuplestore_putvalues(receiver->rows, desc, values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
short_shutdown(DestReceiver *self)
{
}

static void
short_destroy(DestReceiver *self)
{
	MemoryContextDelete(((ShortReceiver *) self)->context);
	pfree(self);
}

/*
 * Return a receiver that stores the rows of a query in the given tuplestore.
 * The last column of the query must be a post's content, which the receiver
 * shortens. The receiver is allocated in the current memory context.
 */
DestReceiver *
short_receiver_create(Tuplestorestate *rows)
{
	ShortReceiver *receiver = palloc0(sizeof(ShortReceiver));

	receiver->pub.receiveSlot = short_receive;
	receiver->pub.rStartup = short_startup;
	receiver->pub.rShutdown = short_shutdown;
	receiver->pub.rDestroy = short_destroy;
	receiver->pub.mydest = DestTuplestore;
	receiver->rows = rows;
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore short forms",
											  ALLOCSET_DEFAULT_SIZES);
	return &receiver->pub;
}
