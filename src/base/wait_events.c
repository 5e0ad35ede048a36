/*
 * wait_events.c
 *		The names of the wait events. docs/REFERENCE.md lists them.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/wait_events.h"

static const char *const event_name[] = {
	[WAIT_LAUNCHER_MAIN] = "BlogstoreLauncherMain",
	[WAIT_WORKER_MAIN] = "BlogstoreWorkerMain",
	[WAIT_WORKER_PAUSE] = "BlogstoreWorkerPause",
	[WAIT_WORKER_TABLES] = "BlogstoreWorkerTables",
	[WAIT_WORKER_SLOT] = "BlogstoreWorkerSlot",
	[WAIT_WORKER_END] = "BlogstoreWorkerEnd",
	[WAIT_FOR_VIEWS] = "BlogstoreViews",
	[WAIT_VERIFY] = "BlogstoreVerify"
};

/*
 * Return the wait event of a place, for WaitLatch() and condition variables.
 * The server gives each name a number, which all processes share. This process
 * looks up each number only once.
 */
uint32
wait_event(WaitPlace place)
{
	static uint32 event[lengthof(event_name)];

	if (event[place] == 0)
		event[place] = compat_wait_event(event_name[place]);
	return event[place];
}
