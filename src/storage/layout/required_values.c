/*
 * required_values.c
 *		Checks that the required fields of items are not NULL.
 *
 * blogstore creates the columns of these fields as NOT NULL. But the owner may
 * drop this constraint, and an older snapshot may show rows from before the
 * constraint was added. So each item is checked when it is read.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "utils/rel.h"

#define BIT(prop) (UINT32_C(1) << (prop))

/* Return a bit mask of the fields that must not be NULL in items of a type. */
uint32
item_required(ItemType type)
{
	static const uint32 required[N_ITEM_TYPES] = {
		[ITEM_USER] = BIT(PROP_ID) | BIT(PROP_USER_ID) | BIT(PROP_USERNAME) |
		BIT(PROP_CREATION_DATE),
		[ITEM_POST] = BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_USER_ID) |
		BIT(PROP_USER_USERNAME) | BIT(PROP_TITLE) | BIT(PROP_CONTENT) |
		BIT(PROP_COMMENT_COUNT) | BIT(PROP_LIKE_COUNT) | BIT(PROP_CREATION_DATE),
		[ITEM_COMMENT] = BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_USER_ID) |
		BIT(PROP_USER_USERNAME) | BIT(PROP_CONTENT) | BIT(PROP_CREATION_DATE),
		[ITEM_LIKE] = BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_USER_ID) |
		BIT(PROP_USER_USERNAME) | BIT(PROP_CREATION_DATE),
		[ITEM_COMMENT_LIKE] = BIT(PROP_ID) | BIT(PROP_POST_ID) |
		BIT(PROP_COMMENT_ID) | BIT(PROP_USER_ID) | BIT(PROP_USER_USERNAME) |
		BIT(PROP_CREATION_DATE),
		[ITEM_DELTA] = BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_ITEM_ID) |
		BIT(PROP_COMMENT_COUNT) | BIT(PROP_LIKE_COUNT),
		[ITEM_TOPIC] = BIT(PROP_TOPIC) | BIT(PROP_POST_COUNT),
		[ITEM_TOPIC_POST] = BIT(PROP_ID) | BIT(PROP_USER_ID) |
		BIT(PROP_CREATION_DATE) | BIT(PROP_TOPIC),
		[ITEM_FOLLOW] = BIT(PROP_ID) | BIT(PROP_USER_ID) |
		BIT(PROP_USER_USERNAME) | BIT(PROP_FOLLOWED_ID) |
		BIT(PROP_FOLLOWED_USERNAME) | BIT(PROP_CREATION_DATE)
	};

	return required[type];
}

/*
 * Return a bit mask of the fields that identify an item of a type and name its
 * author. Callers that delete or rewrite an item need only these fields.
 */
uint32
item_identity(Container container, ItemType type)
{
	switch (type)
	{
		case ITEM_USER:
			return BIT(PROP_USER_ID);
		case ITEM_POST:
			return BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_USER_ID) |
				BIT(PROP_CREATION_DATE);
		case ITEM_COMMENT:
			return BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_USER_ID);
		case ITEM_LIKE:
			return BIT(PROP_POST_ID) | BIT(PROP_USER_ID);
		case ITEM_COMMENT_LIKE:
			return BIT(PROP_POST_ID) | BIT(PROP_COMMENT_ID) |
				BIT(PROP_USER_ID);
		case ITEM_DELTA:
			return BIT(PROP_ID) | BIT(PROP_POST_ID) | BIT(PROP_ITEM_ID);
		case ITEM_TOPIC:
			return BIT(PROP_TOPIC);
		case ITEM_TOPIC_POST:
			return BIT(PROP_TOPIC) | BIT(PROP_CREATION_DATE) | BIT(PROP_ID);
		case ITEM_FOLLOW:
			return BIT(PROP_USER_ID) | BIT(PROP_FOLLOWED_ID);
	}
	return 0;
}

/*
 * Return a bit mask of the fields that must not be NULL in an item that a
 * caller locks. These are the fields of item_identity(), the username of a
 * user, and the counts of a post or delta. In rows of views the counts may be
 * NULL, because the worker writes them anew.
 */
uint32
item_worked_with(Container container, ItemType type)
{
	uint32		identity = item_identity(container, type);

	if (type == ITEM_USER)
		return identity | BIT(PROP_USERNAME);
	if (container == CONTAINER_POSTS &&
		(type == ITEM_POST || type == ITEM_DELTA))
		return identity | BIT(PROP_COMMENT_COUNT) | BIT(PROP_LIKE_COUNT);
	return identity;
}

static char *
describe_item(const BlogItem *item, ItemType type)
{
	Property	key = PROP_ID;

	if (type == ITEM_USER)
		key = PROP_USER_ID;
	else if (type == ITEM_POST && !item->isnull[PROP_POST_ID])
		key = PROP_POST_ID;
	if (item->isnull[key])
		return psprintf("a %s without %s", item_type_name(type),
						property_column(key));
	return psprintf("%s %s", item_type_name(type),
					id_text(item_uuid(item, key)));
}

/*
 * Raise an error (22004) if one of the fields in the bit mask "needed" is NULL
 * in an item. The error names the leaf and the column.
 *
 * leaf: the leaf from which the item was read, or NULL
 */
void
item_require(Relation leaf, const BlogItem *item, ItemType type, uint32 needed)
{
	for (Property prop = 0; needed >> prop != 0; prop++)
		if ((needed & BIT(prop)) && item->isnull[prop])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s has no %s", describe_item(item, type),
							property_column(prop)),
					 errhint("Set the column to a value. blogstore.verify() lists all such items."),
					 leaf ? err_table_fields(leaf, property_column(prop),
											 RULE_COMPLETE) :
					 err_fields(NULL, property_column(prop), RULE_COMPLETE)));
}

/* Raise an error (22004) if one of the fields of item_required() is NULL. */
void
item_require_values(const BlogItem *item, ItemType type)
{
	item_require(NULL, item, type, item_required(type));
}
