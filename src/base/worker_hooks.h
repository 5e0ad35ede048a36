/*
 * worker_hooks.h
 *		Functions of views/launcher/ that lower folders call, to notify the
 *		worker or to ask about it.
 */
#ifndef BLOGSTORE_WORKER_HOOKS_H
#define BLOGSTORE_WORKER_HOOKS_H

/*
 * Set at load by views/launcher/transaction_callbacks.c, because lower folders
 * must not call higher ones directly.
 */
typedef struct WorkerHooks
{
	/*
	 * this process has found containers: if they have no worker, request one
	 */
	void		(*containers_found) (void);
	/*
	 * this transaction has created containers: start a worker when it commits
	 */
	void		(*containers_created) (void);
	/*
	 * This transaction has written items: wake the worker when it commits.
	 * posts: posts or counts are among them.
	 */
	void		(*item_written) (bool posts);
	/*
	 * Return the transaction id since which a worker has maintained the views,
	 * for snapshots that show that transaction; invalid: no worker does.
	 */
	TransactionId (*views_served) (void);
	/* this transaction changes which users are being deleted */
	void		(*user_deletions_changing) (void);
	/* set *stamp to the number of such changes; false while one commits */
	bool		(*user_deletions) (uint64 *stamp);
} WorkerHooks;

extern WorkerHooks worker_hooks;

#endif							/* BLOGSTORE_WORKER_HOOKS_H */
