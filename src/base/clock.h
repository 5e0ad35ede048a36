/*
 * clock.h
 *		Functions for timeouts and for elapsed time, and a limit on the rate of
 *		log messages.
 *
 * If an administrator set the clock back during a wait, the wait could last
 * longer than its timeout. If the functions in this file notice such a change
 * of the clock, they treat the timeout as expired. Runs in any process.
 */
#ifndef BLOGSTORE_CLOCK_H
#define BLOGSTORE_CLOCK_H

#include "base/compat.h"

#include "utils/timestamp.h"

/*
 * Return whether "pause" milliseconds have passed since the time "since". Also
 * returns true if "since" lies in the future, because the clock was set back.
 */
static inline bool
clock_passed(TimestampTz since, TimestampTz now, int pause)
{
	return now < since || TimestampDifferenceExceeds(since, now, pause);
}

/*
 * Return whether the time "moment" has come. The caller has set "moment" to a
 * time at most "most" milliseconds ahead of the clock. If "moment" is farther
 * ahead now, the clock was set back, and the result is true.
 */
static inline bool
clock_reached(TimestampTz moment, TimestampTz now, int most)
{
	return now >= moment || moment - now > most * INT64CONST(1000);
}

/*
 * Return the time in ms since a fixed moment before the server started. The
 * result does not depend on the system clock. All processes of the server use
 * the same moment.
 */
static inline int64
clock_elapsed(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return compat_nanoseconds(now) / 1000000;
}

/* The most messages of one kind that a process logs in a minute. */
#define LOG_RATE 20

/* How many messages of one kind a process has logged in the current minute. */
typedef struct LogRate
{
	int64		since;			/* when the minute began (clock_elapsed()) */
	int			messages;
} LogRate;

static inline bool
log_rate_allows(LogRate *rate)
{
	int64		now = clock_elapsed();

	if (rate->messages == 0 || now - rate->since >= 60000)
	{
		rate->since = now;
		rate->messages = 0;
	}
	if (rate->messages >= LOG_RATE)
		return false;
	rate->messages++;
	return true;
}

#endif							/* BLOGSTORE_CLOCK_H */
