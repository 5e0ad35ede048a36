/*
 * upgrade.c
 *		blogstore.upgrade_containers(): containers of an older version become what
 *		create_containers() makes, in chunks, beside traffic.
 *
 * Older containers are served as they are; so all of this may be done at any time, in
 * part, or never. Columns are added that items have since (upgrade_columns.c). Then there
 * are four rounds. Leaves get the settings of this version,
 * of which the counters' room on their pages is one; posts without a counter get one
 * (counts/counter_sweep.c); columns become NOT NULL (upgrade_leaf.c); and leaves get the
 * indexes that are new (upgrade_index.c), which alone may wait for others. What is done
 * shows from the items and the catalogs, and nothing else is written down: who calls again
 * after a crash, a cancel or an error goes on where that has left off, and finds
 * nothing to do at the end.
 *
 * A procedure, because each chunk is a transaction: nobody waits for more than one, and
 * no snapshot is kept from one to the next. It is no job of the worker's, so that it
 * works where no worker runs, or can.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "counts/counts.h"
#include "layout/layout.h"
#include "preload.h"
#include "state/state.h"
#include "items/item.h"
#include "upgrade/upgrade.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

SQL_FUNCTION(upgrade_containers);

#define COMMAND "upgrade_containers()"

/* How often a partition is swept again for posts that others were at; wait in us. */
#define SWEEPS 3
#define BETWEEN_SWEEPS 50000

/* How often to wait a moment for leaves, in all. */
#define PATIENCE 3000

/* How often to try to add columns, and how long to leave others alone in between, in us. */
#define TRIES 60
#define BETWEEN_TRIES 200000

/*
 * How often to have indexes of a leaf built, or to wait for others who build one: there are
 * two.
 */
#define MAX_BUILDS 4

/* How many warnings tell of what is left out. */
#define MAX_WARNINGS 20

typedef struct Upgrade
{
	MemoryContext step;			/* reset after each transaction */
	MemoryContext before;		/* outside of it */
	OwnerScope	scope;
	int			patience;
	int64		looked;			/* posts */
	int64		made;			/* counters */
	int64		busy;			/* posts that have none: others were at them */
	LeafStep	added;			/* what came of adding columns */
	int			settings;		/* leaves whose settings were changed */
	int			columns;		/* leaves whose columns were */
	IndexRound	round;
	Oid			owner;			/* of the containers */
	int			indexes;		/* leaves whose indexes were */
	int			not_built;		/* leaves where one could not be */
	int			in_use;			/* leaves that others had locked */
	int			with_nulls;		/* leaves with items that lack values */
} Upgrade;

static int	warned = 0;

/* ------------------------------------------------------------------------
 * A step is a transaction
 * ------------------------------------------------------------------------ */

/* Errors: 25001, 25006, 55000. */
static void
step_begin(Upgrade *upgrade)
{
	need_writable(COMMAND);
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg(COMMAND " cannot run with a snapshot of the past"),
				 errhint("SET default_transaction_isolation = 'read committed'.")));
	upgrade->before = MemoryContextSwitchTo(upgrade->step);
	PushActiveSnapshot(GetTransactionSnapshot());
	container_require();
	owner_begin(&upgrade->scope);
	PopActiveSnapshot();
}

static void
step_end(Upgrade *upgrade)
{
	owner_end(&upgrade->scope);
	MemoryContextSwitchTo(upgrade->before);
	SPI_commit();
	MemoryContextReset(upgrade->step);
	CHECK_FOR_INTERRUPTS();
}

/* Tell other sessions, in pg_stat_activity, what is being done. */
static void
show_round(const Upgrade *upgrade, const char *round, Container container,
		   int partition)
{
	pgstat_report_activity(STATE_RUNNING,
						   psprintf("blogstore." COMMAND ": %s, partition %d of %s, "
									INT64_FORMAT " posts looked at, "
									INT64_FORMAT " counters made",
									round, partition,
									container_table(container),
									upgrade->looked, upgrade->made));
}

/* ------------------------------------------------------------------------
 * The rounds
 * ------------------------------------------------------------------------ */

/* A table is not what it should be, or an item lacks values: the rest goes on. */
static void
warn_left_out(const char *message)
{
	if (warned++ < MAX_WARNINGS)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("left as it is: %s", message),
				 errhint("Mend it, and call blogstore." COMMAND " again.")));
}

/* Make a chunk of counters; returns whether the partition's end is reached. */
static bool
sweep_chunk(CounterSweep *sweep)
{
	volatile bool end = true;

	left_out_instead_of_errors(warn_left_out);
	PG_TRY();
	{
		end = post_counters_make(sweep);
	}
	PG_FINALLY();
	{
		left_out_instead_of_errors(NULL);
	}
	PG_END_TRY();
	return end;
}

/* Make the counters of a partition's posts. */
static void
sweep_partition(Upgrade *upgrade, int partition)
{
	CounterSweep sweep;
	int			sweeps = 0;
	bool		end;

	do
	{
		int64		made = 0;

		memset(&sweep, 0, sizeof(sweep));
		sweep.partition = partition;
		if (sweeps++ > 0)
			pg_usleep(BETWEEN_SWEEPS);
		do
		{
			step_begin(upgrade);
			show_round(upgrade, "counters", CONTAINER_POSTS, partition);
			end = sweep_chunk(&sweep);
			step_end(upgrade);
			upgrade->made += sweep.made - made;
			made = sweep.made;
		} while (!end);
		if (sweeps == 1)
			upgrade->looked += sweep.looked;
	} while (sweep.busy > 0 && sweeps < SWEEPS);
	upgrade->busy += sweep.busy;
}

/* A leaf is upgraded by one of the rounds, in steps. */
typedef void (*LeafRound) (Upgrade *upgrade, Container container,
						   ItemType type, int partition);

static void
settings_round(Upgrade *upgrade, Container container, ItemType type,
			   int partition)
{
	step_begin(upgrade);
	show_round(upgrade, "settings", container, partition);
	if (leaf_upgrade_settings(container, type, partition) == LEAF_ALTERED)
		upgrade->settings++;
	step_end(upgrade);
}

static void
columns_round(Upgrade *upgrade, Container container, ItemType type,
			  int partition)
{
	LeafStep	result;
	bool		altered = false;

	do
	{
		step_begin(upgrade);
		show_round(upgrade, "columns", container, partition);
		result = leaf_upgrade_columns(container, type, partition,
									  &upgrade->patience);
		step_end(upgrade);
		altered |= result == LEAF_ALTERED;
	} while (result == LEAF_ALTERED);
	upgrade->columns += altered && result == LEAF_DONE;
	upgrade->in_use += result == LEAF_IN_USE;
	upgrade->with_nulls += result == LEAF_HAS_NULLS;
}

/* Make a step towards the indexes of a leaf. */
static LeafStep
index_step(Upgrade *upgrade, Container container, ItemType type, int partition)
{
	volatile LeafStep result = LEAF_DONE;

	step_begin(upgrade);
	show_round(upgrade, "indexes", container, partition);
	left_out_instead_of_errors(warn_left_out);
	PG_TRY();
	{
		result = leaf_upgrade_index(container, type, partition, &upgrade->round);
		upgrade->owner = GetUserId();
	}
	PG_FINALLY();
	{
		left_out_instead_of_errors(NULL);
	}
	PG_END_TRY();
	step_end(upgrade);
	return result;
}

static void
indexes_round(Upgrade *upgrade, Container container, ItemType type,
			  int partition)
{
	LeafStep	result;
	bool		altered = false;
	int			builds = 0;

	if (!leaf_has_new_indexes(container, type))
		return;
	do
	{
		result = index_step(upgrade, container, type, partition);
		altered |= result == LEAF_ALTERED || result == LEAF_LARGE;
	} while (result == LEAF_ALTERED ||
			 (result == LEAF_LARGE && builds++ < MAX_BUILDS &&
			  leaf_build_beside(&upgrade->round.large, upgrade->owner)));
	upgrade->indexes += altered && result == LEAF_DONE;
	upgrade->in_use += result == LEAF_IN_USE;
	upgrade->not_built += result == LEAF_LARGE;
}

/* The partition after one, or the first, as the layout is at this moment. */
static int
next_partition(Upgrade *upgrade, Container container, ItemType type,
			   int partition)
{
	step_begin(upgrade);
	partition = partition == NO_PARTITION ? partition_first(container, type) :
		partition_after(container, type, partition);
	step_end(upgrade);
	return partition;
}

/* Do a round with all leaves of a container's items of a type. */
static void
each_leaf(Upgrade *upgrade, LeafRound round, Container container,
		  ItemType type)
{
	int			p = NO_PARTITION;

	while ((p = next_partition(upgrade, container, type, p)) != NO_PARTITION)
		round(upgrade, container, type, p);
}

/* What container has items of which type. */
static const struct
{
	Container	container;
	ItemType	type;
}			leaves[] = {
	{CONTAINER_POSTS, ITEM_DELTA},
	{CONTAINER_POSTS, ITEM_POST},
	{CONTAINER_POSTS, ITEM_COMMENT},
	{CONTAINER_POSTS, ITEM_LIKE},
	{CONTAINER_USERS, ITEM_USER},
	{CONTAINER_USERS, ITEM_POST},
	{CONTAINER_FEED, ITEM_POST}
};

static void
each_kind(Upgrade *upgrade, LeafRound round)
{
	for (int i = 0; i < lengthof(leaves); i++)
		each_leaf(upgrade, round, leaves[i].container, leaves[i].type);
}

static void
all_added_columns(Upgrade *upgrade)
{
	for (int i = 0; i < TRIES; i++)
	{
		if (i > 0)
			pg_usleep(BETWEEN_TRIES);
		step_begin(upgrade);
		show_round(upgrade, "new columns", CONTAINER_USERS, 0);
		upgrade->added = containers_add_columns();
		step_end(upgrade);
		if (upgrade->added != LEAF_IN_USE)
			break;
	}
}

static void
all_counters(Upgrade *upgrade)
{
	int			p = NO_PARTITION;

	while ((p = next_partition(upgrade, CONTAINER_POSTS, ITEM_POST, p)) != NO_PARTITION)
		sweep_partition(upgrade, p);
}

/* ------------------------------------------------------------------------
 * The call
 * ------------------------------------------------------------------------ */

/* Say what was done, and what was not. */
static void
tell(const Upgrade *upgrade)
{
	bool		done = upgrade->made > 0 || upgrade->settings > 0 ||
		upgrade->columns > 0 || upgrade->indexes > 0 ||
		upgrade->added == LEAF_ALTERED;
	bool		left = upgrade->busy > 0 || upgrade->in_use > 0;

	if (upgrade->added == LEAF_ALTERED)
		ereport(NOTICE,
				(errmsg("added the columns of this version to the containers")));
	if (upgrade->indexes > 0)
		ereport(NOTICE,
				(errmsg("made the indexes of this version on %d leaves",
						upgrade->indexes)));
	if (!done && !left && upgrade->added == LEAF_DONE &&
		upgrade->with_nulls == 0 && upgrade->not_built == 0 && warned == 0)
		ereport(NOTICE,
				(errmsg("there was nothing to upgrade")));
	else
		ereport(NOTICE,
				(errmsg("made counters of %lld posts, changed the settings of %d leaves and the columns of %d",
						(long long) upgrade->made, upgrade->settings,
						upgrade->columns)));
	if (upgrade->added == LEAF_IN_USE)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("others had the containers locked, which have no new columns therefore"),
				 errhint("Call blogstore." COMMAND " again when no transaction is open for long.")));
	if (left)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("others were at %lld posts and %d leaves, which are as they were",
						(long long) upgrade->busy, upgrade->in_use),
				 errhint("Call blogstore." COMMAND " again when no transaction is open for long.")));
	if (upgrade->not_built > 0)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("new indexes of %d leaves could not be built",
						upgrade->not_built),
				 errhint("The server's log tells why. It takes one of max_worker_processes that is free. Call blogstore." COMMAND " again.")));
	if (upgrade->with_nulls > 0)
		ereport(WARNING,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%d leaves have items that lack a value, and no NOT NULL therefore",
						upgrade->with_nulls),
				 errhint("Mend what blogstore.verify() lists, with blogstore.repair() perhaps; then call blogstore." COMMAND " again.")));
}

/* All rounds, on one machine. */
static void
upgrade_machine(Upgrade *upgrade)
{
	all_added_columns(upgrade);
	each_kind(upgrade, settings_round);
	all_counters(upgrade);
	each_kind(upgrade, columns_round);
	each_kind(upgrade, indexes_round);
}

/* Errors: 55000 unless a container has the columns of this version. */
static void
need_all_columns(Container container)
{
	Oid			relid = container_table_oid(container);

	for (Property p = 0; p < N_PROPERTIES; p++)
		if (property_is_added(p) && container_has_property(container, p) &&
			get_attnum(relid, property_column(p)) == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("container \"%s\" has no column \"%s\" of type %s",
							container_table(container), property_column(p),
							format_type_be(property_type(p))),
					 errhint("On a cluster no older version has made containers. Say ALTER TABLE %s.%s ADD COLUMN on the coordinator, and Citus adds it on all nodes.",
							 BLOGSTORE_SCHEMA, container_table(container))));
}

/*
 * On a cluster all containers are of this version: posts of this node that were written by
 * plain statements may have no counters, and nothing else can be missing.
 */
static void
upgrade_node(Upgrade *upgrade)
{
	step_begin(upgrade);
	for (Container c = 0; c < N_CONTAINERS; c++)
		need_all_columns(c);
	upgrade->added = LEAF_DONE;
	step_end(upgrade);
	all_counters(upgrade);
}

/* Errors: 25001 where it cannot commit. */
static void
need_own_transactions(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg(COMMAND " cannot run inside a transaction block"),
				 errhint("It commits each chunk: CALL it by itself.")));
}

/*
 * CALL blogstore.upgrade_containers(). Errors: 25001 (in a transaction block, or in
 * REPEATABLE READ or SERIALIZABLE), 25006, 55000. Locks: those of leaf_upgrade_settings(),
 * leaf_upgrade_columns(), leaf_upgrade_index() and leaf_build_beside(), and of who counts.
 */
static Datum
upgrade_containers(PG_FUNCTION_ARGS)
{
	Upgrade		upgrade;

	need_writable(COMMAND);
	need_own_transactions(fcinfo);
	memset(&upgrade, 0, sizeof(upgrade));
	upgrade.patience = PATIENCE;
	warned = 0;
	upgrade.round.patience = &upgrade.patience;
	upgrade.step = AllocSetContextCreate(CurrentMemoryContext,
										 "blogstore upgrade step",
										 ALLOCSET_DEFAULT_SIZES);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	if (layout_is_spread())
		upgrade_node(&upgrade);
	else
		upgrade_machine(&upgrade);
	SPI_finish();
	if (debug_query_string != NULL)
		pgstat_report_activity(STATE_RUNNING, debug_query_string);
	tell(&upgrade);
	PG_RETURN_VOID();
}
