/*
 * node_lookup.c
 *		Bulk import on a cluster: finds out which of the imported comments or
 *		likes already exist on the nodes.
 *
 * node_lookup_begin() asks each node which of these items it has. The nodes
 * return the existing items in the order in which the import looks them up. So
 * node_lookup_find() reads the returned items only once, from the first to the
 * last.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "cluster/operations/cluster_import.h"
#include "cluster/operations/node_shipment.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/typcache.h"

typedef struct NodeLookup
{
	ItemLookup	pub;
	ItemType	type;

	/* the items returned by the nodes, sorted like the import's rows */
	Tuplestorestate *rows;

	TupleTableSlot *slot;
	BlogItem	next;
	ChildKey	key;			/* the key of the item in the field "next" */

	/*
	 * True if "next" contains an item of "rows"; false after the last item.
	 */
	bool		more;
} NodeLookup;

/*
 * Return the tuple descriptor of the composite type in which nodes return
 * items of the given type.
 */
TupleDesc
node_row_desc(ItemType type)
{
	return BlessTupleDesc(lookup_rowtype_tupdesc_copy(remote_row_type(type), -1));
}

typedef struct Told
{
	ItemType	type;
	Tuplestorestate *rows;
	TupleTableSlot *slot;
} Told;

static void
keep_item(void *arg, const BlogItem *item)
{
	Told	   *told = arg;
	int			n;
	const Property *prop = item_properties(told->type, &n);

	ExecClearTuple(told->slot);
	for (int i = 0; i < n; i++)
	{
		told->slot->tts_values[i] = item->value[prop[i]];
		told->slot->tts_isnull[i] = item->isnull[prop[i]];
	}
	ExecStoreVirtualTuple(told->slot);
	tuplestore_puttupleslot(told->rows, told->slot);
}

static Tuplestorestate *
ask_nodes(const Import *import, ItemType type, ItemType rows)
{
	static const char *const function[N_IMPORTED] = {
		[ITEM_COMMENT] = "import_comments", [ITEM_LIKE] = "import_likes",
		[ITEM_COMMENT_LIKE] = "import_comment_likes"
	};
	Told		told = {
		.type = type, .rows = tuplestore_begin_heap(false, false, work_mem),
		.slot = MakeSingleTupleTableSlot(node_row_desc(type), &TTSOpsVirtual)
	};
	const NodeCall call = {
		.name = function[type], .type = type, .rows = ROWS_A_CALL, .take = keep_item, .arg = &told
	};

	ship_query(import, &call, type == rows ? import_child_keys_sql[type] :
			   import_liked_keys_sql);
	ExecDropSingleTupleTableSlot(told.slot);
	return told.rows;
}

/* Read the next item of lookup->rows into lookup->next. */
static void
go_along(NodeLookup *lookup)
{
	int			n;
	const Property *prop = item_properties(lookup->type, &n);

	lookup->more = tuplestore_gettupleslot(lookup->rows, true, false, lookup->slot);
	if (!lookup->more)
		return;
	row_item(lookup->slot, prop, n, &lookup->next);
	lookup->key = child_key(lookup->type, &lookup->next);
}

static bool
node_lookup_find(ItemLookup *self, const ChildKey *key, BlogItem *item)
{
	NodeLookup *lookup = (NodeLookup *) self;
	int			order = 1;

	while (lookup->more && (order = child_key_compare(&lookup->key, key)) < 0)
		go_along(lookup);
	if (!lookup->more || order != 0)
		return false;
	*item = lookup->next;
	return true;
}

static void
node_lookup_end(ItemLookup *self)
{
	NodeLookup *lookup = (NodeLookup *) self;

	ExecDropSingleTupleTableSlot(lookup->slot);
	tuplestore_end(lookup->rows);
	pfree(lookup);
}

/*
 * Ask the nodes which of the imported comments or likes exist. Returns an
 * object for looking up the existing ones. The object must be used in the
 * memory context in which this function was called. Errors: those of
 * ship_query().
 *
 * type: the type of the items to look up
 * rows: ITEM_COMMENT_LIKE to look up the comments that users like; otherwise
 *	the same as "type"
 */
ItemLookup *
node_lookup_begin(const Import *import, ItemType type, ItemType rows)
{
	NodeLookup *lookup = palloc0(sizeof(NodeLookup));

	lookup->pub.find = node_lookup_find;
	lookup->pub.end = node_lookup_end;
	lookup->type = type;
	lookup->rows = ask_nodes(import, type, rows);
	lookup->slot = MakeSingleTupleTableSlot(node_row_desc(type), &TTSOpsMinimalTuple);
	go_along(lookup);
	return &lookup->pub;
}
