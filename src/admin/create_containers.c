/*
 * create_containers.c
 *		blogstore.create_containers(): creating the containers, the bookkeeping
 *		tables, and the SQL view posts_with_counts.
 *
 * The function creates the tables that are missing. The definitions of
 * existing tables stay unchanged. The tables do not depend on the extension:
 * their columns have built-in types only. So pg_dump dumps the tables, and
 * DROP EXTENSION leaves them.
 *
 * Runs in a backend.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "admin/verify.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "base/worker_hooks.h"
#include "model/user_changes/user_changes.h"
#include "storage/attached_code/attached_code.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"
#include "views/launcher/launcher.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

SQL_FUNCTION(make_containers);

static Oid
owner_of(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	Oid			owner = rel->rd_rel->relowner;

	relation_close(rel, NoLock);
	return owner;
}

/*
 * Set creation->container[container] to true if the container does not exist.
 * Errors: 42P07 if an existing container belongs to another role than
 * creation->owner, or does not have the expected columns. Locks:
 * ShareUpdateExclusiveLock on the root table of an existing container.
 */
void
create_look_at_container(Creation *creation, Container container)
{
	Oid			root = container_table_lookup(container);
	const char *problem;
	Oid			owner;

	creation->container[container] = !OidIsValid(root);
	creation->missing += !OidIsValid(root);
	if (!OidIsValid(root))
		return;
	LockRelationOid(root, ShareUpdateExclusiveLock);
	owner = owner_of(root);
	problem = container_table_problem(container, root);
	if (problem == NULL && owner != creation->owner)
		problem = psprintf("it belongs to \"%s\"",
						   GetUserNameFromId(owner, false));
	if (problem != NULL)
		create_refuse_table(container_table(container), problem);
}

/*
 * Set creation->table[table] to true if the bookkeeping table does not exist.
 * Errors: 42P07 if an existing table belongs to another role than
 * creation->owner, or does not have the expected columns. Locks:
 * ShareUpdateExclusiveLock on an existing table.
 */
void
create_look_at_table(Creation *creation, Bookkeeping table)
{
	Oid			relid = bookkeeping_lookup(table);
	const char *problem;

	creation->table[table] = !OidIsValid(relid);
	creation->missing += !OidIsValid(relid);
	if (!OidIsValid(relid))
		return;
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	problem = bookkeeping_problem(table, relid, creation->owner);
	if (problem != NULL)
		create_refuse_table(bookkeeping_name(table), problem);
}

/*
 * Note in *creation which containers and bookkeeping tables are missing, and
 * whether the SQL view posts_with_counts is missing. Used on a server that is
 * not part of a cluster. Errors: 42P07 if a table or the view exists, but
 * belongs to another role or has other columns. Locks:
 * ShareUpdateExclusiveLock on existing tables.
 */
void
create_look_at_all(Creation *creation)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		create_look_at_container(creation, c);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (create_bookkeeping_sql[t].n > 0)
			create_look_at_table(creation, t);
	create_look_at_counts_view(creation);
}

/* Throw the error that all tables exist already. Errors: 42P07. */
void
create_refuse_existing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("the blogstore containers exist already"),
			 errhint("They can be used as they are. For an empty store, create them in another database."),
			 err_fields(NULL, NULL, NULL)));
}

/*
 * Create a missing container with its partitions. The caller has called
 * SPI_connect().
 */
void
create_container(const Creation *creation, Container container)
{
	const Statements *once = &create_container_sql[container];
	const Statements *each = &create_partition_sql[container];

	for (int i = 0; i < once->n; i++)
		(void) create_run_sql(once->sql[i]);
	for (int p = 0; p < creation->partitions && each->n > 0; p++)
		for (int i = 0; i < each->n; i++)
		{
			char	   *sql = psprintf(each->sql[i], p, creation->partitions);

			(void) create_run_sql(sql);
			pfree(sql);
		}
	create_give_away(creation, container_table_lookup(container));
}

/* Return whether only the SQL view posts_with_counts is missing. */
static bool
view_alone(const Creation *creation)
{
	return creation->counts_view && creation->missing == 1;
}

/*
 * Raise a NOTICE for each table or view that this call has created. If users
 * or posts had been dropped, and this call has created it again, also raise a
 * WARNING: items in other containers may refer to users or posts that are
 * lost.
 */
static void
tell_made(const Creation *creation)
{
	for (int c = 0; c < N_CONTAINERS; c++)
		if (creation->container[c])
			ereport(NOTICE,
					(errmsg("container \"%s\" was missing and has been made",
							container_table(c))));
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (creation->table[t])
			ereport(NOTICE,
					(errmsg("table \"%s\" was missing and has been made",
							bookkeeping_name(t))));
	if (creation->counts_view)
		ereport(NOTICE,
				(errmsg("view \"%s\" was missing and has been made",
						COUNTS_VIEW)));
	if (creation->container[CONTAINER_USERS] ||
		creation->container[CONTAINER_POSTS])
		ereport(WARNING,
				(errmsg("container \"%s\" is empty now",
						container_table(creation->container[CONTAINER_USERS] ?
										CONTAINER_USERS : CONTAINER_POSTS)),
				 errdetail("Other containers have items that refer to the lost ones."),
				 errhint("Restore the lost items before you call blogstore.repair(), which would delete the items that refer to them.")));
}

/*
 * The user and settings of the caller, saved by as_owner_begin() and restored
 * by as_owner_end(). In between, statements run as the owner of the
 * containers.
 */
typedef struct AsOwner
{
	Oid			user;
	int			sec_context;
	int			guc_nest;
} AsOwner;

static void
as_owner_begin(AsOwner *as, const Creation *creation)
{
	GetUserIdAndSecContext(&as->user, &as->sec_context);
	SetUserIdAndSecContext(creation->owner, as->sec_context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	as->guc_nest = NewGUCNestLevel();
	setting_change("search_path", SAFE_SEARCH_PATH);
}

static void
as_owner_end(AsOwner *as)
{
	AtEOXact_GUC(false, as->guc_nest);
	SetUserIdAndSecContext(as->user, as->sec_context);
}

static bool
all_is_new(const Creation *creation)
{
	return creation->container[CONTAINER_USERS] &&
		creation->container[CONTAINER_POSTS];
}

/*
 * Fill the new table usernames with the names of all users. The primary key of
 * the table is the case-folded name. If the names of two users differ only in
 * case, only the user who was created first gets a row.
 */
static void
register_names(void)
{
	SPIExecuteOptions options = {.dest = keyed_names_begin()};
	int			rc = SPI_execute_extended(VERIFY_NAMES_SQL(USERS_SQL), &options);

	if (rc < 0)
		elog(ERROR, "could not read the names of users: %s",
			 SPI_result_code_string(rc));
	keyed_names_show(options.dest);
	(void) create_run_sql("INSERT INTO " USERNAMES_SQL " (username_key, user_id)"
						  " SELECT name_key, user_id FROM " KEYED_NAMES
						  " WHERE name_key IS NOT NULL"
						  " ORDER BY creation_date, user_id ON CONFLICT DO NOTHING");
	keyed_names_end(options.dest);
}

/*
 * Update the row of view_state, also while containers are missing. When the
 * transaction commits, all processes discard what they have cached of the row.
 */
static void
set_view_state(const char *values)
{
	(void) create_run_sql(psprintf("UPDATE " VIEW_STATE_SQL " SET %s", values));
	CacheInvalidateRelcacheByRelid(bookkeeping_lookup(BOOK_VIEW_STATE));
}

/*
 * Make new tables consistent with the tables that existed before. For example,
 * if the container users is new, delete all rows of an existing table
 * usernames. The caller has called SPI_connect().
 */
void
create_join_parts(const Creation *creation)
{
	AsOwner		as;

	if (view_alone(creation))
		return;
	as_owner_begin(&as, creation);
	if (all_is_new(creation))
	{
		/*
		 * the rows of existing bookkeeping tables refer to items that no
		 * longer exist
		 */
		for (int t = 0; t < N_BOOKKEEPING; t++)
			if (!creation->table[t] && t != BOOK_VIEW_STATE &&
				OidIsValid(bookkeeping_lookup(t)))
				(void) create_run_sql(psprintf("DELETE FROM " BLOGSTORE_SCHEMA ".%s",
											   bookkeeping_name(t)));
		if (!creation->table[BOOK_VIEW_STATE])
			set_view_state("enabled = true, ready = false");
	}
	else
	{
		if (creation->container[CONTAINER_USERS] &&
			!creation->table[BOOK_USERNAMES])
			(void) create_run_sql("DELETE FROM " USERNAMES_SQL);
		if (creation->table[BOOK_USERNAMES])
			register_names();

		/*
		 * Queue a rebuild of the views. If the table jobs was missing, also
		 * queue a job that writes the current usernames into all items. The
		 * missing table may have contained unfinished renames.
		 */
		set_view_state("ready = false");
		job_queue(JOB_REBUILD, NULL);
		if (creation->table[BOOK_JOBS])
			job_queue(JOB_RENAME, NULL);
	}
	as_owner_end(&as);
}

/*
 * Begin to create tables: connect to SPI, and change settings so that new
 * tables are heap tables in the database's tablespace. Returns a GUC nest
 * level, which the caller passes to create_end().
 */
int
create_begin(void)
{
	int			nest = NewGUCNestLevel();

	settings_for_tables();
	SPI_connect();
	return nest;
}

/*
 * Disconnect from SPI, and restore the settings that create_begin() has
 * changed. If some tables existed before, report which ones were created.
 */
void
create_end(const Creation *creation, int nest)
{
	SPI_finish();
	AtEOXact_GUC(true, nest);
	if (!all_is_new(creation))
		tell_made(creation);
}

static void
make_here(Creation *creation)
{
	int			nest;

	create_look_at_all(creation);
	if (creation->missing == 0)
		create_refuse_existing();
	nest = create_begin();
	for (int c = 0; c < N_CONTAINERS; c++)
		if (creation->container[c])
			create_container(creation, c);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (creation->table[t])
			create_table_of_bookkeeping(creation, t);
	create_counts_view(creation, create_counts_view_sql);
	create_join_parts(creation);
	create_end(creation, nest);
}

static void
warn_of_superuser(Oid owner)
{
	if (superuser_arg(owner))
		ereport(WARNING,
				(errmsg("the containers belong to a superuser"),
				 errdetail("Triggers and expressions on them run with the owner's rights."),
				 errhint("Give them to another role, by create_containers(owner => ...) or ALTER TABLE ... OWNER TO.")));
}

static void
warn_of_unpinned(void)
{
	for (Container c = 0; c < N_CONTAINERS; c++)
	{
		ListCell   *lc;

		foreach(lc, container_unpinned(c))
			ereport(WARNING,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("function %s, which is attached to container \"%s\", does not fix its search_path",
							function_name(lfirst_oid(lc)), container_table(c)),
					 errdetail("Requests that write there fail."),
					 errhint("Run %s; name the schemas that it needs before pg_temp.",
							 function_pin_statement(lfirst_oid(lc)))));
	}
}

static void
warn_of_obstacle(void)
{
	const char *hint;
	const char *obstacle = worker_obstacle(&hint);

	if (obstacle != NULL)
		ereport(WARNING,
				(errmsg("the views will not be kept up to date: %s", obstacle),
				 errdetail("Requests work, but list_user_posts() and list_feed() read the posts container, which is slower, and renames and deletions of users stay queued. Lists of topics fail."),
				 errhint("%s", hint)));
}

/*
 * blogstore.create_containers(partitions, owner, distributed): create the
 * tables that are missing.
 *
 * Locks: AccessExclusiveLock on created tables, ShareUpdateExclusiveLock on
 * existing ones. Errors: 22004, 22023, 25006, 42501, 42704, 42P07, 55000;
 * 54000 if MAX_DATABASES other databases of the server already use blogstore.
 */
static Datum
make_containers(PG_FUNCTION_ARGS)
{
	Creation	creation;

	need_writable("create_containers()");
	memset(&creation, 0, sizeof(creation));
	creation.partitions = create_get_partitions(fcinfo);
	creation.owner = PG_ARGISNULL(1) ? GetUserId() : PG_GETARG_OID(1);
	(void) GetUserNameFromId(creation.owner, false);	/* throws 42704 */
	if (!cluster_library->create_containers(&creation, fcinfo->args[2]))
		make_here(&creation);
	warn_of_obstacle();
	warn_of_superuser(creation.owner);
	container_require();
	warn_of_unpinned();
	worker_hooks.containers_created();
	PG_RETURN_VOID();
}
