/*
 * source_items_by_ids.c
 *		A source that reads items by a list of ids, in the order of the list.
 *
 * The source reads the items of the next READ_TOGETHER ids, one leaf after
 * another (storage/rows/items_by_keys.c). It returns them in the order of the
 * list, and then reads the items of the next ids. Memory therefore holds only
 * the list and the rows of READ_TOGETHER ids. Long values stay toasted.
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

#define READ_TOGETHER 256		/* how many ids' items are read at a time */

/*
 * The state of the source: the list of ids, and the items of the ids that were
 * last taken from it.
 */
typedef struct IdList
{
	SourceKey	key;			/* the values of the columns that precede the
								 * id in the items' key */
	Container	container;
	ArrayType  *array;
	int			length;			/* number of elements of the array, including
								 * nulls */
	int			at;				/* how many elements were taken from the array
								 * so far */
	const char *next_id;		/* pointer into the array: the next element
								 * that is not null */
	MemoryContext context;		/* memory for the items in read */
	ManyItems  *read;
	int			nread;			/* how many ids were last taken */
	int			given;			/* for how many of the nread ids the item was
								 * returned */
	int			leaves;			/* number of leaves visited, without those in
								 * read */
} IdList;

/*
 * Take the next ids from the list into id[], at most READ_TOGETHER, without
 * nulls. Returns their number, which is 0 at the end.
 */
static int
take_ids(IdList *ids, pg_uuid_t *id)
{
	const uint8 *there = ARR_NULLBITMAP(ids->array);
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

/*
 * Take the next ids from the list, and read their items. Returns false at the
 * end of the list.
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
	pfree(ids->array);
	pfree(ids);
}

static const ItemSource id_list = {
	.next = id_list_next, .explain = id_list_explain, .close = id_list_close
};

/*
 * Make the scan's source the items with the ids in an array. An array of
 * several dimensions is read as one list. The source frees the array. key has
 * the values of the n columns of the items' key before the id.
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
