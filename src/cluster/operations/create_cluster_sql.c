/*
 * create_cluster_sql.c
 *		Statements that create the tables of a cluster.
 *
 * %1$s is a suffix of the names of new tables, and %2$d the number of shards.
 * While distribute_containers() creates new tables beside the old ones, the
 * suffix is "_spread"; otherwise it is empty. The leaves have the columns,
 * indexes and settings of the leaves on a single server (admin/create_sql.c).
 */
#include "postgres.h"

#include "cluster/operations/create_cluster.h"
#include "cluster/operations/operations.h"
#include "cluster/user_items/reference_users.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#define STATEMENTS(array) {lengthof(array), array}

static const char *const tables_sql[] = {
	"CREATE TABLE " POSTS_SQL "%1$s ("
	PROPERTY_COLUMNS("NOT NULL", "", "user_username text, ",
					 "hidden boolean, parent_id uuid, item_id uuid, "
					 "comment_id uuid, publish_date timestamptz, ")
	") PARTITION BY LIST (type)",
	"CREATE TABLE " POSTS_SQL "_post PARTITION OF " POSTS_SQL "%1$s (" AUTHORED_POST
	"PRIMARY KEY (post_id)) FOR VALUES IN ('post') "
	"WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1)",

	/*
	 * On a distributed table, a unique index must contain the distribution
	 * column, here post_id.
	 */
	"CREATE UNIQUE INDEX posts_post_by_user "
	"ON " POSTS_SQL "_post (user_id, creation_date, post_id)",
	"ALTER TABLE " POSTS_SQL "_post REPLICA IDENTITY USING INDEX posts_post_by_user",
	"CREATE INDEX posts_post_date ON " POSTS_SQL "_post (creation_date, id)",
	"CREATE TABLE " POSTS_SQL "_comment PARTITION OF " POSTS_SQL "%1$s ("
	AUTHORED "content NOT NULL, "
	"PRIMARY KEY (post_id, id)) FOR VALUES IN ('comment')",
	"CREATE INDEX posts_comment_list "
	"ON " POSTS_SQL "_comment (post_id, creation_date, id) "
	"WHERE parent_id IS NULL",
	"CREATE INDEX posts_comment_reply_list "
	"ON " POSTS_SQL "_comment (post_id, creation_date, id) "
	"WHERE parent_id IS NOT NULL",
	"CREATE INDEX posts_comment_by_user "
	"ON " POSTS_SQL "_comment (user_id, creation_date, id)",
	"CREATE INDEX posts_comment_replies "
	"ON " POSTS_SQL "_comment (post_id, parent_id, creation_date, id) "
	"WHERE parent_id IS NOT NULL",
	"CREATE TABLE " POSTS_SQL "_like PARTITION OF " POSTS_SQL "%1$s (" AUTHORED
	"PRIMARY KEY (user_id, post_id)) FOR VALUES IN ('like')",
	"CREATE INDEX posts_like_list "
	"ON " POSTS_SQL "_like (post_id, creation_date, id)",
	"CREATE TABLE " POSTS_SQL "_comment_like PARTITION OF " POSTS_SQL "%1$s ("
	AUTHORED "comment_id NOT NULL, "
	"PRIMARY KEY (user_id, post_id, comment_id)) FOR VALUES IN ('comment_like')",
	"CREATE INDEX posts_comment_like_list "
	"ON " POSTS_SQL "_comment_like (post_id, comment_id, creation_date, id)",
	"CREATE TABLE " POSTS_SQL "_delta PARTITION OF " POSTS_SQL "%1$s ("
	"item_id NOT NULL, " COUNTED
	"PRIMARY KEY (post_id, item_id, id)) FOR VALUES IN ('delta') "
	"WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, "
	"autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)",

	"CREATE TABLE " USERS_SQL "%1$s ("
	PROPERTY_COLUMNS("", "NOT NULL", "username text, user_username text, ",
					 "hidden boolean, followed_id uuid, "
					 "followed_username text, publish_date timestamptz, ")
	") PARTITION BY LIST (type)",
	"CREATE TABLE " USERS_SQL "_post PARTITION OF " USERS_SQL "%1$s (" AUTHORED_POST
	"PRIMARY KEY (user_id, creation_date, id)) FOR VALUES IN ('post') "
	"WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1)",

	/* renames and deletions find a user's followers by the last index */
	"CREATE TABLE " USERS_SQL "_follow PARTITION OF " USERS_SQL "%1$s (" AUTHORED
	"followed_id NOT NULL, followed_username NOT NULL, "
	"PRIMARY KEY (user_id, followed_id)) FOR VALUES IN ('follow')",
	"CREATE INDEX users_follow_list "
	"ON " USERS_SQL "_follow (user_id, creation_date, id)",
	"CREATE INDEX users_follow_by_followed "
	"ON " USERS_SQL "_follow (followed_id, creation_date, id)",

	"CREATE TABLE " USER_ITEMS_SQL " ("
	"id uuid NOT NULL, type text NOT NULL DEFAULT 'user', user_id uuid PRIMARY KEY, "
	"username text NOT NULL, creation_date timestamptz NOT NULL, "
	"modification_date timestamptz, properties jsonb) WITH (fillfactor = 90)",
	"ALTER TABLE " USER_ITEMS_SQL " REPLICA IDENTITY FULL",

	"COMMENT ON TABLE " POSTS_SQL "%1$s IS "
	"'Container: posts with their comments, likes and counts.'",
	"COMMENT ON TABLE " USERS_SQL "%1$s IS "
	"'Container: users'' follows, and copies of their posts in short form.'",
	"COMMENT ON TABLE " USER_ITEMS_SQL " IS "
	"'Container: users, on every node.'"
};

/* Distribute the tables. The containers' owner already owns them. */
static const char *const spread_sql[] = {
	"SELECT pg_catalog.create_distributed_table('" POSTS_SQL "%1$s', 'post_id', "
	"colocate_with => 'none', shard_count => %2$d)",
	"SELECT pg_catalog.create_distributed_table('" USERS_SQL "%1$s', 'user_id', "
	"colocate_with => '" POSTS_SQL "%1$s')",
	"SELECT pg_catalog.create_reference_table('" USER_ITEMS_SQL "')",
	"SELECT pg_catalog.create_reference_table('" USERNAMES_SQL "%1$s')",
	"SELECT pg_catalog.create_distributed_function(p.oid::regprocedure, 'key', "
	"colocate_with => '" POSTS_SQL "%1$s', force_delegation => true) "
	"FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = '" BLOGSTORE_SCHEMA "'::regnamespace "
	"AND p.proname LIKE 'serve\\_%%'"
};

static const char *const unsent_sql[] = {
	"CREATE TABLE " UNSENT_SQL " ("
	"id uuid PRIMARY KEY, node_group integer NOT NULL, post_id uuid NOT NULL, "
	"user_id uuid NOT NULL, creation_date timestamptz NOT NULL)",
	"COMMENT ON TABLE " UNSENT_SQL " IS "
	"'Copies of posts that wait for another node to answer.'"
};

/*
 * The view posts_with_counts on a cluster.
 *
 * It leaves out posts whose author has no user item. On a single server, the
 * view leaves out posts of users who are being deleted. But a node does not
 * know which users are being deleted on other nodes. The comments and likes of
 * a deleted user stay in the counts until each of them is deleted. Posts and
 * deltas are joined by post_id, so that Citus can run the query on each shard.
 */
const char	create_cluster_view_sql[] =
CREATE_COUNTS_VIEW
" SELECT p.id, p.type, p.post_id, p.user_id, p.user_username, p.title, p.content,"
" p.comment_count + coalesce(d.comments, 0) AS comment_count,"
" p.like_count + coalesce(d.likes, 0) AS like_count,"
" p.creation_date, coalesce(p.hidden, false) AS hidden, p.modification_date, p.properties, p.publish_date"
" FROM " POSTS_SQL " AS p JOIN " USER_ITEMS_SQL " AS u ON u.user_id = p.user_id"
" LEFT JOIN (SELECT i.post_id, sum(i.comment_count)::bigint AS comments,"
" sum(i.like_count)::bigint AS likes FROM " POSTS_SQL " AS i"
" WHERE i.type = 'delta' AND i.item_id = i.post_id GROUP BY i.post_id) AS d ON d.post_id = p.post_id"
" WHERE p.type = 'post'";

const Statements create_cluster_sql = STATEMENTS(tables_sql);
const Statements spread_cluster_sql = STATEMENTS(spread_sql);
const Statements create_unsent_sql = STATEMENTS(unsent_sql);
