/*
 * delivery_rows.c
 *		Posts as rows of type blogstore.post_item, the form in which nodes send
 *		posts to each other.
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

TupleDesc
ship_desc(void)
{
	return BlessTupleDesc(lookup_rowtype_tupdesc_copy(remote_row_type(ITEM_POST), -1));
}

ArrayType *
ship_array(const Datum *row, int n)
{
	return construct_array((Datum *) row, n, remote_row_type(ITEM_POST), -1, false,
						   TYPALIGN_DOUBLE);
}

/*
 * Return n rows of type blogstore.post_item as an SQL literal. All nodes read
 * it in the same way, whatever their DateStyle.
 */
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
