/*
 * copy_items.c
 *		Copying the items of a single server to the tables of a cluster, and
 *		then bringing the new tables up to date with later changes.
 *
 * Other transactions do not wait for the statements of this file. The old
 * tables are read by INSERT ... SELECT, which Citus runs as COPY to the
 * shards. These statements take only AccessShareLock on the old tables. Other
 * transactions do not see the new tables before the commit.
 *
 * The short-form copies of posts in "users" are left out. The worker of each
 * node makes them for the posts on that node.
 *
 * Runs in a backend. The caller has called SPI_connect().
 */
#include "postgres.h"

#include "base/progress.h"
#include "base/settings.h"
#include "cluster/citus/citus.h"
#include "cluster/distribute/distribute.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/layout/layout.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/uuid.h"

static char *
sql_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

static int64
run_by(Snapshot snapshot, const char *sql, int nargs, Oid *types, Datum *values)
{
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);

	if (plan == NULL ||
		SPI_execute_snapshot(plan, values, NULL, snapshot, InvalidSnapshot,
							 false, true, 0) < 0)
		elog(ERROR, "could not run \"%s\"", sql);
	SPI_freeplan(plan);
	return SPI_processed;
}

/* Copy all rows that a snapshot sees from the old tables to the new ones. */
void
spread_copy(Spread *spread, Snapshot snapshot)
{
	ListCell   *lc;

	progress_begin("blogstore.distribute_containers(): copying items");
	foreach(lc, spread->sources)
	{
		const SpreadSource *source = lfirst(lc);
		int64		rows =
			run_by(snapshot,
				   psprintf("INSERT INTO %s (%s) SELECT %s FROM %s", source->target,
							source->columns, source->columns,
							sql_name(source->leaf)), 0, NULL, NULL);

		spread->copied += rows;
		progress_add(rows);
	}
}

/*
 * If more than this many keys of changed rows are collected, the changes are
 * applied (flush()) before the next leaf is scanned.
 */
#define MANY_KEYS 200000

/*
 * Changed rows that flush() still has to apply to one new table. The rows may
 * come from several leaves.
 */
typedef struct Pending
{
	MemoryContext context;

	/* The keys of the rows to delete, collected from all leaves. */
	ChangedKeys *gone;

	/*
	 * The keys of the rows to insert: a list of ChangedKeys, one for each
	 * leaf.
	 */
	List	   *come;

	int64		n;
	int64		rows;			/* changed rows that flush() has applied */
} Pending;

static void
begin_pending(Pending *pending)
{
	MemoryContextReset(pending->context);
	pending->gone = NULL;
	pending->come = NIL;
	pending->n = 0;
}

/*
 * Convert n keys to the arguments of a statement: one array for each column of
 * the key.
 *
 * which: the places of the n keys in "keys"; NULL means the first n keys
 */
static void
make_arrays(const ChangedKeys *keys, const int *which, int n, Oid *types, Datum *values)
{
	Datum	   *value = palloc_extended(sizeof(Datum) * n, MCXT_ALLOC_HUGE);
	Oid			type = keys->source->key_type;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	for (int i = 0; i < keys->source->nkeys; i++)
	{
		for (int j = 0; j < n; j++)
			value[j] = keys->key[i][which ? which[j] : j];
		types[i] = get_array_type(type);
		values[i] = PointerGetDatum(construct_array(value, n, type, length,
													by_value, align));
	}
	pfree(value);
}

/*
 * Return the SQL condition that rows of "o" and "c" have the same key, for
 * example "o.post_id = c.k1". "o" stands for the old or the new table. "c"
 * stands for the keys in the statement's array arguments (unnested()).
 */
static char *
same_key(const SpreadSource *source)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < source->nkeys; i++)
		appendStringInfo(&sql, "%so.%s = c.k%d", i > 0 ? " AND " : "",
						 source->key[i], i + 1);
	return sql.data;
}

/*
 * Return the SQL text that turns a statement's array arguments into rows, one
 * for each key; for example "unnest($1, $2) AS c (k1, k2)".
 */
static const char *
unnested(const SpreadSource *source)
{
	static const char *const of[] = {
		"unnest($1) AS c (k1)", "unnest($1, $2) AS c (k1, k2)",
		"unnest($1, $2, $3) AS c (k1, k2, k3)"
	};

	return of[source->nkeys - 1];
}

/*
 * Delete from the new table the rows that have n of the keys in "gone". If the
 * new table is distributed, all n keys must belong to one shard.
 *
 * which: the places of the n keys in "gone"; NULL means the first n keys
 */
static void
delete_some(const ChangedKeys *gone, const int *which, int n)
{
	const SpreadSource *source = gone->source;
	Oid			types[MAX_KEY_COLUMNS];
	Datum		values[MAX_KEY_COLUMNS];

	if (n == 0)
		return;
	make_arrays(gone, which, n, types, values);
	/* The condition with ANY tells Citus to which shard the rows belong. */
	if (SPI_execute_with_args(psprintf("DELETE FROM %s AS o USING %s WHERE o.%s = ANY ($1) AND %s",
									   source->target, unnested(source),
									   source->key[0], same_key(source)),
							  source->nkeys, types, values, NULL, false, 0) < 0)
		elog(ERROR, "could not delete from %s", source->target);
}

static void
delete_gone(const ChangedKeys *gone)
{
	ShardMap	map;
	int		   *shard;
	int		   *which;

	if (!gone->source->spread)
	{
		delete_some(gone, NULL, gone->n);
		return;
	}
	if (!shard_map_read(&map, table_lookup("posts" NEW_SUFFIX)))
		elog(ERROR, "the new table is not spread");
	shard = palloc_extended(sizeof(int) * Max(gone->n, 1), MCXT_ALLOC_HUGE);
	which = palloc_extended(sizeof(int) * Max(gone->n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < gone->n; i++)
		shard[i] = shard_of_key(&map, DatumGetUUIDP(gone->key[0][i]));
	for (int s = 0; s < map.n; s++)
	{
		int			n = 0;

		for (int i = 0; i < gone->n; i++)
			if (shard[i] == s)
				which[n++] = i;
		delete_some(gone, which, n);
	}
}

/*
 * Copy from a leaf to the new table the rows whose keys are in "come", as the
 * snapshot "now" sees them. Returns the number of rows copied.
 */
static int64
copy_come(const ChangedKeys *come, Snapshot now)
{
	const SpreadSource *source = come->source;
	Oid			types[MAX_KEY_COLUMNS];
	Datum		values[MAX_KEY_COLUMNS];

	if (come->n == 0)
		return 0;
	make_arrays(come, NULL, come->n, types, values);
	return run_by(now, psprintf("INSERT INTO %s (%s) SELECT %s FROM %s AS o JOIN %s ON %s",
								source->target, source->columns, source->columns,
								sql_name(source->leaf), unnested(source),
								same_key(source)), source->nkeys, types, values);
}

/*
 * Apply the collected changes to the new table: delete the rows with the keys
 * in pending->gone, then insert the rows with the keys in pending->come.
 */
static void
flush(Pending *pending, Snapshot now)
{
	MemoryContext old = MemoryContextSwitchTo(pending->context);
	ListCell   *lc;

	pending->rows += pending->n;
	if (pending->gone != NULL)
		delete_gone(pending->gone);
	foreach(lc, pending->come)
		(void) copy_come(lfirst(lc), now);
	MemoryContextSwitchTo(old);
	begin_pending(pending);
}

static void
add_changes(Pending *pending, const SpreadSource *source, Snapshot before,
			Snapshot now)
{
	MemoryContext old = MemoryContextSwitchTo(pending->context);
	ChangedKeys *come = changed_keys_make(source);
	int			gone;

	if (pending->gone == NULL)
		pending->gone = changed_keys_make(source);
	gone = pending->gone->n;
	changes_find(source, before, now, pending->gone, come);
	pending->n += pending->gone->n - gone + come->n;
	pending->come = lappend(pending->come, come);
	MemoryContextSwitchTo(old);
}

/*
 * Apply to the new tables the changes made to the old tables between two
 * snapshots. Returns the number of changed rows.
 */
int64
spread_repeat(Spread *spread, Snapshot before, Snapshot now)
{
	Pending		pending = {
		.context = AllocSetContextCreate(CurrentMemoryContext, "blogstore changed keys",
										 ALLOCSET_DEFAULT_SIZES)
	};
	int			nest = NewGUCNestLevel();
	ListCell   *lc;

	/* Make the planner use the primary keys, whatever the statistics say. */
	setting_change("enable_hashjoin", "off");
	setting_change("enable_mergejoin", "off");
	setting_change("enable_seqscan", "off");
	begin_pending(&pending);
	foreach(lc, spread->sources)
	{
		const SpreadSource *source = lfirst(lc);

		if (pending.n > MANY_KEYS ||
			(pending.gone != NULL &&
			 strcmp(pending.gone->source->target, source->target) != 0))
			flush(&pending, now);
		add_changes(&pending, source, before, now);
	}
	flush(&pending, now);
	AtEOXact_GUC(true, nest);
	MemoryContextDelete(pending.context);
	spread->repeated += pending.rows;
	return pending.rows;
}
