/*
 * id_list.c
 *		Queries by a list of ids: their items in the order of the list.
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

/*
 * The items that a list of ids names, which are the caller's to keep; of whatever
 * dimensions it is, its elements are one list. The columns of the items' key before the
 * last, where it has such, are scan->key_value.
 */
void
query_ids(RequestScan *scan, Container container, ArrayType *array)
{
	IdList	   *ids = palloc0(sizeof(IdList));

	scan->container = container;
	scan->left = -1;
	scan->ids = ids;
	ids->array = array;
	ids->length = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ids->next_id = ARR_DATA_PTR(array);
	ids->context = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore items by ids",
										 ALLOCSET_DEFAULT_SIZES);
}

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
	IdList	   *ids = scan->ids;
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
		.container = scan->container, .type = scan->query->type,
		.path = PATH_KEY, .key = scan->key_value, .nkeys = scan->nkeys
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

/* The next item; its values hold until the next call. False: there are no more. */
bool
id_list_next(RequestScan *scan, BlogItem *item)
{
	IdList	   *ids = scan->ids;

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
	scan->left = 0;
	return false;
}

/*
 * How many leaves a query by ids has visited, and the last of them with its index, to be
 * told to people.
 */
int
request_scan_leaves(const RequestScan *scan, Oid *leaf, Oid *index)
{
	const IdList *ids = scan->ids;

	if (ids->read == NULL)
		return ids->leaves;
	*leaf = ids->read->leaf;
	*index = ids->read->index;
	return ids->leaves + ids->read->leaves;
}

/* Forget a list, wherever it has come to. */
void
id_list_end(RequestScan *scan)
{
	MemoryContextDelete(scan->ids->context);
	pfree(scan->ids->array);
	pfree(scan->ids);
	scan->ids = NULL;
}
