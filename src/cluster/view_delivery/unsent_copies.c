/*
 * unsent_copies.c
 *		Copies of posts that could not be sent to another node of a cluster.
 *		Their keys are in the table blogstore.unsent.
 *
 * If a transaction cannot send a copy, it inserts the copy's key into the
 * table. A later transaction deletes the key, and sends the current post to
 * the node that now has the author's shard (copies_send_unsent()).
 *
 * If the post's shard has been moved to another node, the later transaction
 * sends the key to that node instead. That node then refreshes the copy.
 *
 * Runs in the worker.
 */
#include "postgres.h"

#include "cluster/view_delivery/other_nodes.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/timestamp.h"

/* The number of keys that one call of unsent_take() returns at most. */
#define SENT_AT_ONCE 200

static KeptPlan add_plan = {
	ON_UNSENT,
	"INSERT INTO " UNSENT_SQL " (id, node_group, post_id, user_id, creation_date)"
	" VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET node_group = $2",
	5, {UUIDOID, INT4OID, UUIDOID, UUIDOID, TIMESTAMPTZOID}, NULL
};

static KeptPlan groups_plan = {
	ON_UNSENT,
	"SELECT DISTINCT node_group::integer FROM " UNSENT_SQL, 0, {0}, NULL
};

static KeptPlan take_plan = {
	ON_UNSENT,
	"DELETE FROM " UNSENT_SQL " WHERE id IN (SELECT id FROM " UNSENT_SQL
	" WHERE node_group = $1 AND id > $3 ORDER BY id LIMIT $2)"
	" RETURNING post_id::uuid, user_id::uuid, creation_date::timestamptz, id::uuid",
	3, {INT4OID, INT8OID, UUIDOID}, NULL
};

/*
 * Insert into the table "unsent" the key of a copy that could not be sent.
 *
 * group: the number (pg_dist_node.groupid) of the node that lacks the copy
 */
void
unsent_add(int group, const PostKey *key)
{
	const unsigned char *bytes = (const unsigned char *) key;
	uint64		half[] = {
		DatumGetUInt64(hash_any_extended(bytes, sizeof(PostKey), 0)),
		DatumGetUInt64(hash_any_extended(bytes, sizeof(PostKey), 1))
	};
	pg_uuid_t	id = {0};
	Datum		values[] = {
		UUIDPGetDatum(&id), Int32GetDatum(group), UUIDPGetDatum(&key->post_id),
		UUIDPGetDatum(&key->user_id), TimestampTzGetDatum(key->creation_date)
	};

	memcpy(id.data, half, UUID_LEN);
	(void) plan_run(&add_plan, values, NULL, false);
}

/*
 * For each of n nodes, set the field lacks_copies to whether the table
 * "unsent" has keys of copies for the node. Set unsent_group to the node group
 * in these rows.
 */
void
unsent_look(OtherNode *others, int n)
{
	for (int i = 0; i < n; i++)
		others[i].lacks_copies = false;
	if (!bookkeeping_first_row(BOOK_UNSENT, NULL, NULL))
		return;
	SPI_connect();
	plan_execute(&groups_plan, NULL, NULL, true);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		bool		isnull;
		int			group = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[row],
														SPI_tuptable->tupdesc, 1, &isnull));
		int			at = 0;

		/*
		 * If no node in the list has the number "group", the node was removed
		 * from the cluster. The last node in the list then stands for the
		 * removed node. copies_send_unsent() sends each copy to the node that
		 * now has the author's shard.
		 */
		while (at < n - 1 && others[at].node.group != group)
			at++;
		if (n == 0)
			break;
		others[at].lacks_copies = true;
		others[at].unsent_group = group;
	}
	SPI_finish();
}

/*
 * Return the keys of up to SENT_AT_ONCE copies that a node lacks, and delete
 * these keys from the table "unsent". The next call returns the next keys.
 * Sets *n to the number of keys.
 */
PostKey *
unsent_take(OtherNode *other, int *n)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		values[] = {
		Int32GetDatum(other->unsent_group), Int64GetDatum(SENT_AT_ONCE),
		UUIDPGetDatum(&other->sent_up_to)
	};
	pg_uuid_t	last = other->sent_up_to;
	PostKey    *keys;

	SPI_connect();
	(void) plan_execute(&take_plan, values, NULL, false);
	*n = (int) SPI_processed;
	keys = MemoryContextAllocZero(context, sizeof(PostKey) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;
		pg_uuid_t	id;

		if (row_uuid(row, desc, 4, &id) && memcmp(&id, &last, UUID_LEN) > 0)
			last = id;
		(void) row_uuid(row, desc, 1, &keys[i].post_id);
		(void) row_uuid(row, desc, 2, &keys[i].user_id);
		keys[i].creation_date = DatumGetTimestampTz(SPI_getbinval(row, desc, 3, &isnull));
	}
	SPI_finish();
	if (*n < SENT_AT_ONCE)
		memset(&last, 0, sizeof(last));
	other->sent_up_to = last;
	return keys;
}
