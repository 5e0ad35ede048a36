/*
 * import_known.c
 *		Bulk import: compares rows of comments and likes with existing items,
 *		and finds rows that have the same key as an earlier row.
 *
 * The caller passes valid rows sorted by partition, post and key. So rows with
 * the same key are adjacent, and the lookup (leaf_lookup.c) visits each leaf
 * and post once.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "import/import.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"

#include "utils/memutils.h"

struct KnownItems
{
	/* the memory context in which ItemLookup.find() runs */
	MemoryContext context;

	ItemType	type;

	/* True if the import edits existing items that differ from their rows. */
	bool		update;

	ItemLookup *lookup;

	/*
	 * The key of the last row, if "valid" is true.
	 *
	 * post_id: the post's id
	 * other: the comment's id, or the id of the user who likes the post
	 */
	pg_uuid_t	post_id;
	pg_uuid_t	other;
	bool		valid;
	bool		found;			/* whether an item with that key exists */
	bool		passed;			/* whether a row with that key was accepted */
	BlogItem	there;			/* the item with that key, if it exists */
};

/*
 * Begin to compare rows of comments or likes with existing items. Allocates in
 * the current memory context.
 *
 * update: true if the import edits existing items that differ from their rows;
 *	false if it rejects the rows
 * lookup: finds the existing items; known_items_end() calls lookup->end()
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
 * Return whether a row and the existing item differ in a required field. The
 * item's field can be NULL if the owner has altered the table. This does not
 * count as a difference.
 */
static bool
differs(const KnownItems *known, const BlogItem *row, Property prop)
{
	return !known->there.isnull[prop] && !item_same(row, &known->there, prop);
}

/*
 * Return whether a comment's row and the existing comment differ in content,
 * parent or properties. NULL in the row is no difference.
 *
 * If the import edits comments, "hidden" is compared as well, and {} as the
 * row's properties means that the comment should have none. If the import
 * rejects rows that differ, {} in the row is no difference.
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
 * Return the reason for rejecting a row that contradicts the existing item
 * with its key; NULL if there is no such reason. NULL as the row's date, or as
 * the id of a like, does not contradict the item.
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
 * Look up the existing item with a row's key, unless the last row had the same
 * key.
 */
static void
look_up(KnownItems *known, const BlogItem *row)
{
	const pg_uuid_t *post_id = item_uuid(row, PROP_POST_ID);
	const pg_uuid_t *other = item_uuid(row, known->type == ITEM_LIKE ?
									   PROP_USER_ID : PROP_ID);
	MemoryContext old;

	if (known->valid && memcmp(post_id, &known->post_id, UUID_LEN) == 0 &&
		memcmp(other, &known->other, UUID_LEN) == 0)
		return;
	known->post_id = *post_id;
	known->other = *other;
	known->valid = true;
	known->passed = false;
	old = MemoryContextSwitchTo(known->context);
	known->found = known->lookup->find(known->lookup, &known->post_id,
									   &known->other, &known->there);
	MemoryContextSwitchTo(old);
}

/*
 * Return the reason for rejecting a row; NULL if it is accepted. For an
 * accepted row, set *state to whether the item is new, present, or must be
 * edited. The row must be valid, and rows must be passed in the order of their
 * keys.
 */
const char *
known_items_problem(KnownItems *known, const BlogItem *row, KnownState *state)
{
	const char *problem;
	bool		like = known->type == ITEM_LIKE;

	look_up(known, row);
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
