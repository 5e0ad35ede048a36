/*
 * worker_hooks.c
 *		The pointers to functions of views/launcher/ that files in lower
 *		folders call.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/worker_hooks.h"

WorkerHooks worker_hooks;
