/*
 * cluster_import.c
 *		Bulk import on a cluster: the work of the calling node, the one on
 *		which import() is called. node_import.c has the work of the other
 *		nodes.
 *
 * This is the ImportTarget (import/import.h) of a cluster: where an import
 * finds existing items, and how it writes new ones. The calling node reads the
 * sources and checks rows by the statements that a single server uses. Before
 * that, it copies existing items from the other nodes into temporary tables.
 * At the end it sends new items to their nodes. The steps are:
 *
 * 1.	The calling node locks all shards against being moved. Each node locks
 *	its leaves, and reports which users are being deleted.
 * 2.	The calling node checks users and names against the reference tables.
 *	Citus writes new users and names on all nodes.
 * 3.	Nodes report which of the imported posts, comments and likes exist.
 *	They keep other transactions from adding follows, and report which
 *	follows exist.
 * 4.	Nodes lock existing posts that get comments or likes.
 * 5.	The calling node writes new items to temporary tables, and Citus copies
 *	them to their shards. Nodes create the counters of new posts.
 * 6.	Nodes edit existing items that differ from imported ones.
 * 7.	Nodes compare the users' names in new items with the current names of
 *	these users, in case a user was renamed during the import.
 *
 * A call to a node passes many rows, which are sorted by shard. All of this is
 * one transaction, which Citus commits on all nodes by two-phase commit. The
 * other nodes prepare their parts of the transaction. PREPARE TRANSACTION
 * fails after a use of temporary tables, so only the calling node uses them.
 *
 * Runs in backends, between SPI_connect() and SPI_finish().
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/cluster_import.h"
#include "cluster/operations/node_shipment.h"
#include "cluster/operations/operations.h"
#include "cluster/user_items/reference_users.h"
#include "model/user_changes/user_changes.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/*
 * Return the quoted name of the table that holds this node's copy of a
 * reference table. Errors: 55000 if this node has no copy.
 */
char *
cluster_own_shard(const char *table)
{
	Oid			relid = table_lookup(table);
	ShardMap	map;

	if (!OidIsValid(relid) || !shard_map_read(&map, relid) || !map.everywhere ||
		map.n != 1 || !OidIsValid(map.shard[0].table) ||
		shape_table_owner(map.shard[0].table) != container_owner())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s.%s\" is missing on this node",
						BLOGSTORE_SCHEMA, table),
				 errhint("Call create_containers() on the coordinator again. It creates what a node lacks."),
				 err_fields(table, NULL, RULE_UNALTERED)));
	return quoted_relation(map.shard[0].table);
}

/*
 * Begin an import. Lock all shards against being moved, because the import
 * sorts its rows by shard. Create temporary tables for existing posts, for
 * users being deleted, and for new items. Make the import's statements read
 * these tables, and this node's copies of the reference tables.
 */
static void
nodes_begin(Import *import)
{
	(void) container_hold_all(CONTAINER_POSTS);
	cluster_writes_here();
	import->reads[READ_USERS] = cluster_own_shard(USER_ITEMS_TABLE);
	import->reads[READ_USERNAMES] = cluster_own_shard("usernames");
	import->reads[READ_POSTS] = psprintf("pg_temp.%sknown_post", import->prefix);
	import->reads[READ_DELETING] = psprintf("pg_temp.%sdeleting", import->prefix);
	import->reads[READ_FOLLOWS] = psprintf("pg_temp.%sknown_follow", import->prefix);
	import->reads[READ_FOLLOWERS] = psprintf("pg_temp.%sknown_follower", import->prefix);
	for (int i = 0; i < import_spread_tables_n; i++)
		(void) import_run(import, import_spread_tables_sql[i]);
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
	{
		StringInfoData sql;
		int			n;
		const Property *prop = item_properties(t, &n);

		initStringInfo(&sql);
		appendStringInfo(&sql, "CREATE TEMP TABLE @new_%s (", item_type_name(t));
		for (int i = 0; i < n; i++)
			appendStringInfo(&sql, "%s %s, ", property_column(prop[i]),
							 format_type_be(property_type(prop[i])));
		appendStringInfoString(&sql, "partition integer) USING heap ON COMMIT DROP");
		(void) import_run(import, sql.data);
	}
}

/*
 * Make Citus use one connection to each node. Each statement then sees what
 * earlier statements have written on that node.
 */
static void
use_one_connection(void)
{
	setting_change("citus.multi_shard_modify_mode", "sequential");
}

static void
nodes_lock(Import *import)
{
	const NodeCall call = {
		.name = "import_begin_part", .flag = true,
		.outdated = "the cluster was changed"
	};

	use_one_connection();
	ship_nothing(import, &call);
}

/*
 * Fill the import's temporary table of users who are being deleted on some
 * node.
 */
static void
learn_deleting(const Import *import)
{
	Relation	table = temp_table_open(import, "deleting");
	TempWriter *writer = temp_writer_begin(table);
	ListCell   *lc;

	foreach(lc, reference_users_being_deleted())
	{
		TupleTableSlot *slot = temp_writer_slot(writer);

		slot->tts_values[0] = UUIDPGetDatum((pg_uuid_t *) lfirst(lc));
		slot->tts_isnull[0] = false;
		temp_writer_put(writer);
	}
	temp_writer_end(writer);
	table_close(table, NoLock);
}

/* Write an item's values in n columns to a temporary table. */
static void
put_columns(TempWriter *writer, const BlogItem *item, const Property *column,
			int n)
{
	TupleTableSlot *slot = temp_writer_slot(writer);

	for (int i = 0; i < n; i++)
	{
		slot->tts_values[i] = item->value[column[i]];
		slot->tts_isnull[i] = item->isnull[column[i]];
	}
	temp_writer_put(writer);
}

static void
take_post(void *arg, const BlogItem *item)
{
	static const Property column[] = {
		PROP_TYPE, PROP_POST_ID, PROP_USER_ID, PROP_TITLE, PROP_CONTENT,
		PROP_CREATION_DATE, PROP_HIDDEN, PROP_PUBLISH_DATE, PROP_PROPERTIES
	};

	put_columns(arg, item, column, lengthof(column));
}

/*
 * Copy existing posts from their nodes to the import's temporary table of
 * existing posts.
 *
 * of_children: if false, copy the posts that have ids of imported posts. If
 *	true, copy the posts to which imported comments and likes belong, except
 *	posts that the import creates or that the temporary table already has.
 */
static void
learn_posts(const Import *import, bool of_children)
{
	Relation	table = temp_table_open(import, "known_post");
	TempWriter *writer = temp_writer_begin(table);
	const NodeCall call = {
		.name = "import_posts", .type = ITEM_POST,
		.rows = of_children ? ROWS_A_CALL : ROWS_A_CALL / 10,
		.more = true, .more_type = BOOLOID, .more_value = BoolGetDatum(!of_children),
		.take = take_post, .arg = writer
	};

	ship_query(import, &call, of_children ? import_there_keys_sql :
			   import_post_keys_sql);
	temp_writer_end(writer);
	table_close(table, NoLock);
	(void) import_run(import, "ANALYZE @known_post");
}

static void
nodes_learn(const Import *import, ImportLearn what)
{
	if (what == LEARN_DELETING)
		learn_deleting(import);
	else
		learn_posts(import, what == LEARN_PARENTS);
}

/*
 * Make the nodes lock the existing posts of imported comments and likes, so
 * that no other transaction deletes these posts.
 */
static void
nodes_keep_posts(const Import *import, int64 posts)
{
	const NodeCall call = {
		.name = "import_keep_posts", .flag = true, .outdated = "a post was deleted",
		.rows = ROWS_A_CALL
	};

	ship_query(import, &call, import_lock_keys_sql);
}

static void
take_follower(void *arg, const BlogItem *item)
{
	static const Property column[] = {PROP_USER_ID, PROP_COMMENT_COUNT};

	put_columns(arg, item, column, lengthof(column));
}

static void
take_follow(void *arg, const BlogItem *item)
{
	static const Property column[] = {
		PROP_USER_ID, PROP_FOLLOWED_ID, PROP_CREATION_DATE
	};

	put_columns(arg, item, column, lengthof(column));
}

/*
 * Send the rows of a query to the nodes, and put what they return into a
 * temporary table of the import.
 *
 * call: its field "arg" is set here
 */
static void
learn_follows(const Import *import, const char *table_name, NodeCall call,
			  const char *sql)
{
	Relation	table = temp_table_open(import, table_name);

	call.arg = temp_writer_begin(table);
	ship_query(import, &call, sql);
	temp_writer_end(call.arg);
	table_close(table, NoLock);
	(void) import_run(import, psprintf("ANALYZE @%s", table_name));
}

/*
 * Keep other transactions from adding follows. Learn how many users each user
 * in the source follows, and which of the source's follows exist. All imports
 * lock the nodes in the same order.
 */
static void
nodes_lock_follows(const Import *import)
{
	const NodeCall lock = {
		.name = "import_lock_follows", .flag = true,
		.outdated = "the cluster was changed"
	};
	const NodeCall followers = {
		.name = "import_count_follows", .type = ITEM_POST, .rows = ROWS_A_CALL,
		.take = take_follower
	};
	const NodeCall follows = {
		.name = "import_follows", .type = ITEM_FOLLOW, .rows = ROWS_A_CALL,
		.take = take_follow
	};

	ship_nothing(import, &lock);
	learn_follows(import, "known_follower", followers, import_follower_keys_sql);
	learn_follows(import, "known_follow", follows, import_follow_keys_sql);
}

/*
 * The temporary table to which the new items of one type are written, before
 * Citus copies them to their shards.
 */
typedef struct Spool
{
	ItemType	type;
	TempWriter *writer;
} Spool;

static void
spool_item(void *arg, const BlogItem *item)
{
	Spool	   *spool = arg;
	TupleTableSlot *slot = temp_writer_slot(spool->writer);
	int			n;
	const Property *prop = item_properties(spool->type, &n);

	for (int i = 0; i < n; i++)
	{
		slot->tts_values[i] = item->value[prop[i]];
		slot->tts_isnull[i] = item->isnull[prop[i]];
	}
	slot->tts_isnull[n] = spool->type == ITEM_USER;
	if (spool->type != ITEM_USER)
		slot->tts_values[n] =
			Int32GetDatum(shard_of_key(container_shards(CONTAINER_POSTS),
									   item_uuid(item, spool->type == ITEM_FOLLOW ?
												 PROP_USER_ID : PROP_POST_ID)));
	temp_writer_put(spool->writer);
}

static void
spool_items(const Import *import, ItemType type)
{
	Relation	table = temp_table_open(import, psprintf("new_%s", item_type_name(type)));
	Spool		spool = {.type = type, .writer = temp_writer_begin(table)};

	(void) import_new_items(import, type, spool_item, &spool);
	temp_writer_end(spool.writer);
	table_close(table, NoLock);
}

/*
 * Write the new items of one type to a temporary table, and make Citus copy
 * them to their shards.
 *
 * rows: the number of new items
 */
static void
nodes_write(const Import *import, ItemType type, int64 rows)
{
	const NodeCall count = {
		.name = "import_count_posts", .flag = true, .outdated = "a post was deleted",
		.rows = ROWS_A_CALL
	};
	StringInfoData columns;
	int			n;
	const Property *prop = item_properties(type, &n);
	bool		of_users = type == ITEM_USER || type == ITEM_FOLLOW;
	char	   *sql;

	spool_items(import, type);
	initStringInfo(&columns);
	for (int i = 0; i < n; i++)
		if (container_has_property(of_users ? CONTAINER_USERS : CONTAINER_POSTS,
								   prop[i]))
			appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "",
							 property_column(prop[i]));
	sql = psprintf("INSERT INTO %s (%s) SELECT %s FROM @new_%s",
				   type == ITEM_USER ? USER_ITEMS_SQL : of_users ? USERS_SQL : POSTS_SQL,
				   columns.data, columns.data, item_type_name(type));
	import_run_write(import, sql, rows);
	if (type == ITEM_POST)
		ship_query(import, &count, "SELECT partition, post_id FROM @new_post");
}

static void
nodes_count_on_comments(const Import *import)
{
	const NodeCall call = {
		.name = "import_count_comments", .flag = true,
		.outdated = "a comment was deleted", .rows = ROWS_A_CALL
	};

	ship_query(import, &call, import_node_comment_counts_sql);
}

static void
take_edited(void *arg, const BlogItem *item)
{
	(*(int64 *) arg)++;
}

/*
 * Make the nodes change existing posts or comments that differ from the
 * imported ones. Returns how many items were changed.
 */
static int64
nodes_edit(Import *import, ItemType type)
{
	int64		edited = 0;
	const NodeCall call = {
		.name = type == ITEM_POST ? "import_edit_posts" : "import_edit_comments",
		.type = ITEM_LIKE, .rows = ROWS_A_CALL / 10,
		.more = true, .more_type = TIMESTAMPTZOID,
		.more_value = TimestampTzGetDatum(import->now),
		.take = take_edited, .arg = &edited
	};
	TupleDesc	desc = node_row_desc(type);
	Tuplestorestate *rows = import->changed;
	int			nprops;
	const Property *prop = import_edited_properties(type, &nprops);
	TupleTableSlot *slot;
	Shipment	ship;
	MemoryContext of_row = AllocSetContextCreate(CurrentMemoryContext,
												 "blogstore row to edit",
												 ALLOCSET_DEFAULT_SIZES);

	if (type == ITEM_POST)
		slot = import_keep_rows(import, import_changed_posts_sql, &rows);
	else
		slot = MakeSingleTupleTableSlot(import->passed_desc[type], &TTSOpsMinimalTuple);
	ship_begin(&ship, import, &call);
	ship.ncolumns = 1;
	ship.type[0] = remote_row_type(type);
	while (slot != NULL && tuplestore_gettupleslot(rows, true, false, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(of_row);
		BlogItem	item;
		Datum		row;

		row_item(slot, prop, nprops, &item);
		if (type == ITEM_POST)
			item_set(&item, PROP_ID, item.value[PROP_POST_ID]);
		row = remote_row_of_item(&item, type, desc);
		ship_row(&ship, shard_of_key(container_shards(CONTAINER_POSTS),
									 item_uuid(&item, PROP_POST_ID)), &row);
		MemoryContextSwitchTo(old);
		MemoryContextReset(of_row);
	}
	ship_end(&ship);
	MemoryContextDelete(of_row);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	if (type == ITEM_POST)
		tuplestore_end(rows);
	return edited;
}

/*
 * Return whether an error of another node says that a primary key already
 * exists. Such an error names no constraint in its fields. Its message names
 * the constraint, for example "posts_post_pkey_102008", where 102008 is a
 * shard's id.
 */
static bool
nodes_key_is_taken(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION &&
		error->message != NULL && strstr(error->message, "_pkey") != NULL;
}

/*
 * Throw an error if a user of imported items was renamed or deleted after the
 * import had read the user's name.
 */
static void
compare_names(const Import *import)
{
	const NodeCall call = {
		.name = "import_same_names", .flag = true, .rows = ROWS_A_CALL,
		.outdated = "a user was renamed, or deleted,"
	};

	ship_query(import, &call, import_given_names_sql);
}

static void
nodes_end(const Import *import)
{
	use_one_connection();
	compare_names(import);
	(void) import_run(import, "DROP TABLE @known_post, @deleting, @known_follow,"
					  " @known_follower, @new_user, @new_post, @new_comment,"
					  " @new_like, @new_comment_like, @new_follow");
}

const ImportTarget cluster_import_target = {
	.begin = nodes_begin,
	.lock = nodes_lock,
	.learn = nodes_learn,
	.lookup = node_lookup_begin,
	.keep_posts = nodes_keep_posts,
	.lock_follows = nodes_lock_follows,
	.write = nodes_write,
	.count_on_comments = nodes_count_on_comments,
	.edit = nodes_edit,
	.key_is_taken = nodes_key_is_taken,
	.end = nodes_end
};
