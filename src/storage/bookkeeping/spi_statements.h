/*
 * spi_statements.h
 *		Prepared statements on the bookkeeping tables and the containers. Files
 *		outside of storage/bookkeeping/ include bookkeeping.h.
 */
#ifndef BLOGSTORE_SPI_STATEMENTS_H
#define BLOGSTORE_SPI_STATEMENTS_H

#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping_tables.h"

#include "executor/spi.h"

#define ON_CONTAINER(container) (1 << (container))
#define ON_BOOKKEEPING(table) (1 << (N_CONTAINERS + (table)))

#define ON_USERS ON_CONTAINER(CONTAINER_USERS)
#define ON_POSTS ON_CONTAINER(CONTAINER_POSTS)
#define ON_FEED ON_CONTAINER(CONTAINER_FEED)
#define ON_TOPICS ON_CONTAINER(CONTAINER_TOPICS)
#define ON_USERNAMES ON_BOOKKEEPING(BOOK_USERNAMES)
#define ON_JOBS ON_BOOKKEEPING(BOOK_JOBS)
#define ON_VIEW_STATE ON_BOOKKEEPING(BOOK_VIEW_STATE)
#define ON_CHANGE_FEED ON_BOOKKEEPING(BOOK_CHANGE_FEED)
#define ON_PUBLISH_QUEUE ON_BOOKKEEPING(BOOK_PUBLISH_QUEUE)
#define ON_UNSENT ON_BOOKKEEPING(BOOK_UNSENT)

/*
 * An SQL statement on tables of blogstore. The first execution prepares the
 * statement and keeps its plan for the session. Functions whose names end in
 * "once" do not keep the plan.
 */
typedef struct KeptPlan
{
	/*
	 * A bit mask of the tables that the statement names, from ON_CONTAINER()
	 * and ON_BOOKKEEPING(). These tables are locked and checked before the
	 * statement runs.
	 */
	int			tables;
	const char *sql;
	int			nargs;
	Oid			argtypes[9];
	SPIPlanPtr	plan;
} KeptPlan;

extern void tables_lock_for_import(void);
extern int	plan_execute(KeptPlan *plan, Datum *values, const char *nulls,
						 bool read_only);
extern void plan_execute_once(KeptPlan *plan, Datum *values, bool read_only);
extern uint64 plan_run(KeptPlan *plan, Datum *values, const char *nulls,
					   bool read_only);
extern bool row_uuid(HeapTuple row, TupleDesc desc, int column, pg_uuid_t *out);
extern void plan_send(KeptPlan *plan, DestReceiver *dest);
extern void plan_send_once(KeptPlan *plan, DestReceiver *dest);

#endif							/* BLOGSTORE_SPI_STATEMENTS_H */
