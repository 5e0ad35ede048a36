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
	WAIT_WORKER_PAUSE,			/* the worker, in a pause on a busy site, to
								 * apply several commits together */
	WAIT_WORKER_TABLES,			/* the worker, until its tables exist and are
								 * not damaged */
	WAIT_WORKER_SLOT,			/* the worker, creating its slot, until the
								 * WAL that it has to read is flushed */
	WAIT_WORKER_END,			/* a backend, until the worker has ended */
	WAIT_FOR_VIEWS,				/* a backend, in wait_for_views() or
								 * wait_for_posts() */
	WAIT_VERIFY					/* a backend, in verify(), for the worker */
} WaitPlace;

extern uint32 wait_event(WaitPlace place);

#endif							/* BLOGSTORE_WAIT_EVENTS_H */
