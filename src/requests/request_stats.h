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
 * The clock measures the field time. The server's counters of buffer hits,
 * buffer reads and WAL bytes measure the fields hit, read and wal. While the
 * request is paused, each of these fields holds what the request has used so
 * far. While the request runs, each of these fields holds a start value. This
 * is what the clock or counter showed when the request began or was last
 * resumed, minus what the request had used before.
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
 * Turn the fields time, hit, read and wal from start values into what the
 * request has used, or back (struct RequestStart). Called when a request is
 * paused or resumed.
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
 * An error that ends the request skips this function. So if an error was
 * counted, the request has caught that error, for example in a trigger. A
 * caught error is subtracted from its counter again.
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
