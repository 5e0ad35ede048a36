/*
 * verify.h
 *		What verify() finds, for repair().
 */
#ifndef BLOGSTORE_VERIFY_H
#define BLOGSTORE_VERIFY_H

#include "state/state.h"

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

extern void run_once(KeptPlan *plan, Datum *values, bool read_only);
extern SPITupleTable *verify_run(uint64 *n, bool with_views);

#endif							/* BLOGSTORE_VERIFY_H */
