/*
 * plans.h
 *		Prepared statements on the bookkeeping tables; others include state.h.
 */
#ifndef BLOGSTORE_PLANS_H
#define BLOGSTORE_PLANS_H

#include "layout/item.h"
#include "state/bookkeeping.h"

#include "executor/spi.h"

/* A statement that is prepared at first use and kept. */
typedef struct KeptPlan
{
	const char *sql;
	int			nargs;
	Oid			argtypes[9];
	SPIPlanPtr	plan;
	bool		looked_at;		/* which tables sql names is known: */
	bool		container[N_CONTAINERS];
	bool		table[N_BOOKKEEPING];
} KeptPlan;

extern void tables_lock_for_import(void);
extern int	plan_execute(KeptPlan *plan, Datum *values, const char *nulls,
						 bool read_only);
extern uint64 plan_run(KeptPlan *plan, Datum *values, const char *nulls,
					   bool read_only);
extern bool row_uuid(HeapTuple row, TupleDesc desc, int column, pg_uuid_t *out);
extern void plan_send(KeptPlan *plan, DestReceiver *dest);

#endif							/* BLOGSTORE_PLANS_H */
