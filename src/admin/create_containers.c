/*
 * create_containers.c
 *		blogstore.create_containers(): the containers and their bookkeeping.
 *
 * All of it is ordinary tables of one role with built-in types only, and
 * nothing refers to the extension, so that pg_dump carries them and they
 * outlive DROP EXTENSION. What is there already is left as it is if it is
 * that role's and of blogstore's shape, and refused otherwise; what is missing
 * is made. Runs in a backend.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "base/worker_hooks.h"
#include "storage/attached_code/attached_code.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/launcher/launcher.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

SQL_FUNCTION(create_containers);
SQL_FUNCTION(create_node_tables);

/* ------------------------------------------------------------------------
 * What is there
 * ------------------------------------------------------------------------ */

/* Errors: 42P07, always: a table is in the way. */
static COMPAT_NORETURN void
refuse_table(const char *name, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("\"%s.%s\" exists and is not a table of these containers",
					BLOGSTORE_SCHEMA, name),
			 errdetail("%s.", problem),
			 errhint("Drop or rename it, or pass the role that owns the containers as owner.")));
}

/* The owner of a table that is locked. */
static Oid
owner_of(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	Oid			owner = rel->rd_rel->relowner;

	relation_close(rel, NoLock);
	return owner;
}

/* Look at a container; its root is locked if it is there. */
static void
look_at_container(Creation *creation, Container container)
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
		refuse_table(container_table(container), problem);
}

/* Look at a table of the bookkeeping, which is locked if it is there. */
static void
look_at_table(Creation *creation, Bookkeeping table)
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
		refuse_table(bookkeeping_name(table), problem);
}

/* Find out what is missing. Errors: 42P07 if something else is in its place. */
static void
look_at_all(Creation *creation)
{
	creation->missing = 0;
	for (int c = 0; c < N_CONTAINERS; c++)
		look_at_container(creation, c);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (t != BOOK_UNSENT || creation->cluster)
			look_at_table(creation, t);
}

/* Errors: 42P07, always: nothing is missing. */
static COMPAT_NORETURN void
refuse_existing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("the blogstore containers exist already"),
			 errhint("To start anew, drop the tables in schema \"%s\" first.",
					 BLOGSTORE_SCHEMA)));
}

/* ------------------------------------------------------------------------
 * Making what is missing
 * ------------------------------------------------------------------------ */

static void
make_container(const Creation *creation, Container container)
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

/* Say what was made in place of what had been lost, and what that means. */
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
	if (creation->container[CONTAINER_USERS] ||
		creation->container[CONTAINER_POSTS])
		ereport(WARNING,
				(errmsg("container \"%s\" is empty now",
						container_table(creation->container[CONTAINER_USERS] ?
										CONTAINER_USERS : CONTAINER_POSTS)),
				 errdetail("What the other containers hold of its items hangs on nothing."),
				 errhint("Restore its items before anybody calls blogstore.repair(), which would delete the rest.")));
}

/* The owner of the tables, while statements on those that were there run. */
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

/* Bring what was there in line with what was made. */
static void
join_parts(const Creation *creation, bool all)
{
	AsOwner		as;

	as_owner_begin(&as, creation);
	if (all)
	{
		/* left over from containers that have been dropped */
		for (int t = 0; t < N_BOOKKEEPING; t++)
			if (!creation->table[t] && t != BOOK_VIEW_STATE &&
				OidIsValid(bookkeeping_lookup(t)))
				(void) create_run_sql(psprintf("DELETE FROM " BLOGSTORE_SCHEMA ".%s",
										bookkeeping_name(t)));
		if (!creation->table[BOOK_VIEW_STATE])
			(void) create_run_sql("UPDATE " VIEW_STATE_SQL " SET enabled = true, ready = false");
	}
	else
	{
		if (creation->container[CONTAINER_USERS] &&
			!creation->table[BOOK_USERNAMES])
			(void) create_run_sql("DELETE FROM " USERNAMES_SQL);
		if (creation->table[BOOK_USERNAMES])
			(void) create_run_sql("INSERT INTO " USERNAMES_SQL " (username_key, user_id)"
						   " SELECT lower(u.username), u.user_id"
						   " FROM " USERS_SQL " AS u WHERE u.type = 'user'"
						   " AND u.username IS NOT NULL"
						   " ORDER BY u.creation_date, u.user_id"
						   " ON CONFLICT DO NOTHING");
		/* a rename or deletion under way may have been lost with the rest */
		(void) create_run_sql("UPDATE " VIEW_STATE_SQL " SET ready = false");
		job_queue(JOB_REBUILD, NULL);
		if (creation->table[BOOK_JOBS])
			job_queue(JOB_RENAME, NULL);
	}
	as_owner_end(&as);
}

/* Make all that is missing. */
static void
make_missing(const Creation *creation)
{
	bool		all = creation->container[CONTAINER_USERS] &&
		creation->container[CONTAINER_POSTS];
	int			nest = NewGUCNestLevel();

	setting_change("search_path", SAFE_SEARCH_PATH);
	/* the tables are to be as durable, and where, as the database's own */
	setting_change("default_table_access_method", "heap");
	SPI_connect();
	for (int c = 0; c < N_CONTAINERS; c++)
		if (creation->container[c] &&
			!(creation->spread && container_key(c) != PROP_TYPE))
			make_container(creation, c);
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (creation->table[t])
			create_table_of_bookkeeping(creation, t);
	if (creation->spread && !creation->node)
	{
		cluster_make_tables(creation);
		cluster_spread_tables(creation);
	}
	if (!creation->node)
		join_parts(creation, all);
	SPI_finish();
	AtEOXact_GUC(true, nest);
	if (!all)
		tell_made(creation);
}

/* ------------------------------------------------------------------------
 * The call
 * ------------------------------------------------------------------------ */

/* Whoever owns the tables has what is attached to them run as itself. */
static void
warn_of_superuser(Oid owner)
{
	if (superuser_arg(owner))
		ereport(WARNING,
				(errmsg("the containers belong to a superuser"),
				 errdetail("Triggers and expressions on them run with the owner's rights."),
				 errhint("Have another role own them: create_containers(owner => ...), or ALTER TABLE ... OWNER TO.")));
}

/* Name the functions because of which requests that write will fail. */
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
				(errmsg("the views will not be kept: %s", obstacle),
				 errdetail("Requests work; list_user_posts() and list_feed() read the posts container, which is slower, and renames and deletions of users wait in a queue."),
				 errhint("%s", hint)));
}

/* Make all that is missing of what a cluster needs, here and on the other nodes. */
static void
make_on_cluster(Creation *creation)
{
	int			nodes;

	cluster_require("create_containers()");
	creation->cluster = true;
	look_at_all(creation);
	if (creation->container[CONTAINER_USERS] != creation->container[CONTAINER_POSTS])
		refuse_table(container_table(creation->container[CONTAINER_USERS] ?
									 CONTAINER_POSTS : CONTAINER_USERS),
					 "one of both containers is missing");
	creation->spread = creation->container[CONTAINER_POSTS];
	if (!creation->spread && !container_is_spread(CONTAINER_POSTS))
		refuse_table(container_table(CONTAINER_POSTS),
					 "it is not spread over the cluster");
	if (creation->missing > 0)
		make_missing(creation);
	nodes = cluster_make_on_nodes(creation);
	if (creation->missing == 0 && nodes == 0)
		refuse_existing();
}

/*
 * blogstore.create_node_tables(owner): what each node of a cluster has for itself. Called by
 * create_containers() on the coordinator. Returns how many tables it has made.
 */
static Datum
create_node_tables(PG_FUNCTION_ARGS)
{
	Creation	creation;

	need_writable("create_node_tables()");
	memset(&creation, 0, sizeof(creation));
	creation.owner = PG_GETARG_OID(0);
	(void) GetUserNameFromId(creation.owner, false);	/* errors: 42704 */
	for (int t = 0; t < N_BOOKKEEPING; t++)
		if (t != BOOK_USERNAMES)
			look_at_table(&creation, t);
	look_at_container(&creation, CONTAINER_FEED);
	creation.container[CONTAINER_USERS] = creation.container[CONTAINER_POSTS] = true;
	creation.spread = creation.node = creation.cluster = true;
	if (creation.missing > 0)
		make_missing(&creation);
	cluster_status_grant(creation.owner);
	SPI_connect();
	cluster_grant_here(&creation);
	SPI_finish();
	/* the rest may be on its way from the coordinator, whose commit has the worker look */
	if (OidIsValid(container_table_lookup(CONTAINER_POSTS)))
		worker_hooks.containers_created();
	else
	{
		creation.table[BOOK_USERNAMES] = true;	/* it is on its way too */
		SPI_connect();
		join_parts(&creation, true);
		SPI_finish();
	}
	PG_RETURN_INT32(creation.missing);
}

/*
 * blogstore.create_containers(partitions, owner, distributed)
 *
 * Locks: AccessExclusiveLock on what it creates, ShareUpdateExclusiveLock on
 * what is there. Errors: 22004, 22023, 25006, 42501, 42704, 42P07.
 */
static Datum
create_containers(PG_FUNCTION_ARGS)
{
	Creation	creation;

	need_writable("create_containers()");
	memset(&creation, 0, sizeof(creation));
	creation.partitions = create_get_partitions(fcinfo);
	creation.owner = PG_ARGISNULL(1) ? GetUserId() : PG_GETARG_OID(1);
	(void) GetUserNameFromId(creation.owner, false);	/* errors: 42704 */
	if (cluster_is_wanted(fcinfo, 2))
		make_on_cluster(&creation);
	else
	{
		look_at_all(&creation);
		if (creation.missing == 0)
			refuse_existing();
		make_missing(&creation);
	}
	warn_of_obstacle();
	warn_of_superuser(creation.owner);
	container_require();
	warn_of_unpinned();
	worker_hooks.containers_created();
	PG_RETURN_VOID();
}
