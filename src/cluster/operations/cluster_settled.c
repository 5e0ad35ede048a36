/*
 * cluster_settled.c
 *		Finds out on a cluster which findings of verify() are settled. A
 *		finding is not settled if changes that a worker still has to apply may
 *		explain it (admin/verify_settled.c).
 *
 * A worker numbers the iterations of its main loop. verify() asks each node
 * twice:
 *
 * 1.	Before verify() compares items: up to which iteration are all changes
 *	applied?
 * 2.	After verify() has compared items: which posts on the node have changed
 *	after that iteration? Findings about these posts are not settled.
 *
 * No finding is settled while the views of some node are not ready, or while
 * some node still has copies or feed rows to send to other nodes.
 *
 * A statement reads different nodes at different moments. So on a cluster, a
 * later change may explain any finding, not only one about the views. verify()
 * leaves out all unsettled findings about posts.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "base/preload.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/operations.h"
#include "storage/bookkeeping/bookkeeping.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/uuid.h"

NODE_FUNCTION(views_look, "verify()");
NODE_FUNCTION(views_unsettled, "verify()");

/* An SQL expression for the id of the node that evaluates it. */
#define THIS_NODE_SQL \
	"(SELECT n.nodeid FROM pg_catalog.pg_dist_node AS n" \
	" JOIN pg_catalog.pg_dist_local_group AS g ON g.groupid = n.groupid AND n.noderole = 'primary')"

/*
 * Selects a JSON object that maps the id of each node to the result of
 * views_look() on that node. The object is NULL if some node does not answer,
 * or returns NULL.
 */
#define LOOKS_SQL \
	"SELECT CASE WHEN bool_and(success AND result <> '') THEN" \
	" jsonb_object_agg(nodeid, result) END::text FROM pg_catalog.run_command_on_all_nodes(%s)"

/*
 * Selects a sorted array of all ids of posts that views_unsettled() returns on
 * the nodes. The array is NULL if some node does not answer, or returns NULL.
 */
#define UNSETTLED_SQL \
	"WITH told AS MATERIALIZED (SELECT success, result" \
	" FROM pg_catalog.run_command_on_all_nodes(%s))" \
	" SELECT CASE WHEN (SELECT bool_and(success AND result <> '') FROM told) THEN" \
	" ARRAY(SELECT DISTINCT id FROM told, unnest(result::uuid[]) AS id ORDER BY id) END"

/*
 * Run a query that returns one value, by SPI. The value is allocated in the
 * memory context that was current before SPI_connect(). Names are looked up
 * only in pg_catalog, since the query runs as the containers' owner.
 */
static Datum
one_value(const char *sql, bool *isnull)
{
	Datum		value;
	int			nest = NewGUCNestLevel();

	setting_change("search_path", SAFE_SEARCH_PATH);
	if (SPI_execute(sql, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not ask all nodes about their workers");
	AtEOXact_GUC(true, nest);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, isnull);
	return *isnull ? (Datum) 0 : SPI_datumTransfer(value, false, -1);
}

/*
 * Call views_look() on each node, and store the results in look->nodes.
 * Returns false if some node does not answer, or if the views of some node are
 * not ready. verify() then reports no finding about the views. Errors: those
 * of run_command_on_all_nodes().
 */
bool
cluster_views_look_begin(ViewsLook *look)
{
	OwnerScope	scope;
	bool		isnull;
	Datum		turns;

	owner_begin(&scope);
	SPI_connect();
	turns = one_value(psprintf(LOOKS_SQL,
							   quote_literal_cstr("SELECT " BLOGSTORE_SCHEMA ".views_look()")),
					  &isnull);
	SPI_finish();
	owner_end(&scope);
	look->nodes = isnull ? NULL : TextDatumGetCString(turns);
	return !isnull;
}

/*
 * look->nodes says up to which iteration the worker of each node has refreshed
 * the views. Of the given posts, return those that have changed since then, as
 * a sorted array of ids. The views may lack these changes, so verify() must
 * not report these posts yet.
 *
 * The array also contains an id of zeros if a list (the feed or a user's
 * posts) may have changed: a post was added, removed or moved. Returns NULL if
 * a node cannot tell. Called as the containers' owner, after SPI_connect().
 */
ArrayType *
cluster_views_look_end(const ViewsLook *look, ArrayType *post_ids)
{
	char	   *ids = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(post_ids));
	char	   *command = psprintf("SELECT " BLOGSTORE_SCHEMA ".views_unsettled(((%s::pg_catalog.jsonb) ->> "
								   THIS_NODE_SQL "::text)::bigint, %s)",
								   quote_literal_cstr(look->nodes), quote_literal_cstr(ids));
	bool		isnull;
	Datum		unsettled = one_value(psprintf(UNSETTLED_SQL, quote_literal_cstr(command)),
									  &isnull);

	return isnull ? NULL : DatumGetArrayTypeP(unsettled);
}

/*
 * blogstore.views_look(): return the number of an iteration of the main loop
 * of this node's worker. All changes up to this iteration are applied. Returns
 * NULL if this node's views are not ready, or if the worker still has copies
 * or feed rows to send to other nodes. Errors: 55000.
 */
static Datum
views_look(PG_FUNCTION_ARGS)
{
	ViewsLook	look;

	if (!views_look_here(&look))
		PG_RETURN_NULL();
	views_note_turn(&look);
	if (!views_are_sent(&look))
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) look.applied);
}

/*
 * blogstore.views_unsettled(applied, post_ids): return the ids of the given
 * posts that have changed on this node after the iteration "applied", a result
 * of views_look().
 *
 * The result also contains an id of zeros if a list (the feed or a user's
 * posts) may have changed: a post was added, removed or moved. The result is
 * NULL if this node cannot tell. Errors: 55000.
 */
static Datum
views_unsettled(PG_FUNCTION_ARGS)
{
	ViewsLook	look;
	Datum	   *ids;
	int			n;
	ArrayBuildState *found = initArrayResult(UUIDOID, CurrentMemoryContext, false);

	if (!views_look_here(&look))
		PG_RETURN_NULL();
	look.applied = (uint64) PG_GETARG_INT64(0);
	if (!views_await_turn(&look) || !views_are_sent(&look))
		PG_RETURN_NULL();
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), UUIDOID, UUID_LEN, false, TYPALIGN_CHAR,
					  &ids, NULL, &n);
	for (int i = 0; i < n; i++)
		if (told_post_since(&look.entry->told, DatumGetUUIDP(ids[i]), look.applied))
			found = accumArrayResult(found, ids[i], false, UUIDOID, CurrentMemoryContext);
	if (told_list_since(&look.entry->told, look.applied))
	{
		pg_uuid_t	zeros = {{0}};

		found = accumArrayResult(found, UUIDPGetDatum(&zeros), false, UUIDOID,
								 CurrentMemoryContext);
	}
	PG_RETURN_DATUM(makeArrayResult(found, CurrentMemoryContext));
}
