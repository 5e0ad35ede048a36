/*
 * result.c
 *		Handing items back to the caller: one as a value, many as a set.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "compat.h"
#include "container/container.h"
#include "counts/counts.h"
#include "layout/item.h"
#include "members/members.h"
#include "requests/request.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

/* The row type of a call site, kept in fn_extra, and which version of it. */
typedef struct RowType
{
	TupleDesc	desc;
	uint64		version;		/* of the type cache */
} RowType;

/*
 * Make sure that a row type has the columns that rows of items are made of:
 * its owner may have altered it.
 */
static void
check_row_type(TupleDesc desc, ItemType type)
{
	int			n;
	const Property *prop = item_properties(type, &n);
	bool		same = desc->natts == n;

	for (int i = 0; i < n && same; i++)
		same = !TupleDescAttr(desc, i)->attisdropped &&
			TupleDescAttr(desc, i)->atttypid == property_type(prop[i]);
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("type \"%s.%s_item\" is not as blogstore made it",
						BLOGSTORE_SCHEMA, item_type_name(type)),
				 errhint("Undo what was altered, or drop the extension and create it again; the containers stay.")));
}

/* Look up the row type that a function returns, and keep it for the next call. */
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
 * Return one item as a row. The row's type is looked up once per call site, and
 * again when it has changed: a call site may outlive that. Errors: 22004 if the
 * item lacks a value, as one may that a command has locked and written.
 */
Datum
return_item(FunctionCallInfo fcinfo, const BlogItem *item, ItemType type)
{
	RowType    *row = fcinfo->flinfo->fn_extra;

	(void) item_require_values(item, type);
	if (row == NULL ||
		row->version != assign_record_type_identifier(row->desc->tdtypeid,
													  row->desc->tdtypmod))
		row = keep_row_type(fcinfo, type);
	return item_row(item, type, row->desc);
}

/* Begin to return a set of items of a type. */
void
result_begin(ResultSet *result, FunctionCallInfo fcinfo, ItemType type)
{
	InitMaterializedSRF(fcinfo, 0);
	result->info = (ReturnSetInfo *) fcinfo->resultinfo;
	check_row_type(result->info->setDesc, type);
	result->type = type;
	result->rows = 0;
	result->deleted = deleted_users(GetActiveSnapshot());
	result->row_context = AllocSetContextCreate(CurrentMemoryContext,
												"blogstore row",
												ALLOCSET_DEFAULT_SIZES);
}

/* Add an item; shorten > 0: in short form of so many characters. */
void
result_add(ResultSet *result, const BlogItem *item, int shorten)
{
	MemoryContext old = MemoryContextSwitchTo(result->row_context);
	Datum		values[N_PROPERTIES];
	bool		nulls[N_PROPERTIES];
	BlogItem	row = *item;
	int			n;
	const Property *prop = item_properties(result->type, &n);

	if (shorten > 0)
		item_shorten(&row, shorten);
	for (int i = 0; i < n; i++)
	{
		values[i] = row.value[prop[i]];
		nulls[i] = row.isnull[prop[i]];
	}
	tuplestore_putvalues(result->info->setResult, result->info->setDesc,
						 values, nulls);
	result->rows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(result->row_context);
}

/*
 * May an item be shown, and what it hangs on? Counts are put right for what
 * may not.
 */
static bool
item_may_show(const ResultSet *result, BlogItem *item)
{
	if (result->deleted == NULL || result->type == ITEM_USER)
		return true;
	if (deleted_has_author(result->deleted, item))
		return false;
	if (result->type == ITEM_POST)
		deleted_discount(result->deleted, item);
	else if (deleted_has_author_of_post(result->deleted,
										item_uuid(item, PROP_POST_ID)))
		return false;
	return true;
}

/* Return the set of the one item, or none, that a key names. */
void
result_one(FunctionCallInfo fcinfo, Container container, ItemType type,
		   const pg_uuid_t *partition_key, const Datum *key, int nkeys)
{
	ResultSet	result;
	BlogItem	item;
	ItemScan   *scan;

	result_begin(&result, fcinfo, type);
	scan = item_scan_begin(&(ItemQuery) {
		.container = container, .type = type, .partition_key = partition_key,
		.path = PATH_KEY, .key = key, .nkeys = nkeys
	});
	if (item_scan_next(scan, &item))
	{
		if (type == ITEM_POST)
			post_add_up(&item, GetActiveSnapshot());
		if (item_may_show(&result, &item))
			result_add(&result, &item, 0);
	}
	item_scan_end(scan);
}

/* Add a page of a logical partition's list, newest first. */
void
result_list(ResultSet *result, Container container,
			const pg_uuid_t *partition_key, const ListPage *page)
{
	Datum		key = UUIDPGetDatum(partition_key);
	BlogItem	item;
	ItemScan   *scan = item_scan_begin(&(ItemQuery) {
		.container = container, .type = result->type,
		.partition_key = partition_key, .path = PATH_LIST, .key = &key,
		.nkeys = 1, .before = &page->before, .backward = true
	});

	while (!page_full(result, page) && item_scan_next(scan, &item))
		if (!deleted_has_author(result->deleted, &item))
			result_add(result, &item, 0);
	item_scan_end(scan);
}

/*
 * Return a page of the comments or likes on a post, newest first; arguments: the
 * post, and the page.
 */
Datum
result_on_post(FunctionCallInfo fcinfo, ItemType type)
{
	const pg_uuid_t *post_id = need_uuid(fcinfo, 0, "post_id");
	ResultSet	result;
	ListPage	page;

	get_page(fcinfo, 1, &page);
	container_require();
	result_begin(&result, fcinfo, type);
	if (!deleted_has_author_of_post(result.deleted, post_id))
	{
		page_find(&page, type, post_id);
		result_list(&result, CONTAINER_POSTS, post_id, &page);
	}
	return (Datum) 0;
}
