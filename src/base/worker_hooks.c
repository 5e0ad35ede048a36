/*
 * worker_hooks.c
 *		The function pointers through which files in storage/ and model/ call
 *		views/launcher/.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/worker_hooks.h"

WorkerHooks worker_hooks;
