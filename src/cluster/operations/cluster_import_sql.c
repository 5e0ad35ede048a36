/*
 * cluster_import_sql.c
 *		The statements that bulk import has on a cluster alone.
 *
 * Their first column is the shard that a row concerns, by whose node rows are sent; they come in the order of
 * shards.
 */
#include "postgres.h"

#include "cluster/operations/cluster_import.h"

const char *const import_spread_tables_sql[] = {
	/* posts that are there, as the nodes have told */
	("CREATE TEMP TABLE @known_post (type text, post_id uuid, user_id uuid, title text,"
	 " content text, creation_date timestamptz, hidden boolean, properties jsonb)"
	 " USING heap ON COMMIT DROP"),
	/* users whose items are being deleted, on whichever node */
	"CREATE TEMP TABLE @deleting (user_id uuid) USING heap ON COMMIT DROP"
};

const int	import_spread_tables_n = lengthof(import_spread_tables_sql);

/* The posts of rows: are they there? */
const char *const import_post_keys_sql =
"SELECT DISTINCT partition, post_id FROM @post WHERE reason IS NULL"
" ORDER BY partition, post_id";

/* The posts of comments and likes that are not among those that are new. */
const char *const import_there_keys_sql =
"SELECT DISTINCT partition, post_id FROM ("
"SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION ALL SELECT partition, post_id FROM @like WHERE reason IS NULL) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_post AS n"
" WHERE n.post_id = s.post_id AND n.reason IS NULL AND NOT n.present)"
" AND NOT EXISTS (SELECT FROM @known_post AS k WHERE k.post_id = s.post_id)"
" ORDER BY partition, post_id";

/* The comments and likes of rows: are they there? In the order of CHECK_CHILD (import_sql.c). */
const char *const import_child_keys_sql[N_IMPORTED] = {
	[ITEM_COMMENT] =
	"SELECT DISTINCT partition, post_id, id FROM @comment WHERE reason IS NULL"
	" ORDER BY partition, post_id, id",
	[ITEM_LIKE] =
	"SELECT DISTINCT partition, post_id, user_id FROM @like WHERE reason IS NULL"
	" ORDER BY partition, post_id, user_id"
};

/* The posts that were there before and are to stay, because they get items, or have them edited. */
const char *const import_lock_keys_sql =
"SELECT s.partition, k.post_id FROM @count AS k"
" JOIN (SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION SELECT partition, post_id FROM @like WHERE reason IS NULL) AS s"
" ON s.post_id = k.post_id WHERE NOT k.fresh ORDER BY s.partition, k.post_id";

/*
 * The authors of what is written, with the names that it is written with; but for those whom the
 * import has written itself, and nobody else can have changed.
 */
const char *const import_given_names_sql =
"SELECT DISTINCT partition, user_id, user_username FROM ("
"SELECT partition, user_id, user_username FROM @new_post"
" UNION ALL SELECT partition, user_id, user_username FROM @new_comment"
" UNION ALL SELECT partition, user_id, user_username FROM @new_like) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_user AS c WHERE c.user_id = s.user_id"
" AND c.reason IS NULL AND (NOT c.present OR c.old_name IS NOT NULL))"
" ORDER BY partition, user_id";
