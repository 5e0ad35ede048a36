/*
 * delivery_rows.c
 *		Posts as rows that nodes of a cluster send each other.
 *
 * Runs in the worker, and in a backend for repair().
 */
#include "postgres.h"

#include "base/settings.h"
#include "cluster/remote/remote.h"
#include "cluster/view_delivery/other_nodes.h"
#include "storage/blog_item.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/typcache.h"

/* What rows are sent as. */
TupleDesc
ship_desc(void)
{
	return BlessTupleDesc(lookup_rowtype_tupdesc_copy(remote_row_type(ITEM_POST), -1));
}

/* Rows as a value. */
ArrayType *
ship_array(const Datum *row, int n)
{
	return construct_array((Datum *) row, n, remote_row_type(ITEM_POST), -1, false,
						   TYPALIGN_DOUBLE);
}

/* Rows as a literal, which says the same on each node. */
char *
ship_literal(const Datum *row, int n)
{
	int			nest = NewGUCNestLevel();
	char	   *text;

	setting_change("datestyle", "ISO");
	text = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(ship_array(row, n)));
	AtEOXact_GUC(true, nest);
	return psprintf("%s::" BLOGSTORE_SCHEMA ".post_item[]", quote_literal_cstr(text));
}
