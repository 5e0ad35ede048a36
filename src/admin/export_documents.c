/*
 * export_documents.c
 *		blogstore.export_documents(): the containers as JSON documents.
 *
 * One statement in one snapshot (on a cluster one on each shard), run to its end at the first
 * call, its rows kept in a tuplestore, which goes to disk beyond work_mem. Nothing of ours
 * is held open between rows: a statement or portal of the function's own would
 * outlive, or be outlived by, the transaction, the savepoint or the cursor that
 * the caller reads it in.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "model/user_changes/user_changes.h"
#include "storage/attached_code/attached_code.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/xact.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/uuid.h"

SQL_FUNCTION(export_documents);

/*
 * The items of a type in a table, apart from what they are joined with (OFFSET 0):
 * else the planner would consider each partition against each other one.
 */
#define ITEMS_OF(table, type) \
	"(SELECT * FROM " table " WHERE type = '" type "' OFFSET 0)"

/*
 * What stands beside the article's properties: an item's own, and of what blogstore has
 * added that which says something. The article's come last: where an owner has written
 * one that is called the same, they count.
 */
#define BESIDE(item, added) \
	"CASE WHEN jsonb_typeof(" item ".properties) = 'object' THEN " item ".properties" \
	" ELSE '{}' END" added " || "

#define HIDDEN_OR_EDITED(item) \
	" || CASE WHEN " item ".hidden THEN '{\"hidden\": true}'::jsonb ELSE '{}' END" \
	" || CASE WHEN " item ".modification_date IS NULL THEN '{}'::jsonb ELSE" \
	" jsonb_build_object('modificationDate', " item ".modification_date) END"

#define REPLY(item) \
	" || CASE WHEN " item ".parent_id IS NULL THEN '{}'::jsonb ELSE" \
	" jsonb_build_object('parentId', " item ".parent_id) END"

/*
 * The author's item gives the name as it is now, and leaves out the items of
 * those who are being deleted, who have none. No request serves those items, or
 * what hangs on their posts, and none counts them: neither does the export.
 */
#define HANGS_ON(type) \
	" FROM " ITEMS_OF(POSTS_SQL, type) " AS i" \
	" JOIN account AS a ON a.user_id = i.user_id WHERE NOT EXISTS" \
	" (SELECT FROM gone AS g WHERE g.post_id = i.post_id)"

static KeptPlan export_plan = {
	ON_USERS | ON_POSTS | ON_JOBS,
"WITH account AS MATERIALIZED (SELECT user_id, username, creation_date,"
" properties FROM " USERS_SQL " WHERE type = 'user'),"
" deleting AS MATERIALIZED (SELECT DISTINCT user_id"
" FROM (" USERS_BEING_DELETED_SQL ") AS d),"
" gone AS MATERIALIZED (SELECT p.post_id FROM "
ITEMS_OF(POSTS_SQL, "post") " AS p"
" WHERE p.user_id IN (SELECT user_id FROM deleting)),"
" unserved AS MATERIALIZED (SELECT i.post_id,"
" count(*) FILTER (WHERE i.type = 'comment' AND i.hidden IS NOT TRUE) AS comments,"
" count(*) FILTER (WHERE i.type = 'like') AS likes"
" FROM (SELECT type, post_id, user_id, hidden FROM " POSTS_SQL
" WHERE type IN ('comment', 'like') OFFSET 0) AS i WHERE i.user_id IN (SELECT user_id FROM deleting) GROUP BY i.post_id),"
" delta AS MATERIALIZED (SELECT post_id,"
" sum(comment_count)::bigint AS comments, sum(like_count)::bigint AS likes"
" FROM " POSTS_SQL " WHERE type = 'delta' GROUP BY post_id)"

" SELECT " BESIDE("a", "") "jsonb_build_object('id', a.user_id, 'type', 'user',"
" 'userId', a.user_id, 'username', a.username,"
" 'creationDate', a.creation_date) FROM account AS a"

" UNION ALL SELECT " BESIDE("p", HIDDEN_OR_EDITED("p"))
"jsonb_build_object('id', p.id, 'type', 'post',"
" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username,"
" 'title', p.title, 'content', p.content, 'commentCount',"
" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0),"
" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0),"
" 'creationDate', p.creation_date)"
" FROM " ITEMS_OF(POSTS_SQL, "post") " AS p"
" JOIN account AS a ON a.user_id = p.user_id"
" LEFT JOIN delta AS d ON d.post_id = p.post_id"
" LEFT JOIN unserved AS n ON n.post_id = p.post_id"

" UNION ALL SELECT " BESIDE("i", HIDDEN_OR_EDITED("i") REPLY("i"))
"jsonb_build_object('id', i.id, 'type', 'comment',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'content', i.content, 'creationDate', i.creation_date)"
HANGS_ON("comment")

" UNION ALL SELECT jsonb_build_object('id', i.id, 'type', 'like',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'creationDate', i.creation_date)"
HANGS_ON("like"),
	0, {0}, NULL
};

/* ------------------------------------------------------------------------
 * On a cluster
 * ------------------------------------------------------------------------ */

#define SPREAD_ITEMS(type) \
	"(SELECT * FROM " POSTS_SQL " WHERE type = '" type "')"

#define SPREAD_ACCOUNT \
	" JOIN (SELECT user_id, username FROM " EVERYONE_SQL ") AS a ON a.user_id = "

#define SPREAD_HANGS_ON(type) \
	" FROM " SPREAD_ITEMS(type) " AS i" SPREAD_ACCOUNT "i.user_id" \
	" LEFT JOIN (SELECT post_id FROM " POSTS_SQL " WHERE type = 'post'" \
	" AND user_id = ANY (@)) AS g ON g.post_id = i.post_id WHERE g.post_id IS NULL"

/*
 * The items, with @ for an array of the users whose items are being deleted on any node.
 * Each part gives post_id and joins by it alone, so that Citus has all of it done by each
 * shard, in one snapshot there: a post's counts are those of the comments and likes that come with it.
 */
static const char spread_items_sql[] =
"SELECT item.document FROM ("
"SELECT p.post_id, " BESIDE("p", HIDDEN_OR_EDITED("p"))
"jsonb_build_object('id', p.id, 'type', 'post',"
" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username,"
" 'title', p.title, 'content', p.content, 'commentCount',"
" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0),"
" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0),"
" 'creationDate', p.creation_date) AS document"
" FROM " SPREAD_ITEMS("post") " AS p" SPREAD_ACCOUNT "p.user_id"
" LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comments,"
" sum(like_count)::bigint AS likes FROM " POSTS_SQL
" WHERE type = 'delta' GROUP BY post_id) AS d ON d.post_id = p.post_id"
" LEFT JOIN (SELECT post_id,"
" count(*) FILTER (WHERE type = 'comment' AND hidden IS NOT TRUE) AS comments,"
" count(*) FILTER (WHERE type = 'like') AS likes FROM " POSTS_SQL
" WHERE type IN ('comment', 'like') AND user_id = ANY (@) GROUP BY post_id) AS n"
" ON n.post_id = p.post_id"

" UNION ALL SELECT i.post_id, " BESIDE("i", HIDDEN_OR_EDITED("i") REPLY("i"))
"jsonb_build_object('id', i.id, 'type', 'comment',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'content', i.content, 'creationDate', i.creation_date) AS document"
SPREAD_HANGS_ON("comment")

" UNION ALL SELECT i.post_id, jsonb_build_object('id', i.id, 'type', 'like',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'creationDate', i.creation_date) AS document"
SPREAD_HANGS_ON("like") ") AS item";

/* They are read last: whoever has written an item is there by then, or has been deleted. */
static const char spread_users_sql[] =
"SELECT " BESIDE("a", "") "jsonb_build_object('id', a.user_id, 'type', 'user',"
" 'userId', a.user_id, 'username', a.username, 'creationDate', a.creation_date)"
" FROM (SELECT user_id, username, creation_date, properties FROM "
EVERYONE_SQL ") AS a";

/* Run a statement, with an array of ids in it, its rows for a receiver. */
static void
send_rows(const char *sql, const char *ids, DestReceiver *dest)
{
	SPIExecuteOptions options = {.read_only = false,.dest = dest};
	StringInfoData text;
	int			rc;

	initStringInfo(&text);
	for (; *sql; sql++)
		if (*sql == '@')
			appendStringInfo(&text, "%s::pg_catalog.uuid[]", quote_literal_cstr(ids));
		else
			appendStringInfoChar(&text, *sql);
	rc = SPI_execute_extended(text.data, &options);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", text.data, SPI_result_code_string(rc));
}

/* All documents of a cluster's nodes. */
static void
export_spread(DestReceiver *dest)
{
	StringInfoData ids;
	ListCell   *lc;
	Guard	   *guard;
	int			nest = NewGUCNestLevel();

	initStringInfo(&ids);
	/* what comes behind it in a transaction is to be on the same connections */
	if (IsTransactionBlock())
		setting_change("citus.max_adaptive_executor_pool_size", "1");
	foreach(lc, everyone_deleting())
		appendStringInfo(&ids, "%s%s", ids.len > 0 ? "," : "",
						 DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(lfirst(lc)))));
	tables_lock_for_import();
	container_require_served(CONTAINER_POSTS, false);
	guard = guard_enter();
	send_rows(spread_items_sql, psprintf("{%s}", ids.data), dest);
	send_rows(spread_users_sql, "{}", dest);
	guard_leave(guard);
	AtEOXact_GUC(true, nest);
}

/*
 * blogstore.export_documents(). Errors: 55000. Locks: AccessShareLock on the
 * containers.
 */
static Datum
export_documents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	OwnerScope	scope;

	container_require();
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	SetTuplestoreDestReceiverParams(dest, info->setResult, CurrentMemoryContext,
									false, NULL, NULL);
	owner_begin(&scope);
	SPI_connect();
	if (layout_is_spread())
		export_spread(dest);
	else
		plan_send(&export_plan, dest);
	SPI_finish();
	owner_end(&scope);
	return (Datum) 0;
}
