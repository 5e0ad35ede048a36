/*
 * bookkeeping.h
 *		The small tables beside the containers; others include state.h.
 */
#ifndef BLOGSTORE_BOOKKEEPING_H
#define BLOGSTORE_BOOKKEEPING_H

#include "compat.h"

typedef enum Bookkeeping
{
	BOOK_USERNAMES,
	BOOK_JOBS,
	BOOK_VIEW_STATE,
	BOOK_CHANGE_FEED
} Bookkeeping;

#define N_BOOKKEEPING (BOOK_CHANGE_FEED + 1)

extern const char *bookkeeping_name(Bookkeeping table);
extern Oid	bookkeeping_lookup(Bookkeeping table);
extern const char *bookkeeping_problem(Bookkeeping table, Oid relid, Oid owner);
extern Oid	bookkeeping_lock(Bookkeeping table);

#endif							/* BLOGSTORE_BOOKKEEPING_H */
