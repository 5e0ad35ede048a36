/*
 * distribute.c
 *		blogstore.distribute_containers(): from one machine to a cluster, beside traffic.
 *
 * All of it is one transaction, which Citus commits on all nodes or on none: until then everybody
 * reads and writes the old tables, and if it ends in any other way, these are what they were.
 *
 *		phase					others meanwhile
 *		----------------------	----------------------------------------------------------
 *		make new tables			go on
 *		copy					go on
 *		copy what has changed	go on; again as long as that is much
 *		the same once more		writers wait: for a look at each row, and what has changed;
 *								readers too, if they never leave a gap
 *		change names, commit	all wait
 *
 * Runs in a backend.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "base/worker_hooks.h"
#include "cluster/distribute/distribute.h"
#include "cluster/operations/operations.h"
#include "storage/layout/layout.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

SQL_FUNCTION(distribute_containers);

#define CALL "distribute_containers()"

/* How few changes are left to the last pass, for which writers wait. */
#define FEW_ROWS 2000

/* How often the last pass is tried beside readers. */
#define BESIDE_READERS 3

/* How long others may be in the way of the last step, in ms; and the pause between tries, in us. */
#define PATIENCE (10 * 60 * 1000)
#define PAUSE 200000

/* Errors: 25001, 25006 unless this transaction sees what others commit, and has written nothing. */
static void
need_clean_transaction(void)
{
	need_writable(CALL);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot follow what has written in the same transaction", CALL),
				 errhint("Commit first."),
				 err_fields(NULL, NULL, RULE_COMMITTED)));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s needs to see what others commit meanwhile", CALL),
				 errhint("Call it with the isolation level READ COMMITTED."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));
}

/* Errors: 55000 unless there are containers here that can be moved. */
static void
require_one_machine(void)
{
	container_require();
	if (cluster_calls() != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the containers are spread over the cluster already"),
				 errhint("citus_rebalance_start() moves shards to nodes that were added."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	if (!OidIsValid(bookkeeping_lookup(BOOK_USERNAMES)) ||
		!OidIsValid(bookkeeping_lookup(BOOK_JOBS)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a table beside the containers is missing"),
				 errhint("Call create_containers(distributed => false), which makes what is missing."),
				 err_fields(NULL, NULL, RULE_UNALTERED)));
	container_require_whole(CONTAINER_POSTS);
	container_require_whole(CONTAINER_USERS);
}

/*
 * Keep others from altering what is moved, until the transaction ends; and VACUUM from what is
 * to be dropped, which would be in the way then.
 */
static void
hold_layout(bool keep)
{
	Oid			usernames = bookkeeping_lookup(BOOK_USERNAMES);
	Oid			root[] = {
		container_table_oid(CONTAINER_USERS), container_table_oid(CONTAINER_POSTS)
	};

	for (int i = 0; i < lengthof(root); i++)
	{
		LockRelationOid(root[i], ShareUpdateExclusiveLock);
		(void) find_all_inheritors(root[i], keep ? AccessShareLock :
								   ShareUpdateExclusiveLock, NULL);
	}
	if (OidIsValid(usernames))
		LockRelationOid(usernames, ShareUpdateExclusiveLock);
	require_one_machine();
}

/* Errors: 42P07 if a table has one of the names that are needed. */
static void
refuse_names(void)
{
	static const char *const names[] = {
		"posts" NEW_SUFFIX, "users" NEW_SUFFIX, "usernames" NEW_SUFFIX,
		"posts" OLD_SUFFIX, "users" OLD_SUFFIX, "usernames" OLD_SUFFIX,
		USER_ITEMS_TABLE, "posts_post", "posts_comment", "posts_like", "posts_delta",
		"users_post"
	};

	for (int i = 0; i < lengthof(names); i++)
		if (OidIsValid(table_lookup(names[i])))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("\"%s.%s\" exists", BLOGSTORE_SCHEMA, names[i]),
					 errhint("Drop or rename it: %s needs this name.", CALL)));
}

/* Make the new tables, with what the owner has added to the old; in SPI. */
static void
make_tables(Spread *spread)
{
	cluster_make_tables(&spread->creation, NEW_SUFFIX);
	(void) create_run_sql("CREATE TABLE " USERNAMES_SQL NEW_SUFFIX
						  " (LIKE " USERNAMES_SQL " INCLUDING ALL)");
	create_give_away(&spread->creation, table_lookup("usernames" NEW_SUFFIX));
	spread_carry_columns();
	spread_carry_indexes();
	cluster_spread_tables(&spread->creation, NEW_SUFFIX);
	spread_carry_rights();
}

/* Is a rename or deletion of a user under way, which goes through all items here? In SPI. */
static bool
users_are_changing(void)
{
	return create_run_sql("SELECT FROM " JOBS_SQL " WHERE kind <> 'rebuild' LIMIT 1") > 0;
}

/* Errors: 55P03, always: the last step has waited for too long. */
static COMPAT_NORETURN void
give_up(bool jobs)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg(jobs ? "renames or deletions of users do not come to an end" :
					"other transactions do not let go of the containers"),
			 errhint(jobs ? "Call %s again when blogstore.progress is empty." :
					 "pg_locks shows who holds blogstore.users or blogstore.posts. Call %s again when they have ended.",
					 CALL)));
}

/* The last step cannot begin yet, and is tried again and again: tell who waits for the call. */
static void
tell_waiting(void)
{
	ereport(NOTICE,
			(errmsg("all is copied; the last step waits for transactions that hold the containers, or for renames and deletions of users"),
			 errhint("pg_locks shows who holds blogstore.users or blogstore.posts, blogstore.progress what is done with users.")));
}

/* Copy once more what has changed since a snapshot; the next pass goes on from the new one. */
static int64
pass(Spread *spread, Snapshot *before)
{
	Snapshot	now = RegisterSnapshot(GetLatestSnapshot());
	int64		rows = spread_repeat(spread, *before, now);

	UnregisterSnapshot(*before);
	*before = now;
	return rows;
}

/*
 * Once writers are out, copy the rest, and lock readers out; false, and nobody is out: somebody has been
 * in the way, or users are changing. If readers have been so before, they are out from the beginning.
 */
static bool
try_last_step(Spread *spread, Snapshot *before, bool readers, bool *jobs)
{
	*jobs = false;
	if (!spread_lock(spread, readers))
		return false;
	*jobs = users_are_changing();
	if (!*jobs)
	{
		(void) pass(spread, before);
		if (readers || spread_lock_readers(spread))
			return true;
	}
	spread_unlock(spread, readers);
	return false;
}

/* Copy all, and come to the last step. Returns when it has begun. */
static TimestampTz
copy_all(Spread *spread)
{
	Snapshot	before = RegisterSnapshot(GetLatestSnapshot());
	TimestampTz since;
	TimestampTz began;
	int64		rows = PG_INT64_MAX;
	int64		rows_before;
	bool		jobs;

	spread_copy(spread, before);
	do
	{
		rows_before = rows;
		rows = pass(spread, &before);
	} while (rows > FEW_ROWS && rows < rows_before / 4 * 3);
	since = began = GetCurrentTimestamp();
	for (int tries = 0;
		 !try_last_step(spread, &before, tries >= BESIDE_READERS, &jobs); tries++)
	{
		if (tries == 0)
			tell_waiting();
		if (clock_passed(since, GetCurrentTimestamp(), PATIENCE))
			give_up(jobs);
		pg_usleep(PAUSE);
		CHECK_FOR_INTERRUPTS();
		/* what has come meanwhile others need not wait for */
		(void) pass(spread, &before);
		began = GetCurrentTimestamp();
	}
	UnregisterSnapshot(before);
	return began;
}

/*
 * blogstore.distribute_containers(partitions, keep): spread the filled containers of this machine
 * over the cluster whose coordinator it is.
 *
 * Locks: ShareUpdateExclusiveLock on what is moved; in the end ExclusiveLock and then
 * AccessExclusiveLock on the containers' tables. Errors: 22004, 22023, 25001, 25006, 42501,
 * 42P07, 0A000, 55000, 55P03.
 */
static Datum
distribute_containers(PG_FUNCTION_ARGS)
{
	Spread		spread;
	TimestampTz began;
	OwnerScope	scope;
	int			nest;

	memset(&spread, 0, sizeof(spread));
	spread.creation.partitions = create_get_partitions(fcinfo);
	spread.keep = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	need_clean_transaction();
	cluster_require(CALL);
	require_one_machine();
	hold_layout(spread.keep);
	refuse_names();
	spread.creation.owner = container_owner();

	nest = NewGUCNestLevel();
	settings_for_tables();
	setting_change("row_security", "off");
	SPI_connect();
	spread_refuse_obstacles();
	make_tables(&spread);
	spread_plan_sources(&spread);
	(void) cluster_make_on_nodes(&spread.creation);
	began = copy_all(&spread);
	spread_swap(&spread);
	SPI_finish();
	AtEOXact_GUC(true, nest);

	/* those that the nodes are to make */
	owner_begin(&scope);
	views_abandon();
	owner_end(&scope);

	container_require();
	worker_hooks.containers_created();
	ereport(NOTICE,
			(errmsg("%lld rows were copied, and %lld of them again that had changed meanwhile",
					(long long) spread.copied, (long long) spread.repeated),
			 errdetail("Writers have waited for %ld ms, and wait until this transaction ends.",
					   TimestampDifferenceMilliseconds(began, GetCurrentTimestamp()))));
	PG_RETURN_VOID();
}
