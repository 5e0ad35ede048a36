/*
 * stats.h
 *		Which requests there are, and what they have cost.
 */
#ifndef BLOGSTORE_STATS_H
#define BLOGSTORE_STATS_H

#include "postgres.h"

#include "executor/instrument.h"
#include "portability/instr_time.h"

/* The requests, in the order of stat_requests. */
typedef enum Request
{
#define COMMAND(constant, code, name) constant,
#define QUERY COMMAND
#include "stats/request_list.h"
#undef COMMAND
#undef QUERY
	N_REQUESTS
} Request;

/*
 * What a request costs: what the counters stood at when it began, or while it
 * pauses, what it has cost so far.
 */
typedef struct RequestStart
{
	bool		counted;
	instr_time	time;
	instr_time	step;			/* when the present step has begun */
	uint32		steps;
	int64		hit;
	int64		read;
	uint64		wal;
} RequestStart;

/* stats.c */
extern void stats_init(void);
extern void stats_begin(RequestStart *start);
extern void stats_pause(RequestStart *start);
extern void stats_add(const RequestStart *spent, Request request);
extern void stats_end(RequestStart *start, Request request);

/*
 * The buffers and WAL since a request began, or was paused: either way each
 * figure is how far it is from the counter, which is what has been spent so far, or
 * what the counter would have stood at, had it begun without a pause.
 */
static inline void
stats_turn(RequestStart *start)
{
	start->hit = pgBufferUsage.shared_blks_hit - start->hit;
	start->read = pgBufferUsage.shared_blks_read - start->read;
	start->wal = pgWalUsage.wal_bytes - start->wal;
}

/*
 * A request that pauses is about to give one row. A look at the clock costs a
 * twentieth of what a row does, so the clock is looked at for each eighth row, whose
 * time counts eight times.
 */
#define STEPS_PER_LOOK 8

static inline void
stats_step_begin(RequestStart *start)
{
	if (!start->counted)
		return;
	stats_turn(start);
	if (++start->steps % STEPS_PER_LOOK == 0)
		INSTR_TIME_SET_CURRENT(start->step);
}

/* It has given it, and pauses again. */
static inline void
stats_step_end(RequestStart *start)
{
	instr_time	time;

	if (!start->counted)
		return;
	stats_turn(start);
	if (start->steps % STEPS_PER_LOOK != 0)
		return;
	INSTR_TIME_SET_CURRENT(time);
	for (int i = 0; i < STEPS_PER_LOOK; i++)
		INSTR_TIME_ACCUM_DIFF(start->time, time, start->step);
}

#endif							/* BLOGSTORE_STATS_H */
