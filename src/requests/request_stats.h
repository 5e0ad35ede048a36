/*
 * request_stats.h
 *		An enum of all requests, and counters of what each request costs.
 */
#ifndef BLOGSTORE_REQUEST_STATS_H
#define BLOGSTORE_REQUEST_STATS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "portability/instr_time.h"

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
 * Measures the cost of one request.
 *
 * While the request runs, the members hold the values at its start: of the
 * clock, of the counters of buffer hits and reads, and of the counter of WAL
 * bytes. While the request is paused, they hold what it has spent so far.
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

/*
 * Replace each member by the difference between the current value of the clock
 * or counter and the member. This converts the values of a running request to
 * those of a paused one, and also the other way round.
 */
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

/*
 * Pause a request. Its cost does not include what the process does from now on
 * until stats_resume().
 */
static inline void
stats_pause(RequestStart *start)
{
	stats_turn(start);
}

static inline void
stats_resume(RequestStart *start)
{
	stats_turn(start);
}

#endif							/* BLOGSTORE_REQUEST_STATS_H */
