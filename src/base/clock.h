/*
 * clock.h
 *		Pauses, by a clock that may be set back.
 *
 * A moment that was noted may lie in the future once the clock has been set back, and
 * one that is waited for much farther ahead than it was. Neither makes a pause as long
 * as the clock was set back by: it is over at once then. Any process.
 */
#ifndef BLOGSTORE_CLOCK_H
#define BLOGSTORE_CLOCK_H

#include "utils/timestamp.h"

/* Has a pause of so many milliseconds passed that began then? */
static inline bool
clock_passed(TimestampTz since, TimestampTz now, int pause)
{
	return now < since || TimestampDifferenceExceeds(since, now, pause);
}

/* Has a moment come that was set no more than so many milliseconds ahead? */
static inline bool
clock_reached(TimestampTz moment, TimestampTz now, int most)
{
	return now >= moment || moment - now > most * INT64CONST(1000);
}

#endif							/* BLOGSTORE_CLOCK_H */
