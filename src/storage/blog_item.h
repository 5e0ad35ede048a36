/*
 * blog_item.h
 *		The containers, items and fields of the blog model.
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
	CONTAINER_FEED,
	CONTAINER_TOPICS
} Container;

#define N_CONTAINERS (CONTAINER_TOPICS + 1)

typedef enum ItemType
{
	ITEM_USER,
	ITEM_POST,
	ITEM_COMMENT,
	ITEM_LIKE,					/* a user's like of a post */
	ITEM_COMMENT_LIKE,			/* a user's like of a comment */
	ITEM_FOLLOW,				/* a user follows another user */
	/*
	 * a delta: a row with numbers that will be added to the counts of a post
	 * or comment. Concurrent transactions write deltas so that they need not
	 * all update one row.
	 */
	ITEM_DELTA,
	ITEM_TOPIC,					/* a topic, with the number of its posts */
	ITEM_TOPIC_POST				/* a post of a topic */
} ItemType;

#define N_ITEM_TYPES (ITEM_TOPIC_POST + 1)

/*
 * The fields of items, in the order of the columns in the containers' tables.
 * Each item type has only some of these fields (see item_properties()).
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
	 * The fields above come from the article "Model and partition data using a
	 * real-world example". The fields below are blogstore's own.
	 */
	PROP_HIDDEN,				/* true, or NULL if not hidden */
	PROP_PARENT_ID,				/* the comment to which this comment replies */
	PROP_ITEM_ID,				/* of a delta: the post or comment to whose
								 * counts it adds */
	PROP_COMMENT_ID,			/* of a like of a comment: the comment */
	PROP_FOLLOWED_ID,			/* of a follow: the user who is followed */
	PROP_FOLLOWED_USERNAME,
	PROP_PUBLISH_DATE,			/* of a hidden post: when the worker publishes
								 * it; NULL if the post is not scheduled */
	PROP_MODIFICATION_DATE,		/* NULL if the item was never edited */
	PROP_PROPERTIES,			/* a JSON object with the site's own data */
	PROP_TOPIC,					/* a topic's name_key(), by which topics are
								 * compared */
	PROP_POST_COUNT,			/* of a topic: the number of its posts */
	/*
	 * The tables have no columns for the following fields. Their values are
	 * computed when a comment is read.
	 *
	 * PROP_PARENT_DELETED: of a reply, whether the comment that it answers was
	 *		deleted
	 * PROP_REPLY_COUNT: the number of shown replies to a comment
	 */
	PROP_PARENT_DELETED,
	PROP_REPLY_COUNT
} Property;

#define N_PROPERTIES (PROP_REPLY_COUNT + 1)

/*
 * An item in memory. Values that are passed by reference point into the tuple
 * from which the item was read. Values from a scan are valid until the scan
 * advances. Values from an ItemWriter are valid until the writer is closed. To
 * keep the values longer, call item_copy().
 */
typedef struct BlogItem
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
} BlogItem;

/*
 * An AccessPath is a kind of index. The key columns of the index depend on the
 * item type:
 *
 *		PATH_KEY	user			(user_id)
 *					post			(post_id)
 *					comment			(post_id, id)
 *					delta			(post_id, item_id, id)
 *					like			(user_id, post_id)
 *					comment like	(user_id, post_id, comment_id)
 *					topic			(topic)
 *					follow			(user_id, followed_id)
 *		PATH_LIST	copy of a post	(user_id, creation_date, id)
 *					like			(post_id, creation_date, id)
 *					comment like	(post_id, comment_id, creation_date, id)
 *					comment			(post_id, creation_date, id), WHERE
 *									parent_id IS NULL
 *					post of a topic	(topic, creation_date, id)
 *					follow			(user_id, creation_date, id)
 *		PATH_USER	post, comment	(user_id, creation_date, id)
 *					like			(user_id, post_id)
 *					comment like	(user_id, post_id, comment_id)
 *					follow			(user_id, followed_id)
 *		PATH_DATE	post			(creation_date, id)
 *					like, comment like
 *									(user_id, creation_date, id), an index
 *									that the owner may create
 *		PATH_REPLIES	comment		(post_id, parent_id, creation_date, id),
 *									WHERE parent_id IS NOT NULL
 *		PATH_REPLY_LIST	comment		(post_id, creation_date, id), WHERE
 *									parent_id IS NOT NULL
 *		PATH_FOLLOWED	follow		(followed_id, creation_date, id)
 *		PATH_ID		post of a topic	(id)
 *
 * So all comments on a post, by date, are in two indexes: PATH_LIST has those
 * without a parent, and PATH_REPLY_LIST the replies.
 *
 * The index is found by these columns, whatever its name is.
 */
typedef enum AccessPath
{
	PATH_KEY,
	PATH_LIST,
	PATH_USER,
	PATH_DATE,
	PATH_REPLIES,
	PATH_REPLY_LIST,
	PATH_FOLLOWED,
	PATH_ID
} AccessPath;

#define N_PATHS (PATH_ID + 1)

extern const char *container_table(Container container);
extern Property container_key(Container container);
extern const char *item_type_name(ItemType type);
extern const char *item_noun(ItemType type);
extern const char *property_column(Property prop);

extern const Property *item_properties(ItemType type, int *n);
extern Oid	property_type(Property prop);
extern void item_init(BlogItem *item, ItemType type);
extern void item_set(BlogItem *item, Property prop, Datum value);
extern void item_copy(BlogItem *dst, const BlogItem *src);
extern void item_free(BlogItem *item);
extern bool item_has_external(const BlogItem *item);
extern bool item_same(const BlogItem *a, const BlogItem *b, Property prop);
extern COMPAT_NORETURN void unknown_item(ItemType type, const pg_uuid_t *id);
extern COMPAT_NORETURN void item_id_taken(ItemType type, const pg_uuid_t *id);

struct TupleTableSlot;
extern uint32 item_from_slot(BlogItem *item, struct TupleTableSlot *slot,
							 const AttrNumber *attno);

/*
 * Return whether a field is one of those in the article "Model and partition
 * data using a real-world example". blogstore has added the others.
 */
static inline bool
property_in_article(Property prop)
{
	return prop <= PROP_CREATION_DATE;
}

/* Copy the value of a field, which can be NULL, from another item. */
static inline void
item_take(BlogItem *item, const BlogItem *other, Property prop)
{
	item->value[prop] = other->value[prop];
	item->isnull[prop] = other->isnull[prop];
}

/* Return whether an item is a like, of a post or of a comment. */
static inline bool
is_like(ItemType type)
{
	return type == ITEM_LIKE || type == ITEM_COMMENT_LIKE;
}

/*
 * Return whether an item is hidden. The item's author or an administrator can
 * hide it. Lists and counts leave hidden items out.
 */
static inline bool
item_hidden(const BlogItem *item)
{
	return !item->isnull[PROP_HIDDEN] && DatumGetBool(item->value[PROP_HIDDEN]);
}

/*
 * Hide an item, or show it again. NULL in the column "hidden" means that the
 * item is shown.
 */
static inline void
set_hidden(BlogItem *item, bool hidden)
{
	item->value[PROP_HIDDEN] = BoolGetDatum(hidden);
	item->isnull[PROP_HIDDEN] = !hidden;
}

extern char *id_text(const pg_uuid_t *id);

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
