/*
 * keyed_names.c
 *		Usernames and their keys, as a relation that SQL statements can read.
 *
 * Statements that fill or check the registry need the key of each username
 * (name_key.c), but no SQL function computes keys. This file therefore adds
 * the keys to the rows of a query, and registers the rows with SPI as an
 * ephemeral named relation. After an error, the relation is freed with the
 * transaction's memory.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/user_changes/user_changes.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * The columns of the ephemeral named relation. The query returns all of them
 * but NAME_KEY, which name_receive() adds.
 */
enum
{
	NAME_USER_ID,
	NAME_USERNAME,
	NAME_CREATION_DATE,
	NAME_KEY,
	N_NAME_COLUMNS
};

typedef struct NameReceiver
{
	DestReceiver pub;
	Tuplestorestate *rows;
	TupleDesc	desc;
	MemoryContext context;
} NameReceiver;

static void
name_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static bool
name_receive(TupleTableSlot *slot, DestReceiver *self)
{
	NameReceiver *receiver = (NameReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	Datum		values[N_NAME_COLUMNS];
	bool		isnull[N_NAME_COLUMNS];

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, NAME_KEY * sizeof(Datum));
	memcpy(isnull, slot->tts_isnull, NAME_KEY * sizeof(bool));
	isnull[NAME_KEY] = true;
	if (!isnull[NAME_USERNAME] && has_name_key(values[NAME_USERNAME]))
	{
		values[NAME_KEY] = name_key(values[NAME_USERNAME]);
		isnull[NAME_KEY] = !name_key_fits(values[NAME_KEY]);
	}
	tuplestore_putvalues(receiver->rows, receiver->desc, values, isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
name_shutdown(DestReceiver *self)
{
}

static void
name_destroy(DestReceiver *self)
{
	NameReceiver *receiver = (NameReceiver *) self;

	tuplestore_end(receiver->rows);
	FreeTupleDesc(receiver->desc);
	MemoryContextDelete(receiver->context);
	pfree(receiver);
}

static TupleDesc
name_columns(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(N_NAME_COLUMNS);

	TupleDescInitEntry(desc, NAME_USER_ID + 1, "user_id", UUIDOID, -1, 0);
	TupleDescInitEntry(desc, NAME_USERNAME + 1, "username", TEXTOID, -1, 0);
	TupleDescInitEntry(desc, NAME_CREATION_DATE + 1, "creation_date",
					   TIMESTAMPTZOID, -1, 0);
	TupleDescInitEntry(desc, NAME_KEY + 1, "name_key", TEXTOID, -1, 0);
	compat_tuple_desc_finalize(desc);
	return desc;
}

/*
 * Return a receiver for the rows of a query that returns the columns user_id,
 * username and creation_date. The receiver is allocated in the current memory
 * context, and must be freed with keyed_names_end().
 */
DestReceiver *
keyed_names_begin(void)
{
	NameReceiver *receiver = palloc0(sizeof(NameReceiver));

	receiver->pub.receiveSlot = name_receive;
	receiver->pub.rStartup = name_startup;
	receiver->pub.rShutdown = name_shutdown;
	receiver->pub.rDestroy = name_destroy;
	receiver->pub.mydest = DestTuplestore;
	receiver->rows = tuplestore_begin_heap(true, false, work_mem);
	receiver->desc = name_columns();
	receiver->context = AllocSetContextCreate(CurrentMemoryContext,
											  "blogstore keyed names",
											  ALLOCSET_DEFAULT_SIZES);
	return &receiver->pub;
}

/*
 * Make the received rows visible to SQL statements of this SPI connection, as
 * the relation KEYED_NAMES. Its columns are user_id, username, creation_date
 * and name_key. The column name_key is null if the username is null, or if its
 * key is too long for the registry.
 */
void
keyed_names_show(DestReceiver *names)
{
	NameReceiver *receiver = (NameReceiver *) names;
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));

	relation->md.name = KEYED_NAMES;
	relation->md.tupdesc = receiver->desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = tuplestore_tuple_count(receiver->rows);
	relation->reldata = receiver->rows;
	if (SPI_register_relation(relation) != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not register the relation of names");
}

/*
 * Unregister the relation that keyed_names_show() has registered, and free the
 * receiver.
 */
void
keyed_names_end(DestReceiver *names)
{
	if (SPI_unregister_relation(KEYED_NAMES) != SPI_OK_REL_UNREGISTER)
		elog(ERROR, "could not take the relation of names away");
	names->rDestroy(names);
}
