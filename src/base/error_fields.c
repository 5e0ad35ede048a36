/*
 * error_fields.c
 *		Sets the schema, table, column and constraint of errors.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"

#include "postgres_ext.h"
#include "utils/rel.h"

/*
 * Set the schema, table, column and constraint of an error. Called inside
 * ereport(). The schema is always "blogstore". A NULL argument leaves its
 * field empty.
 *
 * table: the name of one of blogstore's tables
 * column: the wrong argument of an SQL function, or the wrong column of an
 * item
 * rule: the violated rule (RULE_...), which clients see as the constraint
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
 * Set the schema, table, column and constraint of an error that concerns an
 * open table. The table may be in any schema.
 *
 * column: NULL if the error does not concern a single column
 * rule: the violated rule (RULE_...)
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
