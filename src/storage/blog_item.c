/*
 * blog_item.c
 *		Items in memory: their types, properties, copies; and what tables, types and
 *		columns are called.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"

static const char *const container_name[N_CONTAINERS] = {
	"users", "posts", "feed"
};

static const char *const type_name[N_ITEM_TYPES] = {
	"user", "post", "comment", "like", "delta"
};

static const char *const column_name[N_PROPERTIES] = {
	"id", "type", "post_id", "user_id", "username", "user_username", "title",
	"content", "comment_count", "like_count", "creation_date", "hidden",
	"parent_id", "modification_date", "properties", "parent_deleted"
};

typedef struct TypeProperties
{
	int			n;
	Property	prop[N_PROPERTIES];
} TypeProperties;

/* The article's properties of each type in the article's order, then those added. */
static const TypeProperties type_properties[N_ITEM_TYPES] = {
	[ITEM_USER] = {6, {PROP_ID, PROP_TYPE, PROP_USER_ID, PROP_USERNAME,
	PROP_CREATION_DATE, PROP_PROPERTIES}},
	[ITEM_POST] = {13, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
		PROP_USER_USERNAME, PROP_TITLE, PROP_CONTENT, PROP_COMMENT_COUNT,
		PROP_LIKE_COUNT, PROP_CREATION_DATE, PROP_HIDDEN,
	PROP_MODIFICATION_DATE, PROP_PROPERTIES}},
	[ITEM_COMMENT] = {12, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
		PROP_USER_USERNAME, PROP_CONTENT, PROP_CREATION_DATE, PROP_PARENT_ID,
		PROP_PARENT_DELETED, PROP_HIDDEN, PROP_MODIFICATION_DATE,
	PROP_PROPERTIES}},
	[ITEM_LIKE] = {6, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
	PROP_USER_USERNAME, PROP_CREATION_DATE}},
	[ITEM_DELTA] = {5, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_COMMENT_COUNT,
	PROP_LIKE_COUNT}}
};

/* A property's storage: length (-1 varlena, -2 unused) and by-value flag. */
static int
property_length(Property prop)
{
	switch (prop)
	{
		case PROP_ID:
		case PROP_POST_ID:
		case PROP_USER_ID:
		case PROP_PARENT_ID:
			return UUID_LEN;
		case PROP_COMMENT_COUNT:
		case PROP_LIKE_COUNT:
		case PROP_CREATION_DATE:
		case PROP_MODIFICATION_DATE:
			return sizeof(int64);
		case PROP_HIDDEN:
		case PROP_PARENT_DELETED:
			return sizeof(bool);
		default:
			return -1;
	}
}

/* The type of a property's column. */
Oid
property_type(Property prop)
{
	switch (prop)
	{
		case PROP_ID:
		case PROP_POST_ID:
		case PROP_USER_ID:
		case PROP_PARENT_ID:
			return UUIDOID;
		case PROP_COMMENT_COUNT:
		case PROP_LIKE_COUNT:
			return INT8OID;
		case PROP_CREATION_DATE:
		case PROP_MODIFICATION_DATE:
			return TIMESTAMPTZOID;
		case PROP_HIDDEN:
		case PROP_PARENT_DELETED:
			return BOOLOID;
		case PROP_PROPERTIES:
			return JSONBOID;
		default:
			return TEXTOID;
	}
}

static bool
property_by_value(Property prop)
{
	return property_length(prop) == sizeof(bool) ||
		(property_length(prop) == sizeof(int64) && FLOAT8PASSBYVAL);
}

/* The name of a container's table. */
const char *
container_table(Container container)
{
	return container_name[container];
}

/*
 * The property by whose value items lie in one partition of a container or another;
 * PROP_TYPE: by none.
 */
Property
container_key(Container container)
{
	switch (container)
	{
		case CONTAINER_USERS:
			return PROP_USER_ID;
		case CONTAINER_POSTS:
			return PROP_POST_ID;
		case CONTAINER_FEED:
			break;
	}
	return PROP_TYPE;
}

/* The value of the column type for items of this type. */
const char *
item_type_name(ItemType type)
{
	return type_name[type];
}

/* The name of a property's column. */
const char *
property_column(Property prop)
{
	return column_name[prop];
}

/* The properties of a type, in the order of its row type. */
const Property *
item_properties(ItemType type, int *n)
{
	*n = type_properties[type].n;
	return type_properties[type].prop;
}

/* An item of a type with all other properties NULL; allocates the type. */
void
item_init(BlogItem *item, ItemType type)
{
	for (int p = 0; p < N_PROPERTIES; p++)
	{
		item->value[p] = (Datum) 0;
		item->isnull[p] = true;
	}
	item_set(item, PROP_TYPE, CStringGetTextDatum(type_name[type]));
}

/* Set a property of an item; a value by reference is not copied. */
void
item_set(BlogItem *item, Property prop, Datum value)
{
	item->value[prop] = value;
	item->isnull[prop] = false;
}

/* Copy an item with all its values into the current memory context. */
void
item_copy(BlogItem *dst, const BlogItem *src)
{
	for (int p = 0; p < N_PROPERTIES; p++)
	{
		dst->isnull[p] = src->isnull[p];
		dst->value[p] = src->isnull[p] ? (Datum) 0 :
			datumCopy(src->value[p], property_by_value(p), property_length(p));
	}
}

/* Has an item a value that is stored out of line? */
bool
item_has_external(const BlogItem *item)
{
	for (Property p = 0; p < N_PROPERTIES; p++)
		if (!item->isnull[p] && property_length(p) == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(item->value[p])))
			return true;
	return false;
}

/* Do two items have the same value of a property? */
bool
item_same(const BlogItem *a, const BlogItem *b, Property prop)
{
	struct varlena *va;
	struct varlena *vb;

	if (a->isnull[prop] || b->isnull[prop])
		return a->isnull[prop] == b->isnull[prop];
	if (a->value[prop] == b->value[prop])
		return true;
	if (property_length(prop) != -1)
		return datumIsEqual(a->value[prop], b->value[prop],
							property_by_value(prop), property_length(prop));

	va = PG_DETOAST_DATUM_PACKED(a->value[prop]);
	vb = PG_DETOAST_DATUM_PACKED(b->value[prop]);
	return VARSIZE_ANY_EXHDR(va) == VARSIZE_ANY_EXHDR(vb) &&
		memcmp(VARDATA_ANY(va), VARDATA_ANY(vb), VARSIZE_ANY_EXHDR(va)) == 0;
}

/*
 * Read an item from a slot whose columns lie as attno says. Returns which
 * properties are NULL, a bit each.
 */
uint32
item_from_slot(BlogItem *item, TupleTableSlot *slot, const AttrNumber *attno)
{
	uint32		missing = 0;

	slot_getallattrs(slot);
	for (int p = 0; p < N_PROPERTIES; p++)
	{
		if (attno[p] == InvalidAttrNumber)
		{
			item->value[p] = (Datum) 0;
			item->isnull[p] = true;
		}
		else
		{
			item->value[p] = slot->tts_values[attno[p] - 1];
			item->isnull[p] = slot->tts_isnull[attno[p] - 1];
		}
		missing |= (uint32) item->isnull[p] << p;
	}
	return missing;
}

/*
 * Raise an error (23503): an item does not exist. what: the type of item, as messages name it.
 */
void
unknown_item(const char *what, const pg_uuid_t *id)
{
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("%s %s does not exist", what,
					DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)))),
			 errhint("Create the %s first, or check the id.", what)));
}
