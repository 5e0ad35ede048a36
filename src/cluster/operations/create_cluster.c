/*
 * create_cluster.c
 *		Creating containers that are distributed over a Citus cluster, on its
 *		coordinator.
 *
 *		table						where					created by
 *		--------------------------	----------------------	-------------------
 *		posts, users (copies)		distributed by post,	Citus, from tables
 *									user					created here
 *		user_items, usernames		reference tables		Citus, from tables
 *															created here
 *		feed, topics, jobs,			one on each node		create_node_tables
 *		view_state, change_feed,							on each node
 *		unsent
 *
 * Runs in a backend.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "base/worker_hooks.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/create_cluster.h"
#include "cluster/operations/operations.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

/*
 * How many partitions the table "topics" has on each node. Each node has only
 * the topics of its own posts.
 */
#define TOPIC_PARTITIONS 1

SQL_FUNCTION(create_node_tables);
SQL_FUNCTION(node_of);

/*
 * Throw the error that the cluster is not ready for an operation.
 *
 * problem: the error's message
 *
 * Errors: 55000.
 */
static COMPAT_NORETURN void
refuse_cluster(const char *problem, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", problem),
			 errhint("%s", hint),
			 err_fields(NULL, NULL, RULE_CLUSTER)));
}

/*
 * Run a query that returns one value, by SPI. Returns the value as text, or
 * NULL if there is no row.
 */
static char *
ask(const char *sql)
{
	if (SPI_execute(sql, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\"", sql);
	return SPI_processed == 0 ? NULL :
		SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/*
 * Look for a node that does not have the same version of blogstore as this
 * node. Returns a message that names such a node and its version; NULL if
 * there is no such node.
 */
static char *
other_version(void)
{
	return ask("SELECT n.nodename || ':' || n.nodeport || coalesce(' has version ' || r.result, ' has none') "
			   "FROM pg_catalog.run_command_on_workers("
			   "$$SELECT coalesce(max(extversion), '') FROM pg_catalog.pg_extension WHERE extname = 'blogstore'$$) AS r "
			   "JOIN pg_catalog.pg_dist_node AS n USING (nodename, nodeport) "
			   "WHERE NOT r.success OR r.result IS DISTINCT FROM "
			   "(SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'blogstore')");
}

/*
 * Throw an error unless this node is the coordinator of a cluster on which
 * containers can be created.
 *
 * call: the function that the user has called, for hints
 *
 * Errors: 42501, 55000.
 */
void
cluster_require(const char *call)
{
	ClusterNode node;
	char	   *problem;

	if (!cluster_has_citus())
		refuse_cluster("the extension citus is not in this database",
					   "CREATE EXTENSION citus on all nodes, and add them with citus_add_node().");
	if (cluster_local_group() != 0)
		refuse_cluster("this is not the coordinator of the cluster",
					   psprintf("Call %s on the coordinator.", call));
	if (!cluster_node_of_group(0, &node))
		refuse_cluster("the coordinator is not among the nodes of its cluster",
					   "Call citus_set_coordinator_host() with the address by which the nodes reach it.");
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to spread containers over a cluster"),
				 errhint("Call %s as a superuser. The containers may have another owner.", call)));
	cluster_require_functions();
	SPI_connect();
	if (ask("SELECT nodename FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND isactive") == NULL)
		refuse_cluster("no node of the cluster takes shards",
					   "Add nodes with citus_add_node().");
	problem = other_version();
	if (problem != NULL)
		refuse_cluster(psprintf("all nodes must have the same version of blogstore: %s", problem),
					   "Install the same version on all nodes. Then run CREATE EXTENSION or ALTER EXTENSION ... UPDATE on the coordinator.");
	SPI_finish();
}

/*
 * Create the tables "posts", "users" and "user_items" of a cluster, not
 * distributed yet, and make the containers' owner their owner. The caller has
 * called SPI_connect().
 *
 * suffix: appended to the names "posts" and "users"
 */
void
cluster_make_tables(const Creation *creation, const char *suffix)
{
	for (int i = 0; i < create_cluster_sql.n; i++)
		(void) create_run_sql(psprintf(create_cluster_sql.sql[i], suffix));
	create_give_away(creation, table_lookup(psprintf("posts%s", suffix)));
	create_give_away(creation, table_lookup(psprintf("users%s", suffix)));
	create_give_away(creation, table_lookup(USER_ITEMS_TABLE));
}

/*
 * Distribute the tables "posts" and "users", and make "user_items" and
 * "usernames" reference tables. The caller has called SPI_connect().
 *
 * suffix: the suffix of the tables' names that was given to
 *	cluster_make_tables()
 */
void
cluster_spread_tables(const Creation *creation, const char *suffix)
{
	setting_change("citus.multi_shard_modify_mode", "sequential");
	setting_change("citus.shard_replication_factor", "1");
	for (int i = 0; i < spread_cluster_sql.n; i++)
		(void) create_run_sql(psprintf(spread_cluster_sql.sql[i], suffix,
									   creation->partitions));
}

static void
make_unsent(const Creation *creation)
{
	for (int i = 0; i < create_unsent_sql.n; i++)
		(void) create_run_sql(create_unsent_sql.sql[i]);
	create_give_away(creation, bookkeeping_lookup(BOOK_UNSENT));
}

/*
 * Create the tables that each node has for itself, unless they exist: feed,
 * topics, jobs, view_state, change_feed and unsent. Also create "usernames",
 * unless it exists. Later, cluster_spread_tables() makes "usernames" a
 * reference table.
 */
static void
make_own_tables(const Creation *creation)
{
	if (creation->container[CONTAINER_FEED])
		create_container(creation, CONTAINER_FEED);
	if (creation->container[CONTAINER_TOPICS])
		create_container(creation, CONTAINER_TOPICS);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (creation->table[t] && t != BOOK_UNSENT)
			create_table_of_bookkeeping(creation, t);
	if (creation->table[BOOK_UNSENT])
		make_unsent(creation);
}

/*
 * Grant the rights that the containers' owner needs, also on nodes that are
 * added later. Nodes call each other as this role. The role needs CREATE on
 * the schema, because Citus creates tables of moved shards and of reference
 * tables as this role.
 */
static void
give_owner_rights(Oid owner)
{
	const char *role = quote_identifier(GetUserNameFromId(owner, false));

	(void) create_run_sql(psprintf("GRANT EXECUTE ON FUNCTION "
								   BLOGSTORE_SCHEMA ".serve_post, "
								   BLOGSTORE_SCHEMA ".serve_comment, "
								   BLOGSTORE_SCHEMA ".serve_like, "
								   BLOGSTORE_SCHEMA ".serve_topic, "
								   BLOGSTORE_SCHEMA ".serve_follow, "
								   BLOGSTORE_SCHEMA ".serve_flag TO %s", role));
	if (!superuser_arg(owner))
		(void) create_run_sql(psprintf("GRANT USAGE, CREATE ON SCHEMA "
									   BLOGSTORE_SCHEMA " TO %s", role));
}

/*
 * Allow the containers' owner to execute the functions of this node that other
 * nodes call. Citus does not copy these grants to other nodes, so each node
 * makes its own. The caller has called SPI_connect().
 */
static void
grant_here(const Creation *creation)
{
	(void) create_run_sql(psprintf("GRANT EXECUTE ON FUNCTION "
								   BLOGSTORE_SCHEMA ".put_copies, "
								   BLOGSTORE_SCHEMA ".touch_copies, "
								   BLOGSTORE_SCHEMA ".put_feed, "
								   BLOGSTORE_SCHEMA ".tell_node, "
								   BLOGSTORE_SCHEMA ".views_served, "
								   BLOGSTORE_SCHEMA ".views_look, "
								   BLOGSTORE_SCHEMA ".views_unsettled, "
								   BLOGSTORE_SCHEMA ".verify_node TO %s",
								   quote_identifier(GetUserNameFromId(creation->owner, false))));
}

/*
 * Make each other node create the tables that each node has for itself.
 * Returns how many tables were created. Errors: 55000 if a node cannot be
 * called or cannot create its tables.
 */
int
cluster_make_on_nodes(const Creation *creation)
{
	char	   *owner = GetUserNameFromId(creation->owner, false);
	char	   *failed;
	char	   *made;
	char	   *call;

	SPI_connect();
	call = psprintf("SELECT " BLOGSTORE_SCHEMA ".create_node_tables(%s::pg_catalog.regrole)",
					quote_literal_cstr(quote_identifier(owner)));
	made = ask(psprintf("SELECT coalesce(sum(CASE WHEN success THEN result::int ELSE -1000000 END), 0)::text "
						"|| coalesce(' ' || string_agg(nodename || ':' || nodeport || ': ' || result, '; ') "
						"FILTER (WHERE NOT success), '') "
						"FROM pg_catalog.run_command_on_workers(%s)",
						quote_literal_cstr(call)));
	failed = made != NULL ? strchr(made, ' ') : NULL;
	if (failed != NULL)
		refuse_cluster(psprintf("a node could not create its tables:%s", failed),
					   "Solve the problem on that node, and call the function again.");
	/*
	 * Create the table "unsent" on this node, unless it exists. If
	 * create_containers() is running, it has already created the table. If
	 * distribute_containers() is running, this node was a single server, which
	 * has no such table.
	 */
	if (!OidIsValid(bookkeeping_lookup(BOOK_UNSENT)))
		make_unsent(creation);
	give_owner_rights(creation->owner);
	grant_here(creation);
	SPI_finish();
	cluster_status_grant(creation->owner);
	return made != NULL ? atoi(made) : 0;
}

/*
 * Create the tables that are missing on the coordinator. If the containers
 * "posts" and "users" are among them, distribute them.
 */
static void
make_on_coordinator(const Creation *creation)
{
	int			nest = create_begin();

	make_own_tables(creation);
	if (creation->container[CONTAINER_POSTS])
	{
		cluster_make_tables(creation, "");
		cluster_spread_tables(creation, "");
	}
	create_counts_view(creation, create_cluster_view_sql);
	create_join_parts(creation);
	create_end(creation, nest);
}

/*
 * Throw an error if only one of the containers posts and users exists, or if
 * both exist and are not distributed. Errors: 42P07.
 */
static void
check_containers(const Creation *creation)
{
	bool		no_users = creation->container[CONTAINER_USERS];
	bool		no_posts = creation->container[CONTAINER_POSTS];

	if (no_users != no_posts)
		create_refuse_table(container_table(no_users ? CONTAINER_POSTS : CONTAINER_USERS),
							"one of the two containers is missing");
	if (!no_posts && !container_is_spread(CONTAINER_POSTS))
		create_refuse_table(container_table(CONTAINER_POSTS),
							"it is not spread over the cluster");
}

/*
 * Create the missing tables of a cluster on all nodes, and return true. Do
 * nothing and return false if the containers are to be created on this server
 * alone.
 *
 * distributed: whether to use the cluster. NULL means to use it if Citus is
 *	installed and knows other nodes.
 *
 * Errors: 42501, 42P07, 55000. Locks: those of create_containers().
 */
bool
cluster_create_containers(Creation *creation, NullableDatum distributed)
{
	int			nodes;

	if (distributed.isnull ? !(cluster_has_citus() && cluster_has_nodes()) :
		!DatumGetBool(distributed.value))
		return false;
	cluster_require("create_containers()");
	create_look_at_all(creation);
	create_look_at_table(creation, BOOK_UNSENT);
	check_containers(creation);
	if (creation->missing > 0)
		make_on_coordinator(creation);
	nodes = cluster_make_on_nodes(creation);
	if (creation->missing == 0 && nodes == 0)
		create_refuse_existing();
	return true;
}

/*
 * blogstore.create_node_tables(owner): create the tables that each node of a
 * cluster has for itself, and return their number. create_containers() on the
 * coordinator calls this on the other nodes. Errors: 25006, 42704, 42P07;
 * 55000 on the coordinator, or outside of a cluster.
 */
static Datum
create_node_tables(PG_FUNCTION_ARGS)
{
	Creation	creation;
	int			nest;

	need_writable("create_node_tables()");
	if (!cluster_has_citus() || cluster_local_group() == 0)
		refuse_cluster("this server is not a node that a coordinator has added to its cluster",
					   "create_containers() on the coordinator calls this function.");
	memset(&creation, 0, sizeof(creation));
	creation.owner = PG_GETARG_OID(0);
	creation.partitions = TOPIC_PARTITIONS;
	(void) GetUserNameFromId(creation.owner, false);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (t != BOOK_USERNAMES)
			create_look_at_table(&creation, t);
	create_look_at_container(&creation, CONTAINER_FEED);
	create_look_at_container(&creation, CONTAINER_TOPICS);
	/*
	 * Mark "posts" and "users" as missing. make_own_tables() does not create
	 * them, because the coordinator does.
	 */
	creation.container[CONTAINER_USERS] = creation.container[CONTAINER_POSTS] = true;
	nest = create_begin();
	make_own_tables(&creation);
	create_end(&creation, nest);
	cluster_status_grant(creation.owner);
	SPI_connect();
	grant_here(&creation);
	SPI_finish();

	/*
	 * If "posts" exists, the containers are complete: tell this node's worker.
	 * Otherwise the coordinator creates "posts" later in its transaction. The
	 * worker learns that from the commit.
	 */
	if (OidIsValid(container_table_lookup(CONTAINER_POSTS)))
		worker_hooks.containers_created();
	else
	{
		/*
		 * Mark "usernames" as missing, too. The coordinator creates it later.
		 */
		creation.table[BOOK_USERNAMES] = true;
		SPI_connect();
		create_join_parts(&creation);
		SPI_finish();
	}
	PG_RETURN_INT32(creation.missing);
}

/*
 * blogstore.node_of(post_id): return the node that has a post. Clients use it
 * to connect to that node directly. Errors: 22004, 55000.
 */
static Datum
node_of(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Shard		shard;
	ClusterNode node;
	Datum		value[3];
	bool		isnull[3] = {false};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("post_id must not be null"),
				 errhint("Pass a value for post_id."),
				 err_fields(NULL, "post_id", RULE_NOT_NULL)));
	if (!container_is_spread(CONTAINER_POSTS))
		refuse_cluster("the containers are not spread over a cluster",
					   "All posts are on this server.");
	if (!container_shard(CONTAINER_POSTS, PG_GETARG_UUID_P(0), &shard) ||
		!cluster_node_of_group(shard.group, &node))
		refuse_cluster("no node of the cluster has the shard of this key",
					   "See citus_shards.");
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row type");
	value[0] = Int32GetDatum(node.id);
	value[1] = CStringGetTextDatum(node.host);
	value[2] = Int32GetDatum(node.port);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), value, isnull)));
}
