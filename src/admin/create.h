/*
 * create.h
 *		The statements that make the tables, for create.c alone.
 */
#ifndef BLOGSTORE_CREATE_H
#define BLOGSTORE_CREATE_H

#include "layout/item.h"
#include "state/state.h"

typedef struct Statements
{
	int			n;
	const char *const *sql;
} Statements;

extern const Statements create_container_sql[N_CONTAINERS];
extern const Statements create_partition_sql[N_CONTAINERS];
extern const Statements create_bookkeeping_sql[N_BOOKKEEPING];

#endif							/* BLOGSTORE_CREATE_H */
