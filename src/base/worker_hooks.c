/*
 * worker_hooks.c
 *		What views/launcher/ is asked about the worker, and told, by folders below it.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/worker_hooks.h"

WorkerHooks worker_hooks;
