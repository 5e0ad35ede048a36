/*
 * export_documents.c
 *		blogstore.export_documents(): exporting the containers as JSON
 *		documents.
 *
 * The function runs one SQL statement to its end, and returns the documents in
 * a tuplestore, which spills to disk beyond work_mem.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/export_documents.h"
#include "base/compat.h"
#include "base/preload.h"
#include "base/progress.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"

#include "executor/tstoreReceiver.h"
#include "funcapi.h"

SQL_FUNCTION(export_documents);

/*
 * A subquery that returns the items of one type in a container. OFFSET 0 keeps
 * the planner from pulling the subquery up. Otherwise planning a join of two
 * containers with many partitions would take long.
 */
#define ITEMS_OF(table, type) \
	"(SELECT * FROM " table " WHERE type = '" type "' OFFSET 0)"

/*
 * FROM and WHERE clauses that return the comments or likes (i) with their
 * authors (a). A user who is being deleted has no row in the container users,
 * so the join leaves out comments and likes by such users. WHERE leaves out
 * the comments and likes on posts by such users, which are in the CTE "gone".
 *
 * type: "comment", "like" or "comment_like"
 * joined: further joins, or ""
 */
#define HANGS_ON(type, joined) \
	" FROM " ITEMS_OF(POSTS_SQL, type) " AS i" \
	" JOIN account AS a ON a.user_id = i.user_id" joined " WHERE NOT EXISTS" \
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
" FROM " POSTS_SQL " WHERE type = 'delta' AND item_id = post_id GROUP BY post_id),"
" gone_comment AS MATERIALIZED (SELECT i.post_id, i.id FROM "
ITEMS_OF(POSTS_SQL, "comment") " AS i"
" WHERE i.user_id IN (SELECT user_id FROM deleting)),"
" comment_delta AS MATERIALIZED (" COMMENT_DELTAS_SQL "),"
" unserved_on AS MATERIALIZED (" ON_COMMENTS_SQL("IN (SELECT user_id FROM deleting)", "OFFSET 0") ")"

" SELECT " USER_DOCUMENT_SQL " FROM account AS a"

" UNION ALL SELECT " POST_DOCUMENT_SQL
" FROM " ITEMS_OF(POSTS_SQL, "post") " AS p"
" JOIN account AS a ON a.user_id = p.user_id"
" LEFT JOIN delta AS d ON d.post_id = p.post_id"
" LEFT JOIN unserved AS n ON n.post_id = p.post_id"

" UNION ALL SELECT " COMMENT_DOCUMENT_SQL
HANGS_ON("comment", " LEFT JOIN comment_delta AS d ON d.post_id = i.post_id AND d.item_id = i.id"
		 " LEFT JOIN unserved_on AS n ON n.post_id = i.post_id AND n.on_id = i.id")

" UNION ALL SELECT " LIKE_DOCUMENT_SQL
HANGS_ON("like", "")

" UNION ALL SELECT " COMMENT_LIKE_DOCUMENT_SQL
HANGS_ON("comment_like", "") " AND NOT EXISTS (SELECT FROM gone_comment AS c"
" WHERE c.post_id = i.post_id AND c.id = i.comment_id)"

" UNION ALL SELECT " FOLLOW_DOCUMENT_SQL
" FROM " ITEMS_OF(USERS_SQL, "follow") " AS i"
" JOIN account AS a ON a.user_id = i.user_id"
" JOIN account AS f ON f.user_id = i.followed_id",
	0, {0}, NULL
};

typedef struct CountingReceiver
{
	DestReceiver pub;
	DestReceiver *to;
} CountingReceiver;

static void
counting_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	DestReceiver *to = ((CountingReceiver *) self)->to;

	to->rStartup(to, operation, desc);
}

static bool
counting_receive(TupleTableSlot *slot, DestReceiver *self)
{
	DestReceiver *to = ((CountingReceiver *) self)->to;

	progress_add(1);
	return to->receiveSlot(slot, to);
}

static void
counting_shutdown(DestReceiver *self)
{
	DestReceiver *to = ((CountingReceiver *) self)->to;

	to->rShutdown(to);
}

static void
counting_destroy(DestReceiver *self)
{
}

/*
 * blogstore.export_documents(): return one JSON document per item. Errors:
 * 55000. Locks: AccessShareLock on the containers.
 */
static Datum
export_documents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	DestReceiver *store = CreateDestReceiver(DestTuplestore);
	CountingReceiver counting = {
		{counting_receive, counting_startup, counting_shutdown,
		counting_destroy, DestTuplestore}, store
	};
	DestReceiver *dest = &counting.pub;
	const ClusterCalls *cluster;
	OwnerScope	scope;

	container_require();
	cluster = cluster_calls();
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	SetTuplestoreDestReceiverParams(store, info->setResult, CurrentMemoryContext,
									false, NULL, NULL);
	progress_begin("blogstore.export_documents(): exporting");
	owner_begin(&scope);
	SPI_connect();
	if (cluster != NULL)
		cluster->export_documents(dest);
	else
		plan_send(&export_plan, dest);
	SPI_finish();
	owner_end(&scope);
	return (Datum) 0;
}
