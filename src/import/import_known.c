/*
 * import_known.c
 *		Bulk import: which comments and likes are there already, or come twice.
 *
 * Rows that have no other fault come in the order of partition, post and key, so that those of
 * a key come together, and the lookup (leaf_lookup.c) goes along.
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
	MemoryContext context;		/* where the lookup allocates */
	ItemType	type;
	bool		update;			/* contents may differ */
	ItemLookup *lookup;
	pg_uuid_t	post_id;		/* of the row before, if it is valid */
	pg_uuid_t	other;			/* what tells it from others on the post */
	bool		valid;
	bool		found;			/* is an item of the key there? */
	bool		passed;			/* has a row of the key passed? */
	BlogItem	there;			/* where found; holds until the next is looked for */
};

/*
 * Begin to look for comments or likes, in the current context, by a lookup, which
 * known_items_end() ends. update: what is there with another content is no problem.
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

/* Look up the item of a row's key, unless the row before has the same. */
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
 * Why the next row, which has no other fault, is not taken in. NULL: it is, and *state
 * tells whether its item is there.
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
