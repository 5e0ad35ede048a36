/*
 * blog_item.h
 *		The containers, items and properties of the blog model.
 */
#ifndef BLOGSTORE_BLOG_ITEM_H
#define BLOGSTORE_BLOG_ITEM_H

#include "base/compat.h"
#include "base/error_fields.h"

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

typedef enum Container
{
	CONTAINER_USERS,
	CONTAINER_POSTS,
	CONTAINER_FEED
} Container;

#define N_CONTAINERS (CONTAINER_FEED + 1)

typedef enum ItemType
{
	ITEM_USER,
	ITEM_POST,
	ITEM_COMMENT,
	ITEM_LIKE,
	ITEM_DELTA					/* to be added to a post's counts */
} ItemType;

#define N_ITEM_TYPES (ITEM_DELTA + 1)

/* Properties of items, in the order of the containers' columns. */
typedef enum Property
{
	PROP_ID,
	PROP_TYPE,
	PROP_POST_ID,
	PROP_USER_ID,
	PROP_USERNAME,
	PROP_USER_USERNAME,
	PROP_TITLE,
	PROP_CONTENT,
	PROP_COMMENT_COUNT,
	PROP_LIKE_COUNT,
	PROP_CREATION_DATE,
	/* the rest is not in the article; see property_in_article() */
	PROP_HIDDEN,				/* NULL: shown */
	PROP_PARENT_ID,				/* the comment that a comment replies to */
	PROP_MODIFICATION_DATE,		/* NULL: never edited */
	PROP_PROPERTIES,			/* custom properties of the item */
	PROP_PARENT_DELETED			/* not stored in a container; computed on
								 * reading */
} Property;

#define N_PROPERTIES (PROP_PARENT_DELETED + 1)

/*
 * An item in memory. Values passed by reference point to where the item was
 * read. They are valid until the scan advances or the writer is closed;
 * item_copy() makes a copy.
 */
typedef struct BlogItem
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
} BlogItem;

/*
 * Ways to read a leaf, each served by an index, which is identified by its
 * columns:
 *
 *		PATH_KEY	the item's own key: user_id; post_id; (post_id, id) of a
 *					comment or delta; (user_id, post_id) of a like
 *		PATH_LIST	the items of a partition key by (creation_date, id)
 *		PATH_USER	a user's items in a leaf of posts; posts and comments by
 *					(creation_date, id)
 *		PATH_DATE	all posts of a leaf by (creation_date, id); a user's likes
 *					in that order, if the owner has created the index
 *		PATH_REPLIES	a comment's replies by (creation_date, id)
 */
typedef enum AccessPath
{
	PATH_KEY,
	PATH_LIST,
	PATH_USER,
	PATH_DATE,
	PATH_REPLIES
} AccessPath;

#define N_PATHS (PATH_REPLIES + 1)

/* blog_item.c: names and keys */
extern const char *container_table(Container container);
extern Property container_key(Container container);
extern const char *item_type_name(ItemType type);
extern const char *property_column(Property prop);

/* blog_item.c: items in memory */
extern const Property *item_properties(ItemType type, int *n);
extern Oid	property_type(Property prop);
extern void item_init(BlogItem *item, ItemType type);
extern void item_set(BlogItem *item, Property prop, Datum value);
extern void item_copy(BlogItem *dst, const BlogItem *src);
extern bool item_has_external(const BlogItem *item);
extern bool item_same(const BlogItem *a, const BlogItem *b, Property prop);
extern COMPAT_NORETURN void unknown_item(ItemType type, const pg_uuid_t *id);
extern COMPAT_NORETURN void item_id_taken(ItemType type, const pg_uuid_t *id);

/* blog_item.c: reading an item from a tuple; attno: column by property */
struct TupleTableSlot;
extern uint32 item_from_slot(BlogItem *item, struct TupleTableSlot *slot,
							 const AttrNumber *attno);

/* Return whether a property is one of the article's, which come first. */
static inline bool
property_in_article(Property prop)
{
	return prop <= PROP_CREATION_DATE;
}

/* Set a property of an item to another item's value or NULL. */
static inline void
item_take(BlogItem *item, const BlogItem *other, Property prop)
{
	item->value[prop] = other->value[prop];
	item->isnull[prop] = other->isnull[prop];
}

/* Return whether an item is hidden from lists and counts. */
static inline bool
item_hidden(const BlogItem *item)
{
	return !item->isnull[PROP_HIDDEN] && DatumGetBool(item->value[PROP_HIDDEN]);
}

/* Hide an item or show it. NULL is stored for an item that is shown. */
static inline void
set_hidden(BlogItem *item, bool hidden)
{
	item->value[PROP_HIDDEN] = BoolGetDatum(hidden);
	item->isnull[PROP_HIDDEN] = !hidden;
}

static inline const pg_uuid_t *
item_uuid(const BlogItem *item, Property prop)
{
	return DatumGetUUIDP(item->value[prop]);
}

static inline int64
item_count(const BlogItem *item, Property prop)
{
	return DatumGetInt64(item->value[prop]);
}

/* Add to both counts of a post or a delta. */
static inline void
item_add_counts(BlogItem *item, int64 comments, int64 likes)
{
	item_set(item, PROP_COMMENT_COUNT,
			 Int64GetDatum(item_count(item, PROP_COMMENT_COUNT) + comments));
	item_set(item, PROP_LIKE_COUNT,
			 Int64GetDatum(item_count(item, PROP_LIKE_COUNT) + likes));
}

static inline TimestampTz
item_date(const BlogItem *item)
{
	return DatumGetTimestampTz(item->value[PROP_CREATION_DATE]);
}

#endif							/* BLOGSTORE_BLOG_ITEM_H */
