/*
 * items_by_keys.c
 *		Reading items of one type by many keys.
 *
 * To open a leaf and its index costs as much as to read two or three rows. So the keys
 * are sorted by partition, each leaf is opened once for all of its keys, and within it
 * one scan is begun again for each key, in the order of the index. What is read is
 * copied, and no leaf is open when the items are handed out.
 *
 * A copy can point to values that are stored out of line. They are there as long as the
 * snapshot is, but for DDL that gives the leaf other files. So the lock on a leaf that
 * has given such a copy is kept to the end of the transaction, as the lock on a table is
 * that a statement names.
 *
 * Rows lie in pages of their own. When one had to be read that was not in the cache, the
 * pages of the next items' rows are asked for before these are read.
 *
 * Runs in any process; needs an active transaction and a snapshot.
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

#define MAX_COLUMNS 2			/* of a key */

/* A key, and which of those it is that were asked for. */
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

/* Take each different one of n keys, in the order of partitions and keys. */
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

/* Look for what a query finds by the key of an item. */
static void
look(ItemScan **scan, const ItemQuery *query, const ManyItem *item)
{
	ItemQuery	each = *query;
	Datum		key[MAX_COLUMNS];

	for (int i = 0; i < query->nkeys; i++)
		key[i] = query->key[i];
	key[each.nkeys++] = UUIDPGetDatum(&item->key);
	each.key = key;
	each.partition_key = &item->key;
	item_scan_look(scan, &each);
}

/*
 * A page had to be read: ask for those of the next items from one on, as many as may be
 * asked for at a time. Returns the end of these items.
 */
static int
ask_for_items(const ManyItems *many, const ItemQuery *query, ItemScan **scan,
			  int from)
{
	int			to = Min(many->n, from + item_scan_ask_limit(*scan));

	/* to ask for one alone gains nothing */
	for (int i = from; to - from > 1 && i < to; i++)
	{
		if (!many->item[i].found)
			continue;
		look(scan, query, &many->item[i]);
		item_scan_ask(*scan);
	}
	return to;
}

/*
 * Pass each item that was found, and a scan of what a query finds by the item's key, to
 * a function. The query says all but the last column of the key. Errors: those of
 * item_scan_begin().
 */
void
many_items_scan(ManyItems *many, const ItemQuery *query, ManyTake take,
				void *arg)
{
	int64		reads = pgBufferUsage.shared_blks_read;
	ItemScan   *scan = NULL;
	int			asked = 0;

	Assert(query->nkeys < MAX_COLUMNS);
	for (int i = 0; i < many->n; i++)
	{
		if (!many->item[i].found)
			continue;
		if (reads != pgBufferUsage.shared_blks_read && i >= asked && scan != NULL)
			asked = ask_for_items(many, query, &scan, i);
		reads = pgBufferUsage.shared_blks_read;
		look(&scan, query, &many->item[i]);
		take(&many->item[i], scan, arg);
	}
	if (scan != NULL)
		item_scan_end(scan);
}

/* Copy the item that a scan finds. */
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
 * Read the items of n partition keys, of which some may be the same. The query says of
 * which container and type, and what its key's columns are but the last. Errors: those
 * of item_scan_begin(), and 22004 if an item lacks a value.
 */
ManyItems *
many_items_read(const ItemQuery *query, const pg_uuid_t *key, int n)
{
	ManyItems  *many = palloc0(sizeof(ManyItems));

	many->partition = NO_PARTITION;
	take_keys(many, query, key, n);
	many_items_scan(many, query, take_item, many);
	return many;
}
