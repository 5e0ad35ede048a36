/*
 * worker_hooks.h
 *		Functions by which a process tells the worker about its transaction,
 *		or asks about the worker.
 *
 * The worker is a background process of each database that maintains the
 * views: the copies of posts in the table users, and the table feed. Files in
 * storage/ and model/ must not include headers of views/launcher/, which knows
 * the worker. They call views/launcher/ through this struct.
 */
#ifndef BLOGSTORE_WORKER_HOOKS_H
#define BLOGSTORE_WORKER_HOOKS_H

/*
 * views/launcher/transaction_callbacks.c sets these pointers when the library
 * is loaded.
 */
typedef struct WorkerHooks
{
	/*
	 * The calling process has found blogstore's tables in its database. If the
	 * database has no worker, this requests one.
	 */
	void		(*containers_found) (void);
	/*
	 * The calling transaction has created blogstore's tables. A worker is
	 * started when the transaction commits.
	 */
	void		(*containers_created) (void);
	/*
	 * The calling transaction has written items. The worker is woken when it
	 * commits. posts: the items are posts or counts of posts.
	 */
	void		(*item_written) (bool posts);
	/*
	 * Return the id of the transaction since which a worker has kept the views
	 * up to date without a break. A snapshot that shows this transaction may
	 * read the views. InvalidTransactionId: no worker keeps them up to date.
	 */
	TransactionId (*views_served) (void);
	/* The calling transaction begins or ends the deletion of a user. */
	void		(*user_deletions_changing) (void);
	/*
	 * Set *stamp to the number of committed transactions that have begun or
	 * ended the deletion of a user, so that a caller can tell whether its list
	 * of these users is still right. Returns false while such a transaction is
	 * committing.
	 */
	bool		(*user_deletions) (uint64 *stamp);
} WorkerHooks;

extern WorkerHooks worker_hooks;

#endif							/* BLOGSTORE_WORKER_HOOKS_H */
