/*
 * blogstore.c
 *		Module magic and _PG_init, nothing else.
 *
 * Runs in the postmaster when preloaded, else in the first backend that calls
 * a function of the extension.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/guard.h"
#include "launch/launch.h"
#include "layout/layout.h"
#include "members/members.h"
#include "scan/scan.h"
#include "settings.h"
#include "state/state.h"
#include "stats/stats.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	settings_init();
	layout_init();
	guard_init();
	launch_init();
	stats_init();
	scan_init();
}
