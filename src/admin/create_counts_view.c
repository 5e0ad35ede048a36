/*
 * create_counts_view.c
 *		The SQL view posts_with_counts: posts with their exact counts, for
 *		readers that use SQL on the tables.
 *
 * The columns comment_count and like_count of a post's row do not include the
 * post's deltas. The view adds the deltas that the reader's snapshot sees.
 * Like blogstore's SQL functions, the view leaves out posts, comments and
 * likes by users who are being deleted.
 *
 * The view belongs to the owner of the tables, and does not depend on the
 * extension. The view reads the tables with the rights of the reader
 * (security_invoker), so row-level security applies. blogstore itself does not
 * read the view.
 *
 * The counts are scalar subqueries, not joins. So the planner omits counts
 * that a query does not use, and evaluates the other counts after LIMIT.
 *
 * Runs in a backend, by statements in SPI.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "storage/layout/layout.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define DELETION "FROM " JOBS_SQL " AS j WHERE j.kind = 'deletion'"

/*
 * An SQL expression for a count of post p. Adds the post's deltas to the
 * column of the post's row, and subtracts the comments or likes of users who
 * are being deleted.
 *
 * count: the column, "comment_count" or "like_count"
 * type: "comment" or "like"
 * shown: for comments, " AND" and a condition that leaves out hidden comments,
 *     because comment_count does not include them; for likes, ""
 */
#define COUNT_OF(count, type, shown) \
	"p." count " + coalesce((SELECT sum(d." count ") FROM " POSTS_SQL " AS d" \
	" WHERE d.type = 'delta' AND d.post_id = p.post_id" \
	" AND d.item_id = p.post_id), 0)::bigint" \
	" - CASE WHEN EXISTS (SELECT " DELETION ") THEN (SELECT count(*) FROM " POSTS_SQL " AS i" \
	" WHERE i.type = '" type "' AND i.post_id = p.post_id" shown \
	" AND i.user_id IN (SELECT j.user_id " DELETION ")) ELSE 0 END AS " count

const char	create_counts_view_sql[] =
CREATE_COUNTS_VIEW
" SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content, "
COUNT_OF("comment_count", "comment", " AND i.hidden IS NOT TRUE") ", "
COUNT_OF("like_count", "like", "") ","
" p.creation_date, coalesce(p.hidden, false) AS hidden, p.modification_date, p.properties, p.publish_date"
" FROM " POSTS_SQL " AS p WHERE p.type = 'post'"
" AND NOT EXISTS (SELECT " DELETION " AND j.user_id = p.user_id)";

static const char comment_sql[] =
"COMMENT ON VIEW " COUNTS_VIEW_SQL " IS "
"'Posts with their exact counts, read with the rights of the reader.'";

/*
 * Set creation->counts_view to true if the view posts_with_counts is missing.
 * Errors: 42P07 if a view of another role, or a relation that is no view, has
 * this name. Locks: AccessShareLock on an existing view.
 */
void
create_look_at_counts_view(Creation *creation)
{
	Oid			relid = table_lookup(COUNTS_VIEW);
	HeapTuple	tuple;
	Form_pg_class form;

	if (OidIsValid(relid))
		LockRelationOid(relid, AccessShareLock);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	creation->counts_view = !HeapTupleIsValid(tuple);
	creation->missing += creation->counts_view;
	if (creation->counts_view)
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relkind != RELKIND_VIEW)
		create_refuse_table(COUNTS_VIEW, "it is not a view");
	if (form->relowner != creation->owner)
		create_refuse_table(COUNTS_VIEW, psprintf("it belongs to \"%s\"",
												  GetUserNameFromId(form->relowner, false)));
	ReleaseSysCache(tuple);
}

/*
 * Create the view posts_with_counts if it is missing. The caller has called
 * SPI_connect().
 *
 * sql: the CREATE statement of the view, without the word CREATE
 */
void
create_counts_view(const Creation *creation, const char *sql)
{
	if (!creation->counts_view)
		return;
	(void) create_run_sql(psprintf("CREATE %s", sql));
	(void) create_run_sql(comment_sql);
	create_give_counts_view(creation);
}

/*
 * Make the owner of the containers the owner of the view posts_with_counts.
 * The caller has called SPI_connect().
 */
void
create_give_counts_view(const Creation *creation)
{
	if (creation->owner != GetUserId())
		(void) create_run_sql(psprintf("ALTER VIEW " COUNTS_VIEW_SQL " OWNER TO %s",
									   quote_identifier(GetUserNameFromId(creation->owner, false))));
}
