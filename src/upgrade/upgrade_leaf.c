/*
 * upgrade_leaf.c
 *		Making a leaf of an older version what create_containers() makes, in steps.
 *
 * Each step is a transaction and leaves a leaf that is served as before. What is still
 * to be done is seen from the catalogs, so whoever begins anew goes on where another
 * was cut short.
 *
 * Columns that an item must have become NOT NULL by a CHECK constraint, which is added
 * without a look at the rows, and then validated while they are read and written
 * (ShareUpdateExclusiveLock); with it the server need not look at them again
 * (NotNullImpliedByRelConstraints()). Adding it and taking it away needs the leaf for a
 * moment alone (AccessExclusiveLock), for which others are kept waiting as little as can be
 * (upgrade_lock.c).
 *
 * Settings that the owner has changed stay as they are. Runs in backends, between
 * SPI_connect() and SPI_finish(), as the containers' owner.
 */
#include "postgres.h"

#include "layout/layout.h"
#include "settings.h"
#include "upgrade/upgrade.h"

#include "access/reloptions.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* The constraint that stands for NOT NULL until that is said. */
#define CONSTRAINT_NAME "blogstore_not_null"

/* What earlier versions have set, and this one sets otherwise. */
typedef struct ChangedSetting
{
	Container	container;
	ItemType	type;
	const char *name;
	const char *before;
	const char *now;
} ChangedSetting;

static const ChangedSetting changed_settings[] = {
	{CONTAINER_POSTS, ITEM_POST, "fillfactor", "80", "90"},
	{CONTAINER_POSTS, ITEM_DELTA, "fillfactor", "10", "100"},
	{CONTAINER_POSTS, ITEM_DELTA, "autovacuum_vacuum_scale_factor", "0", "0.05"},
	{CONTAINER_USERS, ITEM_POST, "fillfactor", "80", "100"}
};

/* A leaf's table, if it is there and the containers' owner's. */
Oid
upgraded_leaf(Container container, ItemType type, int partition)
{
	Oid			relid = partition_leaf(container, type, partition);
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		fits;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	fits = ((Form_pg_class) GETSTRUCT(tuple))->relowner == GetUserId() &&
		((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_RELATION;
	ReleaseSysCache(tuple);
	return fits ? relid : InvalidOid;
}

/* The name of a table that is locked, for statements. */
const char *
leaf_sql_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* Run a statement on a leaf. */
void
run_on_leaf(const char *sql)
{
	int			nest = NewGUCNestLevel();
	int			rc;

	setting_change("search_path", SAFE_SEARCH_PATH);
	rc = SPI_execute(sql, false, 0);
	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(rc));
	AtEOXact_GUC(false, nest);
}

/* ------------------------------------------------------------------------
 * Settings
 * ------------------------------------------------------------------------ */

/* Has a table a setting with this value? */
static bool
has_setting(Oid relid, const char *name, const char *value)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		isnull = true;
	bool		has = false;
	Datum		options = (Datum) 0;
	ListCell   *lc;

	if (HeapTupleIsValid(tuple))
		options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions,
								  &isnull);
	if (!isnull)
		foreach(lc, untransformRelOptions(options))
		{
			DefElem    *option = lfirst_node(DefElem, lc);

			has |= strcmp(option->defname, name) == 0 &&
				strcmp(defGetString(option), value) == 0;
		}
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return has;
}

/*
 * Give a leaf the settings of this version in place of those that earlier ones have
 * set. Locks: ShareUpdateExclusiveLock on the leaf, which is waited for, and in which
 * neither readers nor writers are in the way.
 */
LeafStep
leaf_upgrade_settings(Container container, ItemType type, int partition)
{
	LeafStep	result = LEAF_DONE;

	for (int i = 0; i < lengthof(changed_settings); i++)
	{
		const ChangedSetting *s = &changed_settings[i];
		Oid			relid = upgraded_leaf(container, type, partition);

		if (s->container != container || s->type != type ||
			!OidIsValid(relid) || !has_setting(relid, s->name, s->before))
			continue;
		LockRelationOid(relid, ShareUpdateExclusiveLock);
		/* it may have been changed, or have gone, meanwhile */
		if (upgraded_leaf(container, type, partition) != relid ||
			!has_setting(relid, s->name, s->before))
			continue;
		run_on_leaf(psprintf("ALTER TABLE %s SET (%s = %s)", leaf_sql_name(relid),
					 s->name, s->now));
		result = LEAF_ALTERED;
	}
	return result;
}

/* ------------------------------------------------------------------------
 * NOT NULL
 * ------------------------------------------------------------------------ */

/* May a column be NULL? A column that is not there may not. */
static bool
is_nullable(Oid relid, const char *column)
{
	HeapTuple	tuple = SearchSysCacheAttName(relid, column);
	bool		nullable;

	if (!HeapTupleIsValid(tuple))
		return false;
	nullable = !((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return nullable;
}

/*
 * Of each column that an item must have and that may be NULL, a piece of SQL, as the
 * format says; NULL: there is no such column.
 */
static const char *
each_nullable(Oid relid, ItemType type, const char *format,
			  const char *separator)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (Property p = 0; p < N_PROPERTIES; p++)
		if ((item_required(type) & (UINT32_C(1) << p)) != 0 &&
			is_nullable(relid, property_column(p)))
		{
			if (sql.len > 0)
				appendStringInfoString(&sql, separator);
			appendStringInfo(&sql, format, property_column(p));
		}
	return sql.len > 0 ? sql.data : NULL;
}

/*
 * Does a constraint speak of all columns that an item must have and that may be NULL? One that
 * was made when others could be NULL need not.
 */
static bool
is_about_all(HeapTuple constraint, Oid relid, ItemType type)
{
	bool		isnull;
	Datum		key = SysCacheGetAttr(CONSTROID, constraint, Anum_pg_constraint_conkey,
									  &isnull);
	ArrayType  *columns = isnull ? NULL : DatumGetArrayTypeP(key);
	int			n = isnull ? 0 : ArrayGetNItems(ARR_NDIM(columns), ARR_DIMS(columns));

	for (Property p = 0; p < N_PROPERTIES; p++)
	{
		bool		found = (item_required(type) & (UINT32_C(1) << p)) == 0 ||
			!is_nullable(relid, property_column(p));

		for (int i = 0; i < n && !found; i++)
			found = ((int16 *) ARR_DATA_PTR(columns))[i] ==
				get_attnum(relid, property_column(p));
		if (!found)
			return false;
	}
	return true;
}

/*
 * The constraint of a leaf that stands for NOT NULL: is it there, is it proven; and is it of
 * no use, although it is?
 */
static bool
find_constraint(Oid relid, ItemType type, bool *validated, bool *useless)
{
	Oid			constraint = get_relation_constraint_oid(relid, CONSTRAINT_NAME,
														  true);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	*validated = *useless = false;
	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_constraint) GETSTRUCT(tuple))->convalidated)
	{
		*validated = is_about_all(tuple, relid, type);
		*useless = !*validated;
	}
	ReleaseSysCache(tuple);
	return true;
}

/*
 * Is there an item in a leaf that lacks what it must have? Read here, as VALIDATE
 * CONSTRAINT reads: a policy may hide rows from a query of the owner's.
 */
static bool
has_nulls(Oid relid, ItemType type)
{
	Relation	rel = table_open(relid, NoLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	AttrNumber	column[N_PROPERTIES];
	int			n = 0;
	bool		found = false;

	for (Property p = 0; p < N_PROPERTIES; p++)
		if ((item_required(type) & (UINT32_C(1) << p)) != 0 &&
			is_nullable(relid, property_column(p)))
			column[n++] = get_attnum(relid, property_column(p));
	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
			found |= slot_attisnull(slot, column[i]);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, NoLock);
	return found;
}

/* A leaf is locked for this transaction alone: take the next step. */
static void
alter_columns(Oid relid, ItemType type, bool proven, bool refuted)
{
	const char *name = leaf_sql_name(relid);
	const char *wanted;

	if (proven)
	{
		wanted = each_nullable(relid, type, "ALTER COLUMN %s SET NOT NULL", ", ");
		if (wanted != NULL)
			run_on_leaf(psprintf("ALTER TABLE %s %s", name, wanted));
	}
	if (proven || refuted)
	{
		run_on_leaf(psprintf("ALTER TABLE %s DROP CONSTRAINT " CONSTRAINT_NAME,
					 name));
		return;
	}
	wanted = each_nullable(relid, type, "%s IS NOT NULL", " AND ");
	if (wanted != NULL)
		run_on_leaf(psprintf("ALTER TABLE %s ADD CONSTRAINT " CONSTRAINT_NAME
					 " CHECK (%s) NOT VALID", name, wanted));
}

/*
 * Go a step towards a leaf whose columns cannot be NULL where an item must have a
 * value, and note in *patience how often a moment was waited. Locks:
 * ShareUpdateExclusiveLock on the leaf while its rows are read, or AccessExclusiveLock
 * for a statement that does not read them (leaf_lock_alone()).
 */
LeafStep
leaf_upgrade_columns(Container container, ItemType type, int partition,
					 int *patience)
{
	Oid			relid = upgraded_leaf(container, type, partition);
	bool		there;
	bool		proven;
	bool		refuted;
	bool		useless;

	if (!OidIsValid(relid))
		return LEAF_DONE;
	LockRelationOid(relid, AccessShareLock);
	if (upgraded_leaf(container, type, partition) != relid ||
		each_nullable(relid, type, "%s", ",") == NULL)
		return LEAF_DONE;
	there = find_constraint(relid, type, &proven, &refuted);
	if (!proven && !refuted)
		refuted = has_nulls(relid, type);
	if (refuted && !there)
		return LEAF_HAS_NULLS;
	if (there && !proven && !refuted)
	{
		LockRelationOid(relid, ShareUpdateExclusiveLock);
		run_on_leaf(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT " CONSTRAINT_NAME,
					 leaf_sql_name(relid)));
		return LEAF_ALTERED;
	}
	/* two who do the same would wait for each other's, all the time there is */
	UnlockRelationOid(relid, AccessShareLock);
	if (!leaf_lock_alone(relid, AccessExclusiveLock, patience))
		return LEAF_IN_USE;
	/* the other may have come before, or the leaf may have gone */
	if (upgraded_leaf(container, type, partition) == relid &&
		find_constraint(relid, type, &proven, &useless) == there)
		alter_columns(relid, type, there && proven, refuted || useless);
	return LEAF_ALTERED;
}
