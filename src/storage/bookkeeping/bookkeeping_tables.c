/*
 * bookkeeping_tables.c
 *		Locks the bookkeeping tables, and checks that they are as blogstore
 *		made them.
 *
 * blogstore's SQL statements name these tables and run as the containers'
 * owner. If a bookkeeping table is missing, another role that may create
 * objects in the schema could create a view or a table with its name. The
 * statements could then run code of that role as the owner.
 *
 * So each table is locked and checked before a statement runs. The table must
 * have the right relkind, owner, columns and key. The owner must not have
 * added anything that could reject a row. After a check, the table is not
 * checked again until a relcache invalidation of the table arrives.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/remembered_table.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping_tables.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#define MAX_COLUMNS 13

/* The rights that the owner needs on the rows of a bookkeeping table. */
#define ROW_RIGHTS (ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE)

typedef struct Column
{
	const char *name;
	Oid			type;
} Column;

typedef struct TableShape
{
	const char *name;
	/* the first column is the primary key */
	Column		column[MAX_COLUMNS];
	/* name of blogstore's CHECK constraint; NULL if there is none */
	const char *check;
	/* the column of an index that is not unique; NULL if there is none */
	const char *indexed;
} TableShape;

static const TableShape shape[N_BOOKKEEPING] = {
	[BOOK_USERNAMES] = {"usernames", {
			{"username_key", TEXTOID}, {"user_id", UUIDOID}
	}},
	[BOOK_JOBS] = {"jobs", {
			{"id", UUIDOID}, {"kind", TEXTOID}, {"user_id", UUIDOID},
			{"phase", INT4OID}, {"partition_number", INT4OID},
			{"position_first", UUIDOID}, {"position_date", TIMESTAMPTZOID},
			{"position_middle", UUIDOID}, {"position_last", UUIDOID},
			{"done", INT8OID}, {"total", INT8OID},
			{"created_at", TIMESTAMPTZOID}, {"started_at", TIMESTAMPTZOID}
	}, "jobs_kind_check"},
	[BOOK_VIEW_STATE] = {"view_state", {
			{"only_row", BOOLOID}, {"enabled", BOOLOID}, {"ready", BOOLOID},
			{"feed_size", INT4OID}, {"short_form_length", INT4OID},
			{"short_form", INT8OID}, {"feed_whole", BOOLOID}
	}, "view_state_only_row_check"},
	[BOOK_CHANGE_FEED] = {"change_feed", {
			{"only_row", BOOLOID}, {"applied_lsn", LSNOID},
			{"applied_at", TIMESTAMPTZOID}, {"timeline", INT8OID},
			{"system_identifier", INT8OID}, {"layout", INT8OID}
	}, "change_feed_only_row_check"},
	[BOOK_PUBLISH_QUEUE] = {"publish_queue", {
			{"post_id", UUIDOID}, {"publish_date", TIMESTAMPTZOID},
			{"retry_at", TIMESTAMPTZOID}
	}, NULL, "publish_date"},
	[BOOK_UNSENT] = {"unsent", {
			{"id", UUIDOID}, {"node_group", INT4OID}, {"post_id", UUIDOID},
			{"user_id", UUIDOID}, {"creation_date", TIMESTAMPTZOID}
	}}
};

/*
 * The results of the last check of each bookkeeping table. known[table].valid:
 * whether the table has passed the check. known_owner[table]: the owner of the
 * table at the time of the check.
 */
static Remembered known[N_BOOKKEEPING];
static Oid	known_owner[N_BOOKKEEPING];

const char *
bookkeeping_name(Bookkeeping table)
{
	return shape[table].name;
}

/*
 * Return the OID of the relation in blogstore's schema that has the name of a
 * bookkeeping table, whatever its relkind; InvalidOid if there is none.
 */
Oid
bookkeeping_lookup(Bookkeeping table)
{
	return table_lookup(shape[table].name);
}

/*
 * Return what is wrong with the indexes of an open bookkeeping table, as a
 * phrase for an error message; NULL if nothing is. There must be a unique
 * index on only the first column, without a predicate. Another index is
 * allowed only on the column wanted->indexed, and must not be unique, because
 * it could reject rows.
 */
static const char *
indexes_problem(Relation rel, const TableShape *wanted)
{
	const char *column = wanted->column[0].name;
	AttrNumber	attno = shape_column(rel, column);
	AttrNumber	indexed = wanted->indexed == NULL ? InvalidAttrNumber :
		shape_column(rel, wanted->indexed);
	List	   *indexes = RelationGetIndexList(rel);
	const char *other = NULL;
	bool		has_key = false;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID,
											ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_index form;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_index) GETSTRUCT(tuple);
		if (form->indnatts != 1 ||
			!heap_attisnull(tuple, Anum_pg_index_indpred, NULL))
			other = get_rel_name(form->indexrelid);
		else if (form->indkey.values[0] == attno)
			has_key |= form->indisunique && form->indimmediate && form->indisvalid;
		else if (indexed == InvalidAttrNumber || form->indisunique ||
				 form->indkey.values[0] != indexed)
			other = get_rel_name(form->indexrelid);
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
	if (!has_key)
		return psprintf("it has no primary key (%s)", column);
	return other ? psprintf("it has an index, \"%s\"", other) : NULL;
}

static bool
is_own_column(const TableShape *wanted, const char *name)
{
	for (int i = 0; i < MAX_COLUMNS && wanted->column[i].name != NULL; i++)
		if (strcmp(wanted->column[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Return what the owner has added to an open bookkeeping table, as a phrase
 * for an error message; NULL if nothing. Only looks for additions that could
 * reject a row, or run code when a row is written.
 */
static const char *
additions_problem(Relation rel, const TableShape *wanted)
{
	TupleDesc	desc = RelationGetDescr(rel);
	const char *addition = shape_addition(rel, wanted->check);

	for (int i = 0; i < desc->natts && addition == NULL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !is_own_column(wanted, NameStr(att->attname)) &&
			(att->attnotnull || att->atthasdef || att->attidentity))
			addition = psprintf("a column that is NOT NULL or has a default, \"%s\"",
								NameStr(att->attname));
	}
	return addition ? psprintf("it has %s", addition) : NULL;
}

/*
 * Return what is wrong with the columns or indexes of an open bookkeeping
 * table, as a phrase for an error message; NULL if nothing is.
 */
static const char *
columns_problem(Relation rel, const TableShape *wanted)
{
	for (int i = 0; i < MAX_COLUMNS && wanted->column[i].name != NULL; i++)
	{
		const Column *column = &wanted->column[i];
		AttrNumber	attno = shape_column(rel, column->name);
		Form_pg_attribute att;

		if (attno == InvalidAttrNumber)
			return psprintf("it has no column \"%s\"", column->name);
		att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
		if (att->atttypid != column->type || att->attgenerated != '\0')
			return psprintf("its column \"%s\" is not of type %s",
							column->name, format_type_be(column->type));
	}
	return indexes_problem(rel, wanted);
}

/*
 * Return why a relation cannot be used as a bookkeeping table, as a phrase for
 * an error message; NULL if it can. The caller has locked the relation.
 *
 * owner: the role that must own the relation
 */
const char *
bookkeeping_problem(Bookkeeping table, Oid relid, Oid owner)
{
	Relation	rel = relation_open(relid, NoLock);
	const char *problem = NULL;

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		problem = "it is not an ordinary table";
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		problem = "it is unlogged";
	else if (rel->rd_rel->relowner != owner)
		problem = psprintf("it belongs to \"%s\"",
						   GetUserNameFromId(rel->rd_rel->relowner, false));
	else if (rel->rd_rel->relispartition || rel->rd_rules != NULL ||
			 find_inheritance_children(relid, NoLock) != NIL ||
			 has_superclass(relid))
		problem = "it has rules, parents or children";
	else if (rel->rd_rel->relrowsecurity && rel->rd_rel->relforcerowsecurity)
		problem = "row-level security is forced on it";
	else if (pg_class_aclmask(relid, owner, ROW_RIGHTS, ACLMASK_ALL) != ROW_RIGHTS)
		problem = "its owner has no rights on it";
	else
	{
		problem = columns_problem(rel, &shape[table]);
		if (problem == NULL)
			problem = additions_problem(rel, &shape[table]);
	}
	relation_close(rel, NoLock);
	return problem;
}

static COMPAT_NORETURN void
bookkeeping_missing(Bookkeeping table)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s.%s\" is missing", BLOGSTORE_SCHEMA,
					shape[table].name),
			 errhint("Call blogstore.create_containers() to create it again. The other tables stay unchanged. If a dump is being restored, wait until that is done."),
			 err_fields(shape[table].name, NULL, RULE_UNALTERED)));
}

/*
 * Lock a bookkeeping table. Check that the table is as blogstore made it, and
 * belongs to the owner of the containers. Returns the table's OID.
 *
 * write: lock the table as for INSERT, so that the owner cannot add a trigger
 * or constraint until the transaction ends
 *
 * Errors: 55000. Locks: RowExclusiveLock (write) or AccessShareLock, to the
 * end of the transaction.
 */
Oid
bookkeeping_lock(Bookkeeping table, bool write)
{
	LOCKMODE	mode = write ? RowExclusiveLock : AccessShareLock;
	Oid			owner = container_owner();

	for (;;)
	{
		Remembered *right = &known[table];
		Oid			relid;
		uint64		began;
		const char *problem;

		relid = right->valid ? right->relid : bookkeeping_lookup(table);
		if (!OidIsValid(relid))
			bookkeeping_missing(table);
		LockRelationOid(relid, mode);
		if (right->valid && right->relid == relid &&
			known_owner[table] == owner)
			return relid;
		/*
		 * If a relcache invalidation of the table arrives during the check,
		 * the result is not cached.
		 */
		began = remembered_begin(right, relid);
		if (bookkeeping_lookup(table) != relid)
		{
			UnlockRelationOid(relid, mode);
			CHECK_FOR_INTERRUPTS();
			continue;
		}
		problem = bookkeeping_problem(table, relid, owner);
		if (problem != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s.%s\" is not as blogstore made it: %s",
							BLOGSTORE_SCHEMA, shape[table].name, problem),
					 errhint("Undo the change, or drop the table and call blogstore.create_containers() to create it again."),
					 err_fields(shape[table].name, NULL, RULE_UNALTERED)));
		known_owner[table] = owner;
		remembered_end(right, began);
		return relid;
	}
}

/*
 * Check a bookkeeping table, unless its last check is still valid. Returns
 * false, without waiting, if the table's lock is not available. Errors: 55000
 * if the table is not as blogstore made it. Locks: AccessShareLock for the
 * check, to the end of the transaction.
 */
bool
bookkeeping_check(Bookkeeping table)
{
	Oid			relid;

	if (known[table].valid && known_owner[table] == container_owner())
		return true;
	relid = bookkeeping_lookup(table);
	if (OidIsValid(relid) &&
		!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	(void) bookkeeping_lock(table, false);
	return true;
}

/*
 * Call take(rel, row, arg) for the first row of a bookkeeping table that the
 * active snapshot sees. "take" can be NULL. Returns whether there is such a
 * row. Errors: 55000. Locks: AccessShareLock, to the end of the transaction.
 */
bool
bookkeeping_first_row(Bookkeeping table, RowTaker take, void *arg)
{
	Relation	rel = table_open(bookkeeping_lock(table, false), NoLock);
	TableScanDesc scan = compat_table_beginscan(rel, GetActiveSnapshot());
	TupleTableSlot *row = table_slot_create(rel, NULL);
	bool		found = table_scan_getnextslot(scan, ForwardScanDirection, row);

	if (found && take != NULL)
		take(rel, row, arg);
	ExecDropSingleTupleTableSlot(row);
	table_endscan(scan);
	table_close(rel, NoLock);
	return found;
}

/*
 * Return the value of the column "name" in a row; 0 if it is NULL. The
 * column's type must be one that is passed by value.
 */
Datum
bookkeeping_value(Relation rel, TupleTableSlot *row, const char *name)
{
	bool		isnull;
	Datum		value = slot_getattr(row, shape_column(rel, name), &isnull);

	return isnull ? (Datum) 0 : value;
}
