/*
 * clock.h
 *		Functions for timeouts and for elapsed time, and a limit on the rate of
 *		log messages.
 *
 * After an administrator has set the clock back, a recorded start time may lie
 * in the future. The time that remains of a timeout may then be longer than
 * the timeout. The functions in this file treat such a timeout as expired.
 * Otherwise, after the clock was set back by an hour, a process could wait an
 * hour longer. Runs in any process.
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
 * Return whether the time "moment" has come. When the caller set it, "moment"
 * was at most "most" milliseconds ahead. If it is farther ahead now, the clock
 * was set back, and the result is true.
 */
static inline bool
clock_reached(TimestampTz moment, TimestampTz now, int most)
{
	return now >= moment || moment - now > most * INT64CONST(1000);
}

/*
 * Return the ms since some moment before the server started. The result does
 * not depend on the system clock, and can be compared with results in other
 * processes of the server.
 */
static inline int64
clock_elapsed(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return compat_nanoseconds(now) / 1000000;
}

/* Number of messages that one LogRate lets through in a minute. */
#define LOG_RATE 20

/* How many messages of one kind a process has logged in the current minute. */
typedef struct LogRate
{
	int64		since;			/* when the minute began (clock_elapsed()) */
	int			messages;
} LogRate;

/* Return whether a message may be logged, and count it. */
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
