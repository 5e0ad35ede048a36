/*
 * leaf_lookup.c
 *		Bulk import: finds existing comments or likes by their keys, in the
 *		tables of this machine.
 *
 * The keys that are looked up are sorted by partition and post, so each leaf
 * is opened once. An index scan finds out whether a post has any comments or
 * likes. If it has none, the keys of that post are not looked up.
 *
 * A join in SQL would read all existing items, or search all partitions for
 * each key. It would therefore be slow in large containers.
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
	 * The number of the current post's partition. It is valid as long as
	 * layout_loads() returns the value in "loads".
	 */
	int			partition;

	uint64		loads;
	ItemScan   *of_post;		/* finds the items of the current post */
	ItemScan   *of_key;			/* finds the item with a given key */
	pg_uuid_t	post_id;		/* the current post; valid if "valid" is
								 * true */
	bool		valid;
	bool		any;			/* false if the current post has no comments
								 * (or likes) */
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
 * Start or restart an index scan of the current post's leaf.
 *
 * path: says which index is used
 * key: the values of the first nkeys columns of the index
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
 * Begin to look up comments (or likes) of another post. Set lookup->any to
 * false if the post has none.
 *
 * Comments are found by the primary key, and likes by the index PATH_LIST.
 * Both indexes begin with the post's id. The owner may have dropped the index
 * of likes for a bulk load. lookup->any is then true, and each like is looked
 * up by its primary key.
 */
static void
look_at_post(LeafLookup *lookup, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, lookup->type, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	AccessPath	path = is_like(lookup->type) ? PATH_LIST : PATH_KEY;

	if (partition != lookup->partition || layout_loads() != lookup->loads)
		close_leaf(lookup);
	lookup->partition = partition;
	lookup->loads = layout_loads();
	lookup->post_id = *post_id;
	lookup->any = false;
	if (partition == NO_PARTITION)
		/* An insert will raise the error that the partition is missing. */
		return;
	lookup->any = lookup->of_post == NULL &&
		!partition_has_path(CONTAINER_POSTS, lookup->type, partition, path);
	if (lookup->any)
		return;
	look(lookup, &lookup->of_post, path, &key, 1);
	lookup->any = item_scan_next(lookup->of_post, &item);
}

static bool
leaf_lookup_find(ItemLookup *self, const ChildKey *key, BlogItem *item)
{
	LeafLookup *lookup = (LeafLookup *) self;
	Datum		column[CHILD_KEYS];
	ItemQuery	query = child_query(key, column);

	if (!lookup->valid ||
		memcmp(&key->post_id, &lookup->post_id, UUID_LEN) != 0)
		look_at_post(lookup, &key->post_id);
	lookup->valid = true;
	if (!lookup->any)
		return false;
	look(lookup, &lookup->of_key, PATH_KEY, column, query.nkeys);
	return item_scan_next(lookup->of_key, item);
}

static void
leaf_lookup_end(ItemLookup *self)
{
	close_leaf((LeafLookup *) self);
	pfree(self);
}

/*
 * Return an object whose function find() looks up existing comments or likes.
 * All calls of find() must have the same current memory context. The first
 * read of an index scan (btgettuple()) allocates memory in this context, and
 * later reads use that memory. Errors: 55000.
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
