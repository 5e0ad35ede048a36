/*
 * cluster_verify.c
 *		What verify() reads on a cluster.
 *
 * verify() runs the statement for a single server, with some parts replaced:
 *
 *	users		are read from a reference table, which every node has
 *	posts		the items of a post are read by one subquery only. Citus
 *				runs each subquery with a snapshot of its own. A like
 *				inserted between two such snapshots would be counted but
 *				not found
 *	usernames	a separate statement compares this node's copy of the table
 *				"usernames" with this node's users
 *	feed		each node has a feed. Citus reads all of them through
 *				separate connections, as the containers' owner. The
 *				newest blogstore.feed_size rows must be the same
 *	follows		each shard of follows is compared with the copy of the users
 *				on its node, which is a reference table
 *	topics		each node compares the topics of its own posts, and returns
 *				the findings
 *	queue		the same for publish_queue
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/operations.h"
#include "cluster/user_items/reference_users.h"
#include "cluster/view_delivery/view_delivery.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/snapmgr.h"

NODE_FUNCTION(views_served, "verify()");
NODE_FUNCTION(verify_node, "verify()");

/*
 * How many findings about topics a node returns at most, and how many about
 * publish_queue.
 */
#define MAX_NODE_FINDINGS 10000

/*
 * How long verify_node() waits for a lock. Its caller is in another session,
 * and the deadlock detector does not know that the caller waits. So if
 * verify_node() waited for a lock of the caller, both would wait forever.
 */
#define NODE_LOCK_WAIT "30s"

/*
 * Selects the newest rows of a node's feed as JSON; NULL if the node's views
 * are not ready.
 */
#define ROWS_SQL \
	"SELECT CASE WHEN " BLOGSTORE_SCHEMA ".views_served() THEN coalesce(" \
	"(SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(f)) FROM (SELECT * FROM " FEED_SQL \
	" ORDER BY creation_date DESC, id DESC LIMIT %d) AS f), '[]') END"

/*
 * Selects two columns: the results of all nodes as a JSON array, and the
 * errors of the nodes that have not answered.
 */
#define NODES_SQL \
	"SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(" \
	"'node', nodeid, 'rows', result::jsonb)) FILTER (WHERE success AND result <> ''), '[]')::text, " \
	"pg_catalog.string_agg(result, '; ') FILTER (WHERE NOT success) " \
	"FROM pg_catalog.run_command_on_all_nodes(%s)"

#define EACH_NODE_SQL "jsonb_to_recordset($6) AS n(node integer, rows jsonb)"

static const char nodes_sql[] = "SELECT node FROM " EACH_NODE_SQL;

static const char feeds_sql[] =
	EACH_NODE_SQL
	" CROSS JOIN LATERAL jsonb_to_recordset(n.rows) AS f(id uuid, post_id uuid,"
	" user_id uuid, user_username text, title text, content text,"
	" comment_count bigint, like_count bigint, creation_date timestamptz,"
	" modification_date timestamptz, properties jsonb)";

static const char tally_sql[] =
	RECOUNTED_SQL("") ","
	" tally AS MATERIALIZED (SELECT s.post_id, sum(s.comment_delta) AS comment_delta,"
	" sum(s.like_delta) AS like_delta, count(*) FILTER (WHERE s.is_comment) AS comments,"
	" count(*) FILTER (WHERE s.is_like) AS likes, bool_or(s.odd) AS odd"
	" FROM (SELECT i.post_id, i.type = 'like' AS is_like,"
	" i.type = 'comment' AND i.hidden IS NOT TRUE AS is_comment,"
	" CASE WHEN i.item_id = i.post_id THEN i.comment_count END AS comment_delta,"
	" CASE WHEN i.item_id = i.post_id THEN i.like_count END AS like_delta,"
	" i.id IS NULL OR CASE WHEN i.type = 'delta'"
	" THEN num_nulls(i.item_id, i.comment_count, i.like_count) > 0"
	" ELSE i.no_content OR i.creation_date IS NULL"
	" OR (i.type = 'comment_like' AND i.comment_id IS NULL)"
	" OR (i.user_username COLLATE \"C\" = a.username) IS NOT TRUE END AS odd"
	" FROM (SELECT id, type, post_id, user_id, user_username,"
	" type = 'comment' AND content IS NULL AS no_content, item_id, comment_id, comment_count,"
	" like_count, creation_date, hidden FROM " POSTS_SQL
	" WHERE " ON_POST_SQL " OFFSET 0) AS i"
	" LEFT JOIN account AS a ON a.user_id = i.user_id OFFSET 0) AS s"
	" GROUP BY s.post_id)";

/*
 * Two statements that compare users with the table "usernames".
 * cluster_verify_source() sets their SQL.
 *
 * "user_items" and "usernames" are reference tables. The statements name the
 * local tables that hold this node's copies of them. So Citus leaves the
 * statements to PostgreSQL's planner. Citus cannot plan a query that reads
 * KEYED_NAMES (admin/verify.h), a relation that C code fills.
 */
static KeptPlan names_plan = {0, NULL, 0, {0}, NULL};
static KeptPlan registry_plan = {0, NULL, 0, {0}, NULL};

static KeptPlan follows_plan = {
	ON_USERS | ON_JOBS, VERIFY_FOLLOWS_SQL(USER_ITEMS_SQL, "NOT MATERIALIZED"),
	0, {0}, NULL
};

/*
 * Run a query for one jsonb on each node. Return the results that are not
 * NULL as a jsonb array. Called as the containers' owner, after SPI_connect().
 * Errors: 55000 if a node does not answer.
 *
 * what: what the query returns, for the error's message
 */
static Datum
ask_nodes(const char *sql, const char *what)
{
	char	   *results;
	char	   *failed;
	int			nest = NewGUCNestLevel();

	setting_change("search_path", SAFE_SEARCH_PATH);
	if (SPI_execute(psprintf(NODES_SQL, quote_literal_cstr(sql)), false, 0) !=
		SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not ask all nodes");
	AtEOXact_GUC(true, nest);
	results = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	failed = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	if (failed != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not read the %s of a node: %s", what, failed),
				 errhint("citus_check_cluster_node_health() shows which nodes can be reached."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(results));
}

/*
 * Have each node call own_posts_compare(), and return the findings of all
 * nodes, as that function does. Called as the containers' owner, after
 * SPI_connect(). Errors: 55000 if a node does not answer.
 */
static List *
compare_on_nodes(void)
{
	Datum		found = ask_nodes("SELECT " BLOGSTORE_SCHEMA ".verify_node()", "posts");
	int			nest = NewGUCNestLevel();

	setting_change("search_path", SAFE_SEARCH_PATH);
	if (SPI_execute_with_args("SELECT f->>0, f->>1, f->>2, (f->>3)::uuid, (f->>4)::uuid,"
							  " (f->>5)::uuid, f->>6, f->>7, (f->>8)::timestamptz"
							  " FROM pg_catalog.jsonb_array_elements($1) AS n,"
							  " pg_catalog.jsonb_array_elements(n->'rows') AS f",
							  1, (Oid[]) {JSONBOID}, &found, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the findings of all nodes");
	AtEOXact_GUC(true, nest);
	return list_make1(SPI_tuptable);
}

/*
 * Fill in those parts of verify()'s statement that differ on a cluster. Also
 * change settings for that statement, at the caller's GUC nest level. Called
 * as the containers' owner, after SPI_connect(). Errors: 55000 if a node does
 * not answer.
 */
void
cluster_verify_source(VerifySource *source)
{
	source->users = USER_ITEMS_SQL;
	names_plan.sql = psprintf(VERIFY_NAMES_SQL("%s"), cluster_own_shard(USER_ITEMS_TABLE));
	source->names = &names_plan;
	registry_plan.sql = psprintf(VERIFY_REGISTRY_SQL("%s"), cluster_own_shard("usernames"));
	source->registry = &registry_plan;
	source->follows = &follows_plan;
	source->tally = tally_sql;
	source->feed = feeds_sql;
	source->nodes = nodes_sql;
	source->tables = ON_USERS | ON_POSTS | ON_USERNAMES | ON_JOBS;
	source->argument = ask_nodes(psprintf(ROWS_SQL, blogstore_feed_size), "feed");
	source->derived = compare_on_nodes;
	cluster_one_connection();
}

/*
 * blogstore.views_served(): return whether requests may read this node's
 * views. Errors: 55000.
 */
static Datum
views_served(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(views_ready(GetActiveSnapshot()));
}

/*
 * Append a finding to a JSON array, as an array of its columns.
 */
static void
append_finding(StringInfo json, HeapTuple row, TupleDesc desc)
{
	appendStringInfoString(json, json->data[json->len - 1] == '[' ? "[" : ",[");
	for (int c = 1; c <= desc->natts; c++)
	{
		char	   *value = SPI_getvalue(row, desc, c);

		if (c > 1)
			appendStringInfoChar(json, ',');
		if (value != NULL)
			escape_json(json, value);
		else
			appendStringInfoString(json, "null");
	}
	appendStringInfoChar(json, ']');
}

/*
 * Return whether this node's topics and table publish_queue can be compared
 * with its posts: the node has posts, its views are ready, and the worker has
 * nothing to do for a shard that has moved. Reads with the active snapshot.
 * Errors: 55000.
 */
bool
cluster_topics_comparable(void)
{
	return partition_first(CONTAINER_POSTS, ITEM_POST) != NO_PARTITION &&
		views_ready(GetActiveSnapshot()) && views_fit_settings() &&
		nodes_topics_exact();
}

/*
 * Call own_posts_compare(). Returns the findings as a JSON array of arrays,
 * with the columns of a finding, but at most MAX_NODE_FINDINGS of each table.
 * The caller has called SPI_connect().
 */
static Datum
findings_of_node(void)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	appendStringInfoChar(&json, '[');
	foreach(lc, own_posts_compare())
	{
		SPITupleTable *found = lfirst(lc);
		uint64		n = Min(found->numvals, MAX_NODE_FINDINGS);

		for (uint64 i = 0; i < n; i++)
			append_finding(&json, found->vals[i], found->tupdesc);
	}
	appendStringInfoChar(&json, ']');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/*
 * blogstore.verify_node(): compare this node's topics and table publish_queue
 * with its posts. Return the findings (findings_of_node()). Returns NULL if
 * they cannot be compared now, or if a shard was moved meanwhile.
 *
 * Takes no locks on shards. repair() holds these locks in another session, and
 * waits for this function. If a move waited for repair(), this function would
 * wait for the move. Errors: 55000; 55P03 after NODE_LOCK_WAIT.
 */
static Datum
verify_node(PG_FUNCTION_ARGS)
{
	int			nest = NewGUCNestLevel();
	int64		layout;
	Datum		found = (Datum) 0;
	bool		known;

	setting_change("lock_timeout", NODE_LOCK_WAIT);
	setting_change("datestyle", "ISO");
	SPI_connect();
	PushActiveSnapshot(GetLatestSnapshot());
	layout = container_layout();
	known = cluster_topics_comparable();
	if (known)
		found = SPI_datumTransfer(findings_of_node(), false, -1);
	PopActiveSnapshot();
	PushActiveSnapshot(GetLatestSnapshot());
	known &= layout == container_layout();
	PopActiveSnapshot();
	SPI_finish();
	AtEOXact_GUC(true, nest);
	if (!known)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(found);
}
