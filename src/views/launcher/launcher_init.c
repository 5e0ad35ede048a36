/*
 * launcher_init.c
 *		Registers callbacks, hooks, shared memory and the launcher when the
 *		server loads the library.
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

	/* Workers use slots. During pg_upgrade, no process may do so. */
	if (!IsBinaryUpgrade)
		launcher_register();
}
