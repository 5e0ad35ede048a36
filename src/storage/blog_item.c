/*
 * blog_item.c
 *		Items in memory, and the names of the containers' tables and columns.
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
	"users", "posts", "feed", "topics"
};

static const char *const type_name[N_ITEM_TYPES] = {
	"user", "post", "comment", "like", "comment_like", "follow", "delta",
	"topic", "topic_post"
};

static const char *const column_name[N_PROPERTIES] = {
	"id", "type", "post_id", "user_id", "username", "user_username", "title",
	"content", "comment_count", "like_count", "creation_date", "hidden",
	"parent_id", "item_id", "comment_id", "followed_id", "followed_username",
	"publish_date", "modification_date", "properties", "topic", "post_count", "parent_deleted", "reply_count"
};

typedef struct TypeProperties
{
	int			n;
	Property	prop[N_PROPERTIES];
} TypeProperties;

/*
 * The fields of each item type, in the order of the columns of the row types
 * that the SQL functions return.
 */
static const TypeProperties type_properties[N_ITEM_TYPES] = {
	[ITEM_USER] = {6, {PROP_ID, PROP_TYPE, PROP_USER_ID, PROP_USERNAME,
	PROP_CREATION_DATE, PROP_PROPERTIES}},
	[ITEM_POST] = {14, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
		PROP_USER_USERNAME, PROP_TITLE, PROP_CONTENT, PROP_COMMENT_COUNT,
		PROP_LIKE_COUNT, PROP_CREATION_DATE, PROP_HIDDEN,
	PROP_MODIFICATION_DATE, PROP_PROPERTIES, PROP_PUBLISH_DATE}},
	[ITEM_COMMENT] = {14, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
		PROP_USER_USERNAME, PROP_CONTENT, PROP_CREATION_DATE, PROP_PARENT_ID,
		PROP_PARENT_DELETED, PROP_HIDDEN, PROP_MODIFICATION_DATE,
	PROP_PROPERTIES, PROP_LIKE_COUNT, PROP_REPLY_COUNT}},
	[ITEM_LIKE] = {7, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
	PROP_USER_USERNAME, PROP_CREATION_DATE, PROP_COMMENT_ID}},
	[ITEM_COMMENT_LIKE] = {7, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_USER_ID,
	PROP_USER_USERNAME, PROP_CREATION_DATE, PROP_COMMENT_ID}},
	[ITEM_DELTA] = {6, {PROP_ID, PROP_TYPE, PROP_POST_ID, PROP_COMMENT_COUNT,
	PROP_LIKE_COUNT, PROP_ITEM_ID}},
	[ITEM_TOPIC] = {2, {PROP_TOPIC, PROP_POST_COUNT}},
	[ITEM_TOPIC_POST] = {5, {PROP_ID, PROP_TYPE, PROP_USER_ID,
	PROP_CREATION_DATE, PROP_TOPIC}},
	[ITEM_FOLLOW] = {7, {PROP_ID, PROP_TYPE, PROP_USER_ID, PROP_USER_USERNAME,
	PROP_FOLLOWED_ID, PROP_FOLLOWED_USERNAME, PROP_CREATION_DATE}}
};

/* Return the length of a field's values in bytes; -1 if the length varies. */
static int
property_length(Property prop)
{
	switch (property_type(prop))
	{
		case UUIDOID:
			return UUID_LEN;
		case INT8OID:
		case TIMESTAMPTZOID:
			return sizeof(int64);
		case BOOLOID:
			return sizeof(bool);
		default:
			return -1;
	}
}

Oid
property_type(Property prop)
{
	switch (prop)
	{
		case PROP_ID:
		case PROP_POST_ID:
		case PROP_USER_ID:
		case PROP_PARENT_ID:
		case PROP_ITEM_ID:
		case PROP_COMMENT_ID:
		case PROP_FOLLOWED_ID:
			return UUIDOID;
		case PROP_COMMENT_COUNT:
		case PROP_LIKE_COUNT:
		case PROP_REPLY_COUNT:
		case PROP_POST_COUNT:
			return INT8OID;
		case PROP_CREATION_DATE:
		case PROP_PUBLISH_DATE:
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

/* Return the name of a container's table, for example "users". */
const char *
container_table(Container container)
{
	return container_name[container];
}

/*
 * Return the field by whose hash a container is partitioned: PROP_USER_ID,
 * PROP_POST_ID or PROP_TOPIC. The feed is partitioned by "type" alone: return
 * PROP_TYPE.
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
		case CONTAINER_TOPICS:
			return PROP_TOPIC;
		case CONTAINER_FEED:
			break;
	}
	return PROP_TYPE;
}

/*
 * Return the value of the column "type" for an item type, for example "post".
 */
const char *
item_type_name(ItemType type)
{
	return type_name[type];
}

/*
 * Return the word for an item type in messages, for example "post". The name
 * of the row type that requests return begins with this word. Likes of posts
 * and of comments are both "like".
 */
const char *
item_noun(ItemType type)
{
	return type_name[is_like(type) ? ITEM_LIKE : type];
}

const char *
property_column(Property prop)
{
	return column_name[prop];
}

/*
 * Return the fields of an item type, in the order of the columns of its row
 * type. Sets *n to their number.
 */
const Property *
item_properties(ItemType type, int *n)
{
	*n = type_properties[type].n;
	return type_properties[type].prop;
}

/*
 * Initialize an item: set PROP_TYPE, and set all other fields to NULL. The
 * text of PROP_TYPE is allocated in the current memory context.
 */
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

/*
 * Set a field of an item. A value that is passed by reference is not copied:
 * the caller must keep it valid as long as the item is used.
 */
void
item_set(BlogItem *item, Property prop, Datum value)
{
	item->value[prop] = value;
	item->isnull[prop] = false;
}

/* Copy an item and its values into the current memory context. */
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

/* Free the values of an item that item_copy() has made. */
void
item_free(BlogItem *item)
{
	for (int p = 0; p < N_PROPERTIES; p++)
		if (!item->isnull[p] && !property_by_value(p))
			pfree(DatumGetPointer(item->value[p]));
}

/*
 * Return whether one of an item's values is stored out of line in a TOAST
 * table.
 */
bool
item_has_external(const BlogItem *item)
{
	for (Property p = 0; p < N_PROPERTIES; p++)
		if (!item->isnull[p] && property_length(p) == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(item->value[p])))
			return true;
	return false;
}

/*
 * Return whether a field has the same value in two items, or is NULL in both.
 * Values are compared byte by byte, after detoasting.
 */
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
 * Read an item from a slot. The item's values point into the slot. Returns a
 * bit mask of the fields that are NULL, with the bit 1 << PROP_... for each.
 *
 * attno: the column number of each field; 0 if there is no such column
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
 * The arguments of err_fields() for errors about the id of a user, post or
 * comment.
 */
typedef struct IdFields
{
	Container	container;
	const char *argument;		/* the SQL argument that has the id */
	const char *exists;			/* RULE_... constant of the rule that an item
								 * with the id must exist */
	const char *unique;			/* RULE_... constant of the rule that no other
								 * item may have the id */
} IdFields;

static const IdFields id_fields[] = {
	[ITEM_USER] = {CONTAINER_USERS, "user_id", RULE_USER_EXISTS,
	RULE_USER_ID_UNIQUE},
	[ITEM_POST] = {CONTAINER_POSTS, "post_id", RULE_POST_EXISTS,
	RULE_POST_ID_UNIQUE},
	[ITEM_COMMENT] = {CONTAINER_POSTS, "comment_id", RULE_COMMENT_EXISTS,
	RULE_COMMENT_ID_UNIQUE}
};

/* Return the text form of an id, for messages. */
char *
id_text(const pg_uuid_t *id)
{
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)));
}

/* Raise an error (23503): a user, post or comment does not exist. */
void
unknown_item(ItemType type, const pg_uuid_t *id)
{
	const IdFields *fields = &id_fields[type];
	const char *what = item_type_name(type);

	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("%s %s does not exist", what, id_text(id)),
			 errhint("Create the %s first, or check the id.", what),
			 err_fields(container_table(fields->container), fields->argument,
						fields->exists)));
}

/*
 * Raise an error (23505): the id of a new user, post or comment is taken by an
 * item with other values.
 */
void
item_id_taken(ItemType type, const pg_uuid_t *id)
{
	const IdFields *fields = &id_fields[type];
	const char *what = item_type_name(type);

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("%s %s exists with other content", what, id_text(id)),
			 errhint("Repeat a command with the same values, or leave the id out to create another %s.",
					 what),
			 err_fields(container_table(fields->container), fields->argument,
						fields->unique)));
}
