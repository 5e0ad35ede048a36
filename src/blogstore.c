/*
 * blogstore.c
 *		Module magic and _PG_init, nothing else.
 *
 * Runs in the postmaster when preloaded, else in the first backend that names
 * a function of the extension.
 */
#include "postgres.h"

#include "compat.h"
#include "guard/guard.h"
#include "launch/launch.h"
#include "layout/layout.h"
#include "preload.h"
#include "scan/scan.h"
#include "settings.h"
#include "stats/stats.h"

#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	library_preloaded = true;
	settings_init();
	layout_init();
	guard_init();
	launch_init();
	stats_init();
	scan_init();
}
