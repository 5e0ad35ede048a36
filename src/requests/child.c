/*
 * child.c
 *		Writing a comment or a like into its post's logical partition, and
 *		taking it back.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "members/members.h"
#include "requests/request.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

/* How a child comes to its post. */
typedef struct Arrival
{
	PostGate	gate;
	bool		shut;			/* was the gate? */
} Arrival;

/* Enter the gate, when the child can be seen, but can still be taken back. */
static bool
arrive(void *arg)
{
	Arrival    *arrival = arg;

	arrival->shut = gate_enter(&arrival->gate, LockWaitSkip) != ITEM_OK;
	return !arrival->shut;
}

/*
 * Write a comment or like with its author's name. Returns false, nothing
 * written, if its key is taken, or the gate shut.
 */
static bool
insert_child(BlogItem *item, ItemType type, Arrival *arrival)
{
	ItemWriter *writer;
	BlogItem	user;
	bool		inserted;

	arrival->shut = false;
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type,
							  item_uuid(item, PROP_POST_ID));
	need_user(item_uuid(item, PROP_USER_ID), &user);
	item_set(item, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
	inserted = item_writer_insert_if(writer, item, arrive, arrival);
	item_writer_close(writer);
	PopActiveSnapshot();
	return inserted;
}

/*
 * Write a comment or like, and have its post count it. Returns false, nothing
 * written, if its key is taken.
 *
 * Errors: 23503 no such post or user; 40001. Locks: the post item, FOR NO KEY
 * UPDATE, if it is free.
 */
bool
write_child(BlogItem *item, ItemType type)
{
	const pg_uuid_t *post_id = item_uuid(item, PROP_POST_ID);
	Arrival		arrival;
	bool		inserted;

	gate_init(&arrival.gate, post_id);
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!post_await(&arrival.gate) || post_being_deleted(post_id))
			unknown_item("post", post_id);
		inserted = insert_child(item, type, &arrival);
		if (arrival.shut)
		{
			(void) gate_enter(&arrival.gate, LockWaitBlock);
			gate_leave(&arrival.gate);
		}
	} while (arrival.shut);
	/* the insert may have waited for the one who deletes the post's author */
	if (inserted && post_being_deleted(post_id))
		unknown_item("post", post_id);
	if (inserted &&
		post_count(&arrival.gate, type == ITEM_COMMENT, type == ITEM_LIKE,
				   LockWaitBlock) != ITEM_OK)
		unknown_item("post", post_id);
	gate_leave(&arrival.gate);
	return inserted;
}

/* Delete a comment or like; false if there is none, or none is served. */
bool
remove_served_child(ItemType type, const pg_uuid_t *post_id,
					const pg_uuid_t *other)
{
	Datum		key[] = {UUIDPGetDatum(post_id), UUIDPGetDatum(other)};
	const DeletedUsers *deleted;
	BlogItem	comment;
	bool		served = true;

	PushActiveSnapshot(GetTransactionSnapshot());
	deleted = deleted_users(GetActiveSnapshot());
	if (deleted != NULL && type == ITEM_LIKE)
		served = !deleted_has(deleted, other);
	else if (deleted != NULL)
		served = item_get(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = type,
			.partition_key = post_id, .path = PATH_KEY, .key = key, .nkeys = 2
		}, &comment) &&
			!deleted_item(deleted, &comment);
	served = served && !deleted_post(deleted, post_id);
	PopActiveSnapshot();
	return served &&
		remove_child(type, post_id, other, NULL, LockWaitBlock) == ITEM_OK;
}
