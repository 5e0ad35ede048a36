/*
 * hooks.c
 *		What launch/ is asked about the worker, and told, by rooms below it.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "hooks.h"

WorkerHooks worker_hooks;
