/*
 * verify_own_posts.c
 *		Reading this server's posts, for verify().
 *
 * Topics and the table publish_queue are compared with these posts, because
 * each node of a cluster derives them from its own posts.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/verify.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* The columns of own_posts_sql() */
#define COLUMNS \
	"id, type, post_id, user_id, creation_date, hidden, publish_date, properties"
#define NO_ROWS_SQL \
	"(SELECT NULL::uuid AS id, NULL::text AS type, NULL::uuid AS post_id," \
	" NULL::uuid AS user_id, NULL::timestamptz AS creation_date, NULL::boolean AS hidden," \
	" NULL::timestamptz AS publish_date, NULL::jsonb AS properties WHERE false)"

/*
 * Return SQL for the FROM clause that reads this server's posts. On a cluster,
 * the table "posts" would also return the posts of other nodes. So each
 * partition is read by its own name.
 *
 * tables: receives the tables that the SQL names, as for KeptPlan.tables
 */
char *
own_posts_sql(int *tables)
{
	StringInfoData sql;

	*tables = cluster_calls() == NULL ? ON_POSTS : 0;
	if (*tables != 0)
		return pstrdup(POSTS_SQL);

	initStringInfo(&sql);
	container_lock(CONTAINER_POSTS, false);
	container_require_whole(CONTAINER_POSTS);
	for (int p = partition_first(CONTAINER_POSTS, ITEM_POST); p != NO_PARTITION;
		 p = partition_after(CONTAINER_POSTS, ITEM_POST, p))
	{
		Oid			table = partition_table(CONTAINER_POSTS, p);

		appendStringInfo(&sql, "%s SELECT " COLUMNS " FROM %s",
						 sql.len > 0 ? " UNION ALL" : "",
						 quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)),
													get_rel_name(table)));
	}
	return sql.len > 0 ? psprintf("(%s)", sql.data) : pstrdup(NO_ROWS_SQL);
}
