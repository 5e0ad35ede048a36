/*
 * plans.h
 *		Prepared statements on the bookkeeping tables.
 */
#ifndef BLOGSTORE_PLANS_H
#define BLOGSTORE_PLANS_H

#include "executor/spi.h"

/* A statement that is prepared at first use and kept. */
typedef struct KeptPlan
{
	const char *sql;
	int			nargs;
	Oid			argtypes[9];
	SPIPlanPtr	plan;
} KeptPlan;

extern int	plan_execute(KeptPlan *plan, Datum *values, const char *nulls,
						 bool read_only);

#endif							/* BLOGSTORE_PLANS_H */
