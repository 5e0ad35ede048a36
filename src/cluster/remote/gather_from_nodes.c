/*
 * gather_from_nodes.c
 *		Queries whose items are on all nodes: the calling node asks each node
 *		for its items, and merges them.
 *
 * Citus sends a call to the node that has the shard of a given key. So to call
 * a given node, the calling node passes a random key that belongs to one of
 * that node's shards. Each node uses a snapshot of its own.
 *
 * A page of a list begins after its cursor, which is the date and id of the
 * last row of the previous page.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "cluster/remote/remote_call.h"
#include "model/topics/topics.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

typedef enum GatherOrder
{
	ORDER_NEWEST_FIRST,
	ORDER_OLDEST_FIRST,
	/* likes, in the order of post_id and comment_id NULLS FIRST */
	ORDER_BY_POST,
	/* topics; the counts that the nodes have of a topic are added up */
	ORDER_BY_TOPIC,
	/* in the order of the ids that were passed to the query */
	ORDER_AS_ASKED
} GatherOrder;

typedef struct Gathered
{
	HeapTuple	row;
	pg_uuid_t	id;
	bool		has_second;
	pg_uuid_t	second;			/* for ORDER_BY_POST: the liked comment;
								 * undefined if has_second is false */
	TimestampTz date;
	Datum		topic;			/* for ORDER_BY_TOPIC */
} Gathered;

typedef int (*Comparison) (const void *a, const void *b);

/*
 * What has come of asking all nodes.
 *
 *	- ASK_DONE: all nodes have returned their rows.
 *	- ASK_AGAIN: a node has refused, because one of its shards is being moved.
 *	  The caller tries again.
 *	- ASK_NO_COPIES: the query reads copies of posts, and those of a node are
 *	  not ready.
 */
typedef enum AskResult
{
	ASK_DONE,
	ASK_AGAIN,
	ASK_NO_COPIES
} AskResult;

/* A query on all nodes, and the rows that the nodes have returned so far. */
typedef struct Gathering
{
	RemoteCall	call;
	Oid			types[FUNC_MAX_ARGS];
	NullableDatum args[FUNC_MAX_ARGS];
	GatherOrder order;
	int64		limit;			/* the page size; -1 if there is no limit */

	/*
	 * The indexes of three arguments of the query; -1 for an argument that the
	 * query does not have.
	 *
	 * size_at: index of the page size
	 * cursor_at: index of the cursor's date; the cursor's id is the next
	 *	argument
	 * ids_at: index of the list of ids
	 */
	int			size_at;
	int			cursor_at;
	int			ids_at;

	/* How many rows each node is asked for; -1 for all. */
	int			asked;

	/*
	 * True if some node may have more rows, because it has returned as many
	 * rows as it was asked for.
	 */
	bool		full;

	/*
	 * True if the cursor's row may be among the rows that a node has not
	 * returned: the node may have more rows, and a client may have rounded the
	 * date of the last returned row to the cursor's date (is_tie()).
	 */
	bool		full_of_ties;

	/*
	 * The numbers of three columns in the nodes' rows. second_column is the
	 * column comment_id for ORDER_BY_POST, otherwise 0.
	 */
	int			id_column;
	int			second_column;
	int			date_column;

	/*
	 * the elements of the argument "ids"; no_id[i] is true if ids[i] is NULL
	 */
	Datum	   *ids;
	bool	   *no_id;
	int			nids;

	TupleDesc	desc;
	Gathered   *found;
	int			n;
	int			room;
} Gathering;

/*
 * Return the number of a field's column in the composite type of items, for
 * example of PROP_POST_ID in blogstore.comment_item. The first column is 1.
 * Returns 0 if items of the given type do not have the field.
 */
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

static bool
flag(const Gathering *gather, int arg)
{
	return arg < gather->call.nargs && !gather->args[arg].isnull &&
		DatumGetBool(gather->args[arg].value);
}

/*
 * Set the fields of *gather that depend on the query: the order of its items,
 * how many items it returns, and the positions of its arguments.
 *
 * name: the query's function, for example list_feed
 */
static void
set_order(Gathering *gather, const char *name)
{
	int			size = -1;
	int			oldest_first = 0;

	gather->ids_at = -1;
	gather->cursor_at = -1;
	gather->order = ORDER_NEWEST_FIRST;
	if (strcmp(name, "home_feed_copies") == 0)
		gather->ids_at = 0;
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
			gather->second_column = column_of(ITEM_LIKE, PROP_COMMENT_ID);
		}
	}
	else if (strcmp(name, "list_topics") == 0)
	{
		size = 1;
		gather->order = ORDER_BY_TOPIC;
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

/*
 * Set *key to a random key that belongs to a shard of a node. Returns false if
 * the node has no shard.
 *
 * group: the node's groupid in pg_dist_node
 */
static bool
remote_key_of_group(int group, pg_uuid_t *key)
{
	Shard		shard;

	/*
	 * Each shard has more than a thousandth of all keys. So 100000 random keys
	 * are enough to find one that belongs to a shard of the node.
	 */
	for (int tries = 0; tries < 100000; tries++)
	{
		*key = *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, (Datum) 0));
		if (container_shard(CONTAINER_POSTS, key, &shard) && shard.group == group)
			return true;
	}
	return false;
}

/*
 * Reduce the query's list of ids to those whose shard is on one node: posts,
 * or users whose posts have copies there. Returns false if no id is left.
 */
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

/*
 * Return the date and the id of the query's cursor; NULL if the query has no
 * cursor.
 */
static const NullableDatum *
cursor_of(const Gathering *gather)
{
	const NullableDatum *cursor;

	if (gather->cursor_at < 0 || gather->cursor_at + 1 >= gather->call.nargs)
		return NULL;
	cursor = &gather->args[gather->cursor_at];
	return cursor[0].isnull || cursor[1].isnull ? NULL : cursor;
}

/*
 * Return whether a client may have rounded a row's date down to the cursor's
 * date. Some clients round dates down to milliseconds. So if the cursor's date
 * is a whole millisecond, the result is true for all dates in that
 * millisecond. Otherwise the client has not rounded the date, and the result
 * is false.
 */
static bool
is_tie(const Gathering *gather, TimestampTz date)
{
	const NullableDatum *cursor = cursor_of(gather);
	TimestampTz begin = cursor ? DatumGetTimestampTz(cursor[0].value) : 0;

	return cursor != NULL && begin % 1000 == 0 && date >= begin && date - begin < 1000;
}

static void
keep_second(const Gathering *gather, TupleDesc desc, Gathered *one)
{
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (gather->second_column > 0)
		value = heap_getattr(one->row, gather->second_column, desc, &isnull);
	one->has_second = !isnull;
	memset(&one->second, 0, sizeof(one->second));
	if (one->has_second)
		one->second = *DatumGetUUIDP(value);
}

/* Set the fields of *one, a row of a node, by which rows are put in order. */
static void
keep_place(const Gathering *gather, TupleDesc desc, Gathered *one)
{
	bool		isnull;

	if (gather->order == ORDER_BY_TOPIC)
	{
		one->topic = heap_getattr(one->row, column_of(ITEM_TOPIC, PROP_TOPIC),
								  desc, &isnull);
		return;
	}
	one->id = *DatumGetUUIDP(heap_getattr(one->row, gather->id_column, desc,
										  &isnull));
	keep_second(gather, desc, one);
	one->date = DatumGetTimestampTz(heap_getattr(one->row, gather->date_column,
												 desc, &isnull));
}

static void
keep(Gathering *gather, const RemoteRows *rows)
{
	gather->desc = rows->desc;
	for (int i = 0; i < rows->n; i++)
	{
		Gathered   *one;

		if (gather->n == gather->room)
		{
			gather->room = Max(64, gather->room * 2);
			gather->found = gather->found == NULL ?
				palloc(sizeof(Gathered) * gather->room) :
				repalloc(gather->found, sizeof(Gathered) * gather->room);
		}
		one = &gather->found[gather->n++];
		one->row = rows->row[i];
		keep_place(gather, rows->desc, one);
	}
	if (gather->asked > 0 && rows->n >= gather->asked)
	{
		gather->full = true;
		gather->full_of_ties |= is_tie(gather, gather->found[gather->n - 1].date);
	}
}

/* Return the groupids (in pg_dist_node) of all nodes that have shards. */
List *
remote_groups(void)
{
	const ShardMap *map = container_shards(CONTAINER_POSTS);
	List	   *groups = NIL;

	for (int i = 0; i < map->n; i++)
		groups = list_append_unique_int(groups, map->shard[i].group);
	return groups;
}

/*
 * Ask all nodes that have shards for their rows. If the query has a list of
 * ids, ask only nodes that have the shard of an id.
 */
static AskResult
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
		if (!remote_key_of_group(lfirst_int(lc), &gather->call.key))
			return ASK_AGAIN;
		if (!remote_ask_once(&gather->call, &rows))
			return remote_copies_are_refused(&rows) ? ASK_NO_COPIES : ASK_AGAIN;
		keep(gather, &rows);
	}
	return ASK_DONE;
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
	const Gathered *x = a;
	const Gathered *y = b;
	int			order = memcmp(&x->id, &y->id, UUID_LEN);

	if (order == 0)
		order = (int) x->has_second - (int) y->has_second;
	return order != 0 ? order : memcmp(&x->second, &y->second, UUID_LEN);
}

static int
compare_topics(const void *a, const void *b)
{
	return topic_compare(((const Gathered *) a)->topic,
						 ((const Gathered *) b)->topic);
}

/*
 * Return the comparison by which the collected rows are sorted. Rows in the
 * order of the requested ids are sorted by id, to be found by take_as_asked().
 */
static Comparison
comparison(const Gathering *gather)
{
	switch (gather->order)
	{
		case ORDER_NEWEST_FIRST:
			return compare_newest;
		case ORDER_OLDEST_FIRST:
			return compare_dates;
		case ORDER_BY_TOPIC:
			return compare_topics;
		case ORDER_BY_POST:
		case ORDER_AS_ASKED:
			break;
	}
	return compare_ids;
}

/*
 * Make one row of n rows of the same topic, which several nodes have returned:
 * add up the counts of posts.
 */
static HeapTuple
merge_counts(const Gathering *gather, const Gathered *same, int n)
{
	int			column = column_of(ITEM_TOPIC, PROP_POST_COUNT);
	Datum		value[2];
	bool		isnull[2] = {false, false};
	int64		count = 0;

	for (int i = 0; i < n; i++)
		count += DatumGetInt64(heap_getattr(same[i].row, column, gather->desc,
											&isnull[column - 1]));
	value[column_of(ITEM_TOPIC, PROP_TOPIC) - 1] = same[0].topic;
	value[column - 1] = Int64GetDatum(count);
	return heap_form_tuple(gather->desc, value, isnull);
}

/*
 * Put the collected topics, which are sorted, into *rows, each once. A topic
 * among the first topics of all nodes is among the first of each node that has
 * it. So all of its counts have been collected.
 */
static void
take_topics(const Gathering *gather, RemoteRows *rows)
{
	int			n;

	rows->row = palloc(sizeof(HeapTuple) * Max(gather->n, 1));
	for (int i = 0; i < gather->n && (gather->limit < 0 || rows->n < gather->limit); i += n)
	{
		for (n = 1; i + n < gather->n; n++)
			if (compare_topics(&gather->found[i], &gather->found[i + n]) != 0)
				break;
		rows->row[rows->n++] = merge_counts(gather, &gather->found[i], n);
	}
}

/*
 * Put the collected rows into *rows, in the order of the requested ids. A row
 * whose id is requested twice appears twice.
 */
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
 * Return the index in gather->found of the page's first row.
 *
 * If the client may have rounded the cursor's date down (is_tie()), the nodes
 * return all rows of that millisecond. If the cursor's row is among the found
 * rows, the page begins after that row. Otherwise the page begins with the
 * first found row.
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
 * Sort the collected rows, and put the rows of the page into *rows. Returns 0
 * if the page is complete. Otherwise returns how many rows each node has to be
 * asked for in the next attempt.
 */
static int
put_in_order(Gathering *gather, RemoteRows *rows)
{
	int			first;

	if (gather->n > 1)
		qsort(gather->found, gather->n, sizeof(Gathered), comparison(gather));
	rows->desc = gather->desc;
	rows->n = 0;
	if (gather->order == ORDER_AS_ASKED)
	{
		take_as_asked(gather, rows);
		return 0;
	}
	if (gather->order == ORDER_BY_TOPIC)
	{
		take_topics(gather, rows);
		return 0;
	}
	first = first_of_page(gather);
	rows->row = palloc(sizeof(HeapTuple) * Max(gather->n, 1));
	for (int i = first; i < gather->n && (gather->limit < 0 || rows->n < gather->limit); i++)
		rows->row[rows->n++] = gather->found[i].row;
	/*
	 * A node that has returned as many rows as it was asked for may have more
	 * rows of the page.
	 */
	if (first > 0 && gather->full && gather->asked < gather->limit + first)
		return gather->limit + first;
	if (first == 0 && gather->full_of_ties)
		return gather->asked > PG_INT32_MAX / 2 ? PG_INT32_MAX : gather->asked * 2;
	return 0;
}

/*
 * Run a query on all nodes that have shards, and merge the items that they
 * return. The result is allocated in the current memory context. Returns NULL
 * if the query reads copies of posts, and those of a node are not ready.
 *
 * name: the name of the query's function
 * type: the type of the items that the query returns
 *
 * Errors: those of the query; 40001 if a shard was moved to this node after
 * the transaction's snapshot was taken. Locks: all shards of posts in share
 * mode, against being moved or split, until the function returns.
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
	/*
	 * Memory context of the rows of one attempt. It is reset before the next
	 * attempt.
	 */
	look = AllocSetContextCreate(CurrentMemoryContext, "blogstore parts of a list",
								 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(look);
	for (;;)
	{
		AskResult	asked;

		while ((asked = ask_all(&gather)) == ASK_AGAIN)
		{
			remote_pause(&waited);
			MemoryContextReset(look);
		}
		if (asked == ASK_NO_COPIES)
		{
			items = NULL;
			break;
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
 * Run a part of a request on a node. The result rows are allocated in the
 * current memory context. Returns false if the node has no shards.
 *
 * group: the node's groupid in pg_dist_node
 *
 * Errors: 55000, and those of the request.
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
 * Call a function that returns a boolean on all nodes that have shards, one
 * node after another.
 *
 * writes: whether the function writes items. If so, all shards are locked in
 *	share mode until the transaction ends.
 * all: set to whether the function has returned true on every node
 *
 * "writes" must be false if the function waits for a worker. Otherwise a
 * deadlock could arise: the worker may wait for a move of a shard, and the
 * move for the caller's lock on that shard.
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
