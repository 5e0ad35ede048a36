/*
 * create_run.c
 *		Running the statements that create tables, and reading the number of
 *		partitions.
 *
 * Runs in a backend, with SPI connected.
 */
#include "postgres.h"

#include "admin/create_containers.h"
#include "base/error_fields.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"

/*
 * Throw the error that a relation has the name of one of blogstore's tables,
 * but cannot be used. Errors: 42P07.
 *
 * problem: why the relation cannot be used, for the error's detail
 */
void
create_refuse_table(const char *name, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("\"%s.%s\" exists and is not a table of these containers",
					BLOGSTORE_SCHEMA, name),
			 errdetail("%s.", problem),
			 errhint("Drop or rename it, or pass the role that owns the containers as owner."),
			 err_fields(name, NULL, NULL)));
}

uint64
create_run_sql(const char *sql)
{
	int			rc = SPI_execute(sql, false, 0);

	if (rc < 0)
		elog(ERROR, "could not run \"%s\": %s", sql,
			 SPI_result_code_string(rc));
	return SPI_processed;
}

/*
 * Make the owner of the containers the owner of a new table and of all its
 * partitions.
 */
void
create_give_away(const Creation *creation, Oid relid)
{
	List	   *all;
	ListCell   *lc;

	if (creation->owner == GetUserId())
		return;
	all = find_all_inheritors(relid, AccessExclusiveLock, NULL);
	foreach(lc, all)
		ATExecChangeOwner(lfirst_oid(lc), creation->owner, false,
						  AccessExclusiveLock);
	CommandCounterIncrement();
}

void
create_table_of_bookkeeping(const Creation *creation, Bookkeeping table)
{
	const Statements *once = &create_bookkeeping_sql[table];

	for (int i = 0; i < once->n; i++)
		(void) create_run_sql(once->sql[i]);
	create_give_away(creation, bookkeeping_lookup(table));
}

/*
 * Return the argument "partitions" of create_containers(). Errors: 22004 if it
 * is null; 22023 if it is out of range.
 */
int
create_get_partitions(FunctionCallInfo fcinfo)
{
	int			partitions;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("partitions must not be null"),
				 errhint("Leave it out for the default."),
				 err_fields(NULL, "partitions", RULE_NOT_NULL)));
	partitions = PG_GETARG_INT32(0);
	if (partitions < 1 || partitions > MAX_PARTITIONS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions must be between 1 and %d",
						MAX_PARTITIONS),
				 errhint("The default suits most sites; more partitions suit servers with many cores or much data."),
				 err_fields(NULL, "partitions", RULE_RANGE)));
	return partitions;
}
