/*
 * error_fields.c
 *		Sets the fields of error messages by which programs recognize an error.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/error_fields.h"

#include "postgres_ext.h"
#include "utils/rel.h"

/*
 * Set the fields of an error; called within ereport(). The schema becomes that
 * of blogstore. table: the container, or the damaged table; column: the
 * function's argument, or the item's property; rule: the violated rule,
 * returned as the constraint. Each of them may be NULL.
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

/* Like err_fields(), for an open table, which may be in another schema. */
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
