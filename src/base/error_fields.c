/*
 * error_fields.c
 *		What an error tells programs.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"

#include "postgres_ext.h"
#include "utils/rel.h"

/*
 * Within ereport(): set the fields by which a program tells what an error is
 * about. The schema is always blogstore's. table: the container, or the table
 * that is damaged; column: the argument of the function, or the property of
 * the item; rule: what did not hold, as the constraint. Each may be NULL.
 */
int
err_fields(const char *table, const char *column, const char *rule)
{
	err_generic_string(PG_DIAG_SCHEMA_NAME, BLOGSTORE_SCHEMA);
	if (table != NULL)
		err_generic_string(PG_DIAG_TABLE_NAME, table);
	if (column != NULL)
		err_generic_string(PG_DIAG_COLUMN_NAME, column);
	if (rule != NULL)
		err_generic_string(PG_DIAG_CONSTRAINT_NAME, rule);
	return 0;
}

/* The same for an open table, which may lie in another schema. */
int
err_table_fields(Relation table, const char *column, const char *rule)
{
	if (column != NULL)
		errtablecolname(table, column);
	else
		errtable(table);
	err_generic_string(PG_DIAG_CONSTRAINT_NAME, rule);
	return 0;
}
