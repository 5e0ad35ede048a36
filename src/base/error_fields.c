/*
 * error_fields.c
 *		Sets the schema, table, column and constraint of errors. Client
 *		programs recognize an error by these fields.
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
 * table: the name of one of blogstore's tables.
 * column: the argument of the SQL function, or the column of the item, that is
 * wrong.
 * rule: the violated rule (RULE_...). Clients see it as the constraint.
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
 * open table, as err_fields() does. The table may be in any schema.
 *
 * column: NULL if the error does not concern a single column.
 * rule: the violated rule (RULE_...).
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
