/*
 * node_repair.c
 *		repair() on a cluster: what each node does for the node on which
 *		repair() was called (cluster_repair.c).
 *
 * Citus runs one transaction on this node for repair(), as the containers'
 * owner. In this transaction, serve_post() (cluster/remote/serve_request.c)
 * calls the functions of this file. They repair what is on this node, and call
 * no other node.
 *
 * Runs in backends to which Citus has connected from other nodes.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "base/preload.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/operations.h"
#include "cluster/view_delivery/view_delivery.h"
#include "model/post_counts/post_counts.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"
#include "views/worker/worker.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

NODE_FUNCTION(repair_part, "repair()");
NODE_FUNCTION(repair_copies, "repair()");
NODE_FUNCTION(repair_topics, "repair()");

/*
 * The arguments of repair_part(). Each is an array with one element for each
 * finding.
 */
enum
{
	ARG_PROBLEM,
	ARG_TYPE,
	ARG_EXPECTED,
	ARG_ID,
	ARG_POST_ID,
	ARG_USER_ID
};

/*
 * Finds NULLs in columns of "jobs" and "feed" that must not be NULL. Each node
 * has its own tables "jobs" and "feed". The result has the columns of
 * verify()'s result.
 */
static KeptPlan own_plan = {
	ON_JOBS | ON_FEED,
	"SELECT 'jobs', 'invalid', i.kind, i.id, NULL::uuid, i.user_id, 'not null',"
	" m.property, i.created_at FROM " JOBS_SQL " AS i CROSS JOIN LATERAL"
	" (VALUES ('id', i.id IS NULL), ('kind', i.kind IS NULL),"
	" ('user_id', i.kind = 'deletion' AND i.user_id IS NULL),"
	" ('phase', i.phase IS NULL), ('partition_number', i.partition_number IS NULL),"
	" ('done', i.done IS NULL), ('created_at', i.created_at IS NULL))"
	" AS m (property, absent) WHERE m.absent"
	" UNION ALL SELECT 'feed', 'invalid', 'post', id, id, user_id, 'not null', NULL,"
	" creation_date FROM " FEED_SQL
	" WHERE num_nulls(id, post_id, user_id, user_username, title, content,"
	" comment_count, like_count, creation_date) > 0",
	0, {0}, NULL
};

/*
 * Find NULLs in this node's tables "jobs" and "feed" by own_plan, and replace
 * them or delete their rows. Returns how many findings were repaired. Rows of
 * the table publish_queue are deleted, too, but not counted: the calling node
 * has counted the findings about them.
 */
static int64
mend_own(void)
{
	Finding    *findings;
	uint64		n;
	int64		mended;
	int64		left;
	bool		feed = false;

	SPI_connect();
	(void) plan_execute(&own_plan, NULL, NULL, true);
	n = SPI_processed;
	findings = palloc(sizeof(Finding) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
	{
		finding_get(&findings[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		feed |= strcmp(findings[i].container, "feed") == 0;
	}
	mended = mend_invalid(findings, n, &left);
	drop_invalid_copies(findings, n);
	drop_invalid_queue();
	if (feed)
		job_queue_once(JOB_REBUILD, NULL);
	SPI_finish();
	return mended;
}

/*
 * Return the elements of an argument that is an array.
 *
 * n: in: how many elements the array must have; -1 for any number. out: how
 *	many elements it has
 *
 * Errors: 22004 if an element is NULL, 22023 for a wrong number.
 */
static Datum *
get_list(FunctionCallInfo fcinfo, int arg, Oid type, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	int			before = *n;
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *value;
	bool	   *isnull;

	if (ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a list of findings must not contain nulls"),
				 errhint("Only repair() calls this function.")));
	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, &value, &isnull, n);
	if (before >= 0 && *n != before)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the lists have different lengths"),
				 errhint("Only repair() calls this function.")));
	return value;
}

static int64
mend_given(FunctionCallInfo fcinfo)
{
	int			n = -1;
	Datum	   *problem = get_list(fcinfo, ARG_PROBLEM, TEXTOID, &n);
	Datum	   *type = get_list(fcinfo, ARG_TYPE, TEXTOID, &n);
	Datum	   *expected = get_list(fcinfo, ARG_EXPECTED, TEXTOID, &n);
	Datum	   *id = get_list(fcinfo, ARG_ID, UUIDOID, &n);
	Datum	   *post_id = get_list(fcinfo, ARG_POST_ID, UUIDOID, &n);
	Datum	   *user_id = get_list(fcinfo, ARG_USER_ID, UUIDOID, &n);
	int64		mended = 0;

	for (int i = 0; i < n; i++)
	{
		Finding		f = {
			.container = "posts", .problem = TextDatumGetCString(problem[i]),
			.type = TextDatumGetCString(type[i]),
			.expected = TextDatumGetCString(expected[i]), .actual = ""
		};

		CHECK_FOR_INTERRUPTS();
		f.id = *DatumGetUUIDP(id[i]);
		f.post_id = *DatumGetUUIDP(post_id[i]);
		f.user_id = *DatumGetUUIDP(user_id[i]);
		if (finding_is(&f, "orphan"))
			mended += mend_orphan(&f);
		else
		{
			const CountedItem item = strcmp(f.type, "comment") == 0 ?
				counted_comment(&f.post_id, &f.id) :
				counted_post(&f.post_id);

			mended += post_counter_repair(&item);
		}
	}
	return mended;
}

/*
 * blogstore.repair_part(problems, types, expected, ids, post_ids, user_ids):
 * repair the items of this node that the given findings are about. Also
 * replace NULLs in this node's own tables (mend_own()), and fold the deltas
 * of all posts on this node.
 *
 * Returns a row of type blogstore.post_item. Its column comment_count is used
 * for the number of repaired findings. Errors, locks: those of repair().
 */
static Datum
repair_part(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int64		mended;
	Datum		value[N_PROPERTIES] = {0};
	bool		isnull[N_PROPERTIES];
	int			n;
	const Property *prop = item_properties(ITEM_POST, &n);
	pg_uuid_t	id;

	InitMaterializedSRF(fcinfo, 0);
	PushActiveSnapshot(GetTransactionSnapshot());
	mended = mend_given(fcinfo);
	mended += mend_own();
	fold_everything();
	PopActiveSnapshot();

	memset(isnull, true, sizeof(isnull));
	new_id(&id);
	for (int i = 0; i < n; i++)
	{
		isnull[i] = prop[i] != PROP_ID && prop[i] != PROP_COMMENT_COUNT;
		if (!isnull[i])
			value[i] = prop[i] == PROP_ID ? UUIDPGetDatum(&id) : Int64GetDatum(mended);
	}
	tuplestore_putvalues(out->setResult, out->setDesc, value, isnull);
	return (Datum) 0;
}

/*
 * blogstore.repair_copies(post_ids, user_ids, dates): for each given post of
 * this node, return what its copy should be. A returned row without a title
 * means that there should be no copy. While this node's views are not ready,
 * no row is returned.
 *
 * Locks: the views' lock (views_lock()) until the transaction ends, so that
 * the worker refreshes no copy before the caller has written the copies.
 * Errors: 55000.
 */
static Datum
repair_copies(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n = -1;
	Datum	   *post_id = get_list(fcinfo, 0, UUIDOID, &n);
	Datum	   *user_id = get_list(fcinfo, 1, UUIDOID, &n);
	Datum	   *date = get_list(fcinfo, 2, TIMESTAMPTZOID, &n);
	ManyPosts  *many;

	InitMaterializedSRF(fcinfo, 0);
	if (!views_ready(GetActiveSnapshot()))
		return (Datum) 0;
	views_lock();
	PushActiveSnapshot(GetLatestSnapshot());
	many = many_posts_begin(GetActiveSnapshot());
	for (int i = 0; i < n; i++)
	{
		PostKey		key;
		HeapTupleHeader row;
		HeapTupleData tuple = {0};

		CHECK_FOR_INTERRUPTS();
		memset(&key, 0, sizeof(key));
		key.post_id = *DatumGetUUIDP(post_id[i]);
		key.user_id = *DatumGetUUIDP(user_id[i]);
		key.creation_date = DatumGetTimestampTz(date[i]);
		row = DatumGetHeapTupleHeader(copies_row(many, &key, out->setDesc));
		tuple.t_len = HeapTupleHeaderGetDatumLength(row);
		tuple.t_data = row;
		tuplestore_puttuple(out->setResult, &tuple);
	}
	many_posts_end(many);
	PopActiveSnapshot();
	return (Datum) 0;
}

/*
 * Repair what the findings say about this node's topics. Do nothing if the
 * settings were changed since: the worker rebuilds the views, or has done so.
 */
static void
mend_topics_of_node(const Finding *findings, uint64 n)
{
	views_lock();
	PushActiveSnapshot(GetLatestSnapshot());
	if (views_fit_settings())
		mend_topics(findings, n);
	PopActiveSnapshot();
}

/*
 * blogstore.repair_topics(): compare this node's topics with its posts, and
 * correct the topics. Does nothing while they cannot be compared. Returns
 * true.
 *
 * Locks: the views' lock (views_lock()) until the transaction ends, if there
 * are findings; those of topic_changes_end(). Errors: 55000.
 */
static Datum
repair_topics(PG_FUNCTION_ARGS)
{
	SPITupleTable *found;
	Finding    *findings;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (cluster_topics_comparable())
	{
		SPI_connect();
		found = topics_compare();
		findings = palloc(sizeof(Finding) * Max(found->numvals, 1));
		for (uint64 i = 0; i < found->numvals; i++)
			finding_get(&findings[i], found->vals[i], found->tupdesc);
		if (found->numvals > 0)
			mend_topics_of_node(findings, found->numvals);
		SPI_finish();
	}
	PopActiveSnapshot();
	PG_RETURN_BOOL(true);
}
