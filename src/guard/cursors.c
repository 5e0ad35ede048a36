/*
 * cursors.c
 *		Cursors that the session has opened before the guard (attached.c) was
 *		entered: what runs in the guard must neither read nor close them.
 *
 * Their queries are the caller's, and would run as the owner of the containers;
 * their names are anybody's guess. And a cursor in the place of one that was
 * closed would run what the owner wrote as the session's role, which goes on
 * fetching. The cursor whose query calls the request is active, and the server
 * refuses both by itself.
 *
 * SQL's commands are seen by their names, PL/pgSQL's by its plugin
 * (attached_types.c), whoever else fetches when the query runs.
 *
 * Runs in any process that writes items.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/inside.h"

#include "executor/executor.h"
#include "nodes/memnodes.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/portal.h"

static ExecutorRun_hook_type previous_run_hook = NULL;

/* The parent of all cursors' memory. */
static MemoryContext all_cursors = NULL;

/* The cursor, or plain statement, in which the outermost guard was entered. */
static Portal around = NULL;

/*
 * The memory of the cursor that was the newest when the outermost guard was entered;
 * NULL: there was none. The server keeps what is new in front
 * (MemoryContextCreate()), so that older ones follow it.
 */
static MemoryContext newest_before = NULL;

static MemoryContext
find_all_cursors(void)
{
	MemoryContext context = TopMemoryContext->firstchild;

	while (context != NULL && strcmp(context->name, "TopPortalContext") != 0)
		context = context->nextchild;
	if (context == NULL)
		elog(ERROR, "no memory context of cursors");
	return context;
}

/* The outermost guard is entered. */
void
cursors_begin(void)
{
	if (all_cursors == NULL)
		all_cursors = find_all_cursors();
	around = ActivePortal;
	newest_before = all_cursors->firstchild;
}

/*
 * Was a cursor there when the outermost guard was entered? If that cannot be told any
 * more, it was.
 */
static bool
is_sessions(Portal portal)
{
	MemoryContext context = portal->portalContext;

	if (newest_before == NULL)
		return false;
	if (context != newest_before)
		for (context = context->nextchild; context != NULL;
			 context = context->nextchild)
			if (context == newest_before)
				return false;
	return true;
}

static void
check_portal(Portal portal)
{
	if (is_sessions(portal))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cursor \"%s\" must not be used by what is attached to blogstore's tables",
						portal->name),
				 errdetail("It was opened before the request, and not by what is attached."),
				 errhint("Close it before calls of blogstore, or open a cursor in the function that fetches from it.")));
}

/* A cursor is named, to be read or closed. Errors: 42501. */
void
cursors_check(const char *name)
{
	Portal		portal;

	if (guard_innermost == NULL || name == NULL)
		return;
	portal = GetPortalByName(name);
	if (PortalIsValid(portal))
		check_portal(portal);
}

/*
 * Something is about to run. Errors: 42501 if it is for a cursor that was there when
 * the outermost guard was entered.
 */
void
cursors_check_active(void)
{
	if (guard_innermost != NULL && ActivePortal != around && ActivePortal != NULL)
		check_portal(ActivePortal);
}

/* A query that was started, perhaps before the guard was entered, goes on. */
static void
query_runs(COMPAT_EXECUTOR_RUN_PARAMETERS)
{
	cursors_check_active();
	if (previous_run_hook != NULL)
		previous_run_hook(COMPAT_EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(COMPAT_EXECUTOR_RUN_ARGUMENTS);
}

/* Install the hook; called once by _PG_init. */
void
cursors_init(void)
{
	previous_run_hook = ExecutorRun_hook;
	ExecutorRun_hook = query_runs;
}
