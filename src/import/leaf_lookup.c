/*
 * leaf_lookup.c
 *		Bulk import: looking up comments or likes in the tables of this machine.
 *
 * Keys come in the order of rows. So each partition's leaf is opened once, and a post that has
 * nothing on it, as a new one, is found to be so at one look. A join would read all items that
 * are there, or plan to look for each by itself among all partitions: an import into large
 * containers would cost more than into small ones.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "import/import.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

typedef struct LeafLookup
{
	ItemLookup	pub;
	ItemType	type;
	int			partition;		/* of the post */
	uint64		loads;			/* layout_loads(), by which its number holds */
	ItemScan   *of_post;		/* anything on a post? */
	ItemScan   *of_key;			/* an item */
	pg_uuid_t	post_id;		/* of the key before, if it is valid */
	bool		valid;
	bool		any;			/* is anything on the post? */
} LeafLookup;

static void
close_leaf(LeafLookup *lookup)
{
	if (lookup->of_post != NULL)
		item_scan_end(lookup->of_post);
	if (lookup->of_key != NULL)
		item_scan_end(lookup->of_key);
	lookup->of_post = lookup->of_key = NULL;
}

/* Look for items of a partition by the first columns of a path. */
static void
look(LeafLookup *lookup, ItemScan **scan, AccessPath path, const Datum *key,
	 int nkeys)
{
	item_scan_look(scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = lookup->type,
		.partition_key = &lookup->post_id, .path = path, .key = key,
		.nkeys = nkeys, .identity = true
	});
}

/*
 * Keys of another post begin: has it anything on it? Comments are by their posts in the
 * index of their key, likes in that of their list. A leaf that lacks the latter, as its
 * owner may have it while much is loaded, does not tell, and each like is looked for.
 */
static void
look_at_post(LeafLookup *lookup, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, lookup->type, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	AccessPath	path = lookup->type == ITEM_LIKE ? PATH_LIST : PATH_KEY;

	/* partitions that come or go meanwhile change the numbers of others */
	if (partition != lookup->partition || layout_loads() != lookup->loads)
		close_leaf(lookup);
	lookup->partition = partition;
	lookup->loads = layout_loads();
	lookup->post_id = *post_id;
	lookup->any = false;
	if (partition == NO_PARTITION)
		return;					/* the write will tell */
	lookup->any = lookup->of_post == NULL &&
		!partition_has_path(CONTAINER_POSTS, lookup->type, partition, path);
	if (lookup->any)
		return;
	look(lookup, &lookup->of_post, path, &key, 1);
	lookup->any = item_scan_next(lookup->of_post, &item);
}

static bool
leaf_lookup_find(ItemLookup *self, const pg_uuid_t *post_id, const pg_uuid_t *other,
				 BlogItem *item)
{
	LeafLookup *lookup = (LeafLookup *) self;
	bool		like = lookup->type == ITEM_LIKE;
	Datum		key[] = {
		UUIDPGetDatum(like ? other : post_id), UUIDPGetDatum(like ? post_id : other)
	};

	if (!lookup->valid || memcmp(post_id, &lookup->post_id, UUID_LEN) != 0)
		look_at_post(lookup, post_id);
	lookup->valid = true;
	if (!lookup->any)
		return false;
	look(lookup, &lookup->of_key, PATH_KEY, key, 2);
	return item_scan_next(lookup->of_key, item);
}

static void
leaf_lookup_end(ItemLookup *self)
{
	close_leaf((LeafLookup *) self);
	pfree(self);
}

/*
 * Begin to look up comments or likes. All calls are in the same memory context, in which scans
 * allocate (btgettuple() does). Errors: 55000.
 */
ItemLookup *
leaf_lookup_begin(ItemType type)
{
	LeafLookup *lookup = palloc0(sizeof(LeafLookup));

	lookup->pub.find = leaf_lookup_find;
	lookup->pub.end = leaf_lookup_end;
	lookup->type = type;
	lookup->partition = NO_PARTITION;
	return &lookup->pub;
}
