/*
 * row_types.c
 *		The row types that requests return: checking them, and returning one
 *		item as a row.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/remembered_table.h"
#include "requests/results/results.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "funcapi.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* The row type that a command returns, cached in fn_extra of the call. */
typedef struct RowType
{
	TupleDesc	desc;
	uint64		version;		/* from assign_record_type_identifier(); ALTER
								 * TYPE changes it */
} RowType;

bool
row_type_fits(TupleDesc desc, ItemType type)
{
	int			n;
	const Property *prop = item_properties(type, &n);
	bool		same = desc->natts == n;

	for (int i = 0; i < desc->natts && same; i++)
		same = !TupleDescAttr(desc, i)->attisdropped &&
			TupleDescAttr(desc, i)->atttypid == property_type(prop[i]);
	return same;
}

/*
 * Check that a row type has the columns of an item type. The owner of the row
 * type may have altered it. Errors: 55000.
 */
void
check_row_type(TupleDesc desc, ItemType type)
{
	if (!row_type_fits(desc, type))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("type \"%s.%s_item\" is not as blogstore made it",
						BLOGSTORE_SCHEMA, item_noun(type)),
				 errhint("Undo what was altered, or drop the extension and create it again; the containers stay."),
				 err_fields(NULL, NULL, RULE_UNALTERED)));
}

/*
 * Check that the row type with this OID has the columns of an item type. The
 * result is cached until the row type changes. Errors: 55000.
 */
void
check_row_type_of(Oid row_type, ItemType type)
{
	static Remembered memory[N_ITEM_TYPES];
	static Oid	found_right[N_ITEM_TYPES];
	TupleDesc	desc;
	uint64		began;

	if (memory[type].valid && found_right[type] == row_type)
		return;
	began = remembered_begin(&memory[type], get_typ_typrelid(row_type));
	desc = lookup_rowtype_tupdesc(row_type, -1);
	check_row_type(desc, type);
	ReleaseTupleDesc(desc);
	found_right[type] = row_type;
	remembered_end(&memory[type], began);
}

static RowType *
keep_row_type(FunctionCallInfo fcinfo, ItemType type)
{
	MemoryContext old;
	TupleDesc	desc;
	RowType    *row;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type is not a row type");
	check_row_type(desc, type);
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	row = palloc(sizeof(RowType));
	row->desc = BlessTupleDesc(CreateTupleDescCopy(desc));
	row->version = assign_record_type_identifier(row->desc->tdtypeid,
												 row->desc->tdtypmod);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = row;
	return row;
}

/*
 * Return an item as the result of a command. Errors: 22004 if a required field
 * of the item is NULL, because the owner has dropped constraints; 55000 if the
 * row type was altered.
 */
Datum
return_item(FunctionCallInfo fcinfo, const BlogItem *item, ItemType type)
{
	RowType    *row = fcinfo->flinfo->fn_extra;

	item_require_values(item, type);
	if (row == NULL ||
		row->version != assign_record_type_identifier(row->desc->tdtypeid,
													  row->desc->tdtypmod))
		row = keep_row_type(fcinfo, type);
	return item_row(item, type, row->desc);
}
