/*
 * cluster_import_sql.c
 *		Statements of a bulk import that are used only on a cluster.
 *
 * The first column of a query's result is the number of the shard that a row
 * belongs to. Rows are sorted by it, and are sent to its node.
 */
#include "postgres.h"

#include "cluster/operations/cluster_import.h"

const char *const import_spread_tables_sql[] = {
	/* existing posts, as reported by their nodes */
	("CREATE TEMP TABLE @known_post (type text, post_id uuid, user_id uuid, title text,"
	 " content text, creation_date timestamptz, hidden boolean, properties jsonb)"
	 " USING heap ON COMMIT DROP"),
	/* users whose items are being deleted on any node */
	"CREATE TEMP TABLE @deleting (user_id uuid) USING heap ON COMMIT DROP"
};

const int	import_spread_tables_n = lengthof(import_spread_tables_sql);

/* The posts of rows, to find out which exist. */
const char *const import_post_keys_sql =
"SELECT DISTINCT partition, post_id FROM @post WHERE reason IS NULL"
" ORDER BY partition, post_id";

/*
 * The posts of comments and likes, without new posts and those already known.
 */
const char *const import_there_keys_sql =
"SELECT DISTINCT partition, post_id FROM ("
"SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION ALL SELECT partition, post_id FROM @like WHERE reason IS NULL) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_post AS n"
" WHERE n.post_id = s.post_id AND n.reason IS NULL AND NOT n.present)"
" AND NOT EXISTS (SELECT FROM @known_post AS k WHERE k.post_id = s.post_id)"
" ORDER BY partition, post_id";

/*
 * The comments and likes of rows, to find out which exist; in the order of
 * CHECK_CHILD (import_sql.c).
 */
const char *const import_child_keys_sql[N_IMPORTED] = {
	[ITEM_COMMENT] =
	"SELECT DISTINCT partition, post_id, id FROM @comment WHERE reason IS NULL"
	" ORDER BY partition, post_id, id",
	[ITEM_LIKE] =
	"SELECT DISTINCT partition, post_id, user_id FROM @like WHERE reason IS NULL"
	" ORDER BY partition, post_id, user_id"
};

/*
 * Existing posts that get items, or whose items are edited, and which must not
 * be deleted meanwhile.
 */
const char *const import_lock_keys_sql =
"SELECT s.partition, k.post_id FROM @count AS k"
" JOIN (SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION SELECT partition, post_id FROM @like WHERE reason IS NULL) AS s"
" ON s.post_id = k.post_id WHERE NOT k.fresh ORDER BY s.partition, k.post_id";

/*
 * The authors of written items, with the names that the items carry. Users
 * that the import itself has written are left out, because no other
 * transaction can have changed them.
 */
const char *const import_given_names_sql =
"SELECT DISTINCT partition, user_id, user_username FROM ("
"SELECT partition, user_id, user_username FROM @new_post"
" UNION ALL SELECT partition, user_id, user_username FROM @new_comment"
" UNION ALL SELECT partition, user_id, user_username FROM @new_like) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_user AS c WHERE c.user_id = s.user_id"
" AND c.reason IS NULL AND (NOT c.present OR c.old_name IS NOT NULL))"
" ORDER BY partition, user_id";
