/*
 * request_stats.h
 *		Which requests there are, and what they have cost.
 */
#ifndef BLOGSTORE_REQUEST_STATS_H
#define BLOGSTORE_REQUEST_STATS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "portability/instr_time.h"

/* The requests, in the order of stat_requests. */
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
 * What a request costs. While it runs: what the clock and the server's counters stood at
 * when it began, had it not paused since. While it pauses: what it has spent so far.
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

/* Turn what the clock and the counters stood at into what was spent since, or back. */
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

/* Pause a request that runs: until it goes on, nothing counts as its cost. */
static inline void
stats_pause(RequestStart *start)
{
	stats_turn(start);
}

/* Go on with a request that pauses. */
static inline void
stats_resume(RequestStart *start)
{
	stats_turn(start);
}

#endif							/* BLOGSTORE_REQUEST_STATS_H */
