/*
 * launcher_init.c
 *		Registration of callbacks, hooks, shared memory and the launcher when
 *		the library is loaded.
 *
 * Runs in the postmaster.
 */
#include "postgres.h"

#include "views/launcher/worker_entries.h"

#include "miscadmin.h"

void
launch_init(void)
{
	transaction_callbacks_init();
	shared_init();
	ddl_hook_init();

	/* during pg_upgrade no process may create or acquire slots */
	if (!IsBinaryUpgrade)
		launcher_register();
}
