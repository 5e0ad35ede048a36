/*
 * request_stats.h
 *		An enum of all requests, and counters of the cost and the errors of
 *		each request.
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
 * The field time comes from the clock. The fields hit, read and wal come from
 * the server's counters of buffer hits, buffer reads and WAL bytes. While the
 * request is paused, a field holds what the request has used so far. While the
 * request runs, a field holds a value of the clock or counter: the current
 * value minus what the request has used so far.
 */
typedef struct RequestStart
{
	bool		counted;		/* whether the request is counted; if not, only
								 * the field rows is set */
	Request		request;
	int64		rows;			/* number of rows that the request has
								 * returned */
	instr_time	time;
	int64		hit;
	int64		read;
	uint64		wal;
	ErrorContextCallback on_error;	/* counts an error of the request; on the
									 * server's stack of error context
									 * callbacks while the request runs */
	pg_atomic_uint64 *error;	/* counter to which the request's last error
								 * was added; NULL: no error was counted */
} RequestStart;

/* request_stats.c */
extern void stats_init(void);
extern void stats_begin(RequestStart *start, Request request);
extern void stats_add(const RequestStart *spent);
extern void stats_end(RequestStart *start);
extern void stats_forget_error(RequestStart *start);

/*
 * Subtract each of the fields time, hit, read and wal from the current value
 * of its clock or counter. The difference is the field's new value. Called
 * whenever a request is paused or resumed.
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
 * Pause a request: what the process does from now on until stats_resume() is
 * not part of the request's cost and errors. If an error was counted before,
 * the request has caught this error, for example in a trigger. The error is
 * then subtracted from its counter.
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
