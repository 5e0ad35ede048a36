/*
 * leaf_lookup.c
 *		Bulk import: looks up comments or likes in the tables of this machine.
 *
 * A leaf is the table of one type of item and one partition. The caller passes
 * keys sorted by partition and post, so each leaf is opened once. If one index
 * scan finds that a post, for example a new one, has no items, no key on that
 * post is looked up.
 *
 * A join would either read all existing items, or plan an index scan of all
 * partitions for each key. An import into large containers would then cost
 * more than one into small containers.
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

	/*
	 * The partition of the current post, and layout_loads() when it was
	 * opened. Numbers of partitions stay valid until that changes.
	 */
	int			partition;

	uint64		loads;
	ItemScan   *of_post;		/* a scan that finds any item of a post */
	ItemScan   *of_key;			/* a scan that finds the item of a key */
	pg_uuid_t	post_id;		/* the current post, if valid is true */
	bool		valid;
	bool		any;			/* true if the current post may have items */
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

/*
 * Start a scan of the current post's leaf. The scan uses the index of a path,
 * and finds the items whose first nkeys columns in that index equal the key.
 */
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
 * Make a post the current one, and find out whether it may have items. The
 * indexes used begin with the post's id: the primary key of comments, and the
 * index of likes by post. The owner may have dropped the latter for a bulk
 * load. Then the answer is that the post may have items, and each like is
 * looked up by its own key.
 */
static void
look_at_post(LeafLookup *lookup, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, lookup->type, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	AccessPath	path = lookup->type == ITEM_LIKE ? PATH_LIST : PATH_KEY;

	if (partition != lookup->partition || layout_loads() != lookup->loads)
		close_leaf(lookup);
	lookup->partition = partition;
	lookup->loads = layout_loads();
	lookup->post_id = *post_id;
	lookup->any = false;
	if (partition == NO_PARTITION)
		return;					/* writing the row will raise an error */
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
 * Begin to look up comments or likes. The caller must make all calls in one
 * memory context, because an index scan allocates in the context in which it
 * first reads (btgettuple() does). Errors: 55000.
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
