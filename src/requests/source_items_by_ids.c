/*
 * source_items_by_ids.c
 *		A source of items: those that a list of ids names, in the order of the list.
 *
 * The next ids of the list are read together, leaf by leaf
 * (storage/rows/items_by_keys.c), and what was found is handed out in the order in which
 * it was asked for. Then come the next ids. So what is held of a list of any length is
 * the list, and the rows of a few hundred ids, whose long values stay where they are
 * stored.
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

#define READ_TOGETHER 256		/* ids */

/* A list of ids, and what was read of it. */
typedef struct IdList
{
	SourceKey	key;			/* the columns of the items' key before the id */
	Container	container;
	ArrayType  *array;
	int			length;			/* elements of it, NULLs too */
	int			at;				/* elements that were taken */
	const char *next_id;		/* of those that follow, but for NULLs */
	MemoryContext context;		/* of what was read last */
	ManyItems  *read;
	int			nread;			/* ids of it */
	int			given;			/* of which so many have been handed out */
	int			leaves;			/* that were visited before that */
} IdList;

/* Take the next ids of the list that are not NULL. Returns how many; 0: the end. */
static int
take_ids(IdList *ids, pg_uuid_t *id)
{
	const bits8 *there = ARR_NULLBITMAP(ids->array);
	int			n = 0;

	for (; ids->at < ids->length && n < READ_TOGETHER; ids->at++)
	{
		if (there != NULL && !(there[ids->at / 8] & (1 << ids->at % 8)))
			continue;
		memcpy(&id[n++], ids->next_id, sizeof(pg_uuid_t));
		ids->next_id += sizeof(pg_uuid_t);
	}
	return n;
}

/* Read the items of the next ids; false: there are no more ids. */
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

/* Say how many leaves were visited, and which of them was the last. */
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
	pfree(ids->array);
	pfree(ids);
}

static const ItemSource id_list = {
	.next = id_list_next, .explain = id_list_explain, .close = id_list_close
};

/*
 * Read the items that a list of ids names; of whatever dimensions it is, its elements are one
 * list. The list becomes the source's. key: the n columns of the items' key before the id.
 */
void
query_ids(RequestScan *scan, Container container, const pg_uuid_t *const *key,
		  int n, ArrayType *array)
{
	IdList	   *ids = palloc0(sizeof(IdList));

	source_key_keep(&ids->key, key, n);
	ids->container = container;
	ids->array = array;
	ids->length = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ids->next_id = ARR_DATA_PTR(array);
	ids->context = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore items by ids",
										 ALLOCSET_DEFAULT_SIZES);
	scan->source = &id_list;
	scan->state = ids;
}
