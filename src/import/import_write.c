/*
 * import_write.c
 *		Bulk import: makes new items from source rows, and checks that all of
 *		them were written.
 *
 * Rows of new users and posts come from a query. Rows of new comments and
 * likes come from the tuplestore that import_check.c has filled. This file
 * generates the ids of likes, and dates that are missing in the source.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/progress.h"
#include "import/import.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "utils/tuplestore.h"

/*
 * A DestReceiver for rows of new items. It makes an item from each row, and
 * passes the item to take().
 */
typedef struct NewItems
{
	DestReceiver pub;
	const Import *import;
	const Property *prop;		/* for each column of a row, its field */
	int			nprops;
	ItemTaker	take;
	void	   *arg;
} NewItems;

static bool
make_item(TupleTableSlot *slot, DestReceiver *self)
{
	NewItems   *items = (NewItems *) self;
	BlogItem	item;
	pg_uuid_t	id = {{0}};

	progress_add(1);
	row_item(slot, items->prop, items->nprops, &item);
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
				 TimestampTzGetDatum(items->import->now));
	items->take(items->arg, &item);
	return true;
}

static void
items_end(DestReceiver *self)
{
}

static int64
read_passed(const Import *import, ItemType type, DestReceiver *receiver)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(import->passed_desc[type],
													&TTSOpsMinimalTuple);
	int64		n = 0;

	while (tuplestore_gettupleslot(import->passed[type], true, false, slot))
	{
		(void) receiver->receiveSlot(slot, receiver);
		n++;
	}
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

/*
 * Call take() for each new item of a type, with all its fields set. The items
 * are sorted by leaf. Returns the number of items. Errors: those of take().
 */
int64
import_new_items(const Import *import, ItemType type, ItemTaker take, void *arg)
{
	NewItems	items = {.import = import, .take = take, .arg = arg};

	import_receiver_init(&items.pub, make_item, items_end);
	items.prop = item_properties(type, &items.nprops);
	if (import->passed[type] != NULL)
		return read_passed(import, type, &items.pub);
	return import_run_query(import, import_new_sql[type], &items.pub);
}

/*
 * Call write(), which must write "rows" rows.
 *
 * Errors: 09000 if a trigger suppressed a row; 40001 if another transaction
 * has inserted the same primary key after the check; those of write().
 */
void
import_write_rows(const Import *import, ImportWrite write, void *arg,
				  int64 rows)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int64 written = 0;

	PG_TRY();
	{
		written = write(import, arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!import->target->key_is_taken(error))
			PG_RE_THROW();
		FlushErrorState();
		import_outdated(import, "an item was created");
	}
	PG_END_TRY();
	if (written != rows)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("a trigger suppressed a change of an item"),
				 errhint("Raise an error in the trigger to refuse a change."),
				 err_fields(NULL, NULL, RULE_TRIGGERS)));
}

static int64
write_by_statement(const Import *import, void *arg)
{
	return import_run(import, arg);
}

/*
 * Run a statement that must write "rows" rows. Errors: those of
 * import_write_rows().
 */
void
import_run_write(const Import *import, const char *sql, int64 rows)
{
	import_write_rows(import, write_by_statement, unconstify(char *, sql),
					  rows);
}
