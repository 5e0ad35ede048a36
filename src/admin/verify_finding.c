/*
 * verify_finding.c
 *		What verify() has found, from its rows.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"

#include "utils/snapmgr.h"
#include "utils/timestamp.h"

static const char *
get_string(HeapTuple row, TupleDesc desc, int column)
{
	const char *value = SPI_getvalue(row, desc, column);

	return value ? value : "";
}

/* A row of verify_run(), copied into the current memory context. */
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

/* The order of findings: by what they are about, whatever plan has found them. */
static int
finding_compare(const void *a, const void *b)
{
	const Finding *f = a;
	const Finding *g = b;
	int			order = strcmp(f->container, g->container);

	if (order == 0)
		order = strcmp(f->type, g->type);
	if (order == 0)
		order = memcmp(&f->post_id, &g->post_id, UUID_LEN);
	if (order == 0)
		order = memcmp(&f->id, &g->id, UUID_LEN);
	if (order == 0)
		order = memcmp(&f->user_id, &g->user_id, UUID_LEN);
	if (order == 0)
		order = strcmp(f->problem, g->problem);
	return order != 0 ? order : strcmp(f->actual, g->actual);
}

/*
 * Compare, and return what is wrong, *n findings in an order, in the current memory context. In
 * SPI, as the containers' owner. Errors: 55000. Locks: AccessShareLock on the containers.
 */
Finding *
findings_of_verify(uint64 *n, bool with_views)
{
	List	   *results;
	ListCell   *lc;
	Finding    *findings;
	uint64		all = 0;

	PushActiveSnapshot(GetTransactionSnapshot());
	results = verify_run(with_views);
	PopActiveSnapshot();
	foreach(lc, results)
		all += ((SPITupleTable *) lfirst(lc))->numvals;
	findings = palloc(sizeof(Finding) * Max(all, 1));
	*n = 0;
	foreach(lc, results)
	{
		const SPITupleTable *result = lfirst(lc);

		for (uint64 i = 0; i < result->numvals; i++)
			finding_get(&findings[(*n)++], result->vals[i], result->tupdesc);
	}
	qsort(findings, *n, sizeof(Finding), finding_compare);
	return findings;
}
