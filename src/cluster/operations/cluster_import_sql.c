/*
 * cluster_import_sql.c
 *		Statements of a bulk import that are used only on a cluster.
 *
 * @name stands for the import's temporary table of that name
 * (import/import_sql.c). The first column of a query's result is named
 * "partition", and is the number of a shard. Rows are sorted by that number,
 * and are sent to the node of the shard.
 */
#include "postgres.h"

#include "cluster/operations/cluster_import.h"

const char *const import_spread_tables_sql[] = {
	/* existing posts, copied from the nodes that have them */
	("CREATE TEMP TABLE @known_post (type text, post_id uuid, user_id uuid, title text,"
	 " content text, creation_date timestamptz, hidden boolean,"
	 " publish_date timestamptz, properties jsonb)"
	 " USING heap ON COMMIT DROP"),
	/* the users who are being deleted on some node */
	"CREATE TEMP TABLE @deleting (user_id uuid) USING heap ON COMMIT DROP",
	/* existing follows, copied from the nodes that have them */
	("CREATE TEMP TABLE @known_follow (user_id uuid, followed_id uuid,"
	 " creation_date timestamptz) USING heap ON COMMIT DROP"),
	/* the users in the source of follows, and how many users each follows */
	("CREATE TEMP TABLE @known_follower (user_id uuid, followed bigint)"
	 " USING heap ON COMMIT DROP")
};

const int	import_spread_tables_n = lengthof(import_spread_tables_sql);

/*
 * Selects the ids of imported posts, to ask the nodes which of these posts
 * exist.
 */
const char *const import_post_keys_sql =
"SELECT DISTINCT partition, post_id FROM @post WHERE reason IS NULL"
" ORDER BY partition, post_id";

/*
 * Selects the ids of the posts to which imported comments and likes belong.
 * Posts that the import creates, and posts in the temporary table @known_post,
 * are left out.
 */
const char *const import_there_keys_sql =
"SELECT DISTINCT partition, post_id FROM ("
"SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION ALL SELECT partition, post_id FROM @like WHERE reason IS NULL"
" UNION ALL SELECT partition, post_id FROM @comment_like WHERE reason IS NULL) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_post AS n"
" WHERE n.post_id = s.post_id AND n.reason IS NULL AND NOT n.present)"
" AND NOT EXISTS (SELECT FROM @known_post AS k WHERE k.post_id = s.post_id)"
" ORDER BY partition, post_id";

/*
 * Selects the keys of imported comments and likes, to ask the nodes which of
 * these items exist. The rows are sorted by shard and by ChildKey (import.h).
 * The import later looks the items up in the same order (CHECK_CHILD in
 * import_sql.c).
 */
const char *const import_child_keys_sql[N_IMPORTED] = {
	[ITEM_COMMENT] =
	"SELECT DISTINCT partition, post_id, id FROM @comment WHERE reason IS NULL"
	" ORDER BY partition, post_id, id",
	[ITEM_LIKE] =
	"SELECT DISTINCT partition, post_id, user_id FROM @like WHERE reason IS NULL"
	" ORDER BY partition, post_id, user_id",
	[ITEM_COMMENT_LIKE] =
	"SELECT DISTINCT partition, post_id, comment_id, user_id FROM @comment_like"
	" WHERE reason IS NULL ORDER BY partition, post_id, comment_id, user_id"
};

/*
 * Selects the keys of the comments that users like, to ask the nodes which of
 * these comments exist.
 */
const char *const import_liked_keys_sql =
"SELECT DISTINCT partition, post_id, comment_id FROM @comment_like"
" WHERE reason IS NULL ORDER BY partition, post_id, comment_id";

/* Selects the users in the source of follows, to count their follows. */
const char *const import_follower_keys_sql =
"SELECT DISTINCT partition, user_id FROM @follow WHERE reason IS NULL"
" ORDER BY partition, user_id";

/*
 * Selects the keys of imported follows, to ask the nodes which of them exist.
 */
const char *const import_follow_keys_sql =
"SELECT DISTINCT partition, user_id, followed_id FROM @follow"
" WHERE reason IS NULL ORDER BY partition, user_id, followed_id";

/*
 * Selects the existing posts that get comments or likes, or whose comments are
 * edited. The import locks these posts, so that none is deleted meanwhile.
 */
const char *const import_lock_keys_sql =
"SELECT s.partition, k.post_id FROM @count AS k"
" JOIN (SELECT partition, post_id FROM @comment WHERE reason IS NULL"
" UNION SELECT partition, post_id FROM @like WHERE reason IS NULL"
" UNION SELECT partition, post_id FROM @comment_like WHERE reason IS NULL) AS s"
" ON s.post_id = k.post_id WHERE NOT k.fresh ORDER BY s.partition, k.post_id";

/*
 * Selects comments, and how many new replies and likes each of them gets. The
 * column "made" is true if the import creates the comment.
 */
const char *const import_node_comment_counts_sql =
"SELECT s.partition, c.post_id, c.comment_id, c.replies, c.likes, c.made FROM"
" (SELECT post_id, comment_id, sum(replies)::bigint AS replies,"
" sum(likes)::bigint AS likes, bool_or(made) AS made"
" FROM @comment_part GROUP BY post_id, comment_id) AS c"
" JOIN (SELECT post_id, partition FROM @comment WHERE reason IS NULL"
" UNION SELECT post_id, partition FROM @comment_like WHERE reason IS NULL) AS s"
" ON s.post_id = c.post_id ORDER BY s.partition, c.post_id, c.comment_id";

/*
 * Selects the authors of new items and both users of new follows, with the
 * usernames that these items contain. The caller checks that none of them was
 * renamed meanwhile. Users whom the import itself has written are left out,
 * because no other transaction can have renamed them.
 */
const char *const import_given_names_sql =
"SELECT DISTINCT partition, user_id, user_username FROM ("
"SELECT partition, user_id, user_username FROM @new_post"
" UNION ALL SELECT partition, user_id, user_username FROM @new_comment"
" UNION ALL SELECT partition, user_id, user_username FROM @new_like"
" UNION ALL SELECT partition, user_id, user_username FROM @new_comment_like"
" UNION ALL SELECT partition, user_id, user_username FROM @new_follow"
" UNION ALL SELECT partition, followed_id, followed_username FROM @new_follow) AS s"
" WHERE NOT EXISTS (SELECT FROM @checked_user AS c WHERE c.user_id = s.user_id"
" AND c.reason IS NULL AND (NOT c.present OR c.old_name IS NOT NULL))"
" ORDER BY partition, user_id";
