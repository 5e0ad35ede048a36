/*
 * clock.h
 *		Checks of timeouts that still expire if the system clock is set back.
 *
 * After an administrator has set the clock back, a recorded start time may lie
 * in the future, and the time that remains of a timeout may be longer than the
 * timeout itself. The functions in this file treat such a timeout as expired.
 * Otherwise a process would wait for as long as the clock was set back. Runs
 * in any process.
 */
#ifndef BLOGSTORE_CLOCK_H
#define BLOGSTORE_CLOCK_H

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

#endif							/* BLOGSTORE_CLOCK_H */
