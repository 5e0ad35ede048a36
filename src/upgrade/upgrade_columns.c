/*
 * upgrade_columns.c
 *		Adding the columns to containers of an older version that items have since.
 *
 * All containers get them in one step, so that what takes a column can go by any of
 * them. The server locks a container with all its partitions to add a column, and for
 * a moment alone: rows are not rewritten. That lock is waited for a moment, and tried for
 * again (upgrade_lock.c).
 *
 * Runs in backends, between SPI_connect() and SPI_finish(), as the containers' owner.
 */
#include "postgres.h"

#include "layout/layout.h"
#include "settings.h"
#include "state/state.h"
#include "upgrade/upgrade.h"

#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

/* The columns that a container's table lacks, as a list of ADD COLUMN; NULL: none. */
static char *
missing_columns(Container container)
{
	Oid			relid = container_table_oid(container);
	StringInfoData sql;

	initStringInfo(&sql);
	for (Property p = 0; p < N_PROPERTIES; p++)
		if (property_is_added(p) && container_has_property(container, p) &&
			get_attnum(relid, property_column(p)) == InvalidAttrNumber)
			appendStringInfo(&sql, "%sADD COLUMN %s %s", sql.len > 0 ? ", " : "",
							 property_column(p), format_type_be(property_type(p)));
	return sql.len > 0 ? sql.data : NULL;
}

/*
 * Has the row of the views' settings no place for all of them? A table that was lost is made
 * anew by create_containers(), and not waited for.
 */
static bool
view_state_lacks(void)
{
	Oid			relid = bookkeeping_lookup(BOOK_VIEW_STATE);

	return OidIsValid(relid) &&
		(get_attnum(relid, SHORT_FORM_COLUMN) == InvalidAttrNumber ||
		 get_attnum(relid, FEED_WHOLE_COLUMN) == InvalidAttrNumber);
}

/* Does any table lack a column? */
static bool
any_missing(void)
{
	bool		missing = view_state_lacks();

	for (Container c = 0; c < N_CONTAINERS; c++)
		missing |= missing_columns(c) != NULL;
	return missing;
}

static void
alter_table(const char *name, const char *change)
{
	char	   *sql = psprintf("ALTER TABLE %s %s",
							   quote_qualified_identifier(BLOGSTORE_SCHEMA, name),
							   change);
	int			nest = NewGUCNestLevel();

	setting_change("search_path", SAFE_SEARCH_PATH);
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "could not run \"%s\"", sql);
	AtEOXact_GUC(false, nest);
}

/* Add what a container lacks, once nobody else can. */
static void
add_columns(Container container)
{
	char	   *columns;

	LockRelationOid(container_table_oid(container), AccessExclusiveLock);
	columns = missing_columns(container);
	if (columns != NULL)
		alter_table(container_table(container), columns);
}

/* The same with the row of the views' settings. */
static void
add_setting(void)
{
	Oid			relid = bookkeeping_lookup(BOOK_VIEW_STATE);

	if (OidIsValid(relid))
		LockRelationOid(relid, AccessExclusiveLock);
	if (view_state_lacks())
		alter_table(bookkeeping_name(BOOK_VIEW_STATE),
					"ADD COLUMN IF NOT EXISTS " SHORT_FORM_COLUMN
					" bigint NOT NULL DEFAULT 0, "
					"ADD COLUMN IF NOT EXISTS " FEED_WHOLE_COLUMN
					" boolean NOT NULL DEFAULT false");
}

/* Add them all. */
static void
add_all(void *arg)
{
	for (Container c = 0; c < N_CONTAINERS; c++)
		add_columns(c);
	add_setting();
}

/*
 * Give the containers the columns that they lack, all or none. Locks: AccessExclusiveLock
 * on the containers and their partitions, each waited for 100 ms; LEAF_IN_USE: in vain.
 */
LeafStep
containers_add_columns(void)
{
	if (!any_missing())
		return LEAF_DONE;
	return try_for_a_moment(add_all, NULL) ? LEAF_ALTERED : LEAF_IN_USE;
}
