/*
 * worker_hooks.c
 *		Function pointers through which storage/ and model/ call functions of
 *		views/launcher/, a higher layer.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/worker_hooks.h"

WorkerHooks worker_hooks;
