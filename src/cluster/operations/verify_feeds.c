/*
 * verify_feeds.c
 *		The feed of each node of a cluster, for verify().
 *
 * Each node has a feed of its own, which all are to be the same as far as it is shown. They are
 * read by the role that owns the containers, on each node by a session of its own, by Citus.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "storage/layout/layout.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"

SQL_FUNCTION(views_served);

/* What each node is asked for; nothing, if its feed is not shown at present. */
#define ROWS_SQL \
	"SELECT CASE WHEN " BLOGSTORE_SCHEMA ".views_served() THEN coalesce(" \
	"(SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(f)) FROM (SELECT * FROM " FEED_SQL \
	" ORDER BY creation_date DESC, id DESC LIMIT %d) AS f), '[]') END"

/* And all of them. */
#define NODES_SQL \
	"SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(" \
	"'node', nodeid, 'rows', result::jsonb)) FILTER (WHERE success AND result <> ''), '[]')::text, " \
	"pg_catalog.string_agg(result, '; ') FILTER (WHERE NOT success) " \
	"FROM pg_catalog.run_command_on_all_nodes(%s)"

/*
 * The feeds of all nodes whose views are served, as the verifying statement takes them; on one
 * machine none. In SPI, as the containers' owner. Errors: 55000 if a node does not answer.
 */
Datum
verify_feeds(void)
{
	char	   *feeds = "[]";
	char	   *failed;

	if (layout_is_spread())
	{
		char	   *rows = psprintf(ROWS_SQL, blogstore_feed_size);

		if (SPI_execute(psprintf(NODES_SQL, quote_literal_cstr(rows)), false, 0) !=
			SPI_OK_SELECT || SPI_processed != 1)
			elog(ERROR, "could not read the feeds of all nodes");
		feeds = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
		failed = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
		if (failed != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the feed of a node cannot be read: %s", failed),
					 errhint("See citus_check_cluster_node_health().")));
	}
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(feeds));
}

/* blogstore.views_served(): are the views of this node? Errors: 55000. */
static Datum
views_served(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(views_ready(GetActiveSnapshot()));
}
