/*
 * worker_hooks.c
 *		Functions of views/launcher/ that lower folders call.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/worker_hooks.h"

WorkerHooks worker_hooks;
