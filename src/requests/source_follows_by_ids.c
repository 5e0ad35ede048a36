/*
 * source_follows_by_ids.c
 *		A source that reads a user's follows of users with given ids, in the
 *		order of the ids.
 *
 * All follows of a user are in one leaf, so one scan is restarted for each id.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "model/user_follows.h"
#include "requests/request_helpers.h"
#include "storage/blog_item.h"
#include "storage/rows/rows.h"

typedef struct FollowsByIds
{
	pg_uuid_t	user_id;
	ArrayType  *array;
	ArrayIterator elements;		/* of the array */
	ItemScan   *follows;		/* NULL before the first id */
} FollowsByIds;

static bool
follows_by_ids_next(RequestScan *scan, BlogItem *item)
{
	FollowsByIds *ids = scan->state;
	Datum		id;
	bool		isnull;

	while (array_iterate(ids->elements, &id, &isnull))
	{
		Datum		value[FOLLOW_KEYS];
		ItemQuery	query;

		if (isnull)
			continue;
		query = follow_query(&ids->user_id, DatumGetUUIDP(id), value);
		item_scan_look(&ids->follows, &query);
		if (item_scan_next(ids->follows, item) && query_shows(scan, item))
			return true;
	}
	return false;
}

static void
follows_by_ids_explain(const RequestScan *scan, SourceReads *reads)
{
	const FollowsByIds *ids = scan->state;

	reads->container = CONTAINER_USERS;
	if (ids->follows == NULL)
		return;
	reads->leaves = 1;
	item_scan_tables(ids->follows, &reads->leaf, &reads->index);
}

static void
follows_by_ids_close(RequestScan *scan)
{
	FollowsByIds *ids = scan->state;

	if (ids->follows != NULL)
		item_scan_end(ids->follows);
	array_free_iterator(ids->elements);
	pfree(ids->array);
	pfree(ids);
}

static const ItemSource follows_by_ids = {
	.next = follows_by_ids_next, .explain = follows_by_ids_explain,
	.close = follows_by_ids_close
};

/*
 * Make a query read a user's follows of the users with the ids in an array.
 * The array can have several dimensions. The end of the query frees the array.
 */
void
query_follows_by_ids(RequestScan *scan, const pg_uuid_t *user_id,
					 ArrayType *array)
{
	FollowsByIds *ids = palloc0(sizeof(FollowsByIds));

	ids->user_id = *user_id;
	ids->array = array;
	ids->elements = array_create_iterator(array, 0, NULL);
	scan->source = &follows_by_ids;
	scan->state = ids;
}
