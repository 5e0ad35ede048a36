/*
 * worker_hooks.h
 *		Functions by which a process tells the worker about its transaction,
 *		or asks about the worker.
 *
 * The worker is a background process of each database that maintains the
 * views: the copies of posts in the table users, and the table feed.
 * views/launcher/ starts and wakes the worker. Files in storage/ and model/
 * must not include headers of views/launcher/, so they call its functions
 * through the struct WorkerHooks.
 */
#ifndef BLOGSTORE_WORKER_HOOKS_H
#define BLOGSTORE_WORKER_HOOKS_H

/*
 * Functions of views/launcher/transaction_callbacks.c. That file sets these
 * pointers when the library is loaded.
 */
typedef struct WorkerHooks
{
	/*
	 * Called when this process has found blogstore's tables in its database.
	 * Requests a worker if the database has none.
	 */
	void		(*containers_found) (void);
	/*
	 * Called when the current transaction has created blogstore's tables. When
	 * the transaction commits, a worker is started.
	 */
	void		(*containers_created) (void);
	/*
	 * Called when the current transaction has written items. When the
	 * transaction commits, the worker is woken. "posts" is true if the items
	 * are posts or deltas.
	 */
	void		(*item_written) (bool posts);
	/*
	 * Queries may read the views after the worker has allowed that by a
	 * transaction. Return the id of this transaction. A query may read the
	 * views only if its snapshot sees the transaction as committed. Returns
	 * InvalidTransactionId if no query may read the views.
	 */
	TransactionId (*views_served) (void);
	/*
	 * Called when the current transaction begins or ends the deletion of a
	 * user. The deletion of one user takes several transactions.
	 */
	void		(*user_deletions_changing) (void);
	/*
	 * Set *stamp to a number that grows whenever a transaction commits that
	 * has begun or ended the deletion of a user. A caller with a cached list
	 * of users being deleted must then read the list again. Returns false
	 * while such a transaction is committing.
	 */
	bool		(*user_deletions) (uint64 *stamp);
} WorkerHooks;

extern WorkerHooks worker_hooks;

#endif							/* BLOGSTORE_WORKER_HOOKS_H */
