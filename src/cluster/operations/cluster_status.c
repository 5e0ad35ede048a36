/*
 * cluster_status.c
 *		What the views stat_worker, progress and stat_requests show, for every
 *		node of a cluster.
 *
 * Citus asks each node through a separate connection, outside of the
 * transaction. So if a node does not answer, its error is shown beside the
 * status of the other nodes. The answers are JSON, because Citus returns text.
 * Nodes are asked as the containers' owner. create_containers() has allowed
 * this role to execute the functions on every node.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "base/compat.h"
#include "base/characters.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "cluster/operations/create_cluster.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

SQL_FUNCTION(get_cluster_status);

#define N_COLUMNS 5

/* for each kind of status: its name, and the SQL function that returns it */
static const char *const statuses[][2] = {
	{"worker", "get_worker_status"},
	{"progress", "get_progress"},
	{"requests", "get_request_stats"}
};

static const char *
function_of(const char *what)
{
	for (int i = 0; i < lengthof(statuses); i++)
		if (strcmp(what, statuses[i][0]) == 0)
			return statuses[i][1];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized status \"%.*s\"",
					bytes_clip(what, strlen(what), NAMEDATALEN - 1), what),
			 errhint("Valid values are \"worker\", \"progress\" and \"requests\"."),
			 err_fields(NULL, "what", RULE_RANGE)));
}

static char *
query_of_node(const char *function)
{
	return psprintf("SELECT coalesce(pg_catalog.json_agg(s), '[]') FROM "
					BLOGSTORE_SCHEMA ".%s() AS s", function);
}

/*
 * Return the query for the status of all nodes. The query reads the status of
 * this node without a connection.
 */
static char *
query_of_all(const char *function)
{
	char	   *query = query_of_node(function);

	return psprintf("SELECT n.nodeid, n.nodename, n.nodeport, "
					"CASE WHEN n.groupid = h.groupid OR r.success THEN NULL "
					"WHEN r.success IS NULL THEN 'the node is not active' "
					"ELSE coalesce(r.result, 'the node does not answer') END, "
					"CASE WHEN n.groupid = h.groupid THEN (%s) "
					"WHEN r.success THEN r.result::pg_catalog.json END "
					"FROM pg_catalog.pg_dist_node AS n CROSS JOIN pg_catalog.pg_dist_local_group AS h "
					"LEFT JOIN pg_catalog.run_command_on_all_nodes(%s) AS r USING (nodeid) "
					"WHERE n.noderole = 'primary' ORDER BY n.nodeid",
					query, quote_literal_cstr(query));
}

/* Allow the containers' owner to execute the status functions on this node. */
void
cluster_status_grant(Oid owner)
{
	SPI_connect();
	for (int i = 0; i < lengthof(statuses); i++)
		(void) create_run_sql(psprintf("GRANT EXECUTE ON FUNCTION "
									   BLOGSTORE_SCHEMA ".%s TO %s",
									   statuses[i][1],
									   quote_identifier(GetUserNameFromId(owner, false))));
	SPI_finish();
}

static void
add_rows(ReturnSetInfo *out, const char *query)
{
	if (SPI_execute(query, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\"", query);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		value[N_COLUMNS];
		bool		isnull[N_COLUMNS];

		for (int c = 0; c < N_COLUMNS; c++)
			value[c] = SPI_getbinval(SPI_tuptable->vals[i],
									 SPI_tuptable->tupdesc, c + 1, &isnull[c]);
		tuplestore_putvalues(out->setResult, out->setDesc, value, isnull);
	}
}

/*
 * blogstore.get_cluster_status(what): return one row for each node of the
 * cluster, with the node's status or its error. Without a cluster, return one
 * row, in which the columns that name the node are NULL.
 *
 * what: "worker", "progress" or "requests"
 *
 * Errors: 22023.
 */
static Datum
get_cluster_status(PG_FUNCTION_ARGS)
{
	const char *function = function_of(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	bool		spread = container_exists() && cluster_calls() != NULL;
	int			nest = NewGUCNestLevel();
	OwnerScope	scope;

	InitMaterializedSRF(fcinfo, 0);
	/*
	 * The query runs as the containers' owner. The caller's search_path could
	 * make the query call functions of the caller.
	 */
	setting_change("search_path", SAFE_SEARCH_PATH);
	if (spread)
		owner_begin(&scope);
	SPI_connect();
	add_rows((ReturnSetInfo *) fcinfo->resultinfo,
			 spread ? query_of_all(function) :
			 psprintf("SELECT NULL::pg_catalog.int4, NULL::pg_catalog.text, NULL::pg_catalog.int4, NULL::pg_catalog.text, (%s)",
					  query_of_node(function)));
	SPI_finish();
	if (spread)
		owner_end(&scope);
	AtEOXact_GUC(true, nest);
	return (Datum) 0;
}
