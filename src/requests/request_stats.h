/*
 * request_stats.h
 *		An enum of all requests, and counters of what each request costs and of
 *		its errors.
 */
#ifndef BLOGSTORE_REQUEST_STATS_H
#define BLOGSTORE_REQUEST_STATS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "port/atomics.h"
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
 * While the request runs, the members time, hit, read and wal hold the values
 * at its start: of the clock, of the counters of buffer hits and reads, and of
 * the counter of WAL bytes. While the request is paused, they hold what it has
 * spent so far.
 */
typedef struct RequestStart
{
	bool		counted;		/* whether the request is counted. If not, only
								 * "rows" is set, too */
	Request		request;
	int64		rows;			/* rows that the request has returned */
	instr_time	time;
	int64		hit;
	int64		read;
	uint64		wal;
	ErrorContextCallback on_error;	/* counts an error of the request; on the
									 * server's stack of callbacks while the
									 * request runs */
	pg_atomic_uint64 *error;	/* counter to which the request's last error
								 * was added; NULL before an error */
} RequestStart;

/* request_stats.c */
extern void stats_init(void);
extern void stats_begin(RequestStart *start, Request request);
extern void stats_add(const RequestStart *spent);
extern void stats_end(RequestStart *start);
extern void stats_forget_error(RequestStart *start);

/*
 * Replace each of the members time, hit, read and wal by the difference
 * between the current value of the clock or counter and the member. This
 * converts the values of a running request to those of a paused one, and also
 * the other way round.
 */
static inline void
stats_turn(RequestStart *start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start->time);
	start->time = now;
	start->hit = pgBufferUsage.shared_blks_hit - start->hit;
	start->read = pgBufferUsage.shared_blks_read - start->read;
	start->wal = pgWalUsage.wal_bytes - start->wal;
}

/*
 * Pause a request. Its cost does not include what the process does from now on
 * until stats_resume(), and its errors do not include those raised in that
 * time. An error that was raised before has been caught in the request, by a
 * trigger for example, and is no longer counted.
 */
static inline void
stats_pause(RequestStart *start)
{
	if (!start->counted)
		return;
	stats_turn(start);
	error_context_stack = start->on_error.previous;
	if (unlikely(start->error != NULL))
		stats_forget_error(start);
}

static inline void
stats_resume(RequestStart *start)
{
	if (!start->counted)
		return;
	start->on_error.previous = error_context_stack;
	error_context_stack = &start->on_error;
	stats_turn(start);
}

#endif							/* BLOGSTORE_REQUEST_STATS_H */
