/*
 * node_shipment.c
 *		Bulk import on a cluster: sends rows to the nodes of their shards.
 *
 * One call of a function on a node passes many rows. Each column of the rows
 * becomes an array, which is one argument of the call.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/node_shipment.h"
#include "storage/layout/layout.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/*
 * Initialize *ship for rows that are sent to nodes by calls of one function.
 * Before the first ship_row(), the caller sets ship->ncolumns and ship->type.
 * Memory is allocated in the current context.
 */
void
ship_begin(Shipment *ship, const Import *import, const NodeCall *call)
{
	memset(ship, 0, sizeof(*ship));
	ship->import = import;
	ship->call = call;
	for (int c = 0; c < MAX_COLUMNS; c++)
		ship->value[c] = palloc(sizeof(Datum) * call->rows);
	ship->context = AllocSetContextCreate(CurrentMemoryContext,
										  "blogstore shipped rows",
										  ALLOCSET_DEFAULT_SIZES);
}

/*
 * Call a function on a node. What the function returns depends on call->flag:
 *
 * true: a boolean. If it is false, throw the error that another transaction
 *	has interfered with the import.
 * false: items. Pass each of them to call->take().
 */
static void
call_node(const Import *import, const NodeCall *call, int group,
		  const GroupCall *group_call)
{
	RemoteItems *items;
	BlogItem	item;

	CHECK_FOR_INTERRUPTS();
	if (call->flag)
	{
		if (!remote_group_flag(group, group_call))
			import_outdated(import, call->outdated);
		return;
	}
	items = remote_group_items(group, call->type, group_call);
	while (remote_items_next(items, &item))
		call->take(call->arg, &item);
}

static void
ship_send(Shipment *ship)
{
	Oid			types[MAX_COLUMNS + 1];
	NullableDatum args[MAX_COLUMNS + 1];
	GroupCall	call = {
		.name = ship->call->name, .nargs = ship->ncolumns, .types = types, .args = args
	};
	MemoryContext old;

	if (ship->n == 0)
		return;
	old = MemoryContextSwitchTo(ship->context);
	for (int c = 0; c < ship->ncolumns; c++)
	{
		int16		length;
		bool		by_value;
		char		align;

		get_typlenbyvalalign(ship->type[c], &length, &by_value, &align);
		types[c] = get_array_type(ship->type[c]);
		args[c].isnull = false;
		args[c].value = PointerGetDatum(construct_array(ship->value[c], ship->n,
														ship->type[c], length,
														by_value, align));
	}
	if (ship->call->more)
	{
		types[call.nargs] = ship->call->more_type;
		args[call.nargs].value = ship->call->more_value;
		args[call.nargs++].isnull = false;
	}
	call_node(ship->import, ship->call, ship->group, &call);
	ship->n = 0;
	ship->bytes = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(ship->context);
}

/*
 * Collect a row, to be sent to the node of its shard. First send the rows
 * collected before, if they belong to another node or fill a call.
 *
 * shard: the number of the row's shard
 * column: the values of the row's columns, none of them NULL
 */
void
ship_row(Shipment *ship, int shard, const Datum *column)
{
	int			group = container_shards(CONTAINER_POSTS)->shard[shard].group;
	MemoryContext old;

	if (ship->n > 0 && (group != ship->group || ship->n == ship->call->rows ||
						ship->bytes > BYTES_A_CALL))
		ship_send(ship);
	ship->group = group;
	old = MemoryContextSwitchTo(ship->context);
	for (int c = 0; c < ship->ncolumns; c++)
	{
		int16		length;
		bool		by_value;

		get_typlenbyval(ship->type[c], &length, &by_value);
		ship->value[c][ship->n] = datumCopy(column[c], by_value, length);
		ship->bytes += by_value ? length : datumGetSize(column[c], by_value, length);
	}
	ship->n++;
	MemoryContextSwitchTo(old);
}

void
ship_end(Shipment *ship)
{
	ship_send(ship);
	MemoryContextDelete(ship->context);
}

/*
 * Send the rows of a query to the nodes of their shards. The first column of
 * each row is the number of its shard, and is not sent. All rows are read
 * before a node is called.
 */
void
ship_query(const Import *import, const NodeCall *call, const char *sql)
{
	Tuplestorestate *rows;
	TupleTableSlot *slot = import_keep_rows(import, sql, &rows);
	Shipment	ship;

	ship_begin(&ship, import, call);
	while (slot != NULL && tuplestore_gettupleslot(rows, true, false, slot))
	{
		TupleDesc	desc = slot->tts_tupleDescriptor;

		slot_getallattrs(slot);
		ship.ncolumns = desc->natts - 1;
		for (int c = 0; c < ship.ncolumns; c++)
			ship.type[c] = TupleDescAttr(desc, c + 1)->atttypid;
		ship_row(&ship, DatumGetInt32(slot->tts_values[0]), slot->tts_values + 1);
	}
	ship_end(&ship);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
}

/* Call a function without arguments on each node that has shards. */
void
ship_nothing(const Import *import, const NodeCall *call)
{
	const GroupCall group_call = {.name = call->name};
	ListCell   *lc;

	foreach(lc, remote_groups())
		call_node(import, call, lfirst_int(lc), &group_call);
}
