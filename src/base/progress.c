/*
 * progress.c
 *		NOTICEs by which long calls tell their client how far they are.
 *
 * A call names each of its steps, and counts the rows of the step. The first
 * NOTICE is sent when the client's statement has run for PROGRESS_PAUSE. Later
 * NOTICEs follow at intervals of PROGRESS_PAUSE.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/clock.h"
#include "base/progress.h"

#include "access/xact.h"

/* Time before the first NOTICE of a statement, and between NOTICEs, in ms. */
#define PROGRESS_PAUSE 10000

static char current[200];		/* the step, for example "blogstore.import():
								 * writing 1000 posts" */
static int64 done = 0;			/* rows of this step so far */

static void
tell(void)
{
	static TimestampTz statement = 0;
	static TimestampTz told_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (statement != GetCurrentStatementStartTimestamp())
		told_at = statement = GetCurrentStatementStartTimestamp();
	if (!clock_passed(told_at, now, PROGRESS_PAUSE))
		return;
	told_at = now;
	ereport(NOTICE,
			(errmsg("%s: %lld rows so far", current, (long long) done)));
}

/* Begin a step. "step" is its name in NOTICEs. */
void
progress_begin(const char *step)
{
	strlcpy(current, step, sizeof(current));
	done = 0;
	tell();
}

void
progress_add(int64 rows)
{
	done += rows;
	tell();
}
