/*
 * request_stats.h
 *		The list of requests, and counting their cost.
 */
#ifndef BLOGSTORE_REQUEST_STATS_H
#define BLOGSTORE_REQUEST_STATS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "portability/instr_time.h"

/* All requests, in the order of the view stat_requests. */
typedef enum Request
{
#define COMMAND(constant, code, name) constant,
#define QUERY COMMAND
#include "requests/request_list.h"
#undef COMMAND
#undef QUERY
	N_REQUESTS
} Request;

/*
 * The cost of one request. While the request runs, the members hold the clock
 * and the server's counters at its start, moved forward by what passed during
 * pauses. While it pauses, they hold what it has spent so far.
 */
typedef struct RequestStart
{
	bool		counted;
	instr_time	time;
	int64		hit;
	int64		read;
	uint64		wal;
} RequestStart;

/* request_stats.c */
extern void stats_init(void);
extern void stats_begin(RequestStart *start);
extern void stats_add(const RequestStart *spent, Request request);
extern void stats_end(RequestStart *start, Request request);

/* Convert a start into what was spent since, or back. */
static inline void
stats_turn(RequestStart *start)
{
	instr_time	now;

	if (!start->counted)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start->time);
	start->time = now;
	start->hit = pgBufferUsage.shared_blks_hit - start->hit;
	start->read = pgBufferUsage.shared_blks_read - start->read;
	start->wal = pgWalUsage.wal_bytes - start->wal;
}

/* Pause a running request. Nothing is counted as its cost until it resumes. */
static inline void
stats_pause(RequestStart *start)
{
	stats_turn(start);
}

/* Resume a paused request. */
static inline void
stats_resume(RequestStart *start)
{
	stats_turn(start);
}

#endif							/* BLOGSTORE_REQUEST_STATS_H */
