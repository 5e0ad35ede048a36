/*
 * bookkeeping_tables.h
 *		The bookkeeping tables, small tables that hold blogstore's own state.
 *		Files outside of storage/bookkeeping/ include bookkeeping.h.
 */
#ifndef BLOGSTORE_BOOKKEEPING_TABLES_H
#define BLOGSTORE_BOOKKEEPING_TABLES_H

#include "base/compat.h"
#include "storage/blog_item.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

typedef enum Bookkeeping
{
	BOOK_USERNAMES,
	BOOK_JOBS,
	BOOK_VIEW_STATE,
	BOOK_CHANGE_FEED,
	BOOK_PUBLISH_QUEUE,
	BOOK_UNSENT					/* exists only on a cluster */
} Bookkeeping;

#define N_BOOKKEEPING (BOOK_UNSENT + 1)

#define USERNAMES_SQL BLOGSTORE_SCHEMA ".usernames"
#define JOBS_SQL BLOGSTORE_SCHEMA ".jobs"
#define VIEW_STATE_SQL BLOGSTORE_SCHEMA ".view_state"
#define CHANGE_FEED_SQL BLOGSTORE_SCHEMA ".change_feed"
#define PUBLISH_QUEUE_SQL BLOGSTORE_SCHEMA ".publish_queue"
#define UNSENT_SQL BLOGSTORE_SCHEMA ".unsent"

extern const char *bookkeeping_name(Bookkeeping table);
extern Oid	bookkeeping_lookup(Bookkeeping table);
extern const char *bookkeeping_problem(Bookkeeping table, Oid relid, Oid owner);
extern Oid	bookkeeping_lock(Bookkeeping table, bool write);
extern bool bookkeeping_check(Bookkeeping table);

typedef void (*RowTaker) (Relation rel, TupleTableSlot *row, void *arg);

extern bool bookkeeping_first_row(Bookkeeping table, RowTaker take, void *arg);
extern Datum bookkeeping_value(Relation rel, TupleTableSlot *row,
							   const char *name);

#endif							/* BLOGSTORE_BOOKKEEPING_TABLES_H */
