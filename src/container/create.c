/*
 * create.c
 *		blogstore.create_containers(): the containers and their bookkeeping.
 *
 * All of it is ordinary tables of the caller with built-in types only, and
 * nothing refers to the extension, so that pg_dump carries them and they
 * outlive DROP EXTENSION. Runs in a backend.
 */
#include "postgres.h"

#include "container/container.h"

#include "catalog/namespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(blogstore_create_containers);

#define MAX_PARTITIONS 1024

#define PROPERTY_COLUMNS(post, user, names) \
	"id uuid NOT NULL, type text NOT NULL, post_id uuid " post ", " \
	"user_id uuid " user ", " names "title text, content text, " \
	"comment_count bigint, like_count bigint, " \
	"creation_date timestamptz " user

/* What all items of posts have but deltas, which are nobody's. */
#define AUTHORED \
	"user_id NOT NULL, user_username NOT NULL, creation_date NOT NULL, "

/* The tables that are made once. */
static const char *const base_ddl[] = {
	"CREATE TABLE blogstore.users ("
	PROPERTY_COLUMNS("", "NOT NULL", "username text, user_username text, ")
	") PARTITION BY HASH (user_id)",
	"CREATE TABLE blogstore.posts ("
	PROPERTY_COLUMNS("NOT NULL", "", "user_username text, ")
	") PARTITION BY HASH (post_id)",
	"CREATE TABLE blogstore.feed ("
	PROPERTY_COLUMNS("NOT NULL", "NOT NULL", "user_username text NOT NULL, ")
	") PARTITION BY LIST (type)",

	/* small and rewritten often: room for HOT updates, vacuumed early */
	"CREATE TABLE blogstore.feed_post PARTITION OF blogstore.feed ("
	"PRIMARY KEY (post_id)) FOR VALUES IN ('post') "
	"WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, "
	"autovacuum_vacuum_threshold = 2000)",
	"CREATE INDEX feed_post_date ON blogstore.feed_post (creation_date, id)",

	"CREATE TABLE blogstore.usernames ("
	"username_key text COLLATE \"C\" PRIMARY KEY, user_id uuid NOT NULL)",
	"CREATE TABLE blogstore.jobs ("
	"id uuid PRIMARY KEY, "
	"kind text NOT NULL CHECK (kind IN ('rebuild', 'rename', 'deletion')), "
	"user_id uuid, phase integer NOT NULL DEFAULT 0, "
	"partition_number integer NOT NULL DEFAULT 0, "
	"position_first uuid, position_date timestamptz, position_last uuid, "
	"done bigint NOT NULL DEFAULT 0, total bigint, "
	"created_at timestamptz NOT NULL DEFAULT clock_timestamp(), "
	"started_at timestamptz) WITH (fillfactor = 50)",
	"CREATE TABLE blogstore.view_state ("
	"only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), "
	"enabled boolean NOT NULL DEFAULT true, "
	"ready boolean NOT NULL DEFAULT false, "
	"feed_size integer NOT NULL DEFAULT 0, "
	"short_form_length integer NOT NULL DEFAULT 0) WITH (fillfactor = 10)",
	"INSERT INTO blogstore.view_state DEFAULT VALUES",
	"CREATE TABLE IF NOT EXISTS blogstore.change_feed ("
	"only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), "
	"applied_lsn pg_lsn NOT NULL, applied_at timestamptz NOT NULL, "
	"timeline bigint NOT NULL, system_identifier bigint NOT NULL, "
	"layout bigint NOT NULL) WITH (fillfactor = 10)",
	"DELETE FROM blogstore.change_feed",

	"COMMENT ON TABLE blogstore.users IS "
	"'Container: user items, and the short form of each user''s posts (view). Written by blogstore only.'",
	"COMMENT ON TABLE blogstore.posts IS "
	"'Container: post, comment and like items, together by post, and deltas of posts'' counts. Written by blogstore only.'",
	"COMMENT ON TABLE blogstore.feed IS "
	"'Container: the newest posts of all in short form (view). Written by the blogstore worker only.'",
	"COMMENT ON TABLE blogstore.usernames IS "
	"'Keeps usernames unique regardless of case.'",
	"COMMENT ON TABLE blogstore.jobs IS "
	"'Work queued for the blogstore worker; blogstore.progress shows it.'",
	"COMMENT ON TABLE blogstore.view_state IS "
	"'One row: whether the worker may run, whether the views are complete, the settings they were built with.'",
	"COMMENT ON TABLE blogstore.change_feed IS "
	"'One row: how far the worker has applied the WAL, on which server, to which partitions.'"
};

/*
 * The tables and indexes of one hash partition; %1$d of a partition's number,
 * %2$d of the modulus. Items that are updated in place leave room for it.
 */
static const char *const partition_ddl[] = {
	"CREATE TABLE blogstore.users_p%1$02d PARTITION OF blogstore.users "
	"FOR VALUES WITH (MODULUS %2$d, REMAINDER %1$d) PARTITION BY LIST (type)",
	"CREATE TABLE blogstore.users_p%1$02d_user "
	"PARTITION OF blogstore.users_p%1$02d (PRIMARY KEY (user_id)) "
	"FOR VALUES IN ('user') WITH (fillfactor = 90)",

	/* of a user changed directly the change feed learns if the name was */
	"ALTER TABLE blogstore.users_p%1$02d_user REPLICA IDENTITY FULL",
	"CREATE TABLE blogstore.users_p%1$02d_post "
	"PARTITION OF blogstore.users_p%1$02d "
	"(PRIMARY KEY (user_id, creation_date, id)) "
	"FOR VALUES IN ('post') WITH (fillfactor = 80, "
	"autovacuum_vacuum_scale_factor = 0.1)",

	"CREATE TABLE blogstore.posts_p%1$02d PARTITION OF blogstore.posts "
	"FOR VALUES WITH (MODULUS %2$d, REMAINDER %1$d) PARTITION BY LIST (type)",

	/*
	 * The by-user index is unique because it ends in the id, which lets it be
	 * the replica identity: of a deleted post the change feed then learns
	 * whose copy to delete, and where it stands.
	 */
	"CREATE TABLE blogstore.posts_p%1$02d_post "
	"PARTITION OF blogstore.posts_p%1$02d (" AUTHORED "PRIMARY KEY (post_id)) "
	"FOR VALUES IN ('post') WITH (fillfactor = 80, "
	"autovacuum_vacuum_scale_factor = 0.1)",
	"CREATE UNIQUE INDEX posts_p%1$02d_post_by_user "
	"ON blogstore.posts_p%1$02d_post (user_id, creation_date, id)",
	"ALTER TABLE blogstore.posts_p%1$02d_post "
	"REPLICA IDENTITY USING INDEX posts_p%1$02d_post_by_user",
	"CREATE INDEX posts_p%1$02d_post_date "
	"ON blogstore.posts_p%1$02d_post (creation_date, id)",

	"CREATE TABLE blogstore.posts_p%1$02d_comment "
	"PARTITION OF blogstore.posts_p%1$02d (" AUTHORED
	"PRIMARY KEY (post_id, id)) FOR VALUES IN ('comment')",
	"CREATE INDEX posts_p%1$02d_comment_list "
	"ON blogstore.posts_p%1$02d_comment (post_id, creation_date, id)",
	"CREATE INDEX posts_p%1$02d_comment_by_user "
	"ON blogstore.posts_p%1$02d_comment (user_id, id)",

	/* one index says who likes what and what a user likes */
	"CREATE TABLE blogstore.posts_p%1$02d_like "
	"PARTITION OF blogstore.posts_p%1$02d (" AUTHORED
	"PRIMARY KEY (user_id, post_id)) FOR VALUES IN ('like')",
	"CREATE INDEX posts_p%1$02d_like_list "
	"ON blogstore.posts_p%1$02d_like (post_id, creation_date, id)",

	/* rewritten often, then short-lived: room for HOT, vacuumed early */
	"CREATE TABLE blogstore.posts_p%1$02d_delta "
	"PARTITION OF blogstore.posts_p%1$02d (PRIMARY KEY (post_id, id)) "
	"FOR VALUES IN ('delta') WITH (fillfactor = 10, "
	"autovacuum_vacuum_scale_factor = 0, "
	"autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)"
};

static void
run_ddl(const char *sql)
{
	int			rc = SPI_execute(sql, false, 0);

	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(rc));
}

/* Refuse to go on where any of the tables is there already. */
static void
check_absent(void)
{
	static const char *const table[] = {
		"users", "posts", "feed", "usernames", "jobs", "view_state"
	};
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, false);

	for (int i = 0; i < lengthof(table); i++)
		if (OidIsValid(get_relname_relid(table[i], nsp)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("the blogstore containers exist already"),
					 errdetail("There is a table \"%s.%s\".",
							   BLOGSTORE_SCHEMA, table[i]),
					 errhint("To start anew, drop the tables in schema \"%s\" first.",
							 BLOGSTORE_SCHEMA)));
}

/*
 * blogstore.create_containers(partitions)
 *
 * Locks: AccessExclusiveLock on what it creates. Errors: 22004, 22023, 25006,
 * 42501, 42P07.
 */
Datum
blogstore_create_containers(PG_FUNCTION_ARGS)
{
	int			partitions;
	int			nest;
	const char *obstacle;
	const char *hint;

	need_writable("create_containers()");
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("partitions must not be null"),
				 errhint("Leave it out for the default.")));
	partitions = PG_GETARG_INT32(0);
	if (partitions < 1 || partitions > MAX_PARTITIONS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions must be between 1 and %d",
						MAX_PARTITIONS),
				 errhint("The default is right for most sites; more suit more cores and larger data.")));
	check_absent();

	/* types and operators are those of pg_catalog */
	nest = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
	for (int i = 0; i < lengthof(base_ddl); i++)
		run_ddl(base_ddl[i]);
	for (int p = 0; p < partitions; p++)
		for (int i = 0; i < lengthof(partition_ddl); i++)
			run_ddl(psprintf(partition_ddl[i], p, partitions));
	SPI_finish();
	AtEOXact_GUC(true, nest);

	obstacle = change_feed_hooks.obstacle(&hint);
	if (obstacle != NULL)
		ereport(NOTICE,
				(errmsg("the views will not be kept: %s", obstacle),
				 errdetail("All requests work; list_user_posts() and list_feed() read the posts container, which is slower."),
				 errhint("%s", hint)));
	container_require();
	change_feed_hooks.containers_created();
	PG_RETURN_VOID();
}
