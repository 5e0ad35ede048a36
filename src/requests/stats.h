/*
 * stats.h
 *		Set-up of what counts requests, for _PG_init.
 */
#ifndef BLOGSTORE_STATS_H
#define BLOGSTORE_STATS_H

extern void stats_init(void);

#endif							/* BLOGSTORE_STATS_H */
