/*
 * import_known.c
 *		Bulk import: compares source rows of comments and likes with existing
 *		items, and finds rows that have the same key as an earlier row.
 *
 * The caller passes valid rows sorted by partition, post and key. Rows with
 * the same key follow each other, and each leaf and each post is looked up
 * once (leaf_lookup.c).
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "import/import.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "utils/memutils.h"

struct KnownItems
{
	/* the memory context in which ItemLookup.find() runs */
	MemoryContext context;

	ItemType	type;

	/* true to edit existing items that differ; false to reject their rows */
	bool		update;

	ItemLookup *lookup;

	ChildKey	key;			/* the key of the last row; valid if "valid"
								 * is true */
	bool		valid;
	bool		found;			/* whether an item with the key exists */
	bool		passed;			/* whether a row with the key was accepted */
	BlogItem	there;			/* the existing item; valid if "found" is
								 * true */
};

/*
 * Compare the keys of two comments or likes of one type, in the order in which
 * an import sorts its rows: by partition, post_id, comment and user.
 */
int
child_key_compare(const ChildKey *a, const ChildKey *b)
{
	int			posts = memcmp(&a->post_id, &b->post_id, UUID_LEN);
	int			comments = memcmp(&a->comment_id, &b->comment_id, UUID_LEN);
	int			of_a;
	int			of_b;

	if (posts == 0)
		return comments != 0 ? comments :
			memcmp(&a->user_id, &b->user_id, UUID_LEN);
	of_a = partition_taking(CONTAINER_POSTS, ITEM_POST, &a->post_id);
	of_b = partition_taking(CONTAINER_POSTS, ITEM_POST, &b->post_id);
	return of_a != of_b ? of_a - of_b : posts;
}

/*
 * Begin to compare rows of comments or likes with existing items. Allocates in
 * the current memory context.
 *
 * update: true to edit existing items that differ; false to reject their rows
 * lookup: finds the existing items; known_items_end() ends it
 */
KnownItems *
known_items_begin(ItemType type, bool update, ItemLookup *lookup)
{
	KnownItems *known = palloc0(sizeof(KnownItems));

	known->context = CurrentMemoryContext;
	known->type = type;
	known->update = update;
	known->lookup = lookup;
	return known;
}

/*
 * Return whether a row and the existing item have different values in a
 * required field. Returns false if the item's value is NULL, which only
 * happens if the owner has altered the table.
 */
static bool
differs(const KnownItems *known, const BlogItem *row, Property prop)
{
	return !known->there.isnull[prop] && !item_same(row, &known->there, prop);
}

/*
 * Return whether a comment's row and the existing comment differ in content,
 * parent or properties. If the import edits comments, "hidden" is compared,
 * too.
 *
 * A NULL in the row counts as equal. Properties of {} count as equal to no
 * properties. If the import does not edit comments, they count as equal to any
 * properties.
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
 * Return the reason for rejecting a row that differs from the existing item;
 * NULL if the row need not be rejected. A NULL date in the row does not count
 * as a difference, and neither does the NULL id of a like.
 */
static const char *
taken(const KnownItems *known, const BlogItem *row)
{
	bool		other_date;

	if (!known->found)
		return NULL;
	other_date = !row->isnull[PROP_CREATION_DATE] &&
		differs(known, row, PROP_CREATION_DATE);
	if (is_like(known->type))
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
 * Look up the existing item with a row's key. Does nothing if the last row had
 * the same key.
 *
 * replaced: the argument of known_items_problem()
 */
static void
look_up(KnownItems *known, const BlogItem *row, bool replaced)
{
	const ChildKey key = child_key(known->type, row);
	MemoryContext old;

	if (known->valid && child_key_compare(&key, &known->key) == 0)
		return;
	known->key = key;
	known->valid = true;
	known->passed = false;
	known->found = false;
	if (replaced)
		return;
	old = MemoryContextSwitchTo(known->context);
	known->found = known->lookup->find(known->lookup, &key, &known->there);
	MemoryContextSwitchTo(old);
}

/*
 * Return the reason for rejecting a row; NULL if the row is accepted. *state
 * is then set to the result of the comparison. The rows must be valid, and
 * must be passed in the order of their keys.
 *
 * replaced: true if the import deletes the existing item before it writes the
 *	row. The item then counts as missing. The argument is the same for all rows
 *	with one key.
 */
const char *
known_items_problem(KnownItems *known, const BlogItem *row, bool replaced,
					KnownState *state)
{
	const char *problem;
	bool		like = is_like(known->type);

	look_up(known, row, replaced);
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
	known->lookup->end(known->lookup);
	pfree(known);
}
