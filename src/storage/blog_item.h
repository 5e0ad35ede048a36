/*
 * blog_item.h
 *		The article's containers, items and properties.
 */
#ifndef BLOGSTORE_BLOG_ITEM_H
#define BLOGSTORE_BLOG_ITEM_H

#include "base/compat.h"

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#define BLOGSTORE_SCHEMA "blogstore"

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
	ITEM_DELTA					/* what is to be added to a post's counts */
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
	/* the article has none of these: property_in_article() */
	PROP_HIDDEN,				/* NULL: it is shown */
	PROP_PARENT_ID,				/* the comment that a comment replies to */
	PROP_MODIFICATION_DATE,		/* NULL: it was never edited */
	PROP_PROPERTIES,			/* the item's own, beside the article's */
	PROP_PARENT_DELETED			/* in no container: known when it is read */
} Property;

#define N_PROPERTIES (PROP_PARENT_DELETED + 1)

/*
 * An item in memory. Values passed by reference point to where the item was read and
 * hold until the scan moves on or the writer closes; item_copy() makes them the caller's.
 */
typedef struct BlogItem
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
} BlogItem;

/*
 * Ways into a leaf, each served by an index (by its columns, not its name):
 *
 *		PATH_KEY	the item's own key: user_id; post_id; (post_id, id) of a
 *					comment or delta; (user_id, post_id) of a like
 *		PATH_LIST	a logical partition's items by (creation_date, id)
 *		PATH_USER	a user's items in a leaf of posts; posts and comments by
 *					(creation_date, id)
 *		PATH_DATE	all posts of a leaf by (creation_date, id); a user's likes, likewise,
 *					where the site has made an index for that
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

/* blog_item.c: names */
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
extern COMPAT_NORETURN void unknown_item(const char *what, const pg_uuid_t *id);

/* blog_item.c: reading an item from a row; attno: which column is which property's */
struct TupleTableSlot;
extern uint32 item_from_slot(BlogItem *item, struct TupleTableSlot *slot,
							 const AttrNumber *attno);

/* Is it one of the article's properties, which come first? */
static inline bool
property_in_article(Property prop)
{
	return prop <= PROP_CREATION_DATE;
}

/* Give an item another's value of a property, which may be NULL. */
static inline void
item_take(BlogItem *item, const BlogItem *other, Property prop)
{
	item->value[prop] = other->value[prop];
	item->isnull[prop] = other->isnull[prop];
}

/* Is an item hidden from lists and counts? */
static inline bool
item_hidden(const BlogItem *item)
{
	return !item->isnull[PROP_HIDDEN] && DatumGetBool(item->value[PROP_HIDDEN]);
}

/* Hide an item, or show it: of those that are shown nothing is stored. */
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
