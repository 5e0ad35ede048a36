/*
 * import_known.c
 *		Bulk import: which comments and likes are there already, or come twice.
 *
 * Rows that have no other fault come in the order of partition, post and key. So each
 * partition's leaf is opened once, and a post that has nothing on it, as a new one, is
 * found to be so at one look. A join would read all items that are there, or plan to look
 * for each by itself among all partitions: an import into large containers would
 * cost more than into small ones.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "import/import.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "utils/memutils.h"

struct KnownItems
{
	MemoryContext context;		/* where scans allocate (btgettuple() does) */
	ItemType	type;
	bool		update;			/* contents may differ */
	int			partition;		/* of the post */
	uint64		loads;			/* layout_loads(), by which its number holds */
	ItemScan   *of_post;		/* anything on a post? */
	ItemScan   *of_key;			/* an item */
	pg_uuid_t	post_id;		/* of the row before, if it is valid */
	pg_uuid_t	other;			/* what tells it from others on the post */
	bool		valid;
	bool		any;			/* is anything on the post? */
	bool		found;			/* is an item of the key there? */
	bool		passed;			/* has a row of the key passed? */
	BlogItem	there;			/* where found; holds until the next is looked for */
	/* on a cluster, other nodes have told which items are there, in the order of rows */
	Tuplestorestate *given;
	TupleTableSlot *slot;		/* the next of them */
	BlogItem	next;
	bool		more;			/* is there one? */
};

/* The next item that other nodes have told of. */
static void
next_given(KnownItems *known)
{
	int			n;
	const Property *prop = item_properties(known->type, &n);

	known->more = tuplestore_gettupleslot(known->given, true, false, known->slot);
	if (known->more)
		row_item(known->slot, prop, n, &known->next);
}

/*
 * Begin to look for comments or likes, in the current context. update: what is there with
 * another content is no problem; given: on a cluster, those that are there.
 */
KnownItems *
known_items_begin(ItemType type, bool update, Tuplestorestate *given)
{
	KnownItems *known = palloc0(sizeof(KnownItems));

	known->context = CurrentMemoryContext;
	known->type = type;
	known->update = update;
	known->partition = NO_PARTITION;
	known->given = given;
	if (given != NULL)
	{
		known->slot = MakeSingleTupleTableSlot(import_row_desc(type),
											   &TTSOpsMinimalTuple);
		next_given(known);
	}
	return known;
}

static void
close_leaf(KnownItems *known)
{
	if (known->of_post != NULL)
		item_scan_end(known->of_post);
	if (known->of_key != NULL)
		item_scan_end(known->of_key);
	known->of_post = known->of_key = NULL;
}

/* Look for items of a partition by the first columns of a path. */
static void
look(KnownItems *known, ItemScan **scan, AccessPath path, const Datum *key,
	 int nkeys)
{
	item_scan_look(scan, &(ItemQuery) {
		.container = CONTAINER_POSTS, .type = known->type,
		.partition_key = &known->post_id, .path = path, .key = key,
		.nkeys = nkeys, .identity = true
	});
}

/*
 * Rows of another post begin: has it anything on it? Comments are by their posts in the
 * index of their key, likes in that of their list. A leaf that lacks the latter, as its
 * owner may have it while much is loaded, does not tell, and each like is looked for.
 */
static void
look_at_post(KnownItems *known, const pg_uuid_t *post_id)
{
	int			partition = partition_of(CONTAINER_POSTS, known->type, post_id);
	Datum		key = UUIDPGetDatum(post_id);
	BlogItem	item;
	AccessPath	path = known->type == ITEM_LIKE ? PATH_LIST : PATH_KEY;

	/* partitions that come or go meanwhile change the numbers of others */
	if (partition != known->partition || layout_loads() != known->loads)
		close_leaf(known);
	known->partition = partition;
	known->loads = layout_loads();
	known->post_id = *post_id;
	known->any = false;
	if (partition == NO_PARTITION)
		return;					/* the write will tell */
	known->any = known->of_post == NULL &&
		!partition_has_path(CONTAINER_POSTS, known->type, partition, path);
	if (known->any)
		return;
	look(known, &known->of_post, path, &key, 1);
	known->any = item_scan_next(known->of_post, &item);
}

/* Which of two keys comes first, in the order of rows? */
static int
compare_keys(const pg_uuid_t *post_a, const pg_uuid_t *other_a,
			 const pg_uuid_t *post_b, const pg_uuid_t *other_b)
{
	int			posts = memcmp(post_a, post_b, UUID_LEN);
	int			partition_a;
	int			partition_b;

	if (posts == 0)
		return memcmp(other_a, other_b, UUID_LEN);
	partition_a = partition_taking(CONTAINER_POSTS, ITEM_POST, post_a);
	partition_b = partition_taking(CONTAINER_POSTS, ITEM_POST, post_b);
	return partition_a != partition_b ? partition_a - partition_b : posts;
}

/* Have other nodes told of an item of this key? */
static bool
find_given(KnownItems *known, const pg_uuid_t *other)
{
	Property	prop = known->type == ITEM_LIKE ? PROP_USER_ID : PROP_ID;
	int			order = 1;

	while (known->more &&
		   (order = compare_keys(item_uuid(&known->next, PROP_POST_ID),
								 item_uuid(&known->next, prop),
								 &known->post_id, other)) < 0)
		next_given(known);
	known->there = known->next;
	return known->more && order == 0;
}

/* Rows of another key begin: is its item there? */
static void
look_at_key(KnownItems *known, const pg_uuid_t *other)
{
	bool		like = known->type == ITEM_LIKE;
	Datum		post = UUIDPGetDatum(&known->post_id);
	Datum		key[2];

	known->other = *other;
	known->passed = false;
	known->found = known->given != NULL && find_given(known, other);
	if (!known->any)
		return;
	key[0] = like ? UUIDPGetDatum(&known->other) : post;
	key[1] = like ? post : UUIDPGetDatum(&known->other);
	look(known, &known->of_key, PATH_KEY, key, 2);
	known->found = item_scan_next(known->of_key, &known->there);
}

/*
 * Do a row and the item that is there differ in a property that every item has? What a
 * damaged one lacks does not.
 */
static bool
differs(const KnownItems *known, const BlogItem *row, Property prop)
{
	return !known->there.isnull[prop] && !item_same(row, &known->there, prop);
}

/*
 * Does a row say another comment than there is? Whether it is hidden counts only where items
 * become as the source's, and no properties at all, {}, only there ask for none.
 */
static bool
says_another(const KnownItems *known, const BlogItem *row)
{
	BlogItem	given;

	if (differs(known, row, PROP_CONTENT) ||
		row_gives_another(row, &known->there, PROP_PARENT_ID))
		return true;
	if (known->update)
		return row_gives_another(row, &known->there, PROP_PROPERTIES) ||
			row_gives_another(row, &known->there, PROP_HIDDEN);
	given = *row;
	if (!row->isnull[PROP_PROPERTIES])
		set_properties(&given, row->value[PROP_PROPERTIES]);
	return row_gives_another(&given, &known->there, PROP_PROPERTIES);
}

/*
 * Is there an item of a row's key that keeps the row out, because its values are others?
 * Returns what is to be said of it, or NULL. A like's id, and any date, that a row does not
 * give it does not ask for.
 */
static const char *
taken(const KnownItems *known, const BlogItem *row)
{
	bool		other_date;

	if (!known->found)
		return NULL;
	other_date = !row->isnull[PROP_CREATION_DATE] &&
		differs(known, row, PROP_CREATION_DATE);
	if (known->type == ITEM_LIKE)
		return other_date ||
			(!row->isnull[PROP_ID] && differs(known, row, PROP_ID)) ?
			"liked already" : NULL;
	if (differs(known, row, PROP_USER_ID))
		return known->update ? TAKEN_BY_ANOTHER : TAKEN;
	if (other_date)
		return known->update ? TAKEN_WITH_ANOTHER_DATE : TAKEN;
	return !known->update && says_another(known, row) ? TAKEN : NULL;
}

/*
 * The item of a key, a post's and what tells it from others on that; NULL: there is none. It
 * holds until the next is looked for.
 */
const BlogItem *
known_items_find(KnownItems *known, const pg_uuid_t *post_id, const pg_uuid_t *other)
{
	MemoryContext old = MemoryContextSwitchTo(known->context);
	bool		same_post = known->valid &&
		memcmp(post_id, &known->post_id, UUID_LEN) == 0;

	if (!same_post && known->given != NULL)
		known->post_id = *post_id;
	else if (!same_post)
		look_at_post(known, post_id);
	if (!same_post || memcmp(other, &known->other, UUID_LEN) != 0)
		look_at_key(known, other);
	known->valid = true;
	MemoryContextSwitchTo(old);
	return known->found ? &known->there : NULL;
}

/*
 * Why the next row, which has no other fault, is not taken in. NULL: it is, and *state
 * tells whether its item is there.
 */
const char *
known_items_problem(KnownItems *known, const BlogItem *row, KnownState *state)
{
	const char *problem;
	bool		like = known->type == ITEM_LIKE;

	(void) known_items_find(known, item_uuid(row, PROP_POST_ID),
							item_uuid(row, like ? PROP_USER_ID : PROP_ID));
	problem = taken(known, row);
	if (problem != NULL)
		return problem;
	if (known->passed)
		return like ? "liked already" : "duplicate id";
	known->passed = true;
	if (!known->found)
		*state = KNOWN_NEW;
	else
		*state = known->update && !like && says_another(known, row) ?
			KNOWN_CHANGED : KNOWN_PRESENT;
	return NULL;
}

void
known_items_end(KnownItems *known)
{
	close_leaf(known);
	if (known->given != NULL)
	{
		ExecDropSingleTupleTableSlot(known->slot);
		tuplestore_end(known->given);
	}
	pfree(known);
}
