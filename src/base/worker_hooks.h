/*
 * worker_hooks.h
 *		What views/launcher/ is asked about the worker, and told, by folders below it.
 */
#ifndef BLOGSTORE_WORKER_HOOKS_H
#define BLOGSTORE_WORKER_HOOKS_H

/*
 * Set at load (views/launcher/transaction_callbacks.c), so that nobody below
 * views/launcher/ has to call upward.
 */
typedef struct WorkerHooks
{
	/* this process has met containers: is there a worker for them? */
	void		(*containers_found) (void);
	/* this transaction has made containers: start a worker on commit */
	void		(*containers_created) (void);
	/*
	 * this transaction has written items, among them posts or counts: wake the worker when it
	 * commits
	 */
	void		(*item_written) (bool posts);
	/* does a worker keep the views up to date right now? For snapshots that see this
	 * transaction; invalid: no */
	TransactionId (*views_served) (void);
	/* this transaction changes which users are being deleted */
	void		(*user_deletions_changing) (void);
	/* how often such changes were made; false while one is being committed */
	bool		(*user_deletions) (uint64 *stamp);
} WorkerHooks;

extern WorkerHooks worker_hooks;

#endif							/* BLOGSTORE_WORKER_HOOKS_H */
