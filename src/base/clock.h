/*
 * clock.h
 *		Timeouts that tolerate a clock that is set back.
 *
 * If the clock has been set back, a recorded start may be in the future, and a
 * planned moment may be farther ahead than intended. In both cases the timeout
 * counts as expired, so that no process waits for as long as the clock was set
 * back. Runs in any process.
 */
#ifndef BLOGSTORE_CLOCK_H
#define BLOGSTORE_CLOCK_H

#include "utils/timestamp.h"

/*
 * Return whether pause milliseconds have passed since a moment, or it is in
 * the future.
 */
static inline bool
clock_passed(TimestampTz since, TimestampTz now, int pause)
{
	return now < since || TimestampDifferenceExceeds(since, now, pause);
}

/*
 * Return whether a planned moment has come. most: how many milliseconds ahead
 * it was planned, at most. A moment that is farther ahead counts as reached.
 */
static inline bool
clock_reached(TimestampTz moment, TimestampTz now, int most)
{
	return now >= moment || moment - now > most * INT64CONST(1000);
}

#endif							/* BLOGSTORE_CLOCK_H */
