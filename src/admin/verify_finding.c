/*
 * verify_finding.c
 *		Reading a finding of verify() from a row of its result.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"

#include "utils/timestamp.h"

static const char *
get_string(HeapTuple row, TupleDesc desc, int column)
{
	const char *value = SPI_getvalue(row, desc, column);

	return value ? value : "";
}

/*
 * Convert a row of the result of verify_run() to a Finding. All values are
 * copied into the current memory context.
 */
void
finding_get(Finding *f, HeapTuple row, TupleDesc desc)
{
	bool		no_date;
	bool		no_actual;
	Datum		date = SPI_getbinval(row, desc, FINDING_CREATION_DATE, &no_date);

	(void) SPI_getbinval(row, desc, FINDING_ACTUAL, &no_actual);
	f->container = get_string(row, desc, FINDING_CONTAINER);
	f->problem = get_string(row, desc, FINDING_PROBLEM);
	f->type = get_string(row, desc, FINDING_TYPE);
	f->has_id = row_uuid(row, desc, FINDING_ID, &f->id);
	f->has_post_id = row_uuid(row, desc, FINDING_POST_ID, &f->post_id);
	f->has_user_id = row_uuid(row, desc, FINDING_USER_ID, &f->user_id);
	f->has_keys = f->has_post_id && f->has_user_id && !no_date;
	f->expected = get_string(row, desc, FINDING_EXPECTED);
	f->actual = get_string(row, desc, FINDING_ACTUAL);
	f->has_actual = !no_actual;
	f->creation_date = no_date ? 0 : DatumGetTimestampTz(date);
}

bool
finding_is(const Finding *f, const char *problem)
{
	return strcmp(f->problem, problem) == 0;
}
