/*
 * hooks.c
 *		What launch/ is asked about the worker, and told, by rooms below it: nothing,
 *		until launch/ has set the hooks.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "hooks.h"

#include "access/transam.h"

static void
hook_nothing(void)
{
}

static TransactionId
hook_no_views(void)
{
	return InvalidTransactionId;
}

static bool
hook_no_user_deletions(uint64 *stamp)
{
	*stamp = 0;
	return true;
}

static const char *
hook_no_obstacle(const char **hint)
{
	*hint = NULL;
	return NULL;
}

WorkerHooks worker_hooks = {
	hook_nothing, hook_nothing, hook_nothing, hook_no_views, hook_nothing,
	hook_no_user_deletions, hook_no_obstacle
};
