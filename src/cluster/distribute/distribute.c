/*
 * distribute.c
 *		blogstore.distribute_containers(): moving the items of a single server
 *		onto a cluster while requests run.
 *
 * All of it is one transaction, which Citus commits on all nodes or on none.
 * Until the commit, other transactions read and write the old tables. If the
 * transaction fails, the old tables remain in use.
 *
 *		phase						other transactions
 *		--------------------------	---------------------------------------
 *		create new tables			continue
 *		copy all rows				continue
 *		copy changed rows, repeated	continue
 *		last copy of changed rows	writers wait; after 3 failures also readers
 *		rename tables, commit		all wait
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

/*
 * copy_all() copies changed rows again and again while other transactions
 * write. It stops when a copy had at most this many rows, or was at most a
 * quarter smaller than the previous copy. Then writers have to wait for one
 * last copy.
 */
#define FEW_ROWS 2000

/*
 * copy_all() first tries to lock out writers before the last copy, and readers
 * after it. After this many failed attempts, it locks out readers before the
 * last copy, too.
 */
#define BESIDE_READERS 3

/*
 * PATIENCE: how long, in ms, copy_all() tries to lock the containers
 * PAUSE: how long, in us, copy_all() sleeps after each failed attempt
 */
#define PATIENCE (10 * 60 * 1000)
#define PAUSE 200000

/*
 * Throw an error unless this transaction is READ COMMITTED and has not written
 * anything. Errors: 25001, 25006.
 */
static void
need_clean_transaction(void)
{
	need_writable(CALL);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction that has written", CALL),
				 errhint("Commit that transaction first."),
				 err_fields(NULL, NULL, RULE_COMMITTED)));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s requires the isolation level READ COMMITTED", CALL),
				 errhint("Begin the transaction with ISOLATION LEVEL READ COMMITTED."),
				 err_fields(NULL, NULL, RULE_READ_COMMITTED)));
}

/*
 * Throw an error unless this server has all containers, undamaged and not
 * distributed yet. Errors: 55000.
 */
static void
require_one_machine(void)
{
	container_require();
	if (cluster_calls() != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the containers are already spread over the cluster"),
				 errhint("citus_rebalance_start() moves shards to nodes that were added."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	if (!OidIsValid(bookkeeping_lookup(BOOK_USERNAMES)) ||
		!OidIsValid(bookkeeping_lookup(BOOK_JOBS)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"usernames\" or \"jobs\" is missing"),
				 errhint("Call create_containers(distributed => false). It creates what is missing."),
				 err_fields(NULL, NULL, RULE_UNALTERED)));
	container_require_whole(CONTAINER_POSTS);
	container_require_whole(CONTAINER_USERS);
}

/*
 * Prevent other transactions from altering the old tables until this
 * transaction ends. If "keep" is false, the old tables will be dropped. A
 * VACUUM of their leaves would block the DROP, so the leaves are locked
 * against VACUUM, too. Locks: ShareUpdateExclusiveLock on the old tables and
 * their leaves; if "keep" is true, only AccessShareLock on the leaves.
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

/*
 * Throw an error if another relation has a name that the distribution needs.
 * Errors: 42P07.
 */
static void
refuse_names(void)
{
	static const char *const names[] = {
		"posts" NEW_SUFFIX, "users" NEW_SUFFIX, "usernames" NEW_SUFFIX,
		"posts" OLD_SUFFIX, "users" OLD_SUFFIX, "usernames" OLD_SUFFIX,
		USER_ITEMS_TABLE, "posts_post", "posts_comment", "posts_like",
		"posts_comment_like", "posts_delta",
		"users_post", "users_follow"
	};

	for (int i = 0; i < lengthof(names); i++)
		if (OidIsValid(table_lookup(names[i])))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("relation \"%s.%s\" already exists", BLOGSTORE_SCHEMA, names[i]),
					 errhint("Drop or rename it, because %s needs this name.", CALL)));
}

/*
 * Create the new tables, with the columns, indexes and grants that the owner
 * has added to the old ones. The caller has called SPI_connect().
 */
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

static bool
users_are_changing(void)
{
	return create_run_sql("SELECT FROM " JOBS_SQL " WHERE kind <> 'rebuild' LIMIT 1") > 0;
}

/*
 * Throw the error that distribute_containers() has failed to lock the
 * containers in time. Errors: 55P03.
 *
 * jobs: whether renames or deletions of users were the reason, and not locks
 * of other transactions
 */
static COMPAT_NORETURN void
give_up(bool jobs)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg(jobs ? "renames or deletions of users did not finish in time" :
					"other transactions did not release the containers in time"),
			 errhint(jobs ? "Call %s again when blogstore.progress is empty." :
					 "pg_locks shows which sessions have locked blogstore.users or blogstore.posts. Call %s again when these have ended.",
					 CALL)));
}

static void
tell_waiting(void)
{
	ereport(NOTICE,
			(errmsg("all items are copied; waiting for transactions that have locked the containers, or for renames and deletions of users"),
			 errhint("pg_locks shows which sessions have locked blogstore.users or blogstore.posts. blogstore.progress shows renames and deletions.")));
}

/*
 * Copy to the new tables the rows that have changed since the snapshot
 * *before, with a newer snapshot. *before becomes the newer snapshot. Returns
 * the number of changed rows.
 */
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
 * Try to lock all other transactions out of the containers. First lock out
 * writers, then copy the rows that have changed since the snapshot *before,
 * then lock out readers.
 *
 * readers: whether to lock out readers at the beginning, together with writers
 * jobs: set to whether a user is being renamed or deleted
 *
 * Returns false, with all locks released, if *jobs is true or if other
 * transactions have locked the containers.
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

/*
 * Copy all items to the new tables, then lock the containers in
 * AccessExclusiveLock mode, so that the tables can be renamed. Returns the
 * time since which writers have been waiting. Errors: 55P03.
 */
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
		/*
		 * Copy the rows that have changed during the sleep, so that fewer are
		 * left to copy while writers wait.
		 */
		(void) pass(spread, &before);
		began = GetCurrentTimestamp();
	}
	UnregisterSnapshot(before);
	return began;
}

/*
 * blogstore.distribute_containers(partitions, keep): distribute the containers
 * of this server over a cluster. This server is the cluster's coordinator. If
 * keep is true, the old tables stay under other names.
 *
 * Locks: ShareUpdateExclusiveLock on the containers; at the end ExclusiveLock
 * and then AccessExclusiveLock. Errors: 22004, 22023, 25001, 25006, 42501,
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
	create_look_at_counts_view(&spread.creation);

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

	/*
	 * Discard the views of the single server. Each node builds its own. The
	 * rebuild on this node deletes the topics of posts that are elsewhere.
	 */
	owner_begin(&scope);
	views_abandon();
	job_queue_rebuild_anew();
	owner_end(&scope);

	container_require();
	worker_hooks.containers_created();
	ereport(NOTICE,
			(errmsg("copied %lld rows, and copied %lld changed rows again",
					(long long) spread.copied, (long long) spread.repeated),
			 errdetail("Writers have been waiting for %ld ms, and will wait until this transaction ends.",
					   TimestampDifferenceMilliseconds(began, GetCurrentTimestamp()))));
	PG_RETURN_VOID();
}
