/*
 * items_by_keys.c
 *		Reads items of one type by many keys.
 *
 * Opening a table and its index costs as much as reading two or three rows. So
 * the keys are sorted by partition, and the table of each partition is opened
 * once for all keys in that partition. Within a table, one scan is restarted
 * for each key, in the order of the index. The caller gets copies of the
 * items, and no table is left open.
 *
 * A copy can point to values that are stored out of line (TOAST). VACUUM
 * cannot remove these values, because the snapshot needs them. But a rewrite
 * of the table by DDL would remove them. So if a copy has such a value, the
 * AccessShareLock on the table is kept until the transaction ends, as in an
 * SQL query.
 *
 * The items are usually on different heap pages. When the page of an item has
 * to be read into shared buffers, the heap pages of the next items are
 * prefetched.
 *
 * Runs in any process, in a transaction with a snapshot.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/row_tuple.h"
#include "storage/rows/rows.h"

#include "executor/instrument.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define MAX_COLUMNS 2			/* largest number of key columns of a scan */

/*
 * A key in the array that the caller of many_items_read() has passed.
 *
 * partition: the number of the partition that has the key
 * number: the index of the key in the array
 */
typedef struct AskedKey
{
	const pg_uuid_t *key;
	int			partition;
	int			number;
} AskedKey;

static inline int
compare_keys(const AskedKey *a, const AskedKey *b)
{
	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return memcmp(a->key, b->key, sizeof(pg_uuid_t));
}

#define ST_SORT sort_keys
#define ST_ELEMENT_TYPE AskedKey
#define ST_COMPARE(a, b) compare_keys(a, b)
#define ST_SCOPE static
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Sort the caller's keys by partition and key, and remove duplicates.
 * many->item gets one element for each distinct key. many->asked[i] becomes
 * the index in many->item of the caller's key number i.
 *
 * n: the number of the caller's keys
 */
static void
take_keys(ManyItems *many, const ItemQuery *query, const pg_uuid_t *key, int n)
{
	AskedKey   *asked = palloc(sizeof(AskedKey) * n);

	for (int i = 0; i < n; i++)
		asked[i] = (AskedKey) {
			.key = &key[i],.number = i,
			.partition = partition_of_items(query->container, query->type, &key[i])
		};
	sort_keys(asked, n);

	many->item = palloc(sizeof(ManyItem) * n);
	many->asked = palloc(sizeof(int) * n);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || compare_keys(&asked[i - 1], &asked[i]) != 0)
			many->item[many->n++] = (ManyItem) {
				.key = *asked[i].key,.partition = asked[i].partition,
				.found = true
			};
		many->asked[asked[i].number] = many->n - 1;
	}
	pfree(asked);
}

/*
 * Begin a scan of the items that match "query" and have the key item->key, or
 * restart *scan for this key.
 *
 * columns: how many key columns of the index must have the value item->key
 */
static void
look(ItemScan **scan, const ItemQuery *query, int columns, const ManyItem *item)
{
	ItemQuery	each = *query;
	Datum		key[MAX_COLUMNS];

	for (int i = 0; i < query->nkeys; i++)
		key[i] = query->key[i];
	for (int i = 0; i < columns; i++)
		key[each.nkeys++] = UUIDPGetDatum(&item->key);
	each.key = key;
	each.partition_key = &item->key;
	item_scan_look(scan, &each);
}

/*
 * Prefetch the heap pages of items, from many->item[from] on. Stops when as
 * many pages are prefetched as are allowed at a time. Returns the index of the
 * item to continue with.
 */
static int
ask_for_items(const ManyItems *many, const ItemQuery *query, int columns,
			  ItemScan **scan, int from)
{
	int			to = Min(many->n, from + item_scan_ask_limit(*scan));

	/* prefetching a single page gains nothing */
	for (int i = from; to - from > 1 && i < to; i++)
	{
		if (!many->item[i].found)
			continue;
		look(scan, query, columns, &many->item[i]);
		item_scan_ask(*scan);
	}
	return to;
}

/*
 * Call take() for each item that many_items_read() has found. take() gets the
 * item, and a scan of other items with the same partition key. For example, if
 * the found items are posts, the scan can return the deltas of one post.
 *
 * query: which items the scan returns; query->key has the values of the first
 *     key columns of the index
 * columns: how many of the next key columns must have the partition key: 1, or
 *     2 for the deltas of posts (post_id and item_id)
 *
 * Errors: those of item_scan_begin() and of take().
 */
void
many_items_scan(ManyItems *many, const ItemQuery *query, int columns,
				ManyTake take, void *arg)
{
	int64		reads = pgBufferUsage.shared_blks_read;
	ItemScan   *scan = NULL;
	int			asked = 0;

	Assert(query->nkeys + columns <= MAX_COLUMNS);
	for (int i = 0; i < many->n; i++)
	{
		if (!many->item[i].found)
			continue;
		if (reads != pgBufferUsage.shared_blks_read && i >= asked && scan != NULL)
			asked = ask_for_items(many, query, columns, &scan, i);
		reads = pgBufferUsage.shared_blks_read;
		look(&scan, query, columns, &many->item[i]);
		take(&many->item[i], scan, arg);
	}
	if (scan != NULL)
		item_scan_end(scan);
}

/*
 * Copy the first item of a scan to item->item. If the scan finds no item, set
 * item->found to false. If the copy points to TOAST values, keep the lock on
 * the item's table until the transaction ends. many_items_scan() calls this
 * for each key.
 */
static void
take_item(ManyItem *item, ItemScan *scan, void *arg)
{
	ManyItems  *many = arg;
	BlogItem	there;

	item_scan_tables(scan, &many->leaf, &many->index);
	if (item->partition != many->partition)
		many->leaves++;
	many->partition = item->partition;
	item->found = item_scan_next(scan, &there);
	if (!item->found)
		return;
	item_copy(&item->item, &there);
	if (item_has_external(&there))
		LockRelationOid(many->leaf, AccessShareLock);
}

/*
 * Read the items that have one of the given partition keys. The result is in
 * the current memory context. Errors: 22004 if a required field of an item is
 * NULL, and those of item_scan_begin().
 *
 * query->key: the values of all key columns of the index except the last. The
 *     last key column must be the partition key.
 * key, n: the partition keys, which may contain duplicates, and their number
 */
ManyItems *
many_items_read(const ItemQuery *query, const pg_uuid_t *key, int n)
{
	ManyItems  *many = palloc0(sizeof(ManyItems));

	many->partition = NO_PARTITION;
	take_keys(many, query, key, n);
	many_items_scan(many, query, 1, take_item, many);
	return many;
}
