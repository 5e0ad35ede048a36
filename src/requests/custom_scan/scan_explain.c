/*
 * scan_explain.c
 *		EXPLAIN of a custom scan that runs a query.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "requests/custom_scan/scan_node.h"
#include "requests/requests.h"
#include "storage/layout/layout.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

/*
 * Return the quoted name of a table or index, or NULL if the relation has been
 * dropped.
 *
 * qualified: whether to add the schema
 */
static const char *
relation_name(Oid relid, bool qualified)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || !qualified)
		return name == NULL ? NULL : quote_identifier(name);
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  name);
}

static void
explain_call(const QueryScanState *state, List *ancestors, ExplainState *es)
{
	List	   *context =
		set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan,
								 ancestors);

	ExplainPropertyText("Function Call",
						deparse_expression((Node *) state->call, context,
										   list_length(es->rtable) > 1, false),
						es);
}

static void
explain_reads(const QueryScanState *state, ExplainState *es)
{
	const ScanReads *reads = &state->reads;
	StringInfoData containers;

	initStringInfo(&containers);
	if (reads->leaf)
		appendStringInfoString(&containers, container_table(reads->container));
	if (reads->all_partitions)
		appendStringInfo(&containers, "%s%s", reads->leaf ? ", " : "",
						 container_table(reads->whole_container));
	ExplainPropertyText("Container", containers.data, es);
	if (state->query->view)
		ExplainPropertyText("View", reads->leaf ? "used" : reads->out_of_view ?
							"out of range" : "not ready", es);
	if (reads->leaf && !reads->other_leaves)
	{
		const char *leaf = relation_name(reads->leafid, es->verbose);
		const char *index = relation_name(reads->indexid, false);

		if (leaf != NULL)
			ExplainPropertyText("Leaf", leaf, es);
		if (index != NULL)
			ExplainPropertyText("Index", index, es);
	}
	if (reads->leaf && reads->other_leaves && state->query->by_ids)
		ExplainPropertyInteger("Leaves", NULL, reads->leaves, es);
	if (reads->all_partitions)
		ExplainPropertyInteger("Partitions", NULL,
							   partition_count(reads->whole_container,
											   state->scan.query->type), es);
	pfree(containers.data);
}

/*
 * ExplainCustomScan callback: show which leaves and indexes the scan has read.
 * If this process has read nothing, show which containers the query can read.
 */
void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const QueryScanState *state = (const QueryScanState *) node;

	if (es->verbose)
		explain_call(state, ancestors, es);
	if (state->reads.leaf || state->reads.all_partitions)
		explain_reads(state, es);
	else
		ExplainPropertyText("Container", state->query->containers, es);
}
