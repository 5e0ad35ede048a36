/*
 * gather_from_nodes.c
 *		Queries whose items lie on all nodes: each node is asked, and what they return is put
 *		in order here.
 *
 * A node is asked by any key that one of its shards takes. No snapshot spans nodes: each
 * returns what it shows at the time.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/remote/remote_call.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* How the items of all nodes are put in order. */
typedef enum GatherOrder
{
	ORDER_NEWEST_FIRST,
	ORDER_OLDEST_FIRST,
	ORDER_BY_POST,
	ORDER_AS_ASKED				/* by the places of their ids in the list */
} GatherOrder;

/* An item of a node's, with what it is put in order by. */
typedef struct Gathered
{
	HeapTuple	row;
	pg_uuid_t	id;
	TimestampTz date;
	int			place;
} Gathered;

typedef struct Gathering
{
	RemoteCall	call;
	Oid			types[FUNC_MAX_ARGS];
	NullableDatum args[FUNC_MAX_ARGS];
	GatherOrder order;
	int64		limit;			/* -1: none */
	int			size_at;		/* which argument it is; -1: none is */
	int			cursor_at;		/* which is the date of a page's cursor, before its id; -1 */
	int			asked;			/* how many of each node; -1: all */
	bool		full;			/* has a node returned as many? */
	bool		full_of_ties;	/* all of them of the millisecond of the cursor? */
	int			ids_at;			/* which argument is a list of ids; -1: none is */
	int			id_column;		/* by which items are told in it, and put in order */
	int			date_column;
	Datum	   *ids;			/* all that are asked for */
	bool	   *no_id;
	int			nids;
	TupleDesc	desc;			/* of what was found so far */
	Gathered   *found;
	int			n;
	int			room;
} Gathering;

/* Which column of rows of items is a property's, from 1? */
static int
column_of(ItemType type, Property prop)
{
	int			n;
	const Property *props = item_properties(type, &n);

	for (int i = 0; i < n; i++)
		if (props[i] == prop)
			return i + 1;
	return 0;
}

/* A flag among the arguments, which may be NULL or not there. */
static bool
flag(const Gathering *gather, int arg)
{
	return arg < gather->call.nargs && !gather->args[arg].isnull &&
		DatumGetBool(gather->args[arg].value);
}

/* How are the items of a query put in order, and how many are there to be? */
static void
set_order(Gathering *gather, const char *name)
{
	int			size = -1;
	int			oldest_first = 0;

	gather->ids_at = -1;
	gather->cursor_at = -1;
	gather->order = ORDER_NEWEST_FIRST;
	if (strcmp(name, "get_posts") == 0 || strcmp(name, "get_likes") == 0)
	{
		gather->ids_at = gather->call.nargs - 1;
		gather->order = ORDER_AS_ASKED;
		gather->id_column = column_of(strcmp(name, "get_posts") == 0 ?
									  ITEM_POST : ITEM_LIKE, PROP_POST_ID);
	}
	else if (strcmp(name, "list_feed") == 0)
	{
		size = 0;
		oldest_first = 3;
	}
	else if (strcmp(name, "list_user_likes") == 0)
	{
		size = 1;
		oldest_first = 6;
		if (!flag(gather, 3) && gather->args[4].isnull)
		{
			gather->order = ORDER_BY_POST;
			gather->id_column = column_of(ITEM_LIKE, PROP_POST_ID);
		}
	}
	else
	{
		size = 1;
		oldest_first = 4;
	}
	if (gather->order == ORDER_NEWEST_FIRST && flag(gather, oldest_first))
		gather->order = ORDER_OLDEST_FIRST;
	if (gather->order == ORDER_NEWEST_FIRST || gather->order == ORDER_OLDEST_FIRST)
		gather->cursor_at = oldest_first - 2;
	gather->size_at = size;
	gather->asked = size < 0 || gather->args[size].isnull ? -1 :
		DatumGetInt32(gather->args[size].value);
	gather->limit = gather->asked;
}

/* A key that some shard of a group of nodes takes; false: it has none. */
bool
remote_key_of_group(int group, pg_uuid_t *key)
{
	Shard		shard;

	/* a shard takes more than one of a thousand keys */
	for (int tries = 0; tries < 100000; tries++)
	{
		*key = *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, (Datum) 0));
		if (container_shard(CONTAINER_POSTS, key, &shard) && shard.group == group)
			return true;
	}
	return false;
}

/* Leave those ids in the argument that lie on a group of nodes; false: none does. */
static bool
set_ids_of_group(Gathering *gather, int group)
{
	Datum	   *here = palloc(sizeof(Datum) * Max(gather->nids, 1));
	int			n = 0;

	for (int i = 0; i < gather->nids; i++)
	{
		Shard		shard;

		if (!gather->no_id[i] &&
			container_shard(CONTAINER_POSTS, DatumGetUUIDP(gather->ids[i]), &shard) &&
			shard.group == group)
			here[n++] = gather->ids[i];
	}
	gather->args[gather->ids_at].value =
		PointerGetDatum(construct_array(here, n, UUIDOID, UUID_LEN, false,
										TYPALIGN_CHAR));
	return n > 0;
}

/* The cursor of the page that is asked for, its date and its id; NULL: there is none. */
static const NullableDatum *
cursor_of(const Gathering *gather)
{
	const NullableDatum *cursor;

	if (gather->cursor_at < 0 || gather->cursor_at + 1 >= gather->call.nargs)
		return NULL;
	cursor = &gather->args[gather->cursor_at];
	return cursor[0].isnull || cursor[1].isnull ? NULL : cursor;
}

/* Does a date lie in the millisecond that a cursor's date begins? */
static bool
is_tie(const Gathering *gather, TimestampTz date)
{
	const NullableDatum *cursor = cursor_of(gather);
	TimestampTz begin = cursor ? DatumGetTimestampTz(cursor[0].value) : 0;

	return cursor != NULL && begin % 1000 == 0 && date >= begin && date - begin < 1000;
}

/* Keep what a node has returned. */
static void
keep(Gathering *gather, const RemoteRows *rows)
{
	gather->desc = rows->desc;
	for (int i = 0; i < rows->n; i++)
	{
		Gathered   *one;
		bool		isnull;

		if (gather->n == gather->room)
		{
			gather->room = Max(64, gather->room * 2);
			gather->found = gather->found == NULL ?
				palloc(sizeof(Gathered) * gather->room) :
				repalloc(gather->found, sizeof(Gathered) * gather->room);
		}
		one = &gather->found[gather->n++];
		one->row = rows->row[i];
		one->id = *DatumGetUUIDP(heap_getattr(one->row, gather->id_column,
											  rows->desc, &isnull));
		one->date = DatumGetTimestampTz(heap_getattr(one->row, gather->date_column,
													 rows->desc, &isnull));
		one->place = 0;
	}
	if (gather->asked > 0 && rows->n >= gather->asked)
	{
		gather->full = true;
		gather->full_of_ties |= is_tie(gather, gather->found[gather->n - 1].date);
	}
}

/* The groups of nodes that have shards. */
List *
remote_groups(void)
{
	const ShardMap *map = container_shards(CONTAINER_POSTS);
	List	   *groups = NIL;

	for (int i = 0; i < map->n; i++)
		groups = list_append_unique_int(groups, map->shard[i].group);
	return groups;
}

/* Ask all nodes that have shards; false: a shard was on its way elsewhere. */
static bool
ask_all(Gathering *gather)
{
	ListCell   *lc;

	gather->n = gather->room = 0;
	gather->found = NULL;
	gather->full = gather->full_of_ties = false;
	foreach(lc, remote_groups())
	{
		RemoteRows	rows;

		if (gather->ids_at >= 0 && !set_ids_of_group(gather, lfirst_int(lc)))
			continue;
		if (!remote_key_of_group(lfirst_int(lc), &gather->call.key) ||
			!remote_ask_once(&gather->call, &rows))
			return false;
		keep(gather, &rows);
	}
	return true;
}

static int
compare_dates(const void *a, const void *b)
{
	const Gathered *x = a;
	const Gathered *y = b;

	if (x->date != y->date)
		return x->date < y->date ? -1 : 1;
	return memcmp(&x->id, &y->id, UUID_LEN);
}

static int
compare_newest(const void *a, const void *b)
{
	return compare_dates(b, a);
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp(&((const Gathered *) a)->id, &((const Gathered *) b)->id, UUID_LEN);
}

/* The rows in the order in which their ids were asked for, as often as they were. */
static void
take_as_asked(const Gathering *gather, RemoteRows *rows)
{
	rows->row = palloc(sizeof(HeapTuple) * Max(gather->nids, 1));
	for (int i = 0; i < gather->nids; i++)
	{
		Gathered	wanted = {0};
		Gathered   *there;

		if (gather->no_id[i] || gather->n == 0)
			continue;
		wanted.id = *DatumGetUUIDP(gather->ids[i]);
		there = bsearch(&wanted, gather->found, gather->n, sizeof(Gathered),
						compare_ids);
		if (there != NULL)
			rows->row[rows->n++] = there->row;
	}
}

/*
 * The first item, in order, that belongs to the page. A cursor whose date may have lost its
 * microseconds has each node begin with the whole millisecond (requests/page_start.c), since one alone
 * can know the cursor's row: what comes up to that row is not of this page.
 */
static int
first_of_page(const Gathering *gather)
{
	const NullableDatum *cursor = cursor_of(gather);

	for (int i = 0; i < gather->n && cursor != NULL; i++)
		if (is_tie(gather, gather->found[i].date) &&
			memcmp(&gather->found[i].id, DatumGetUUIDP(cursor[1].value), UUID_LEN) == 0)
			return i + 1;
	return 0;
}

/*
 * Put what all have returned in order. How many items are each node to be asked for, if these do not
 * make the page? 0: they do.
 */
static int
put_in_order(Gathering *gather, RemoteRows *rows)
{
	int			first;

	if (gather->n > 1)
		qsort(gather->found, gather->n, sizeof(Gathered),
			  gather->order == ORDER_NEWEST_FIRST ? compare_newest :
			  gather->order == ORDER_OLDEST_FIRST ? compare_dates : compare_ids);
	rows->desc = gather->desc;
	rows->n = 0;
	if (gather->order == ORDER_AS_ASKED)
	{
		take_as_asked(gather, rows);
		return 0;
	}
	first = first_of_page(gather);
	rows->row = palloc(sizeof(HeapTuple) * Max(gather->n, 1));
	for (int i = first; i < gather->n && (gather->limit < 0 || rows->n < gather->limit); i++)
		rows->row[rows->n++] = gather->found[i].row;
	/* what a node has not returned comes behind its last, and behind all that are passed by */
	if (first > 0 && gather->full && gather->asked < gather->limit + first)
		return gather->limit + first;
	if (first == 0 && gather->full_of_ties)
		return gather->asked > PG_INT32_MAX / 2 ? PG_INT32_MAX : gather->asked * 2;
	return 0;
}

/*
 * Have a query served by all nodes that have shards. The items are in the current memory
 * context. Errors: those of the query.
 */
RemoteItems *
remote_gather(const char *name, ItemType type, FunctionCallInfo fcinfo)
{
	RemoteItems *items = palloc0(sizeof(RemoteItems));
	Gathering	gather;
	MemoryContext look;
	MemoryContext old;
	long		waited = 0;
	int			held;

	memset(&gather, 0, sizeof(gather));
	memcpy(gather.args, fcinfo->args, sizeof(NullableDatum) * fcinfo->nargs);
	gather.call = (RemoteCall) {
		.serve = remote_serve_function(type), .name = name,
		.nargs = fcinfo->nargs, .types = gather.types, .args = gather.args,
		.part = true
	};
	(void) remote_find_function(name, fcinfo->nargs, gather.types);
	gather.id_column = column_of(type, PROP_ID);
	gather.date_column = column_of(type, PROP_CREATION_DATE);
	set_order(&gather, name);
	if (gather.ids_at >= 0)
		deconstruct_array(DatumGetArrayTypeP(gather.args[gather.ids_at].value),
						  UUIDOID, UUID_LEN, false, TYPALIGN_CHAR,
						  &gather.ids, &gather.no_id, &gather.nids);
	items->type = type;
	held = container_hold_all(CONTAINER_POSTS);
	remote_require_snapshot(NULL);
	/* what a look has found that was in vain need not be kept */
	look = AllocSetContextCreate(CurrentMemoryContext, "blogstore parts of a list",
								 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(look);
	for (;;)
	{
		while (!ask_all(&gather))
		{
			remote_pause(&waited);
			MemoryContextReset(look);
		}
		gather.asked = put_in_order(&gather, &items->rows);
		if (gather.asked <= 0)
			break;
		MemoryContextReset(look);
		gather.args[gather.size_at].value = Int32GetDatum(gather.asked);
	}
	MemoryContextSwitchTo(old);
	container_let_go_all(CONTAINER_POSTS, held);
	return items;
}

/*
 * Have the node of a group serve a part; rows are in the current memory context. False: its last shard
 * has gone. Errors: 55000, and those of the call.
 */
bool
remote_ask_group(int group, RemoteCall *call, RemoteRows *rows)
{
	long		waited = 0;

	while (!remote_key_of_group(group, &call->key) ||
		   !remote_ask_once(call, rows))
	{
		if (!list_member_int(remote_groups(), group))
			return false;
		remote_pause(&waited);
	}
	return true;
}

/*
 * Call a function of blogstore's that returns a flag on all nodes that have shards, one after
 * another; *all becomes whether each has said true. writes: to items, whose shards are held until
 * the transaction ends. Who waits for a worker does not hold them, for who moves one may stand
 * between the two.
 */
void
remote_call_all(const char *name, const Oid *types, FunctionCallInfo fcinfo,
				bool writes, bool *all)
{
	ListCell   *lc;

	*all = true;
	if (writes)
		(void) container_hold_all(CONTAINER_POSTS);
	foreach(lc, remote_groups())
	{
		RemoteCall	call = {
			.serve = "serve_flag", .name = name, .part = true,
			.nargs = fcinfo->nargs, .types = types, .args = fcinfo->args
		};
		RemoteRows	rows;
		bool		isnull;

		if (!remote_ask_group(lfirst_int(lc), &call, &rows))
			continue;
		*all &= rows.n == 1 &&
			DatumGetBool(heap_getattr(rows.row[0], 1, rows.desc, &isnull));
	}
}
