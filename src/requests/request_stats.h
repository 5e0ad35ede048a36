/*
 * request_stats.h
 *		All requests as an enum, and functions that count the cost and the
 *		errors of each request.
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
 * The cost of one request.
 *
 * The fields time, hit (buffer hits), read (buffer reads) and wal (bytes) have
 * two meanings. While the request is paused, they hold what the request has
 * used so far. While the request runs, they hold start values. What the
 * request has used is then the current value of the clock or of the server's
 * counter, minus the start value.
 */
typedef struct RequestStart
{
	bool		counted;		/* whether the statistics count the request; if
								 * not, only the field rows is set */
	Request		request;
	int64		rows;			/* number of rows that the request has
								 * returned */
	instr_time	time;
	int64		hit;
	int64		read;
	uint64		wal;
	ErrorContextCallback on_error;	/* error context callback that counts the
									 * request's errors; in effect while the
									 * request runs */
	pg_atomic_uint64 *error;	/* the counter that the request's last error
								 * has incremented; NULL: no error was
								 * counted */
} RequestStart;

/* request_stats.c */
extern void stats_init(void);
extern void stats_begin(RequestStart *start, Request request);
extern void stats_add(const RequestStart *spent);
extern void stats_end(RequestStart *start);
extern void stats_forget_error(RequestStart *start);

/*
 * Called when a request is paused or resumed. Turns the fields time, hit, read
 * and wal from start values into what the request has used, or back (see
 * struct RequestStart).
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
 * Pause a request. Until stats_resume(), neither cost nor errors are counted.
 *
 * If an error was counted, the request has caught it, for example in a
 * trigger: after an error that ends the request, this function is not called.
 * Caught errors do not count, so the error is subtracted from its counter.
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
