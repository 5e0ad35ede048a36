/*
 * all_queries.c
 *		The array request_queries[], which has a RequestQuery for each query.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request_helpers.h"

#define COMMAND(constant, code, name)
#define QUERY(constant, code, name) &query_##name,
const RequestQuery *const request_queries[] = {
#include "requests/request_list.h"
};
#undef COMMAND
#undef QUERY
