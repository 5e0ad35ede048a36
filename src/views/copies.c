/*
 * copies.c
 *		The view in users: each user's posts in short form.
 *
 * Runs in the worker, and in a backend for repair(); the caller holds the
 * views' lock.
 */
#include "postgres.h"

#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "layout/layout.h"
#include "settings.h"
#include "views/internal.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* By partition of users, so that each leaf is opened once. */
static int
key_compare(const void *a, const void *b)
{
	const PostKey *ka = a;
	const PostKey *kb = b;
	int			pa = partition_of(CONTAINER_USERS, ITEM_POST, &ka->user_id);
	int			pb = partition_of(CONTAINER_USERS, ITEM_POST, &kb->user_id);

	if (pa != pb)
		return pa < pb ? -1 : 1;
	return memcmp(ka, kb, sizeof(PostKey));
}

/* Has the copy all that the post in short form has? */
bool
copy_current(const BlogItem *copy, const BlogItem *post)
{
	static const Property shown[] = {
		PROP_USER_USERNAME, PROP_TITLE, PROP_CONTENT, PROP_COMMENT_COUNT,
		PROP_LIKE_COUNT
	};

	for (int i = 0; i < lengthof(shown); i++)
		if (!item_same(copy, post, shown[i]))
			return false;
	return true;
}

/*
 * Read a post; false if there is none. What lies in a partition that was
 * detached is not there.
 */
static bool
read_post(const pg_uuid_t *post_id, BlogItem *post)
{
	Datum		id = UUIDPGetDatum(post_id);

	return partition_of(CONTAINER_POSTS, ITEM_POST, post_id) != NO_PARTITION &&
		item_get(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_POST,
			.partition_key = post_id, .path = PATH_KEY, .key = &id, .nkeys = 1
		}, post);
}

/* The post that a key names, if it is there and has that user and date. */
static bool
get_post(const PostKey *key, BlogItem *post)
{
	if (!read_post(&key->post_id, post) ||
		memcmp(item_uuid(post, PROP_USER_ID), &key->user_id, UUID_LEN) != 0 ||
		item_date(post) != key->creation_date)
		return false;
	post_add_up(post, GetActiveSnapshot());
	return true;
}

/* The key of a post's copies; false if there is no such post. */
bool
copies_key(const pg_uuid_t *post_id, PostKey *key)
{
	BlogItem	post;

	if (!read_post(post_id, &post))
		return false;
	memset(key, 0, sizeof(*key));
	key->post_id = *post_id;
	key->user_id = *item_uuid(&post, PROP_USER_ID);
	key->creation_date = item_date(&post);
	return true;
}

/* Write or delete the copy that a scan has found, whoever else has it meanwhile. */
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
	/* nobody writes copies but by hand: wait for them */
	result = item_writer_lock(writer, place, 3, LockTupleExclusive,
							  LockWaitBlock, &locked);
	if (result != ITEM_OK && wanted != NULL)
		(void) item_writer_insert(writer, wanted);
	else if (result == ITEM_OK && wanted != NULL)
		item_writer_update(writer, wanted);
	else if (result == ITEM_OK)
		item_writer_delete(writer);
}

/* Make the copy at a key what the post is: write, update or delete it. */
static void
copy_refresh(ItemWriter *writer, const PostKey *key)
{
	Datum		place[] = {
		UUIDPGetDatum(&key->user_id),
		TimestampTzGetDatum(key->creation_date),
		UUIDPGetDatum(&key->post_id)
	};
	BlogItem	post;
	BlogItem	copy;
	ItemScan   *scan = item_writer_scan(writer, place, 3);
	bool		wanted = get_post(key, &post);
	bool		there = item_scan_next(scan, &copy);

	if (wanted)
		item_shorten(&post, blogstore_short_form_length);
	if (!there && wanted)
		(void) item_writer_insert(writer, &post);
	else if (there && !(wanted && copy_current(&copy, &post)))
		change_copy(writer, scan, place, wanted ? &post : NULL);
	item_scan_end(scan);
}

/* Refresh the copies of one post with a writer of its own. */
static void
refresh_alone(void *arg)
{
	const PostKey *key = arg;
	ItemWriter *writer = item_writer_open(CONTAINER_USERS, ITEM_POST,
										  &key->user_id);

	copy_refresh(writer, key);
	item_writer_close(writer);
}

/* Refresh the copies that keys name one by one, and leave out those that fail. */
static void
refresh_carefully(PostKey *keys, int n, MemoryContext per_key)
{
	for (int i = 0; i < n; i++)
	{
		MemoryContext old;

		if (partition_of(CONTAINER_USERS, ITEM_POST,
						 &keys[i].user_id) == NO_PARTITION)
			continue;
		old = MemoryContextSwitchTo(per_key);
		if (!careful_do(refresh_alone, &keys[i]))
			careful_remember_copy(&keys[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_key);
	}
}

/* Refresh the copies that sorted keys name, opening each leaf once. */
static void
refresh_together(PostKey *keys, int n, MemoryContext per_key)
{
	ItemWriter *writer = NULL;

	if (n > 1)
		qsort(keys, n, sizeof(PostKey), key_compare);
	for (int i = 0; i < n; i++)
	{
		const pg_uuid_t *user_id = &keys[i].user_id;
		MemoryContext old;

		if (partition_of(CONTAINER_USERS, ITEM_POST, user_id) == NO_PARTITION)
			continue;			/* detached: no place for a copy */
		if (writer != NULL && !item_writer_takes(writer, user_id))
		{
			item_writer_close(writer);
			writer = NULL;
		}
		if (writer == NULL)
			writer = item_writer_open(CONTAINER_USERS, ITEM_POST, user_id);
		old = MemoryContextSwitchTo(per_key);
		copy_refresh(writer, &keys[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(per_key);
	}
	if (writer != NULL)
		item_writer_close(writer);
}

/* Refresh the copies that keys name; sorts keys. */
void
copies_refresh(PostKey *keys, int n)
{
	MemoryContext per_key = AllocSetContextCreate(CurrentMemoryContext,
												  "blogstore copy",
												  ALLOCSET_DEFAULT_SIZES);

	if (careful_now())
		refresh_carefully(keys, n, per_key);
	else
		refresh_together(keys, n, per_key);
	MemoryContextDelete(per_key);
}
