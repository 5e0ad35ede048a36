/*
 * source_items_by_ids.c
 *		A source that reads the items with given ids, in the order of the ids.
 *
 * The source reads the items of READ_TOGETHER ids at a time, one leaf after
 * another (storage/rows/items_by_keys.c). So only the array of ids and these
 * items are in memory. Long values stay toasted.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/post_counts/post_counts.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define READ_TOGETHER 256		/* the items of this many ids are read
								 * together */

typedef struct IdList
{
	SourceKey	key;			/* values of the primary key columns that
								 * precede the id */
	Container	container;
	ArrayType  *array;
	ArrayIterator elements;		/* of the array */
	MemoryContext context;
	ManyItems  *read;
	int			nread;			/* number of ids that were last looked up
								 * together */
	int			given;			/* how many of the last "nread" ids were
								 * returned as items, or skipped */
	int			leaves;			/* number of leaves that were read, except for
								 * the last "nread" ids */
} IdList;

/*
 * Copy the next ids of the array to id[], at most READ_TOGETHER. Skips nulls.
 * Returns how many ids were copied; 0 at the end of the array.
 */
static int
take_ids(IdList *ids, pg_uuid_t *id)
{
	Datum		value;
	bool		isnull;
	int			n = 0;

	while (n < READ_TOGETHER && array_iterate(ids->elements, &value, &isnull))
		if (!isnull)
			id[n++] = *DatumGetUUIDP(value);
	return n;
}

/*
 * Read the items of the next ids of the array. Returns false at the end of the
 * array.
 */
static bool
read_next(RequestScan *scan)
{
	IdList	   *ids = scan->state;
	pg_uuid_t	id[READ_TOGETHER];
	MemoryContext old;

	if (ids->read != NULL)
		ids->leaves += ids->read->leaves;
	ids->read = NULL;
	ids->given = 0;
	ids->nread = take_ids(ids, id);
	if (ids->nread == 0)
		return false;

	MemoryContextReset(ids->context);
	old = MemoryContextSwitchTo(ids->context);
	ids->read = many_items_read(&(ItemQuery) {
		.container = ids->container, .type = scan->query->type,
		.path = PATH_KEY, .key = ids->key.value, .nkeys = ids->key.n
	}, id, ids->nread);
	if (query_wants_counts(scan))
		posts_add_up(ids->read, GetActiveSnapshot());
	for (int i = 0; i < ids->read->n && scan->deleted != NULL; i++)
	{
		ManyItem   *item = &ids->read->item[i];

		item->found = item->found && query_shows(scan, &item->item);
	}
	MemoryContextSwitchTo(old);
	return true;
}

static bool
id_list_next(RequestScan *scan, BlogItem *item)
{
	IdList	   *ids = scan->state;

	do
	{
		while (ids->given < ids->nread)
		{
			const ManyItem *read = &ids->read->item[ids->read->asked[ids->given++]];

			if (read->found)
			{
				*item = read->item;
				return true;
			}
		}
	} while (read_next(scan));
	return false;
}

static void
id_list_explain(const RequestScan *scan, SourceReads *reads)
{
	const IdList *ids = scan->state;

	reads->container = ids->container;
	reads->leaves = ids->leaves;
	if (ids->read == NULL)
		return;
	reads->leaves += ids->read->leaves;
	reads->leaf = ids->read->leaf;
	reads->index = ids->read->index;
}

static void
id_list_close(RequestScan *scan)
{
	IdList	   *ids = scan->state;

	MemoryContextDelete(ids->context);
	array_free_iterator(ids->elements);
	pfree(ids->array);
	pfree(ids);
}

static const ItemSource id_list = {
	.next = id_list_next, .explain = id_list_explain, .close = id_list_close
};

/*
 * Make a query read the items with the ids in an array. The array can have
 * several dimensions. The end of the query frees the array.
 *
 * key, n: values of the primary key columns that precede the id
 */
void
query_ids(RequestScan *scan, Container container, const pg_uuid_t *const *key,
		  int n, ArrayType *array)
{
	IdList	   *ids = palloc0(sizeof(IdList));

	source_key_keep(&ids->key, key, n);
	ids->container = container;
	ids->array = array;
	ids->elements = array_create_iterator(array, 0, NULL);
	ids->context = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore items by ids",
										 ALLOCSET_DEFAULT_SIZES);
	scan->source = &id_list;
	scan->state = ids;
}
