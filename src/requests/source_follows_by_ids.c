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
	int			length;			/* number of elements of the array, including
								 * nulls */
	int			at;				/* number of elements of the array that were
								 * read so far */
	const char *next_id;
	ItemScan   *follows;		/* NULL before the first id */
} FollowsByIds;

/*
 * Copy the next id of the array to *id. Skips nulls. Returns false at the end
 * of the array.
 */
static bool
take_id(FollowsByIds *ids, pg_uuid_t *id)
{
	const uint8 *there = ARR_NULLBITMAP(ids->array);

	while (ids->at < ids->length)
	{
		int			i = ids->at++;

		if (there != NULL && !(there[i / 8] & (1 << i % 8)))
			continue;
		memcpy(id, ids->next_id, sizeof(pg_uuid_t));
		ids->next_id += sizeof(pg_uuid_t);
		return true;
	}
	return false;
}

static bool
follows_by_ids_next(RequestScan *scan, BlogItem *item)
{
	FollowsByIds *ids = scan->state;
	pg_uuid_t	id;

	while (take_id(ids, &id))
	{
		Datum		value[FOLLOW_KEYS];
		const ItemQuery query = follow_query(&ids->user_id, &id, value);

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
	ids->length = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ids->next_id = ARR_DATA_PTR(array);
	scan->source = &follows_by_ids;
	scan->state = ids;
}
