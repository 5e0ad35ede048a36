/*
 * copies.c
 *		The copies of each user's posts, in short form, in the container users.
 *
 * copies_refresh() compares copies with their posts, and writes the copies
 * that differ. On a cluster, another node sends posts of its own to this node.
 * copies_put() writes the copies of these posts.
 *
 * Runs in the worker, and in a backend for repair(). The caller has called
 * views_lock().
 */
#include "postgres.h"

#include "model/post_counts/post_counts.h"
#include "model/post_schedule.h"
#include "model/short_form/short_form.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/copies_and_feed/view_rows.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

typedef struct PlacedKey
{
	int			partition;
	PostKey		key;
} PlacedKey;

/* Order keys by partition first, so that each leaf is opened once. */
static int
placed_compare(const void *a, const void *b)
{
	const PlacedKey *pa = a;
	const PlacedKey *pb = b;

	if (pa->partition != pb->partition)
		return pa->partition < pb->partition ? -1 : 1;
	return memcmp(&pa->key, &pb->key, sizeof(PostKey));
}

/*
 * Return whether a copy has the same contents as its post. The caller has put
 * "post" in short form (item_shorten()).
 */
bool
copy_current(const BlogItem *copy, const BlogItem *post)
{
	static const Property shown[] = {
		PROP_USER_USERNAME, PROP_TITLE, PROP_CONTENT, PROP_COMMENT_COUNT,
		PROP_LIKE_COUNT, PROP_HIDDEN, PROP_PUBLISH_DATE,
		PROP_MODIFICATION_DATE, PROP_PROPERTIES
	};

	for (int i = 0; i < lengthof(shown); i++)
		if (!item_same(copy, post, shown[i]))
			return false;
	return true;
}

/*
 * Read a post with its current counts into *post. Returns false if the post
 * was deleted, or its author or date is not that of the key.
 */
static bool
get_post(ManyPosts *many, const PostKey *key, BlogItem *post)
{
	if (!many_posts_find(many, &key->post_id, post) ||
		memcmp(item_uuid(post, PROP_USER_ID), &key->user_id, UUID_LEN) != 0 ||
		item_date(post) != key->creation_date)
		return false;
	many_posts_add_up(many, post);
	return true;
}

/*
 * If a post is scheduled, let the worker look at it at its publish_date.
 * Called for each post whose copy is refreshed or built.
 */
void
copies_queue_scheduled(const BlogItem *post)
{
	if (post_is_scheduled(post))
		publish_queue_note(item_uuid(post, PROP_POST_ID),
						   DatumGetTimestampTz(post->value[PROP_PUBLISH_DATE]));
}

/*
 * Read the key of a post's copy from the post. Returns false if the post does
 * not exist.
 */
bool
copies_key(ManyPosts *many, const pg_uuid_t *post_id, PostKey *key)
{
	BlogItem	post;

	if (!many_posts_find(many, post_id, &post))
		return false;
	memset(key, 0, sizeof(*key));
	key->post_id = *post_id;
	key->user_id = *item_uuid(&post, PROP_USER_ID);
	key->creation_date = item_date(&post);
	return true;
}

/*
 * Update or delete the copy that a scan has found. If another session has
 * locked or changed the copy, waits for the end of that session's transaction.
 *
 * wanted: the new contents of the copy; NULL to delete the copy
 * place: the key of the copy, one Datum for each index column
 */
static void
change_copy(ItemWriter *writer, ItemScan *scan, const Datum *place,
			const BlogItem *wanted)
{
	ItemResult	result = wanted != NULL ?
		item_writer_update_found(writer, scan, wanted) :
		item_writer_delete_found(writer, scan);
	BlogItem	locked;

	if (result == ITEM_OK)
		return;
	/*
	 * Another session has locked or changed the copy. That session has written
	 * to the table directly: functions of blogstore hold views_lock() when
	 * they write copies.
	 */
	result = item_writer_lock(writer, place, 3, LockTupleExclusive,
							  LockWaitBlock, &locked);
	if (result != ITEM_OK && wanted != NULL)
		(void) item_writer_insert(writer, wanted);
	else if (result == ITEM_OK && wanted != NULL)
		item_writer_update(writer, wanted);
	else if (result == ITEM_OK)
		item_writer_delete(writer);
}

/*
 * Set *post to the contents that the copy with a given key should have.
 * Returns false if there should be no copy. If the post is scheduled, its row
 * of blogstore.publish_queue will be written, too.
 */
bool
copies_wanted(ManyPosts *many, const PostKey *key, BlogItem *post)
{
	if (!get_post(many, key, post))
		return false;
	copies_queue_scheduled(post);
	item_shorten(post);
	return true;
}

typedef struct CopiesOfLeaf
{
	ManyPosts  *many;
	ItemWriter *writer;
	ItemScan   *scan;			/* scan of the open leaf, restarted for each
								 * copy. NULL before the first copy */

	/*
	 * Memory context of the scan. It lives longer than the memory context that
	 * is reset after each copy.
	 */
	MemoryContext context;
} CopiesOfLeaf;

static void
copies_close(CopiesOfLeaf *copies)
{
	if (copies->scan != NULL)
		item_scan_end(copies->scan);
	if (copies->writer != NULL)
		item_writer_close(copies->writer);
	copies->scan = NULL;
	copies->writer = NULL;
}

static bool
find_copy(CopiesOfLeaf *copies, const Datum *place, BlogItem *copy)
{
	MemoryContext old = MemoryContextSwitchTo(copies->context);
	bool		there;

	if (copies->scan != NULL)
		item_scan_again(copies->scan, place, 3);
	else
		copies->scan = item_writer_scan(copies->writer, place, 3);
	there = item_scan_next(copies->scan, copy);
	MemoryContextSwitchTo(old);
	return there;
}

/*
 * Make the copy with the key "place" equal to "post", which is in short form.
 * If "post" is NULL, delete the copy.
 *
 * place: the key, one Datum for each index column
 */
static void
put_copy(CopiesOfLeaf *copies, const Datum *place, const BlogItem *post)
{
	BlogItem	copy;
	bool		there = find_copy(copies, place, &copy);

	if (!there && post != NULL)
		(void) item_writer_insert(copies->writer, post);
	else if (there && !(post != NULL && copy_current(&copy, post)))
		change_copy(copies->writer, copies->scan, place, post);
}

static void
copy_refresh(CopiesOfLeaf *copies, const PostKey *key)
{
	Datum		place[] = {
		UUIDPGetDatum(&key->user_id),
		TimestampTzGetDatum(key->creation_date),
		UUIDPGetDatum(&key->post_id)
	};
	BlogItem	post;
	bool		wanted = copies_wanted(copies->many, key, &post);

	put_copy(copies, place, wanted ? &post : NULL);
}

/*
 * Make the copy with a given key equal to "post". Another node has sent this
 * post in short form. If "post" is NULL, delete the copy. Locks:
 * RowExclusiveLock on the leaf; a row lock on the copy, as UPDATE or DELETE
 * takes it.
 */
void
copies_put(const PostKey *key, const BlogItem *post)
{
	Datum		place[] = {
		UUIDPGetDatum(&key->user_id),
		TimestampTzGetDatum(key->creation_date),
		UUIDPGetDatum(&key->post_id)
	};
	CopiesOfLeaf copies = {
		.writer = item_writer_open(CONTAINER_USERS, ITEM_POST, &key->user_id),
		.context = CurrentMemoryContext
	};

	put_copy(&copies, place, post);
	copies_close(&copies);
}

/*
 * Refresh the copies with n keys. The caller has sorted the keys by partition.
 *
 * per_key: memory context that is reset after each key
 */
static void
refresh_placed(PlacedKey *keys, int n, MemoryContext per_key)
{
	CopiesOfLeaf copies = {
		.many = many_posts_begin(GetActiveSnapshot()),
		.context = CurrentMemoryContext
	};

	for (int i = 0; i < n; i++)
	{
		const pg_uuid_t *user_id = &keys[i].key.user_id;
		MemoryContext old;

		if (copies.writer != NULL && !item_writer_takes(copies.writer, user_id))
			copies_close(&copies);
		if (copies.writer == NULL)
			copies.writer = item_writer_open(CONTAINER_USERS, ITEM_POST, user_id);
		old = MemoryContextSwitchTo(per_key);
		copy_refresh(&copies, &keys[i].key);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_key);
	}
	copies_close(&copies);
	many_posts_end(copies.many);
}

/*
 * Refresh the copies with n keys, reading the posts with the active snapshot.
 * Posts and copies must be on this node. Locks: RowExclusiveLock on the leaves
 * of copies; row locks on the changed copies, as UPDATE or DELETE takes them.
 */
void
copies_refresh(const PostKey *keys, int n)
{
	MemoryContext per_key = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore copy",
												  ALLOCSET_DEFAULT_SIZES);
	PlacedKey  *placed = palloc(sizeof(PlacedKey) * n);

	for (int i = 0; i < n; i++)
	{
		placed[i].key = keys[i];
		placed[i].partition = partition_of(CONTAINER_USERS, ITEM_POST,
										   &keys[i].user_id);
	}
	if (n > 1)
		qsort(placed, n, sizeof(PlacedKey), placed_compare);
	refresh_placed(placed, n, per_key);
	pfree(placed);
	MemoryContextDelete(per_key);
}
