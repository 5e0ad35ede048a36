/*
 * error_fields.c
 *		Sets the fields of errors by which client programs recognize an error.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"

#include "postgres_ext.h"
#include "utils/rel.h"

/*
 * Set the schema, table, column and constraint of an error; called as a part
 * of ereport(). The schema is always "blogstore". table: one of blogstore's
 * tables; column: the function's argument or the item's property that is
 * wrong; rule: the violated rule (RULE_...), which clients see as the
 * constraint. A NULL leaves the field empty.
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

/*
 * Set the same fields from an open table, which may be in any schema. column:
 * NULL if the error does not concern a single column.
 */
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
