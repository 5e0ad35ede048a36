/*
 * blog_item.h
 *		The containers, items and properties of the blog model.
 *
 * A container is one of the partitioned tables users, posts and feed. An item
 * is a row of a container, and a property is a column of it.
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
	/*
	 * a delta: counts that are not yet added to the counts of a post. Deltas
	 * are rows of their own, so that concurrent likes and comments need not
	 * all update the row of the post.
	 */
	ITEM_DELTA
} ItemType;

#define N_ITEM_TYPES (ITEM_DELTA + 1)

/*
 * The properties of items, in the order of the columns in the containers'
 * tables. An item type has only some of these properties (see
 * item_properties()).
 */
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
	/*
	 * The properties from here on are blogstore's own. The ones above come
	 * from the article "Model and partition data using a real-world example"
	 * (see property_in_article()).
	 */
	PROP_HIDDEN,				/* true or NULL; NULL: not hidden */
	PROP_PARENT_ID,				/* the comment to which this comment replies */
	PROP_MODIFICATION_DATE,		/* NULL if the item was never edited */
	PROP_PROPERTIES,			/* a JSON object with the site's own data */
	/*
	 * Whether the comment to which a reply replies has been deleted. There is
	 * no such column: the value is computed when the reply is read.
	 */
	PROP_PARENT_DELETED
} Property;

#define N_PROPERTIES (PROP_PARENT_DELETED + 1)

/*
 * An item in memory. Values that are passed by reference point into the tuple
 * from which the item was read. A value that was read by a scan is valid until
 * the scan advances. A value that was read by an ItemWriter is valid until the
 * writer is closed. item_copy() makes a lasting copy.
 */
typedef struct BlogItem
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
} BlogItem;

/*
 * The ways to find items in a leaf, each through an index of the leaf. The
 * index is recognized by its columns.
 *
 *		PATH_KEY	by the item's own key: user_id; post_id; (post_id, id) of a
 *					comment or delta; (user_id, post_id) of a like
 *		PATH_LIST	by partition key, in the order (creation_date, id)
 *		PATH_USER	posts, comments or likes of a user; posts and comments in
 *					the order (creation_date, id)
 *		PATH_DATE	all posts of the leaf, in the order (creation_date, id);
 *					likes of a user in that order, if the owner has created
 *					the index
 *		PATH_REPLIES	replies to a comment, in the order (creation_date, id)
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

extern const char *container_table(Container container);
extern Property container_key(Container container);
extern const char *item_type_name(ItemType type);
extern const char *property_column(Property prop);

extern const Property *item_properties(ItemType type, int *n);
extern Oid	property_type(Property prop);
extern void item_init(BlogItem *item, ItemType type);
extern void item_set(BlogItem *item, Property prop, Datum value);
extern void item_copy(BlogItem *dst, const BlogItem *src);
extern bool item_has_external(const BlogItem *item);
extern bool item_same(const BlogItem *a, const BlogItem *b, Property prop);
extern COMPAT_NORETURN void unknown_item(ItemType type, const pg_uuid_t *id);
extern COMPAT_NORETURN void item_id_taken(ItemType type, const pg_uuid_t *id);

struct TupleTableSlot;
extern uint32 item_from_slot(BlogItem *item, struct TupleTableSlot *slot,
							 const AttrNumber *attno);

/*
 * Return whether a property comes from the article "Model and partition data
 * using a real-world example". These properties come first in the enum.
 */
static inline bool
property_in_article(Property prop)
{
	return prop <= PROP_CREATION_DATE;
}

/* Set a property of an item to the value, or NULL, that another item has. */
static inline void
item_take(BlogItem *item, const BlogItem *other, Property prop)
{
	item->value[prop] = other->value[prop];
	item->isnull[prop] = other->isnull[prop];
}

/*
 * Return whether an item is hidden, by the item's author or an administrator.
 * Lists and counts leave hidden items out.
 */
static inline bool
item_hidden(const BlogItem *item)
{
	return !item->isnull[PROP_HIDDEN] && DatumGetBool(item->value[PROP_HIDDEN]);
}

/*
 * Hide an item, or show it again. A shown item has NULL in the column
 * "hidden".
 */
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

/* Add to the comment_count and like_count of a post or of a delta. */
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
