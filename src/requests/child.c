/*
 * child.c
 *		Writing a comment or a like into its post's logical partition.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "requests/request.h"

#include "utils/snapmgr.h"

/*
 * Write a comment or like with its author's name, its post locked and
 * counting it. Returns false, nothing written, if its key is taken.
 *
 * Errors: 23503 no such post or user; 40001. Locks: the post item, FOR NO KEY
 * UPDATE.
 */
bool
write_child(BlogItem *item, ItemType type)
{
	const pg_uuid_t *post_id = item_uuid(item, PROP_POST_ID);
	PostCounter *counter = post_counter_open(post_id);
	ItemWriter *writer;
	BlogItem	user;
	bool		inserted;

	if (counter == NULL)
		unknown_item("post", post_id);
	PushActiveSnapshot(GetTransactionSnapshot());
	writer = item_writer_open(CONTAINER_POSTS, type, post_id);
	need_user(item_uuid(item, PROP_USER_ID), &user);
	item_set(item, PROP_USER_USERNAME, user.value[PROP_USERNAME]);
	inserted = item_writer_insert(writer, item);
	item_writer_close(writer);
	PopActiveSnapshot();
	if (inserted)
		post_counter_add(counter, type == ITEM_COMMENT, type == ITEM_LIKE);
	post_counter_close(counter);
	return inserted;
}
