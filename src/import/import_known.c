/*
 * import_known.c
 *		Bulk import: finds rows of comments and likes whose item exists, or
 *		that repeat an earlier row.
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
	/* The memory context in which the lookup allocates. */
	MemoryContext context;

	ItemType	type;

	/*
	 * True if the import replaces the contents of existing items that differ.
	 */
	bool		update;

	ItemLookup *lookup;
	pg_uuid_t	post_id;		/* first part of the previous row's key */
	pg_uuid_t	other;			/* second part of the previous row's key */
	bool		valid;
	bool		found;			/* true if an item with that key exists */
	bool		passed;			/* true if a row with that key was accepted */
	/*
	 * The existing item, if found is true. It is valid until the next lookup.
	 */
	BlogItem	there;
};

/*
 * Begin to check comments or likes. known_items_end() ends the lookup. If
 * update is true, an existing item with other contents is no problem. The
 * result is allocated in the current memory context.
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
 * Return whether a row and the existing item differ in a property that an item
 * must have. If the existing item lacks it, because the owner has altered the
 * table, they do not differ.
 */
static bool
differs(const KnownItems *known, const BlogItem *row, Property prop)
{
	return !known->there.isnull[prop] && !item_same(row, &known->there, prop);
}

/*
 * Return whether a row and the existing comment have different contents. If
 * the import updates existing items, this includes whether they are hidden,
 * and {} as the row's properties differs from other properties. Otherwise {}
 * counts as no properties.
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
 * Return the reason why the existing item with a row's key makes the row
 * invalid, or NULL. A row of a like that gives no date or no id agrees with
 * any, as does a row of a comment that gives no date.
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
 * Look up the existing item with a row's key. The previous result still holds
 * if the previous row has the same key.
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
 * Return the reason why a row is rejected, or NULL. If it is not rejected,
 * *state says what the containers have of the row. The row must be valid, and
 * must not sort before the previous one.
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

/* End the check and its lookup. */
void
known_items_end(KnownItems *known)
{
	known->lookup->end(known->lookup);
	pfree(known);
}
