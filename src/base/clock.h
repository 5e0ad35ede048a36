/*
 * clock.h
 *		Checks of timeouts that still expire if the system clock is set back.
 *
 * If an administrator sets the clock back, a start time that was recorded
 * before may lie in the future, and a planned time may lie farther ahead than
 * it was planned. The functions here treat such a timeout as expired.
 * Otherwise a process would wait for as long as the clock was set back. Runs
 * in any process.
 */
#ifndef BLOGSTORE_CLOCK_H
#define BLOGSTORE_CLOCK_H

#include "utils/timestamp.h"

/*
 * Return whether pause milliseconds have passed since a recorded time. A
 * recorded time in the future counts as passed: the clock was set back.
 */
static inline bool
clock_passed(TimestampTz since, TimestampTz now, int pause)
{
	return now < since || TimestampDifferenceExceeds(since, now, pause);
}

/*
 * Return whether a planned time has come. most: how many milliseconds ahead it
 * was planned, at most. A time farther ahead than that counts as reached: the
 * clock was set back.
 */
static inline bool
clock_reached(TimestampTz moment, TimestampTz now, int most)
{
	return now >= moment || moment - now > most * INT64CONST(1000);
}

#endif							/* BLOGSTORE_CLOCK_H */
