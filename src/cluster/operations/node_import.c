/*
 * node_import.c
 *		Bulk import on a cluster: what each node does for the node on which
 *		import() was called (cluster_import.c).
 *
 * Citus runs one transaction on this node for the import, as the containers'
 * owner. In this transaction, serve_post() and similar functions
 * (cluster/remote/serve_request.c) call the functions of this file. Each call
 * passes many keys of posts on this node. Locks are held until the transaction
 * ends.
 *
 * Runs in backends to which Citus has connected from other nodes.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "base/worker_hooks.h"
#include "cluster/citus/citus.h"
#include "cluster/remote/remote.h"
#include "import/import.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "model/user_follows.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

NODE_FUNCTION(import_begin_part, "import()");
NODE_FUNCTION(import_posts, "import()");
NODE_FUNCTION(import_children, "import()");
NODE_FUNCTION(import_keep_posts, "import()");
NODE_FUNCTION(import_lock_follows, "import()");
NODE_FUNCTION(import_count_follows, "import()");
NODE_FUNCTION(import_follows, "import()");
NODE_FUNCTION(import_count_posts, "import()");
NODE_FUNCTION(import_count_comments, "import()");
NODE_FUNCTION(import_same_names, "import()");
NODE_FUNCTION(import_edit_items, "import()");

/*
 * Return an argument that is an array of ids, and set *n to its length.
 * Errors: 22023.
 */
static const pg_uuid_t *
get_ids(FunctionCallInfo fcinfo, int arg, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);

	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_ELEMTYPE(array) != UUIDOID || ARR_NDIM(array) > 1 || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a list of ids must be one-dimensional and must not contain nulls"),
				 errhint("Only import() calls this function.")));
	return (const pg_uuid_t *) ARR_DATA_PTR(array);
}

static void
need_same_length(int a, int b)
{
	if (a != b)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the lists have different lengths"),
				 errhint("Only import() calls this function.")));
}

static void
put_item(ReturnSetInfo *out, const BlogItem *item, ItemType type)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(item_row(item, type, out->setDesc));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row),.t_data = row};

	tuplestore_puttuple(out->setResult, &tuple);
}

/*
 * Report that an item was edited: add a row to "out", the result rows of an
 * SQL function. All columns but the id are NULL.
 */
static void
put_id(ReturnSetInfo *out, const pg_uuid_t *id)
{
	BlogItem	item;

	item_init(&item, ITEM_LIKE);
	memset(item.isnull, true, sizeof(item.isnull));
	item_set(&item, PROP_ID, UUIDPGetDatum(id));
	put_item(out, &item, ITEM_LIKE);
}

static void
lock_leaves(Container container, ItemType type)
{
	for (int p = partition_first(container, type); p != NO_PARTITION;
		 p = partition_after(container, type, p))
		item_writer_close(item_writer_open_partition(container, type, p));
}

/*
 * blogstore.import_begin_part(): lock this node's leaves in RowExclusiveLock
 * mode until the import's transaction ends. So the worker neither renames nor
 * deletes users' items during the import. Errors: 55000.
 */
static Datum
import_begin_part(PG_FUNCTION_ARGS)
{
	static const ItemType of_posts[] = {
		ITEM_POST, ITEM_COMMENT, ITEM_LIKE, ITEM_COMMENT_LIKE, ITEM_DELTA
	};

	PushActiveSnapshot(GetTransactionSnapshot());
	container_lock(CONTAINER_POSTS, true);
	for (int i = 0; i < lengthof(of_posts); i++)
		lock_leaves(CONTAINER_POSTS, of_posts[i]);
	container_lock(CONTAINER_USERS, true);
	lock_leaves(CONTAINER_USERS, ITEM_FOLLOW);
	PopActiveSnapshot();
	worker_hooks.item_written(true);
	PG_RETURN_BOOL(true);
}

/*
 * blogstore.import_posts(ids, whole): return those of the given posts that are
 * on this node. If "whole" is false, the title, content and properties of the
 * returned posts are NULL.
 */
static Datum
import_posts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	const pg_uuid_t *ids = get_ids(fcinfo, 0, &n);
	bool		whole = PG_GETARG_BOOL(1);

	InitMaterializedSRF(fcinfo, 0);
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < n; i++)
	{
		Datum		key = UUIDPGetDatum(&ids[i]);
		BlogItem	post;

		CHECK_FOR_INTERRUPTS();
		if (!item_get(&(ItemQuery) {
			.container = CONTAINER_POSTS, .type = ITEM_POST, .partition_key = &ids[i],
			.path = PATH_KEY, .key = &key, .nkeys = 1, .identity = true
		}, &post))
			continue;
		if (!whole)
			post.isnull[PROP_TITLE] = post.isnull[PROP_CONTENT] =
				post.isnull[PROP_PROPERTIES] = true;
		put_item(out, &post, ITEM_POST);
	}
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * Return the type of the items that a call of import_children() asks for. Its
 * arguments are the columns of keys: three for likes of comments, otherwise
 * two.
 */
static ItemType
asked_type(FunctionCallInfo fcinfo, TupleDesc result)
{
	if (PG_NARGS() == 3)
		return ITEM_COMMENT_LIKE;
	return result->tdtypeid == remote_row_type(ITEM_LIKE) ? ITEM_LIKE :
		ITEM_COMMENT;
}

/*
 * blogstore.import_comments(post_ids, ids),
 * blogstore.import_likes(post_ids, user_ids) and
 * blogstore.import_comment_likes(post_ids, comment_ids, user_ids): return
 * those of the given comments or likes that are on this node. They are
 * returned in the order of the given keys.
 */
static Datum
import_children(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	int			n_second;
	int			n_last;
	const pg_uuid_t *posts = get_ids(fcinfo, 0, &n);
	const pg_uuid_t *second = get_ids(fcinfo, 1, &n_second);
	const pg_uuid_t *last = get_ids(fcinfo, PG_NARGS() - 1, &n_last);
	ItemType	type;
	ItemLookup *lookup;

	need_same_length(n, n_second);
	need_same_length(n, n_last);
	InitMaterializedSRF(fcinfo, 0);
	type = asked_type(fcinfo, out->setDesc);
	PushActiveSnapshot(GetTransactionSnapshot());
	lookup = leaf_lookup_begin(type);
	for (int i = 0; i < n; i++)
	{
		ChildKey	key = {.type = type,.post_id = posts[i]};
		BlogItem	item;

		CHECK_FOR_INTERRUPTS();
		if (type != ITEM_LIKE)
			key.comment_id = second[i];
		if (is_like(type))
			key.user_id = last[i];
		if (lookup->find(lookup, &key, &item))
			put_item(out, &item, type);
	}
	lookup->end(lookup);
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * blogstore.import_keep_posts(ids): lock the rows of the given posts FOR KEY
 * SHARE, so that the posts are not deleted. Returns false if one of these
 * posts does not exist.
 */
static Datum
import_keep_posts(PG_FUNCTION_ARGS)
{
	int			n;
	const pg_uuid_t *ids = get_ids(fcinfo, 0, &n);
	bool		all = true;

	PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < n && all; i++)
	{
		Datum		key = UUIDPGetDatum(&ids[i]);
		ItemWriter *writer = item_writer_open(CONTAINER_POSTS, ITEM_POST, &ids[i]);
		BlogItem	post;

		CHECK_FOR_INTERRUPTS();
		item_writer_identity(writer);
		all = item_writer_lock(writer, &key, 1, LockTupleKeyShare, LockWaitBlock,
							   &post) == ITEM_OK;
		item_writer_close(writer);
	}
	PopActiveSnapshot();
	PG_RETURN_BOOL(all);
}

static int64
count_follows(const pg_uuid_t *user_id)
{
	Datum		key = UUIDPGetDatum(user_id);
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = CONTAINER_USERS, .type = ITEM_FOLLOW,
		.partition_key = user_id, .path = PATH_KEY, .key = &key, .nkeys = 1,
		.identity = true
	});
	BlogItem	follow;
	int64		n = 0;

	while (item_scan_next(scan, &follow))
		n++;
	item_scan_end(scan);
	return n;
}

/*
 * blogstore.import_lock_follows(): keep other transactions from adding follows
 * on this node until the import's transaction ends.
 */
static Datum
import_lock_follows(PG_FUNCTION_ARGS)
{
	follows_lock();
	PG_RETURN_BOOL(true);
}

/*
 * blogstore.import_count_follows(ids): count the follows of each of the given
 * users. Returns one row for each user, with the columns id, user_id, and the
 * count as comment_count, because a node returns rows of items. All other
 * columns are NULL.
 */
static Datum
import_count_follows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	const pg_uuid_t *ids = get_ids(fcinfo, 0, &n);

	InitMaterializedSRF(fcinfo, 0);
	PushActiveSnapshot(GetLatestSnapshot());
	for (int i = 0; i < n; i++)
	{
		BlogItem	row;

		CHECK_FOR_INTERRUPTS();
		item_init(&row, ITEM_POST);
		memset(row.isnull, true, sizeof(row.isnull));
		item_set(&row, PROP_ID, UUIDPGetDatum(&ids[i]));
		item_set(&row, PROP_USER_ID, UUIDPGetDatum(&ids[i]));
		item_set(&row, PROP_COMMENT_COUNT, Int64GetDatum(count_follows(&ids[i])));
		put_item(out, &row, ITEM_POST);
	}
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * blogstore.import_follows(user_ids, followed_ids): return those of the given
 * follows that are on this node.
 */
static Datum
import_follows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	int			n_followed;
	const pg_uuid_t *users = get_ids(fcinfo, 0, &n);
	const pg_uuid_t *followed = get_ids(fcinfo, 1, &n_followed);

	need_same_length(n, n_followed);
	InitMaterializedSRF(fcinfo, 0);
	PushActiveSnapshot(GetLatestSnapshot());
	for (int i = 0; i < n; i++)
	{
		Datum		value[FOLLOW_KEYS];
		ItemQuery	query = follow_query(&users[i], &followed[i], value);
		BlogItem	follow;

		CHECK_FOR_INTERRUPTS();
		query.identity = true;
		if (item_get(&query, &follow))
			put_item(out, &follow, ITEM_FOLLOW);
	}
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * blogstore.import_count_posts(ids): create the counters of new posts, whose
 * ids are sorted by shard. If the counter of an earlier post with the same id
 * still exists, delete it.
 */
static Datum
import_count_posts(PG_FUNCTION_ARGS)
{
	int			n;
	const pg_uuid_t *ids = get_ids(fcinfo, 0, &n);

	PushActiveSnapshot(GetTransactionSnapshot());
	import_write_counters(ids, n);
	PopActiveSnapshot();
	PG_RETURN_BOOL(true);
}

/*
 * Return the values of an argument that is an array of another type than uuid.
 * Errors: 22023 if it does not have n values.
 */
static Datum *
get_values(FunctionCallInfo fcinfo, int arg, int n, bool **isnull)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	Datum	   *value;
	int16		length;
	bool		by_value;
	char		align;
	int			n_values;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align,
					  &value, isnull, &n_values);
	need_same_length(n, n_values);
	return value;
}

/*
 * blogstore.import_count_comments(post_ids, ids, replies, likes, made): add
 * numbers of new replies and likes to the counts of comments. Comments that do
 * not exist are left out. Returns false if a comment gets likes but does not
 * exist.
 *
 * made: for each comment, whether the import has written it
 */
static Datum
import_count_comments(PG_FUNCTION_ARGS)
{
	int			n;
	int			n_others;
	const pg_uuid_t *posts = get_ids(fcinfo, 0, &n);
	const pg_uuid_t *ids = get_ids(fcinfo, 1, &n_others);
	Datum	   *column[3];
	bool	   *isnull[3];
	bool		all = true;

	need_same_length(n, n_others);
	for (int c = 0; c < lengthof(column); c++)
		column[c] = get_values(fcinfo, 2 + c, n, &isnull[c]);
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < n && all; i++)
	{
		const CountedItem comment = counted_comment(&posts[i], &ids[i]);
		ItemCounts	counts;

		CHECK_FOR_INTERRUPTS();
		if (isnull[0][i] || isnull[1][i] || isnull[2][i])
			continue;
		counts.comments = DatumGetInt64(column[0][i]);
		counts.likes = DatumGetInt64(column[1][i]);
		all = import_count_on_comment(&comment, counts,
									  DatumGetBool(column[2][i]));
	}
	PopActiveSnapshot();
	PG_RETURN_BOOL(all);
}

/*
 * blogstore.import_same_names(ids, names): return whether this node's user
 * items have the given usernames. If not, the import fails.
 *
 * The import has written these usernames into items. If a user is renamed
 * after this check, the worker of this node also renames the new items. If a
 * user was renamed before, the worker may have finished already, and missed
 * these items. This check then finds that the names differ.
 */
static Datum
import_same_names(PG_FUNCTION_ARGS)
{
	int			n;
	const pg_uuid_t *ids = get_ids(fcinfo, 0, &n);
	bool	   *isnull;
	Datum	   *name = get_values(fcinfo, 1, n, &isnull);
	const DeletedUsers *deleted;
	bool		same = true;

	PushActiveSnapshot(GetLatestSnapshot());
	deleted = deleted_users(GetActiveSnapshot());
	for (int i = 0; i < n && same; i++)
	{
		Datum		key = UUIDPGetDatum(&ids[i]);
		BlogItem	given;
		BlogItem	user;

		CHECK_FOR_INTERRUPTS();
		item_init(&given, ITEM_USER);
		if (!isnull[i])
			item_set(&given, PROP_USERNAME, name[i]);
		same = !deleted_has(deleted, &ids[i]) &&
			item_get(&(ItemQuery) {
			.container = CONTAINER_USERS, .type = ITEM_USER, .partition_key = &ids[i],
			.path = PATH_KEY, .key = &key, .nkeys = 1, .identity = true
		}, &user) &&
			item_same(&user, &given, PROP_USERNAME);
	}
	PopActiveSnapshot();
	PG_RETURN_BOOL(same);
}

/*
 * blogstore.import_edit_posts(items, now) and
 * blogstore.import_edit_comments(items, now): make items of this node equal to
 * the given ones. Returns the ids of the items that were different.
 *
 * If a post becomes hidden, the worker removes it from the views. This
 * function does not, because it would have to take the views' lock. A
 * transaction that takes the views' lock must not lock further posts
 * afterwards, but the import may do so. Errors: 40001, 55000.
 */
static Datum
import_edit_items(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *items = PG_GETARG_ARRAYTYPE_P(0);
	Import		import = {.command = "import()",.update = true,
		.now = PG_GETARG_TIMESTAMPTZ(1)};
	ItemType	type = ARR_ELEMTYPE(items) == remote_row_type(ITEM_POST) ? ITEM_POST :
		ITEM_COMMENT;
	TupleDesc	desc = lookup_rowtype_tupdesc(ARR_ELEMTYPE(items), -1);
	Datum	   *row;
	bool	   *isnull;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	deconstruct_array(items, ARR_ELEMTYPE(items), -1, false, TYPALIGN_DOUBLE,
					  &row, &isnull, &n);
	PushActiveSnapshot(GetTransactionSnapshot());
	for (int i = 0; i < n; i++)
	{
		HeapTupleHeader header = isnull[i] ? NULL : DatumGetHeapTupleHeader(row[i]);
		HeapTupleData tuple = {.t_data = header};
		BlogItem	item;

		CHECK_FOR_INTERRUPTS();
		if (header == NULL)
			continue;
		tuple.t_len = HeapTupleHeaderGetDatumLength(header);
		remote_item_of_row(&item, type, desc, &tuple);
		if (import_edit_one(&import, type, &item))
			put_id(out, item_uuid(&item, PROP_ID));
	}
	PopActiveSnapshot();
	ReleaseTupleDesc(desc);
	return (Datum) 0;
}
