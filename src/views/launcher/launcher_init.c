/*
 * launcher_init.c
 *		What views/launcher/ registers with the server when the library is loaded.
 *
 * Runs in the postmaster.
 */
#include "postgres.h"

#include "views/launcher/worker_entries.h"

#include "miscadmin.h"

/* Register callbacks, shared memory, hooks and the launcher; once by _PG_init. */
void
launch_init(void)
{
	transaction_callbacks_init();
	shared_init();
	ddl_hook_init();

	/* pg_upgrade moves slots, and wants no one to hold or make them */
	if (!IsBinaryUpgrade)
		launcher_register();
}
