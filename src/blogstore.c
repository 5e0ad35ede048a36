/*
 * blogstore.c
 *		The library's entry point: module magic and _PG_init().
 *
 * Runs in the postmaster if the library is preloaded. Otherwise it runs in
 * each session that uses a function of the extension.
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/preload.h"
#include "base/settings.h"
#include "cluster/cluster.h"
#include "requests/custom_scan/custom_scan.h"
#include "requests/request_stats.h"
#include "storage/attached_code/attached_code.h"
#include "storage/layout/layout.h"
#include "views/launcher/launcher.h"

#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	library_preloaded = process_shared_preload_libraries_in_progress;
	cluster_init();
	if (!library_preloaded)
		return;
	settings_init();
	layout_init();
	guard_init();
	launch_init();
	stats_init();
	scan_init();
}
