/*
 * wait_events.h
 *		The places at which processes of blogstore sleep, for the column
 *		wait_event of pg_stat_activity.
 */
#ifndef BLOGSTORE_WAIT_EVENTS_H
#define BLOGSTORE_WAIT_EVENTS_H

typedef enum WaitPlace
{
	WAIT_LAUNCHER_MAIN,			/* the launcher, when it has nothing to do */
	WAIT_WORKER_MAIN,			/* the worker, between two rounds of its main
								 * loop */
	WAIT_WORKER_PAUSE,			/* the worker, on a busy site, while it gathers
								 * several commits to apply together */
	WAIT_WORKER_TABLES,			/* the worker, between two checks for missing
								 * or damaged tables */
	WAIT_WORKER_SLOT,			/* the worker, until the WAL is flushed that it
								 * needs to create its slot */
	WAIT_WORKER_END,			/* a backend, until the worker has ended */
	WAIT_FOR_VIEWS,				/* a backend, in wait_for_views() or
								 * wait_for_posts() */
	WAIT_VERIFY					/* a backend, in verify(), for the worker */
} WaitPlace;

extern uint32 wait_event(WaitPlace place);

#endif							/* BLOGSTORE_WAIT_EVENTS_H */
