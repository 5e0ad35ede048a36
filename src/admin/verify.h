/*
 * verify.h
 *		verify(): what its files share, and what it finds, for repair().
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "storage/bookkeeping/bookkeeping.h"

/* Columns of the result; the first eight are those of verify(). */
typedef enum FindingColumn
{
	FINDING_CONTAINER = 1,
	FINDING_PROBLEM,
	FINDING_TYPE,
	FINDING_ID,
	FINDING_POST_ID,
	FINDING_USER_ID,
	FINDING_EXPECTED,
	FINDING_ACTUAL,
	FINDING_CREATION_DATE
} FindingColumn;

#define N_VERIFY_COLUMNS FINDING_ACTUAL

/* A delta that says nothing may be left of a post that is gone. */
#define COUNTS_SQL \
	"(comment_count IS DISTINCT FROM 0 OR like_count IS DISTINCT FROM 0)"

/* What lies on a post. */
#define ON_POST_SQL \
	"(type IN ('comment', 'like') OR type = 'delta' AND " COUNTS_SQL ")"

/*
 * What the statement reads, as parts of it in SQL. The parts may refer to $6, which is argument.
 */
typedef struct VerifySource
{
	const char *users;			/* a table with the users' items */
	/*
	 * A CTE, called tally: of each post its post_id, what its deltas add (comment_delta,
	 * like_delta), the comments and likes that it has, 0 or NULL where there are none, and
	 * whether something on it has to be looked at (odd). It may join account.
	 */
	const char *tally;
	const char *feed;			/* the rows of each feed, with the number of its node */
	const char *nodes;			/* the numbers of the nodes that have one */
	int			tables;			/* that the statement names, as in KeptPlan */
	Datum		argument;		/* a jsonb */
} VerifySource;

/* verify_tally.c */
extern const char verify_tally_sql[];

/* verify.c */
extern SPITupleTable *verify_run(uint64 *n, bool with_views);

#endif							/* BLOGSTORE_VERIFY_H */
