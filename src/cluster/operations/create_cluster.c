/*
 * create_cluster.c
 *		Containers that are spread over a cluster of Citus's, made on its coordinator.
 *
 *		table						where					made by
 *		--------------------------	----------------------	----------------------------
 *		posts, users (copies)		spread by post, user	Citus, of tables made here
 *		user_items, usernames		whole on every node		Citus, of tables made here
 *		feed, jobs, view_state,		each node its own		create_node_tables() on each
 *		change_feed, unsent
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

SQL_FUNCTION(create_node_tables);
SQL_FUNCTION(node_of);

/* Errors: 55000, always. */
static COMPAT_NORETURN void
refuse_cluster(const char *problem, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", problem),
			 errhint("%s", hint),
			 err_fields(NULL, NULL, RULE_CLUSTER)));
}

/* What a statement that returns one value says, by SPI; NULL: nothing. */
static char *
ask(const char *sql)
{
	if (SPI_execute(sql, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\"", sql);
	return SPI_processed == 0 ? NULL :
		SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

/* Which node has no blogstore, or another version of it than this one? NULL: none. */
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

/* Errors: 42501, 55000 unless this is the coordinator of a cluster that is fit for a call. */
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
				 errmsg("only a superuser can spread containers over a cluster"),
				 errhint("Call %s as a superuser; who owns them is another matter.", call)));
	cluster_require_functions();
	SPI_connect();
	if (ask("SELECT nodename FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND isactive") == NULL)
		refuse_cluster("no node of the cluster takes shards",
					   "Add nodes with citus_add_node().");
	problem = other_version();
	if (problem != NULL)
		refuse_cluster(psprintf("blogstore has to be the same version on all nodes: %s", problem),
					   "Install it on all nodes, and CREATE EXTENSION or ALTER EXTENSION ... UPDATE on the coordinator.");
	SPI_finish();
}

/* ------------------------------------------------------------------------
 * Making what is missing; in SPI
 * ------------------------------------------------------------------------ */

/*
 * Make the tables that are to be spread, and give them to the owner. suffix: what follows the
 * names of those that cannot have their own yet.
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

/* Spread them, and the registry. */
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

/* Make what is missing of what each node has for itself, and the registry, which is spread later. */
static void
make_own_tables(const Creation *creation)
{
	if (creation->container[CONTAINER_FEED])
		create_container(creation, CONTAINER_FEED);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (creation->table[t] && t != BOOK_UNSENT)
			create_table_of_bookkeeping(creation, t);
	if (creation->table[BOOK_UNSENT])
		make_unsent(creation);
}

/*
 * Nodes ask each other as the owner of the containers, who so needs the right to on each, one
 * that was added later too. And Citus makes the tables of shards that are moved, and of what lies
 * on every node, as that role.
 */
static void
give_owner_rights(Oid owner)
{
	const char *role = quote_identifier(GetUserNameFromId(owner, false));

	(void) create_run_sql(psprintf("GRANT EXECUTE ON FUNCTION "
								   BLOGSTORE_SCHEMA ".serve_post, "
								   BLOGSTORE_SCHEMA ".serve_comment, "
								   BLOGSTORE_SCHEMA ".serve_like, "
								   BLOGSTORE_SCHEMA ".serve_flag TO %s", role));
	if (!superuser_arg(owner))
		(void) create_run_sql(psprintf("GRANT USAGE, CREATE ON SCHEMA "
									   BLOGSTORE_SCHEMA " TO %s", role));
}

/*
 * The owner has the right to what workers of other nodes call on this one, which Citus does not
 * carry over; in SPI.
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
								   BLOGSTORE_SCHEMA ".views_unsettled TO %s",
								   quote_identifier(GetUserNameFromId(creation->owner, false))));
}

/*
 * Have each other node make what it has for itself; returns how many tables that were. Errors:
 * 55000 if a node cannot.
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
		refuse_cluster(psprintf("a node could not make its tables:%s", failed),
					   "Mend that, and call again.");
	/* what this node has, and one machine has not */
	if (!OidIsValid(bookkeeping_lookup(BOOK_UNSENT)))
		make_unsent(creation);
	give_owner_rights(creation->owner);
	grant_here(creation);
	SPI_finish();
	cluster_status_grant(creation->owner);
	return made != NULL ? atoi(made) : 0;
}

/* ------------------------------------------------------------------------
 * The calls
 * ------------------------------------------------------------------------ */

/* Make all that is missing on the coordinator, and spread the containers if both are. */
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
	create_join_parts(creation);
	create_end(creation, nest);
}

/* Errors: 42P07 unless both containers are missing, or spread. */
static void
check_containers(const Creation *creation)
{
	bool		no_users = creation->container[CONTAINER_USERS];
	bool		no_posts = creation->container[CONTAINER_POSTS];

	if (no_users != no_posts)
		create_refuse_table(container_table(no_users ? CONTAINER_POSTS : CONTAINER_USERS),
							"one of both containers is missing");
	if (!no_posts && !container_is_spread(CONTAINER_POSTS))
		create_refuse_table(container_table(CONTAINER_POSTS),
							"it is not spread over the cluster");
}

/*
 * Make all that is missing of what a cluster needs, on this node and the others, if the
 * containers are to be spread: distributed says so, or is null and Citus is in the database and
 * has nodes. Returns false, having done nothing, if they are not. Errors: 42501, 42P07, 55000.
 * Locks: those of create_containers().
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
 * blogstore.create_node_tables(owner): what each node of a cluster has for itself. Called by
 * create_containers() on the coordinator. Returns how many tables it has made. Errors: 25006,
 * 42704, 42P07; 55000 unless this is a node other than the coordinator.
 */
static Datum
create_node_tables(PG_FUNCTION_ARGS)
{
	Creation	creation;
	int			nest;

	need_writable("create_node_tables()");
	if (!cluster_has_citus() || cluster_local_group() == 0)
		refuse_cluster("this server is not a node that a coordinator has added to its cluster",
					   "create_containers() on the coordinator is what calls this function.");
	memset(&creation, 0, sizeof(creation));
	creation.owner = PG_GETARG_OID(0);
	(void) GetUserNameFromId(creation.owner, false);	/* errors: 42704 */
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (t != BOOK_USERNAMES)
			create_look_at_table(&creation, t);
	create_look_at_container(&creation, CONTAINER_FEED);
	/* these the coordinator makes */
	creation.container[CONTAINER_USERS] = creation.container[CONTAINER_POSTS] = true;
	nest = create_begin();
	make_own_tables(&creation);
	create_end(&creation, nest);
	cluster_status_grant(creation.owner);
	SPI_connect();
	grant_here(&creation);
	SPI_finish();
	/* the rest may be on its way from the coordinator, whose commit has the worker look */
	if (OidIsValid(container_table_lookup(CONTAINER_POSTS)))
		worker_hooks.containers_created();
	else
	{
		creation.table[BOOK_USERNAMES] = true;	/* it is on its way too */
		SPI_connect();
		create_join_parts(&creation);
		SPI_finish();
	}
	PG_RETURN_INT32(creation.missing);
}

/*
 * blogstore.node_of(post_id): the node that has a post, for who connects straight to it. Errors:
 * 22004, 55000.
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
