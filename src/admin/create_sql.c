/*
 * create_sql.c
 *		The statements that create the containers and the bookkeeping tables.
 *
 * A leaf holds items of one type. The columns that each item of this type must
 * have are NOT NULL in the leaf. So an INSERT without these columns fails,
 * even if the INSERT bypasses blogstore.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#define STATEMENTS(array) {lengthof(array), array}

static const char *const users_sql[] = {
	"CREATE TABLE " USERS_SQL " ("
	PROPERTY_COLUMNS("", "NOT NULL", "username text, user_username text, ",
					 "hidden boolean, followed_id uuid, "
					 "followed_username text, publish_date timestamptz, ")
	") PARTITION BY HASH (user_id)",
	"COMMENT ON TABLE " USERS_SQL " IS "
	"'Container: users, whom they follow, and copies of their posts.'"
};

static const char *const posts_sql[] = {
	"CREATE TABLE " POSTS_SQL " ("
	PROPERTY_COLUMNS("NOT NULL", "", "user_username text, ",
					 "hidden boolean, parent_id uuid, item_id uuid, "
					 "comment_id uuid, publish_date timestamptz, ")
	") PARTITION BY HASH (post_id)",
	"COMMENT ON TABLE " POSTS_SQL " IS "
	"'Container: posts with their comments, likes and counts.'"
};

static const char *const feed_sql[] = {
	"CREATE TABLE " FEED_SQL " ("
	PROPERTY_COLUMNS("NOT NULL", "NOT NULL", "user_username text NOT NULL, ", "")
	") PARTITION BY LIST (type)",

	/*
	 * The feed is small and often updated: leave room for HOT updates, and
	 * vacuum it early.
	 */
	"CREATE TABLE " FEED_SQL "_post PARTITION OF " FEED_SQL " ("
	"title NOT NULL, content NOT NULL, " COUNTED
	"PRIMARY KEY (post_id)) FOR VALUES IN ('post') "
	"WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, "
	"autovacuum_vacuum_threshold = 2000)",
	"CREATE INDEX feed_post_date ON " FEED_SQL "_post (creation_date, id)",
	("COMMENT ON TABLE " FEED_SQL " IS "
	 "'Container: the newest posts in short form.'")
};

static const char *const topics_sql[] = {
	"CREATE TABLE " TOPICS_SQL " ("
	"creation_date timestamptz, post_count bigint, id uuid, user_id uuid, "
	"type text NOT NULL, topic text COLLATE \"C\" NOT NULL"
	") PARTITION BY HASH (topic)",
	"COMMENT ON TABLE " TOPICS_SQL " IS "
	"'Container: topics, and which posts have them.'"
};

const Statements create_container_sql[N_CONTAINERS] = {
	[CONTAINER_USERS] = STATEMENTS(users_sql),
	[CONTAINER_POSTS] = STATEMENTS(posts_sql),
	[CONTAINER_FEED] = STATEMENTS(feed_sql),
	[CONTAINER_TOPICS] = STATEMENTS(topics_sql)
};

/*
 * The statements that create one hash partition of users, with its leaves and
 * indexes. They are formats for psprintf(): %1$d is the number of the
 * partition, %2$d the number of all partitions.
 */
static const char *const users_partition_sql[] = {
	"CREATE TABLE " USERS_SQL "_p%1$02d PARTITION OF " USERS_SQL " "
	"FOR VALUES WITH (MODULUS %2$d, REMAINDER %1$d) PARTITION BY LIST (type)",
	"CREATE TABLE " USERS_SQL "_p%1$02d_user "
	"PARTITION OF " USERS_SQL "_p%1$02d (username NOT NULL, PRIMARY KEY (user_id)) "
	"FOR VALUES IN ('user') WITH (fillfactor = 90)",

	/*
	 * With REPLICA IDENTITY FULL, the WAL of an UPDATE contains the old row.
	 * The change feed compares the usernames of both rows, to detect a rename.
	 */
	"ALTER TABLE " USERS_SQL "_p%1$02d_user REPLICA IDENTITY FULL",
	"CREATE TABLE " COPIES_SQL "_p%1$02d_post "
	"PARTITION OF " COPIES_SQL "_p%1$02d "
	"(" AUTHORED_POST "PRIMARY KEY (user_id, creation_date, id)) "
	"FOR VALUES IN ('post') WITH (fillfactor = 70, "
	"autovacuum_vacuum_scale_factor = 0.1)",

	/* renames and deletions find a user's followers by the last index */
	"CREATE TABLE " USERS_SQL "_p%1$02d_follow "
	"PARTITION OF " USERS_SQL "_p%1$02d (" AUTHORED "followed_id NOT NULL, "
	"followed_username NOT NULL, PRIMARY KEY (user_id, followed_id)) "
	"FOR VALUES IN ('follow')",
	"CREATE INDEX users_p%1$02d_follow_list "
	"ON " USERS_SQL "_p%1$02d_follow (user_id, creation_date, id)",
	"CREATE INDEX users_p%1$02d_follow_by_followed "
	"ON " USERS_SQL "_p%1$02d_follow (followed_id, creation_date, id)"
};

static const char *const posts_partition_sql[] = {
	"CREATE TABLE " POSTS_SQL "_p%1$02d PARTITION OF " POSTS_SQL " "
	"FOR VALUES WITH (MODULUS %2$d, REMAINDER %1$d) PARTITION BY LIST (type)",

	/*
	 * The index posts_p.._post_by_user is the replica identity of posts. So
	 * the WAL of a DELETE contains the columns of this index, which are the
	 * key of the post's copy. The worker then deletes the copy. The index is
	 * UNIQUE only because a replica identity must be.
	 */
	"CREATE TABLE " POSTS_SQL "_p%1$02d_post "
	"PARTITION OF " POSTS_SQL "_p%1$02d (" AUTHORED_POST
	"PRIMARY KEY (post_id)) "
	"FOR VALUES IN ('post') WITH (fillfactor = 90, "
	"autovacuum_vacuum_scale_factor = 0.1)",
	"CREATE UNIQUE INDEX posts_p%1$02d_post_by_user "
	"ON " POSTS_SQL "_p%1$02d_post (user_id, creation_date, id)",
	"ALTER TABLE " POSTS_SQL "_p%1$02d_post "
	"REPLICA IDENTITY USING INDEX posts_p%1$02d_post_by_user",
	"CREATE INDEX posts_p%1$02d_post_date "
	"ON " POSTS_SQL "_p%1$02d_post (creation_date, id)",

	"CREATE TABLE " POSTS_SQL "_p%1$02d_comment "
	"PARTITION OF " POSTS_SQL "_p%1$02d (" AUTHORED "content NOT NULL, "
	"PRIMARY KEY (post_id, id)) FOR VALUES IN ('comment')",
	"CREATE INDEX posts_p%1$02d_comment_list "
	"ON " POSTS_SQL "_p%1$02d_comment (post_id, creation_date, id) "
	"WHERE parent_id IS NULL",
	"CREATE INDEX posts_p%1$02d_comment_reply_list "
	"ON " POSTS_SQL "_p%1$02d_comment (post_id, creation_date, id) "
	"WHERE parent_id IS NOT NULL",
	"CREATE INDEX posts_p%1$02d_comment_by_user "
	"ON " POSTS_SQL "_p%1$02d_comment (user_id, creation_date, id)",
	"CREATE INDEX posts_p%1$02d_comment_replies "
	"ON " POSTS_SQL "_p%1$02d_comment (post_id, parent_id, creation_date, id) "
	"WHERE parent_id IS NOT NULL",

	/* the primary key also serves list_user_likes() */
	"CREATE TABLE " POSTS_SQL "_p%1$02d_like "
	"PARTITION OF " POSTS_SQL "_p%1$02d (" AUTHORED
	"PRIMARY KEY (user_id, post_id)) FOR VALUES IN ('like')",
	"CREATE INDEX posts_p%1$02d_like_list "
	"ON " POSTS_SQL "_p%1$02d_like (post_id, creation_date, id)",

	/* the primary key also serves get_comment_likes() */
	"CREATE TABLE " POSTS_SQL "_p%1$02d_comment_like "
	"PARTITION OF " POSTS_SQL "_p%1$02d (" AUTHORED "comment_id NOT NULL, "
	"PRIMARY KEY (user_id, post_id, comment_id)) "
	"FOR VALUES IN ('comment_like')",
	"CREATE INDEX posts_p%1$02d_comment_like_list "
	"ON " POSTS_SQL "_p%1$02d_comment_like "
	"(post_id, comment_id, creation_date, id)",

	/*
	 * The counter of a post is often updated, and all other deltas are soon
	 * deleted. So this leaf needs room for HOT updates, and frequent
	 * vacuuming.
	 */
	"CREATE TABLE " POSTS_SQL "_p%1$02d_delta "
	"PARTITION OF " POSTS_SQL "_p%1$02d (item_id NOT NULL, " COUNTED
	"PRIMARY KEY (post_id, item_id, id)) "
	"FOR VALUES IN ('delta') WITH (fillfactor = 60, "
	"autovacuum_vacuum_scale_factor = 0.05, "
	"autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)"
};

static const char *const topics_partition_sql[] = {
	"CREATE TABLE " TOPICS_SQL "_p%1$02d PARTITION OF " TOPICS_SQL " "
	"FOR VALUES WITH (MODULUS %2$d, REMAINDER %1$d) PARTITION BY LIST (type)",

	/* The counts are often updated: leave room for HOT updates. */
	"CREATE TABLE " TOPICS_SQL "_p%1$02d_topic "
	"PARTITION OF " TOPICS_SQL "_p%1$02d (post_count NOT NULL, "
	"PRIMARY KEY (topic)) FOR VALUES IN ('topic') WITH (fillfactor = 50, "
	"autovacuum_vacuum_scale_factor = 0.1)",
	"CREATE TABLE " TOPICS_SQL "_p%1$02d_topic_post "
	"PARTITION OF " TOPICS_SQL "_p%1$02d (creation_date NOT NULL, id NOT NULL, "
	"user_id NOT NULL, PRIMARY KEY (topic, creation_date, id)) "
	"FOR VALUES IN ('topic_post') WITH (autovacuum_vacuum_scale_factor = 0.1)",
	"CREATE INDEX topics_p%1$02d_topic_post_by_id "
	"ON " TOPICS_SQL "_p%1$02d_topic_post (id)"
};

const Statements create_partition_sql[N_CONTAINERS] = {
	[CONTAINER_USERS] = STATEMENTS(users_partition_sql),
	[CONTAINER_POSTS] = STATEMENTS(posts_partition_sql),
	[CONTAINER_TOPICS] = STATEMENTS(topics_partition_sql)
};

static const char *const usernames_sql[] = {
	"CREATE TABLE " USERNAMES_SQL " ("
	"username_key text COLLATE \"C\" PRIMARY KEY, user_id uuid NOT NULL)",
	"COMMENT ON TABLE " USERNAMES_SQL " IS "
	"'Usernames that are taken.'"
};

/*
 * Each session opens the tables jobs and view_state at its first request. So
 * neither table has CHECK constraints: to read them from pg_constraint would
 * take 27 buffer accesses. The columns of view_state have no defaults for the
 * same reason.
 */
static const char *const jobs_sql[] = {
	"CREATE TABLE " JOBS_SQL " ("
	"id uuid PRIMARY KEY, "
	"kind text NOT NULL, "
	"user_id uuid, phase integer NOT NULL DEFAULT 0, "
	"partition_number integer NOT NULL DEFAULT 0, "
	"position_first uuid, position_date timestamptz, position_middle uuid, "
	"position_last uuid, "
	"done bigint NOT NULL DEFAULT 0, total bigint, "
	"created_at timestamptz NOT NULL DEFAULT clock_timestamp(), "
	"started_at timestamptz) WITH (fillfactor = 50)",
	"COMMENT ON TABLE " JOBS_SQL " IS "
	"'Jobs of the worker; blogstore.progress shows them.'"
};

static const char *const view_state_sql[] = {
	"CREATE TABLE " VIEW_STATE_SQL " ("
	"only_row boolean PRIMARY KEY, enabled boolean NOT NULL, "
	"ready boolean NOT NULL, feed_size integer NOT NULL, "
	"short_form_length integer NOT NULL, short_form bigint NOT NULL, "
	"feed_whole boolean NOT NULL) WITH (fillfactor = 10)",
	"INSERT INTO " VIEW_STATE_SQL " (only_row, enabled, ready, feed_size,"
	" short_form_length, short_form, feed_whole)"
	" VALUES (true, true, false, 0, 0, 0, false)",
	("COMMENT ON TABLE " VIEW_STATE_SQL " IS "
	 "'One row: the state of the views.'")
};

static const char *const change_feed_sql[] = {
	"CREATE TABLE " CHANGE_FEED_SQL " ("
	"only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), "
	"applied_lsn pg_lsn NOT NULL, applied_at timestamptz NOT NULL, "
	"timeline bigint NOT NULL, system_identifier bigint NOT NULL, "
	"layout bigint NOT NULL) WITH (fillfactor = 10)",
	"COMMENT ON TABLE " CHANGE_FEED_SQL " IS "
	"'One row: how far the worker has applied the WAL.'"
};

static const char *const publish_queue_sql[] = {
	"CREATE TABLE " PUBLISH_QUEUE_SQL " ("
	"post_id uuid PRIMARY KEY, publish_date timestamptz NOT NULL, "
	"retry_at timestamptz)",
	"CREATE INDEX publish_queue_date ON " PUBLISH_QUEUE_SQL " (publish_date)",
	"COMMENT ON TABLE " PUBLISH_QUEUE_SQL " IS "
	"'When the worker next looks at each scheduled post.'"
};

const Statements create_bookkeeping_sql[N_BOOKKEEPING] = {
	[BOOK_USERNAMES] = STATEMENTS(usernames_sql),
	[BOOK_JOBS] = STATEMENTS(jobs_sql),
	[BOOK_VIEW_STATE] = STATEMENTS(view_state_sql),
	[BOOK_CHANGE_FEED] = STATEMENTS(change_feed_sql),
	[BOOK_PUBLISH_QUEUE] = STATEMENTS(publish_queue_sql)
};
