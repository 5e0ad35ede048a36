/*
 * cluster_export.c
 *		export_documents() on a cluster, which reads the items of all nodes
 *		through Citus.
 *
 * No snapshot covers all nodes, so each shard is read with one snapshot of its
 * own.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/export_documents.h"
#include "cluster/citus/citus.h"
#include "cluster/operations/operations.h"
#include "cluster/user_items/reference_users.h"
#include "storage/attached_code/attached_code.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#define ITEMS(type) \
	"(SELECT * FROM " POSTS_SQL " WHERE type = '" type "')"

#define JOIN_AUTHOR \
	" JOIN (SELECT user_id, username FROM " USER_ITEMS_SQL ") AS a ON a.user_id = "

#define HANGS_ON(type, joined) \
	" FROM " ITEMS(type) " AS i" JOIN_AUTHOR "i.user_id" joined \
	" LEFT JOIN (SELECT post_id FROM " POSTS_SQL " WHERE type = 'post'" \
	" AND user_id = ANY (@)) AS g ON g.post_id = i.post_id WHERE g.post_id IS NULL"

/*
 * The query for the documents of all posts, comments and likes. Each @ stands
 * for an array of the ids of users whose items are being deleted on some node.
 *
 * Each branch of the UNION returns post_id and joins tables only by post_id.
 * So Citus runs the whole query once for each shard, with one snapshot. The
 * counts of an exported post then agree with its exported comments and likes.
 */
static const char items_sql[] =
"SELECT item.document FROM ("
"SELECT p.post_id, " POST_DOCUMENT_SQL " AS document"
" FROM " ITEMS("post") " AS p" JOIN_AUTHOR "p.user_id"
" LEFT JOIN (SELECT post_id, sum(comment_count)::bigint AS comments,"
" sum(like_count)::bigint AS likes FROM " POSTS_SQL
" WHERE type = 'delta' AND item_id = post_id GROUP BY post_id) AS d ON d.post_id = p.post_id"
" LEFT JOIN (SELECT post_id,"
" count(*) FILTER (WHERE type = 'comment' AND hidden IS NOT TRUE) AS comments,"
" count(*) FILTER (WHERE type = 'like') AS likes FROM " POSTS_SQL
" WHERE type IN ('comment', 'like') AND user_id = ANY (@) GROUP BY post_id) AS n"
" ON n.post_id = p.post_id"

" UNION ALL SELECT i.post_id, " COMMENT_DOCUMENT_SQL " AS document"
HANGS_ON("comment", " LEFT JOIN (" COMMENT_DELTAS_SQL ") AS d ON d.post_id = i.post_id AND d.item_id = i.id"
		 " LEFT JOIN (" ON_COMMENTS_SQL("= ANY (@)", "") ") AS n"
		 " ON n.post_id = i.post_id AND n.on_id = i.id")

" UNION ALL SELECT i.post_id, " LIKE_DOCUMENT_SQL " AS document"
HANGS_ON("like", "")

" UNION ALL SELECT i.post_id, " COMMENT_LIKE_DOCUMENT_SQL " AS document"
HANGS_ON("comment_like", " LEFT JOIN (SELECT post_id, id FROM " POSTS_SQL
		 " WHERE type = 'comment' AND user_id = ANY (@)) AS c"
		 " ON c.post_id = i.post_id AND c.id = i.comment_id")
" AND c.id IS NULL) AS item";

/*
 * The query for the documents of follows. Each @ stands for the same array.
 * Citus runs the query once for each shard of users.
 */
static const char follows_sql[] =
"SELECT " FOLLOW_DOCUMENT_SQL
" FROM (SELECT * FROM " USERS_SQL " WHERE type = 'follow') AS i"
JOIN_AUTHOR "i.user_id"
" JOIN (SELECT user_id, username FROM " USER_ITEMS_SQL ") AS f ON f.user_id = i.followed_id"
" WHERE i.user_id <> ALL (@) AND i.followed_id <> ALL (@)";

/*
 * The query for the documents of users. It runs after the other queries, so
 * that it finds the users of every exported item, unless they have been
 * deleted.
 */
static const char users_sql[] =
"SELECT " USER_DOCUMENT_SQL
" FROM (SELECT user_id, username, creation_date, properties FROM "
USER_ITEMS_SQL ") AS a";

/*
 * Run a query, and send its result rows to a receiver.
 *
 * sql: the query; each @ in it is replaced by the array "ids"
 * ids: the ids of users, as an array literal
 */
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

/*
 * Send the documents of all items of the cluster to a receiver. Called as the
 * containers' owner, after SPI_connect(). Errors: 55000. Locks: those of
 * tables_lock_for_import(); AccessShareLock on the containers.
 */
void
cluster_export_documents(DestReceiver *dest)
{
	StringInfoData ids;
	ListCell   *lc;
	Guard	   *guard;
	int			nest = NewGUCNestLevel();

	initStringInfo(&ids);
	cluster_one_connection();
	foreach(lc, reference_users_being_deleted())
		appendStringInfo(&ids, "%s%s", ids.len > 0 ? "," : "",
						 id_text(lfirst(lc)));
	tables_lock_for_import();
	container_require_served(CONTAINER_POSTS, false);
	container_require_served(CONTAINER_USERS, false);
	guard = guard_enter();
	send_rows(items_sql, psprintf("{%s}", ids.data), dest);
	send_rows(follows_sql, psprintf("{%s}", ids.data), dest);
	send_rows(users_sql, "{}", dest);
	guard_leave(guard);
	AtEOXact_GUC(true, nest);
}
